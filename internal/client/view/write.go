package view

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/store/durable"
)

// page is a file that is to be written.
type page struct {
	name string
	data []byte
}

// forgetAfter is how many versions ago a memory was shown last before that is forgotten.
const forgetAfter = 500

// write brings the files up to date.
func (r *pass) write(context.Context) error {
	for name := range r.skipped { // it was not dealt with: the next pass looks at it again
		k, old := r.newState.Files[name], r.state.Files[name]
		k.Hash, k.Next = old.Hash, old.Next
		r.newState.Files[name] = k
	}
	var pages []page
	var gone []string
	if r.layout.index != "" {
		pages, gone = r.entryPages()
	}
	for _, l := range r.layout.lists {
		pages = append(pages, r.listPages(l)...)
	}
	logs := r.logPages()
	for _, p := range append(slices.Clone(pages), logs...) {
		r.report.Written = append(r.report.Written, p.name)
	}
	r.report.Removed = gone
	if r.opts.DryRun {
		return nil
	}
	if err := r.keepCopies(); err != nil { // what was refused just now
		return err
	}
	for id, faces := range r.newState.Renderings {
		if last := faces[len(faces)-1].To; last != 0 && last < r.newState.Serial-forgetAfter {
			delete(r.newState.Renderings, id)
		}
	}
	return r.commit(pages, logs, gone)
}

// commit writes and removes files. Before that it is remembered durably what is about to be there, after that what is.
func (r *pass) commit(pages, logs []page, gone []string) error {
	fsys := r.cfg.FS
	if err := r.makeDirs(); err != nil {
		return err
	}
	pages = append(slices.Clone(pages), logs...)
	for _, p := range pages {
		k := r.newState.Files[p.name]
		k.Next = hashOf(p.data)
		r.newState.Files[p.name] = k
	}
	if err := r.save(); err != nil {
		return err
	}
	r.state = r.newState // from here on this is what is true, whatever fails
	done := func(name string, err error) (bool, error) {
		return err == nil, r.finish(name, err)
	}
	for i, p := range pages {
		if r.opts.Progress != nil {
			r.opts.Progress(i, len(pages))
		}
		ok, err := done(p.name, replaceFile(fsys, p.name, r.files[p.name], p.data))
		if err != nil {
			return err
		}
		if ok {
			k := r.newState.Files[p.name]
			k.Hash, k.Next = k.Next, ""
			r.newState.Files[p.name] = k
		}
	}
	for _, name := range gone {
		ok, err := done(name, removeFile(fsys, name, r.files[name]))
		if err != nil {
			return err
		}
		if ok {
			delete(r.newState.Files, name)
		}
	}
	switch {
	case r.busy && r.opts.WaitForWriters:
		r.runAgainIn(quietTime) // somebody may keep a file open for long
	case r.busy:
		r.runAgainIn(gather)
	}
	if len(pages)+len(gone) == 0 {
		return nil
	}
	for _, dir := range r.dirs() {
		if err := fsys.SyncDir(dir); err != nil {
			return err
		}
	}
	return r.save()
}

// makeDirs creates the directories of the view and its .gitignore.
func (r *pass) makeDirs() error {
	dirs := []string{Dir}
	if r.layout.daily != "" {
		dirs = append(dirs, r.layout.daily)
	}
	for _, dir := range dirs {
		if err := r.cfg.FS.MkdirAll(dir); err != nil {
			return fmt.Errorf("make directory %s: %w", dir, err)
		}
	}
	return ignore(r.cfg.FS)
}

// ignore keeps the state of the view, and what it keeps aside, out of repositories that people make of the directory.
func ignore(fsys durable.FS) error {
	const name = Dir + "/.gitignore"
	if _, err := fsys.Lstat(name); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return durable.WriteFile(fsys, name, func(w io.Writer) error {
		_, err := io.WriteString(w, "*\n")
		return err
	})
}

// owners lists the entry files by memory, all names that are taken, in lower case, and the files of memories that are
// no more.
func (r *pass) owners() (owner map[string]string, taken map[string]bool, gone []string) {
	owner, taken = map[string]string{}, map[string]bool{}
	for name := range r.files {
		taken[strings.ToLower(name)] = true
	}
	for name := range r.blocked {
		taken[strings.ToLower(name)] = true
	}
	for name, k := range r.newState.Files {
		taken[strings.ToLower(name)] = true
		if k.ID == "" || k.Copy || path.Dir(name) != "." {
			continue
		}
		if r.memoryByID[k.ID] != nil {
			owner[k.ID] = name
			continue
		}
		// The file of a removed memory goes only when nobody has changed it since it was written.
		if f := r.files[name]; f.exists() && k.matches(f.hash) {
			gone = append(gone, name)
		} else if !f.exists() {
			delete(r.newState.Files, name)
		}
	}
	slices.Sort(gone)
	return owner, taken, gone
}

