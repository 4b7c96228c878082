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
func (r *pass) readEntries() {
	seen := map[string]bool{} // memories with a file
	for name, k := range r.newState.Files {
		if f := r.files[name]; k.ID != "" && !k.Copy && f.exists() {
			seen[k.ID] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.files)) {
		f, k := r.files[name], r.newState.Files[name]
		if path.Dir(name) == "." && isEntryName(name) && !k.matches(f.hash) && r.skipped[name] == "" {
			r.readEntry(name, f, k, seen)
		}
	}
	r.readMissing(seen)
}

// readEntry reads an entry file that is not as it was written.
func (r *pass) readEntry(name string, f fileState, k trackedFile, seen map[string]bool) {
	e, ok := parseEntry(f.data)
	if !ok {
		if k.ID != "" && !r.waitForWriter(name, f) {
			r.holdBack(name, "has no front matter that ends, or is not text in UTF-8; mend it, or remove it to forget "+
				"the memory")
		}
		return // a file of somebody else's, when it has no memory
	}
	id := k.ID
	if k.Copy {
		id = ""
	}
	if id != "" && k.Hash == "" && e.id != id { // somebody took the name before the memory's file was written
		delete(r.newState.Files, name)
		delete(seen, id)
		id = ""
	}
	if id == "" && e.id != "" {
		_, shownOnce := r.newState.Renderings[e.id]
		switch {
		case r.memoryByID[e.id] != nil && !seen[e.id]: // it was renamed
			if former := r.newState.fileOf(e.id); former != "" {
				delete(r.newState.Files, former)
			}
			id, seen[e.id] = e.id, true
			r.newState.Files[name] = trackedFile{ID: id}
		case r.memoryByID[e.id] != nil && r.sameAs(e, r.memoryByID[e.id]):
			r.newState.Files[name] = trackedFile{Hash: f.hash, ID: e.id, Copy: true}
			r.addNote(name, "is a copy of "+r.newState.fileOf(e.id)+", and is left alone")
			return
		case r.memoryByID[e.id] == nil && !shownOnce:
			r.newState.Files[name] = trackedFile{Hash: f.hash, Copy: true}
			r.addNote(name, "names a memory that is not there any more, and is left alone; take the id out to have it "+
				"added")
			return
		case r.memoryByID[e.id] == nil:
			id = e.id
		}
	}
	if r.isTruncatedEntry(name, f, e, id) {
		return
	}
	m := r.memoryByID[id]
	switch {
	case id == "":
		r.addEntry(name, e)
	case m == nil && r.matchesEarlierRendering(e, id): // an old copy of what is gone
		r.newState.Files[name] = trackedFile{Hash: f.hash, ID: id}
	case m == nil:
		e.id = ""
		r.addNote(name, "was changed here and removed elsewhere; it is kept as a new memory")
		r.addEntry(name, e)
	default:
		r.updateEntry(name, f, e, m)
	}
}

// sameAs reports whether an entry file says just what is known of a memory.
func (r *pass) sameAs(e entry, m *memory.Memory) bool {
	a, b := e.rendering("", 0), entryRendering(m).rendering("", 0)
	return a == b
}

// matchesEarlierRendering reports whether an entry file says what the view wrote of the memory at some time.
func (r *pass) matchesEarlierRendering(e entry, id string) bool {
	mine := e.rendering("", 0)
	return slices.ContainsFunc(r.newState.Renderings[id], func(f rendering) bool {
		return f.Title == mine.Title && f.Description == mine.Description && f.Category == mine.Category && f.Tags == mine.Tags &&
			f.Content == mine.Content
	})
}

// isTruncatedEntry reports whether an entry looks as if not all of it was written.
func (r *pass) isTruncatedEntry(name string, f fileState, e entry, id string) bool {
	m := r.memoryByID[id]
	why := ""
	switch {
	case e.Content == "":
		why = "has no text below its front matter"
	// The beginning of what the memory says, and no end of line: an editor that died while saving, more likely
	// than a person.
	case m != nil && len(f.data) > 0 && f.data[len(f.data)-1] != '\n' &&
		strings.HasPrefix(canonical(m.Content), e.Content) && e.Content != canonical(m.Content):
		why = "looks cut off: its text ends in the middle, without an end of line"
	default:
		if bad := e.violation(); bad != "" {
			why = "cannot be taken over: " + bad
		}
	}
	if why == "" {
		return false
	}
	if r.waitForWriter(name, f) {
		return true
	}
	if r.opts.Accept && e.Content != "" && strings.HasPrefix(why, "looks") {
		return false
	}
	r.holdBack(name, why)
	return true
}

// addNote adds a remark about a file to the report.
func (r *pass) addNote(name, text string) {
	r.report.Notes = append(r.report.Notes, Waiting{name, text})
}

