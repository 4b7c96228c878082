package view

import (
	"strings"

	"github.com/memsidecar/memsidecar/internal/lazyregexp"
)

var linkForm = lazyregexp.New(`^\[(.+?)\]\(([^()]+\.md)\)\s*(?:[-—–:：]+\s*(.*))?$`)

// readIndex adopts what was written into the index: new lines, and other names and descriptions of entries.
func (r *pass) readIndex() {
	name := r.layout.index
	f, k := r.files[name], r.newState.Files[name]
	if !f.exists() || k.matches(f.hash) || r.skipped[name] != "" {
		return
	}
	if r.waitForWriter(name, f) {
		return
	}
	pieces, _, remarks := parseBlocks(string(f.data))
	known := map[string]bool{}
	for _, faces := range r.newState.Renderings {
		for _, face := range faces {
			known[face.Block] = true
		}
	}
	// What the next write would drop (comments, a file that was here before) is copied first.
	if k.Hash == "" || remarks {
		r.copyBefore[name] = true
	}
	for _, p := range pieces {
		if known[shortHash(oneLine(p.text))] {
			continue
		}
		m := linkForm.FindStringSubmatch(oneLine(p.text))
		if m == nil {
			r.addItem(listFile{name: name}, p)
			continue
		}
		r.indexLine(name, m[1], strings.TrimPrefix(m[2], "./"), m[3])
	}
	k.Hash, k.Next = f.hash, ""
	r.newState.Files[name] = k
}

// indexLine adopts another name or description.
func (r *pass) indexLine(index, title, target, about string) {
	if !r.files[target].exists() {
		r.addNote(index, "names the file "+target+", which is not there")
		r.copyBefore[index] = true
		return
	}
	m := r.memoryByID[r.newState.Files[target].ID]
	if m == nil || r.newState.currentRendering(m.ID) == nil {
		return // a file that was made just now says it itself
	}
	ours, base := entryRendering(m), *r.newState.currentRendering(m.ID)
	theirs := ours
	if was := (indexed{title: ours.Title}).title; title != strings.NewReplacer("[", "(", "]", ")").Replace(was) {
		theirs.Title = title
	}
	if about != "" {
		theirs.Description = about
	}
	if c, _ := merge(m, theirs, ours, base); c != nil {
		c.File = index
		r.changes = append(r.changes, *c)
	}
}