// entryPages makes the entry files that are not as they should be, and their index; gone are those of memories that
// are no more.
func (r *pass) entryPages() (pages []page, gone []string) {
	owner, taken, gone := r.owners()
	ordered := slices.SortedFunc(slices.Values(r.snapshot.Memories), compareImportance)
	serial := r.newState.Serial + 1
	var entries []indexed
	for _, m := range ordered {
		name := owner[m.ID]
		if name == "" {
			// Names are compared in lower case, because file systems of macOS and Windows do so.
			name = entryName(m, func(lower string) bool { return taken[lower] })
			taken[strings.ToLower(name)] = true
		}
		s := entryRendering(m)
		line := indexed{name, s.Title, s.Description}
		entries = append(entries, line)
		if r.skipped[name] != "" {
			continue
		}
		f := r.files[name]
		former := front(nil)
		if f.exists() {
			former, _, _ = splitFront(string(f.data))
		}
		data := renderEntry(m, former)
		k := r.newState.Files[name]
		k.ID = m.ID
		r.newState.Files[name] = k
		shows := s.rendering("", m.Revision)
		shows.Block = shortHash(oneLine(strings.TrimPrefix(line.line(), "- ")))
		r.newState.recordRendering(m.ID, shows, serial)
		if hashOf(data) != f.hash {
			pages = append(pages, page{name, data})
		}
	}
	for id := range r.newState.Renderings {
		if r.memoryByID[id] == nil {
			r.newState.recordRemoval(id, serial)
		}
	}
	if name := r.layout.index; r.skipped[name] == "" {
		if data := renderIndex(entries); hashOf(data) != r.files[name].hash {
			pages = append(pages, page{name, data})
		}
	}
	if len(pages)+len(gone) > 0 {
		r.newState.Serial = serial
	}
	return pages, gone
}

// listPages makes a list when it is not as it should be.
func (r *pass) listPages(l listFile) []page {
	if r.skipped[l.name] != "" {
		return nil
	}
	var memories []*memory.Memory
	for _, m := range r.snapshot.Memories {
		if l.holds == nil || l.holds(m.Category) {
			memories = append(memories, m)
		}
	}
	k, f := r.newState.Files[l.name], r.files[l.name]
	if k.Lang == "" && len(memories) > 0 {
		k.Lang = languageOf(memories)
	}
	r.newState.Files[l.name] = k
	data, fitting := renderList(l, k.Lang, k.Serial, memories)
	if !f.exists() || hashOf(data) != f.hash {
		r.newState.Serial++
		k.Serial = r.newState.Serial
		data, fitting = renderList(l, k.Lang, k.Serial, memories)
		r.newState.Files[l.name] = k
		r.recordItems(l, fitting, k.Serial)
		return []page{{l.name, data}}
	}
	// The same words may stand for a newer revision: something changed that a list does not show.
	if slices.ContainsFunc(fitting, func(m *memory.Memory) bool {
		now := r.newState.currentRendering(m.ID)
		return now == nil || now.Rev != m.Revision || now.File != l.name
	}) {
		r.recordItems(l, fitting, max(k.Serial, 1))
	}
	return nil
}

// recordItems records how a list shows its memories from version serial on.
func (r *pass) recordItems(l listFile, fitting []*memory.Memory, serial int64) {
	shows := map[string]bool{}
	for _, m := range fitting {
		shows[m.ID] = true
		f := listRendering(l.name, m)
		if now := r.newState.currentRendering(m.ID); now != nil && now.From == serial {
			from := now.From
			*now = f
			now.From = from
			continue
		}
		r.newState.recordRendering(m.ID, f, serial)
	}
	for _, id := range slices.Sorted(maps.Keys(r.newState.Renderings)) {
		if now := r.newState.currentRendering(id); now != nil && now.File == l.name && !shows[id] {
			r.newState.recordRemoval(id, serial)
		}
	}
}
