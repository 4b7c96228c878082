package view

import (
	"cmp"
	"slices"
	"strings"

	"github.com/memsidecar/memsidecar/internal/memory"
)

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

// alike is how much two texts have in common, 0 to 1. One that is nearly all in the other has half at least: something was added, or cut.
func alike(a, b map[string]int) float64 {
	common, inA, inB := 0, 0, 0
	for g, n := range a {
		common += min(n, b[g])
		inA += n
	}
	for _, n := range b {
		inB += n
	}
	if common == 0 {
		return 0
	}
	value := 2 * float64(common) / float64(inA+inB)
	const few = 8 // are in any longer text by chance
	if least := min(inA, inB); least >= few && 10*common >= 9*least {
		return max(value, 0.5)
	}
	return value
}
