package view

import (
	"cmp"
	"slices"
	"unicode/utf8"
)

// item is a memory as a version of a list showed it.
type item struct {
	id string
	rendering
}

// items lists what a version of a file showed.
func (s *state) items(file string, serial int64) (out []item) {
	for id, faces := range s.Renderings {
		for _, f := range faces {
			if f.File == file && f.coversVersion(serial) {
				out = append(out, item{id, f})
			}
		}
	}
	slices.SortFunc(out, func(a, b item) int { return cmp.Compare(a.id, b.id) })
	return out
}

// baseOf lists what the version showed that blocks were made from. Without a mark that is the one from which they
// differ least; of those the newest.
func (r *pass) baseOf(name string, serial int64, pieces []block) []item {
	last := r.newState.Files[name].Serial
	if serial > 0 && serial <= last {
		return r.newState.items(name, serial)
	}
	if len(pieces) == 0 {
		return r.newState.items(name, last)
	}
	have := map[string]int{}
	for _, p := range pieces {
		have[shortHash(canonical(p.text))]++
	}
	var best []item
	least := -1
	// Newest first and "less than", so that the newest of equal ones wins.
	for s := last; s > max(0, last-maxRenderings); s-- {
		items := r.newState.items(name, s)
		missing := 0
		for _, it := range items {
			if have[it.Block] == 0 {
				missing++
			}
		}
		if least < 0 || missing < least {
			best, least = items, missing
		}
	}
	return best
}

// readList finds out what was changed in a list.
func (r *pass) readList(l listFile) {
	f, k := r.files[l.name], r.newState.Files[l.name]
	if !f.exists() {
		if k.Hash != "" && r.blocked[l.name] == "" && r.confirmMissing(l.name) {
			r.addNote(l.name, "was deleted; it is written again")
		}
		return
	}
	if k.matches(f.hash) || r.skipped[l.name] != "" {
		return
	}
	if !utf8.Valid(f.data) {
		if !r.waitForWriter(l.name, f) {
			r.holdBack(l.name, "is not text in UTF-8")
		}
		return
	}
	d := r.compare(l, f)
	if why := d.why; why != "" {
		switch {
		case r.waitForWriter(l.name, f):
			return
		case !r.opts.Accept:
			r.holdBack(l.name, why)
			return
		}
	}
	if k.Hash == "" || d.remarks {
		r.copyBefore[l.name] = true
	}
	whole := true
	for _, p := range d.pairs {
		whole = r.updateItem(l, p) && whole
	}
	for _, p := range d.added {
		whole = r.addItem(l, p) && whole
	}
	for _, it := range d.removed {
		if whole { // else it may be what was refused, in other words
			r.removeItem(l.name, it)
		}
	}
	if r.skipped[l.name] == "" {
		k.Hash, k.Next = f.hash, ""
		r.newState.Files[l.name] = k
	}
}

// updateItem adopts other words, another heading or a tick. It reports whether that can be.
func (r *pass) updateItem(l listFile, p matchedBlock) bool {
	m := r.memoryByID[p.item.id]
	if p.block.done {
		r.removeItem(l.name, p.item)
		return true
	}
	category := ""
	if len(p.block.headings) > 0 {
		category, _, _ = l.classify(p.block)
	}
	if m == nil {
		if !p.same {
			// A change is somebody's work and a removal can be repeated, so the change wins.
			r.addNote(l.name, "a memory was changed here and removed elsewhere; it is kept as a new one")
			return r.addItem(l, p.block)
		}
		return true
	}
	ours := itemRendering(m)
	theirs := ours
	if !p.same {
		theirs.Title, theirs.Content = splitTitle(p.block, p.item.Title != "")
	}
	if category != "" && shortHash(category) != p.item.Category {
		theirs.Category = category
	}
	if bad := theirs.violation(); bad != "" {
		r.holdBack(l.name, "cannot be taken over: "+bad)
		return false
	}
	c, both := merge(m, theirs, ours, p.item.rendering)
	if c != nil {
		c.File = l.name
		r.changes = append(r.changes, *c)
	}
	if both {
		r.keepBoth(l.name, m, theirs)
	}
	return true
}

// addItem adds a memory for a block that is new. It reports whether that can be.
func (r *pass) addItem(l listFile, p block) bool {
	name := l.name
	category, tags, m := l.classify(p)
	s := renderedMemory{Category: cmp.Or(category, l.standard()), Content: canonical(p.text), Tags: tags}
	if p.done {
		r.addNote(name, "an item that is ticked off already was not taken over")
		r.copyBefore[name] = true
		return true
	}
	if bad := s.violation(); bad != "" {
		r.holdBack(name, "cannot be taken over: "+bad)
		return false
	}
	add := s.newMemory()
	// A date in the line is when the fact was learnt; one in the future is a typing error.
	if m != nil && !m.CreatedAt.After(r.cfg.Now()) {
		add.CreatedAt = m.CreatedAt
	}
	r.changes = append(r.changes, Change{Kind: Add, File: name, Memory: add})
	return true
}

// removeItem forgets a memory whose item is gone.
func (r *pass) removeItem(name string, it item) {
	m := r.memoryByID[it.id]
	switch {
	case m == nil:
	case m.Revision != it.Rev:
		r.addNote(name, "memory "+m.ID+" was removed here, but changed since; it stays")
	default:
		r.changes = append(r.changes, Change{Kind: Remove, File: name, ID: m.ID, Revision: m.Revision})
	}
}
