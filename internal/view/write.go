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

	"github.com/memsidecar/memsidecar/internal/durable"
	"github.com/memsidecar/memsidecar/internal/memory"
)

// page is a file that is to be written.
type page struct {
	name string
	data []byte
}

// forgetAfter is how many versions ago a memory was shown last before that is forgotten.
const forgetAfter = 500

// write brings the files up to date.
func (r *round) write(context.Context) error {
	for name := range r.held { // it was not dealt with: the next round looks at it again
		k, old := r.st.Files[name], r.state.Files[name]
		k.Hash, k.Next = old.Hash, old.Next
		r.st.Files[name] = k
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
	for id, faces := range r.st.Faces {
		if last := faces[len(faces)-1].To; last != 0 && last < r.st.Serial-forgetAfter {
			delete(r.st.Faces, id)
		}
	}
	return r.commit(pages, logs, gone)
}

// commit writes and removes files. Before that it is remembered durably what is about to be there, after that what is.
func (r *round) commit(pages, logs []page, gone []string) error {
	fsys := r.cfg.FS
	if err := r.makeDirs(); err != nil {
		return err
	}
	pages = append(slices.Clone(pages), logs...)
	for _, p := range pages {
		k := r.st.Files[p.name]
		k.Next = hashOf(p.data)
		r.st.Files[p.name] = k
	}
	if err := r.save(); err != nil {
		return err
	}
	r.state = r.st // from here on this is what is true, whatever fails
	done := func(name string, err error) (bool, error) {
		return err == nil, r.finish(name, err)
	}
	for i, p := range pages {
		if r.opts.Progress != nil {
			r.opts.Progress(i, len(pages))
		}
		ok, err := done(p.name, put(fsys, p.name, r.files[p.name], p.data))
		if err != nil {
			return err
		}
		if ok {
			k := r.st.Files[p.name]
			k.Hash, k.Next = k.Next, ""
			r.st.Files[p.name] = k
		}
	}
	for _, name := range gone {
		ok, err := done(name, takeAway(fsys, name, r.files[name]))
		if err != nil {
			return err
		}
		if ok {
			delete(r.st.Files, name)
		}
	}
	switch {
	case r.busy && r.opts.Patient:
		r.later(settleTime) // somebody may keep a file open for long
	case r.busy:
		r.later(gather)
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

func (r *round) makeDirs() error {
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

// ignore keeps what the view remembers, and what it keeps aside, out of repositories that people make of the directory.
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

// owners lists the entry files by memory, all names that are taken, in lower case, and the files of memories that are no more.
func (r *round) owners() (owner map[string]string, taken map[string]bool, gone []string) {
	owner, taken = map[string]string{}, map[string]bool{}
	for name := range r.files {
		taken[strings.ToLower(name)] = true
	}
	for name := range r.blocked {
		taken[strings.ToLower(name)] = true
	}
	for name, k := range r.st.Files {
		taken[strings.ToLower(name)] = true
		if k.ID == "" || k.Copy || path.Dir(name) != "." {
			continue
		}
		if r.by[k.ID] != nil {
			owner[k.ID] = name
			continue
		}
		if f := r.files[name]; f.exists() && k.is(f.hash) {
			gone = append(gone, name)
		} else if !f.exists() {
			delete(r.st.Files, name)
		}
	}
	slices.Sort(gone)
	return owner, taken, gone
}

// entryPages makes the entry files that are not as they should be, and their index; gone are those of memories that are no more.
func (r *round) entryPages() (pages []page, gone []string) {
	owner, taken, gone := r.owners()
	ordered := slices.SortedFunc(slices.Values(r.snap.Memories), byWeight)
	serial := r.st.Serial + 1
	var entries []indexed
	for _, m := range ordered {
		name := owner[m.ID]
		if name == "" {
			name = entryName(m, func(lower string) bool { return taken[lower] })
			taken[strings.ToLower(name)] = true
		}
		s := showEntry(m)
		line := indexed{name, s.Title, s.About}
		entries = append(entries, line)
		if r.held[name] != "" {
			continue
		}
		f := r.files[name]
		former := front(nil)
		if f.exists() {
			former, _, _ = splitFront(string(f.data))
		}
		data := renderEntry(m, former)
		k := r.st.Files[name]
		k.ID = m.ID
		r.st.Files[name] = k
		shows := s.face("", m.Revision)
		shows.Block = mark(oneLine(strings.TrimPrefix(line.line(), "- ")))
		r.st.note(m.ID, shows, serial)
		if hashOf(data) != f.hash {
			pages = append(pages, page{name, data})
		}
	}
	for id := range r.st.Faces {
		if r.by[id] == nil {
			r.st.gone(id, serial)
		}
	}
	if name := r.layout.index; r.held[name] == "" {
		if data := renderIndex(entries); hashOf(data) != r.files[name].hash {
			pages = append(pages, page{name, data})
		}
	}
	if len(pages)+len(gone) > 0 {
		r.st.Serial = serial
	}
	return pages, gone
}

// listPages makes a list when it is not as it should be.
func (r *round) listPages(l listFile) []page {
	if r.held[l.name] != "" {
		return nil
	}
	var memories []*memory.Memory
	for _, m := range r.snap.Memories {
		if l.holds == nil || l.holds(m.Category) {
			memories = append(memories, m)
		}
	}
	k, f := r.st.Files[l.name], r.files[l.name]
	if k.Lang == "" && len(memories) > 0 {
		k.Lang = languageOf(memories)
	}
	r.st.Files[l.name] = k
	data, fitting := renderList(l, k.Lang, k.Serial, memories)
	if !f.exists() || hashOf(data) != f.hash {
		r.st.Serial++
		k.Serial = r.st.Serial
		data, fitting = renderList(l, k.Lang, k.Serial, memories)
		r.st.Files[l.name] = k
		r.noteItems(l, fitting, k.Serial)
		return []page{{l.name, data}}
	}
	// The same words may stand for a newer revision: something changed that a list does not show.
	if slices.ContainsFunc(fitting, func(m *memory.Memory) bool {
		now := r.st.current(m.ID)
		return now == nil || now.Rev != m.Revision || now.File != l.name
	}) {
		r.noteItems(l, fitting, max(k.Serial, 1))
	}
	return nil
}

func (r *round) noteItems(l listFile, fitting []*memory.Memory, serial int64) {
	shows := map[string]bool{}
	for _, m := range fitting {
		shows[m.ID] = true
		f := itemFace(l.name, m)
		if now := r.st.current(m.ID); now != nil && now.From == serial {
			from := now.From
			*now = f
			now.From = from
			continue
		}
		r.st.note(m.ID, f, serial)
	}
	for _, id := range slices.Sorted(maps.Keys(r.st.Faces)) {
		if now := r.st.current(id); now != nil && now.File == l.name && !shows[id] {
			r.st.gone(id, serial)
		}
	}
}
