package view

import (
	"cmp"
	"slices"
	"strings"
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
		case r.opts.Discard:
			r.keep[l.name] = true
			k.Hash, k.Next = f.hash, ""
			r.st.Files[l.name] = k
			return
		case !r.opts.Accept:
			r.hold(l.name, why)
			return
		}
	}
	if k.Hash == "" || d.remarks {
		r.keep[l.name] = true
	}
	for _, p := range d.pairs {
		r.changePiece(l, p)
	}
	for _, p := range d.added {
		standard := memory.General
		if l.holds != nil && !l.holds(standard) {
			standard = memory.Procedural
		}
		r.addPiece(l.name, p, standard)
	}
	for _, it := range d.removed {
		r.removeItem(l.name, it)
	}
	if r.held[l.name] == "" {
		k.Hash, k.Next = f.hash, ""
		r.st.Files[l.name] = k
	}
}

// difference is how a list differs from what it was made from.
type difference struct {
	pairs   []pair
	added   []piece
	removed []item
	remarks bool
	why     string // it may be a mistake
}

// pair is a piece that stands for a memory.
type pair struct {
	piece piece
	item  item
	same  bool // the same words
}

func (r *round) compare(l listFile, f found) (d difference) {
	pieces, serial, remarks := cut(string(f.data))
	d.remarks = remarks
	base := r.baseOf(l.name, serial, pieces)
	all := len(base)
	free := map[string][]item{} // by their words
	for _, it := range base {
		free[it.Block] = append(free[it.Block], it)
	}
	var rest []piece
	for _, p := range pieces {
		h := mark(canon(p.text))
		if len(free[h]) == 0 {
			rest = append(rest, p)
			continue
		}
		at := 0
		if len(free[h]) > 1 { // the one that stands under this heading
			category, _, _ := understand(p)
			at = max(0, slices.IndexFunc(free[h], func(it item) bool { return it.Category == mark(category) }))
		}
		d.pairs = append(d.pairs, pair{p, free[h][at], true})
		free[h] = slices.Delete(slices.Clone(free[h]), at, at+1)
	}
	for _, items := range free {
		d.removed = append(d.removed, items...)
	}
	r.known(l.name, &d, &rest)
	slices.SortFunc(d.removed, func(a, b item) int { return cmp.Compare(a.id, b.id) })
	prefix := len(pieces) > 0 && r.isPrefix(d, rest, serial)
	d.match(r.by, rest)
	switch {
	case prefix && len(d.removed) > 0 || prefix && len(rest) > 0:
		d.why = "looks cut off: its end is missing"
	default:
		d.why = suspicious(len(d.removed), all, len(pieces) == 0)
	}
	return d
}

// known takes out the pieces that say what a memory says by now: the store was changed, or this was taken over before a crash.
func (r *round) known(file string, d *difference, rest *[]piece) {
	if len(*rest) == 0 {
		return
	}
	now := map[string]string{}
	for _, m := range r.snap.Memories {
		now[mark(canon(pieceOf(showItem(m))))] = m.ID
	}
	*rest = slices.DeleteFunc(*rest, func(p piece) bool {
		id := now[mark(canon(p.text))]
		if id == "" {
			return false
		}
		if i := slices.IndexFunc(d.removed, func(it item) bool { return it.id == id }); i >= 0 {
			d.pairs = append(d.pairs, pair{p, d.removed[i], true})
			d.removed = slices.Delete(d.removed, i, i+1)
		} else {
			category, _, _ := understand(p)
			r.stands[id] = place{file, category}
		}
		return true
	})
}

