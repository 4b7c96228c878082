package view

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/memsidecar/memsidecar/internal/memory"
)

// conflictTag is on a memory that was added because another one was changed on both sides.
const conflictTag = "conflict"

// readEntries finds out what was changed in the entry files.
func (r *round) readEntries() {
	seen := map[string]bool{} // memories with a file
	for name, k := range r.st.Files {
		if f := r.files[name]; k.ID != "" && !k.Copy && f.exists() {
			seen[k.ID] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.files)) {
		f, k := r.files[name], r.st.Files[name]
		if path.Dir(name) == "." && isEntryName(name) && !k.is(f.hash) && r.held[name] == "" {
			r.readEntry(name, f, k, seen)
		}
	}
	r.readMissing(seen)
}

// readEntry reads an entry file that is not as it was written.
func (r *round) readEntry(name string, f found, k known, seen map[string]bool) {
	e, ok := parseEntry(f.data)
	if !ok {
		if k.ID != "" && !r.young(name, f) {
			r.hold(name, "has no front matter that ends, or is not text in UTF-8; mend it, or remove it to forget the memory")
		}
		return // a file of somebody else's, when it has no memory
	}
	id := k.ID
	if k.Copy {
		id = ""
	}
	if id != "" && k.Hash == "" && e.id != id { // somebody took the name before the memory's file was written
		delete(r.st.Files, name)
		delete(seen, id)
		id = ""
	}
	if id == "" && e.id != "" {
		_, shownOnce := r.st.Faces[e.id]
		switch {
		case r.by[e.id] != nil && !seen[e.id]: // it was renamed
			if former := r.st.ownerOf(e.id); former != "" {
				delete(r.st.Files, former)
			}
			id, seen[e.id] = e.id, true
			r.st.Files[name] = known{ID: id}
		case r.by[e.id] != nil && r.says(e, r.by[e.id]):
			r.st.Files[name] = known{Hash: f.hash, ID: e.id, Copy: true}
			r.note(name, "is a copy of "+r.st.ownerOf(e.id)+", and is left alone")
			return
		case r.by[e.id] == nil && !shownOnce:
			r.st.Files[name] = known{Hash: f.hash, Copy: true}
			r.note(name, "names a memory that is not there any more, and is left alone; take the id out to have it added")
			return
		case r.by[e.id] == nil:
			id = e.id
		}
	}
	if r.cutOff(name, f, e, id) {
		return
	}
	m := r.by[id]
	switch {
	case id == "":
		r.addEntry(name, e)
	case m == nil && r.saidOnce(e, id): // an old copy of what is gone
		r.st.Files[name] = known{Hash: f.hash, ID: id}
	case m == nil:
		e.id = ""
		r.note(name, "was changed here and removed elsewhere; it is kept as a new memory")
		r.addEntry(name, e)
	default:
		r.changeEntry(name, f, e, m)
	}
}

// says reports whether an entry file says just what is known of a memory.
func (r *round) says(e entry, m *memory.Memory) bool {
	a, b := e.face("", 0), showEntry(m).face("", 0)
	return a == b
}

// saidOnce reports whether an entry file says what the view wrote of the memory at some time.
func (r *round) saidOnce(e entry, id string) bool {
	mine := e.face("", 0)
	return slices.ContainsFunc(r.st.Faces[id], func(f face) bool {
		return f.Title == mine.Title && f.About == mine.About && f.Category == mine.Category && f.Tags == mine.Tags && f.Content == mine.Content
	})
}

// cutOff reports whether an entry looks as if not all of it was written.
func (r *round) cutOff(name string, f found, e entry, id string) bool {
	m := r.by[id]
	why := ""
	switch {
	case e.Content == "":
		why = "has no text below its front matter"
	case m != nil && len(f.data) > 0 && f.data[len(f.data)-1] != '\n' && strings.HasPrefix(canon(m.Content), e.Content) && e.Content != canon(m.Content):
		why = "looks cut off: its text ends in the middle, without an end of line"
	default:
		if bad := e.check(); bad != "" {
			why = "cannot be taken over: " + bad
		}
	}
	if why == "" {
		return false
	}
	if r.young(name, f) {
		return true
	}
	if r.opts.Accept && e.Content != "" && strings.HasPrefix(why, "looks") {
		return false
	}
	r.hold(name, why)
	return true
}

