package view

import (
	"cmp"
	"slices"
	"unicode/utf8"

	"github.com/memsidecar/memsidecar/internal/memory"
)

// item is a memory as a version of a list showed it.
type item struct {
	id string
	face
}

// items lists what a version of a file showed.
func (s *state) items(file string, serial int64) (out []item) {
	for id, faces := range s.Faces {
		for _, f := range faces {
			if f.File == file && f.at(serial) {
				out = append(out, item{id, f})
			}
		}
	}
	slices.SortFunc(out, func(a, b item) int { return cmp.Compare(a.id, b.id) })
	return out
}

// baseOf lists what the version showed that pieces were made from. Without a mark that is the one from which they differ least; of those the newest.
func (r *round) baseOf(name string, serial int64, pieces []piece) []item {
	last := r.st.Files[name].Serial
	if serial > 0 && serial <= last {
		return r.st.items(name, serial)
	}
	if len(pieces) == 0 {
		return r.st.items(name, last)
	}
	have := map[string]int{}
	for _, p := range pieces {
		have[mark(canon(p.text))]++
	}
	var best []item
	least := -1
	for s := last; s > max(0, last-faceLimit); s-- {
		items := r.st.items(name, s)
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
func (r *round) readList(l listFile) {
	f, k := r.files[l.name], r.st.Files[l.name]
	if !f.exists() {
		if k.Hash != "" && r.blocked[l.name] == "" && r.away(l.name) {
			r.note(l.name, "was deleted; it is written again")
		}
		return
	}
	if k.is(f.hash) || r.held[l.name] != "" {
		return
	}
	if !utf8.Valid(f.data) {
		if !r.young(l.name, f) {
			r.hold(l.name, "is not text in UTF-8")
		}
		return
	}
	d := r.compare(l, f)
	if why := d.why; why != "" {
		switch {
		case r.young(l.name, f):
			return
		case !r.opts.Accept:
			r.hold(l.name, why)
			return
		}
	}
	if k.Hash == "" || d.remarks {
		r.keep[l.name] = true
	}
	whole := true
	for _, p := range d.pairs {
		whole = r.changePiece(l, p) && whole
	}
	for _, p := range d.added {
		standard := memory.General
		if l.holds != nil && !l.holds(standard) {
			standard = memory.Procedural
		}
		whole = r.addPiece(l.name, p, standard) && whole
	}
	for _, it := range d.removed {
		if whole { // else it may be what was refused, in other words
			r.removeItem(l.name, it)
		}
	}
	if r.held[l.name] == "" {
		k.Hash, k.Next = f.hash, ""
		r.st.Files[l.name] = k
	}
}

// changePiece takes over other words, another heading or a tick. It reports whether that can be.
func (r *round) changePiece(l listFile, p pair) bool {
	m := r.by[p.item.id]
	if p.piece.done {
		r.removeItem(l.name, p.item)
		return true
	}
	category := ""
	if len(p.piece.headings) > 0 {
		category, _, _ = understand(p.piece)
	}
	if m == nil {
		if !p.same {
			r.note(l.name, "a memory was changed here and removed elsewhere; it is kept as a new one")
			return r.addPiece(l.name, p.piece, memory.General)
		}
		return true
	}
	ours := showItem(m)
	theirs := ours
	if !p.same {
		theirs.Title, theirs.Content = parsePiece(p.piece, p.item.Title != "")
	}
	if category != "" && mark(category) != p.item.Category {
		theirs.Category = category
	}
	if bad := theirs.check(); bad != "" {
		r.hold(l.name, "cannot be taken over: "+bad)
		return false
	}
	c, both := merge(m, theirs, ours, p.item.face)
	if c != nil {
		c.File = l.name
		r.changes = append(r.changes, *c)
	}
	if both {
		r.both(l.name, m, theirs)
	}
	return true
}

// addPiece adds a memory for a piece that is new. It reports whether that can be.
func (r *round) addPiece(name string, p piece, standard string) bool {
	category, tags, m := understand(p)
	s := shown{Category: category, Content: canon(p.text), Tags: tags}
	if m != nil && s.Category == "" && m.Category != memory.General {
		s.Category = m.Category
	}
	if s.Category == "" {
		s.Category = standard
	}
	if p.done {
		r.note(name, "an item that is ticked off already was not taken over")
		r.keep[name] = true
		return true
	}
	if bad := s.check(); bad != "" {
		r.hold(name, "cannot be taken over: "+bad)
		return false
	}
	add := s.memory()
	if m != nil && !m.CreatedAt.After(r.cfg.Now()) {
		add.CreatedAt = m.CreatedAt
	}
	r.changes = append(r.changes, Change{Kind: Add, File: name, Memory: add})
	return true
}

// removeItem forgets a memory whose item is gone.
func (r *round) removeItem(name string, it item) {
	m := r.by[it.id]
	switch {
	case m == nil:
	case m.Revision != it.Rev:
		r.note(name, "memory "+m.ID+" was removed here, but changed since; it stays")
	default:
		r.changes = append(r.changes, Change{Kind: Remove, File: name, ID: m.ID, Revision: m.Revision})
	}
}