// isPrefix reports whether the file may be the beginning of what was written: the mark at its end is missing, and so is what stands last.
func (r *round) isPrefix(d difference, rest []piece, serial int64) bool {
	if serial != 0 || len(rest) > 1 || len(d.removed) == 0 {
		return false
	}
	last := func(id string) *memory.Memory { return r.by[id] }
	for _, p := range d.pairs {
		for _, it := range d.removed {
			if a, b := last(p.item.id), last(it.id); a != nil && b != nil && byPlace(a, b) > 0 {
				return false
			}
		}
	}
	if len(rest) == 0 {
		return true
	}
	return slices.ContainsFunc(d.removed, func(it item) bool {
		m := last(it.id)
		return m != nil && strings.HasPrefix(canon(pieceOf(showItem(m))), rest[0].text)
	})
}

// match finds the memories that the remaining pieces are other words for.
func (d *difference) match(by map[string]*memory.Memory, rest []piece) {
	const enough, work = 0.4, 250_000
	type score struct {
		piece, item int
		value       float64
	}
	var scores []score
	if len(rest)*len(d.removed) <= work {
		texts := make([]map[string]int, len(rest))
		for i, p := range rest {
			texts[i] = grams(p.text)
		}
		for j, it := range d.removed {
			m := by[it.id]
			if m == nil {
				continue
			}
			g := grams(pieceOf(showItem(m)))
			for i := range rest {
				if v := alike(texts[i], g); v >= enough {
					scores = append(scores, score{i, j, v})
				}
			}
		}
	}
	slices.SortStableFunc(scores, func(a, b score) int {
		return cmp.Or(cmp.Compare(b.value, a.value), cmp.Compare(a.piece, b.piece), cmp.Compare(a.item, b.item))
	})
	usedPiece, usedItem := map[int]bool{}, map[int]bool{}
	for _, s := range scores {
		if !usedPiece[s.piece] && !usedItem[s.item] {
			usedPiece[s.piece], usedItem[s.item] = true, true
			d.pairs = append(d.pairs, pair{piece: rest[s.piece], item: d.removed[s.item]})
		}
	}
	for i, p := range rest {
		if !usedPiece[i] {
			d.added = append(d.added, p)
		}
	}
	var removed []item
	for j, it := range d.removed {
		if !usedItem[j] {
			removed = append(removed, it)
		}
	}
	d.removed = removed
}

// grams counts the pairs of letters of a text, by which English and Chinese are compared alike.
func grams(s string) map[string]int {
	out := map[string]int{}
	var last rune
	for _, r := range strings.ToLower(oneLine(s)) {
		if r == ' ' {
			continue
		}
		if last != 0 {
			out[string(last)+string(r)]++
		}
		last = r
	}
	return out
}

// alike is how much two texts have in common, 0 to 1.
func alike(a, b map[string]int) float64 {
	common, total := 0, 0
	for g, n := range a {
		common += min(n, b[g])
		total += n
	}
	for _, n := range b {
		total += n
	}
	if total == 0 {
		return 0
	}
	return 2 * float64(common) / float64(total)
}

// changePiece takes over other words, another heading or a tick.
func (r *round) changePiece(l listFile, p pair) {
	m := r.by[p.item.id]
	if p.piece.done {
		r.removeItem(l.name, p.item)
		return
	}
	category := ""
	if len(p.piece.headings) > 0 {
		category, _, _ = understand(p.piece)
	}
	if m == nil {
		if !p.same {
			r.note(l.name, "a memory was changed here and removed elsewhere; it is kept as a new one")
			r.addPiece(l.name, p.piece, memory.General)
		}
		return
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
		return
	}
	c, both := merge(m, theirs, ours, p.item.face)
	if c != nil {
		c.File = l.name
		r.changes = append(r.changes, *c)
	}
	if both {
		r.both(l.name, m, theirs)
	}
}

// addPiece adds a memory for a piece that is new.
func (r *round) addPiece(name string, p piece, standard string) {
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
		return
	}
	if bad := s.check(); bad != "" {
		r.hold(name, "cannot be taken over: "+bad)
		return
	}
	add := s.memory()
	if m != nil {
		add.CreatedAt = m.CreatedAt
	}
	r.changes = append(r.changes, Change{Kind: Add, File: name, Memory: add})
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