func (r *round) note(name, text string) {
	r.report.Notes = append(r.report.Notes, Waiting{name, text})
}

func (r *round) addEntry(name string, e entry) {
	r.adopt[len(r.changes)] = name
	add := e.memory()
	if !e.created.After(r.cfg.Now()) {
		add.CreatedAt = e.created
	}
	r.changes = append(r.changes, Change{Kind: Add, File: name, Memory: add})
}

// changeEntry takes over what a file says otherwise than when it was written.
func (r *round) changeEntry(name string, f found, e entry, m *memory.Memory) {
	ours := showEntry(m)
	base := r.st.current(m.ID)
	switch {
	case e.revision == m.Revision && !r.newEpoch:
		now := ours.face(name, m.Revision)
		base = &now
	case e.revision != 0:
		base = r.st.revised(m.ID, e.revision)
	}
	k := r.st.Files[name]
	k.ID = m.ID
	defer func() {
		k.Hash, k.Next = f.hash, ""
		r.st.Files[name] = k
	}()
	if base == nil { // it is not known what it was made from
		if e.Content != ours.Content {
			r.both(name, m, e.shown)
		}
		return
	}
	c, both := merge(m, e.shown, ours, *base)
	if c != nil {
		c.File = name
		r.changes = append(r.changes, *c)
	}
	if both {
		r.both(name, m, e.shown)
	}
}

// both keeps what a file says beside a memory that says something else by now.
func (r *round) both(name string, m *memory.Memory, s shown) {
	add := s.memory()
	if !slices.Contains(add.Tags, conflictTag) && len(add.Tags) < memory.MaxTags {
		add.Tags = append(add.Tags, conflictTag)
	}
	add.Relations = []memory.Relation{{Type: "contradicts", Target: m.ID, Strength: 0.5}}
	r.changes = append(r.changes, Change{Kind: Add, File: name, Memory: add, Both: true})
	r.note(name, "memory "+m.ID+" was changed on both sides; both are kept, the words of this file as a memory of their own")
}

// readMissing decides about the entry files that are not there any more.
func (r *round) readMissing(seen map[string]bool) {
	var gone []string
	all := 0
	for name, k := range r.st.Files {
		if k.ID == "" || k.Copy {
			continue
		}
		all++
		if r.files[name].exists() || seen[k.ID] || r.blocked[name] != "" {
			delete(r.st.Refused, name)
			continue
		}
		if r.by[k.ID] == nil || k.Hash == "" { // it was never there: a crash came before it was written
			delete(r.st.Files, name)
			delete(r.st.Refused, name)
			continue
		}
		if r.away(name) {
			gone = append(gone, name)
		}
	}
	slices.Sort(gone)
	if why := suspicious(len(gone), all, true); why != "" || len(r.st.Refused) > 0 {
		for _, name := range gone {
			r.st.Refused[name] = true
		}
	}
	if (r.opts.Accept || r.opts.Discard) && len(gone) > 0 {
		clear(r.st.Refused)
	}
	refused := 0
	for _, name := range gone {
		if r.st.Refused[name] {
			r.held[name] = "was removed"
			refused++
			continue
		}
		if r.opts.Discard {
			continue // it is written again
		}
		r.removeMissing(name)
	}
	if refused > 0 {
		r.report.Waiting = append(r.report.Waiting, Waiting{".", fmt.Sprintf("%d of %d entry files were removed, which may be a mistake", refused, all)})
	}
}

func (r *round) removeMissing(name string) {
	m := r.by[r.st.Files[name].ID]
	now := r.st.current(m.ID)
	if now == nil {
		return // it is not known what was removed
	}
	if now.Rev != m.Revision {
		r.note(name, "was removed here, but the memory was changed since; it stays, and the file is written again")
		return
	}
	r.changes = append(r.changes, Change{Kind: Remove, File: name, ID: m.ID, Revision: m.Revision})
}

// suspicious says why so many removals may be a mistake, "" when they are not so many. empty says that nothing at all is left.
func suspicious(removed, all int, empty bool) string {
	switch {
	case removed > 0 && (removed == all && (all >= 3 || empty)):
		return fmt.Sprintf("none of its %d memories is left in it", all)
	case all >= 20 && 2*removed > all:
		return fmt.Sprintf("%d of %d memories are not in it any more", removed, all)
	}
	return ""
}
