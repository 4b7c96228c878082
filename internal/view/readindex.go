package view

import (
	"regexp"
	"strings"

	"github.com/memsidecar/memsidecar/internal/memory"
)

var linkForm = regexp.MustCompile(`^\[(.+?)\]\(([^()]+\.md)\)\s*(?:[-—–:：]+\s*(.*))?$`)

// readIndex takes over what was written into the index: new lines, and other names and descriptions of entries.
func (r *round) readIndex() {
	name := r.layout.index
	f, k := r.files[name], r.st.Files[name]
	if !f.exists() || k.is(f.hash) || r.held[name] != "" {
		return
	}
	if r.young(name, f) {
		return
	}
	pieces, _, remarks := cut(string(f.data))
	known := map[string]bool{}
	for _, faces := range r.st.Faces {
		for _, face := range faces {
			known[face.Block] = true
		}
	}
	if k.Hash == "" || remarks {
		r.keep[name] = true
	}
	for _, p := range pieces {
		if known[mark(oneLine(p.text))] {
			continue
		}
		m := linkForm.FindStringSubmatch(oneLine(p.text))
		if m == nil {
			r.addPiece(name, p, memory.General)
			continue
		}
		r.indexLine(name, m[1], strings.TrimPrefix(m[2], "./"), m[3])
	}
	k.Hash, k.Next = f.hash, ""
	r.st.Files[name] = k
}

// indexLine takes over another name or description.
func (r *round) indexLine(index, title, target, about string) {
	if !r.files[target].exists() {
		r.note(index, "names the file "+target+", which is not there")
		r.keep[index] = true
		return
	}
	m := r.by[r.st.Files[target].ID]
	if m == nil || r.st.current(m.ID) == nil {
		return // a file that was made just now says it itself
	}
	ours, base := showEntry(m), *r.st.current(m.ID)
	theirs := ours
	if was := (indexed{title: ours.Title}).title; title != strings.NewReplacer("[", "(", "]", ")").Replace(was) {
		theirs.Title = title
	}
	if about != "" {
		theirs.About = about
	}
	if c, _ := merge(m, theirs, ours, base); c != nil {
		c.File = index
		r.changes = append(r.changes, *c)
	}
}