// addEntry plans a new memory for an entry file.
func (r *pass) addEntry(name string, e entry) {
	r.filesOfAdds[len(r.changes)] = name
	add := e.newMemory()
	if !e.created.After(r.cfg.Now()) {
		add.CreatedAt = e.created
	}
	r.changes = append(r.changes, Change{Kind: Add, File: name, Memory: add})
}

// updateEntry adopts what a file says otherwise than when it was written.
func (r *pass) updateEntry(name string, f fileState, e entry, m *memory.Memory) {
	ours := entryRendering(m)
	base := r.newState.currentRendering(m.ID)
	switch {
	case e.revision == m.Revision && !r.newEpoch:
		now := ours.rendering(name, m.Revision)
		base = &now
	case e.revision != 0:
		base = r.newState.renderingAt(m.ID, e.revision)
	}
	k := r.newState.Files[name]
	k.ID = m.ID
	defer func() {
		k.Hash, k.Next = f.hash, ""
		r.newState.Files[name] = k
	}()
	if base == nil { // it is not known what it was made from
		if e.Content != ours.Content {
			r.keepBoth(name, m, e.renderedMemory)
		}
		return
	}
	c, both := merge(m, e.renderedMemory, ours, *base)
	if c != nil {
		c.File = name
		r.changes = append(r.changes, *c)
	}
	if both {
		r.keepBoth(name, m, e.renderedMemory)
	}
}

// keepBoth keeps what a file says beside a memory that says something else by now.
func (r *pass) keepBoth(name string, m *memory.Memory, s renderedMemory) {
	add := s.newMemory()
	if !slices.Contains(add.Tags, conflictTag) && len(add.Tags) < memory.MaxTags {
		add.Tags = append(add.Tags, conflictTag)
	}
	add.SetRelations([]memory.Relation{{Type: "contradicts", Target: m.ID, Strength: 0.5}})
	r.changes = append(r.changes, Change{Kind: Add, File: name, Memory: add, Both: true})
	r.addNote(name, "memory "+m.ID+" was changed on both sides; both are kept, the words of this file as a memory of "+
		"their own")
}

// readMissing decides about the entry files that are not there any more.
func (r *pass) readMissing(seen map[string]bool) {
	var gone []string
	all := 0
	for name, k := range r.newState.Files {
		if k.ID == "" || k.Copy {
			continue
		}
		all++
		if r.files[name].exists() || seen[k.ID] || r.blocked[name] != "" {
			delete(r.newState.Refused, name)
			continue
		}
		if r.memoryByID[k.ID] == nil || k.Hash == "" { // it was never there: a crash came before it was written
			delete(r.newState.Files, name)
			delete(r.newState.Refused, name)
			continue
		}
		if r.confirmMissing(name) {
			gone = append(gone, name)
		}
	}
	slices.Sort(gone)
	if why := suspiciousRemoval(len(gone), all, true); why != "" || len(r.newState.Refused) > 0 {
		for _, name := range gone {
			r.newState.Refused[name] = true
		}
	}
	if (r.opts.Accept || r.opts.Reject) && len(gone) > 0 {
		clear(r.newState.Refused)
	}
	refused := 0
	for _, name := range gone {
		if r.newState.Refused[name] {
			r.skipped[name] = "was removed"
			refused++
			continue
		}
		if r.opts.Reject {
			continue // it is written again
		}
		r.retireMissing(name)
	}
	if refused > 0 {
		r.report.Waiting = append(r.report.Waiting,
			Waiting{".", fmt.Sprintf("%d of %d entry files were removed, which may be a mistake", refused, all)})
	}
}

// retireMissing plans to retire the memory of a removed entry file, unless the memory has changed since it was
// written there.
func (r *pass) retireMissing(name string) {
	m := r.memoryByID[r.newState.Files[name].ID]
	now := r.newState.currentRendering(m.ID)
	if now == nil {
		return // it is not known what was removed
	}
	if now.Rev != m.Revision {
		r.addNote(name, "was removed here, but the memory was changed since; it stays, and the file is written again")
		return
	}
	r.changes = append(r.changes, Change{Kind: Remove, File: name, ID: m.ID, Revision: m.Revision})
}

// suspiciousRemoval says why so many removals may be a mistake, "" when they are not so many. empty says that nothing
// at all is left.
func suspiciousRemoval(removed, all int, empty bool) string {
	switch {
	case removed > 0 && (removed == all && (all >= 3 || empty)):
		return fmt.Sprintf("none of its %d memories is left in it", all)
	case all >= 20 && 2*removed > all:
		return fmt.Sprintf("%d of %d memories are not in it any more", removed, all)
	}
	return ""
}
