package view

import (
	"cmp"
	"slices"
	"strings"

	"github.com/memsidecar/memsidecar/internal/memory"
)

// listDiff is how a list differs from what it was made from.
type listDiff struct {
	pairs   []matchedBlock
	added   []block
	removed []item
	remarks bool
	why     string // it may be a mistake
}

// matchedBlock is a block that stands for a memory.
type matchedBlock struct {
	block block
	item  item
	same  bool // the same words
}

// compare finds the memory that each block of a list stands for: first by equal text, then by the present state of
// the store, then by similar words. What is left was added or removed.
func (r *pass) compare(l listFile, f fileState) (d listDiff) {
	pieces, serial, remarks := parseBlocks(string(f.data))
	d.remarks = remarks
	base := r.baseOf(l.name, serial, pieces)
	all := len(base)
	free := map[string][]item{} // by their words
	for _, it := range base {
		free[it.Block] = append(free[it.Block], it)
	}
	var rest []block
	for _, p := range pieces {
		h := shortHash(canonical(p.text))
		if len(free[h]) == 0 {
			rest = append(rest, p)
			continue
		}
		at := 0
		if len(free[h]) > 1 { // the one that stands under this heading
			category, _, _ := classify(p)
			at = max(0, slices.IndexFunc(free[h], func(it item) bool { return it.Category == shortHash(category) }))
		}
		d.pairs = append(d.pairs, matchedBlock{p, free[h][at], true})
		free[h] = slices.Delete(slices.Clone(free[h]), at, at+1)
	}
	for _, items := range free {
		d.removed = append(d.removed, items...)
	}
	r.matchCurrent(l.name, &d, &rest)
	slices.SortFunc(d.removed, func(a, b item) int { return cmp.Compare(a.id, b.id) })
	prefix := len(pieces) > 0 && r.looksTruncated(d, rest, serial)
	d.matchByWords(r.memoryByID, rest)
	switch {
	case prefix && len(d.removed) > 0 || prefix && len(rest) > 0:
		d.why = "looks cut off: its end is missing"
	default:
		d.why = suspiciousRemoval(len(d.removed), all, len(pieces) == 0)
	}
	return d
}

// matchCurrent takes out the blocks that say what a memory says by now: the store was changed, or this was adopted
// before a crash.
func (r *pass) matchCurrent(file string, d *listDiff, rest *[]block) {
	if len(*rest) == 0 {
		return
	}
	now := map[string]string{}
	for _, m := range r.snapshot.Memories {
		now[shortHash(canonical(blockText(itemRendering(m))))] = m.ID
	}
	*rest = slices.DeleteFunc(*rest, func(p block) bool {
		id := now[shortHash(canonical(p.text))]
		if id == "" {
			return false
		}
		// The memory's former line has gone and its present text stands here: that is one changed line, not two
		// edits.
		if i := slices.IndexFunc(d.removed, func(it item) bool { return it.id == id }); i >= 0 {
			d.pairs = append(d.pairs, matchedBlock{p, d.removed[i], true})
			d.removed = slices.Delete(d.removed, i, i+1)
		} else {
			category, _, _ := classify(p)
			r.alreadyListed[id] = listPosition{file, category}
		}
		return true
	})
}

// looksTruncated reports whether the file may be the beginning of what was written: the mark at its end is missing, and
// so is what stands last.
func (r *pass) looksTruncated(d listDiff, rest []block, serial int64) bool {
	if serial != 0 || len(rest) > 1 || len(d.removed) == 0 {
		return false
	}
	last := func(id string) *memory.Memory { return r.memoryByID[id] }
	for _, p := range d.pairs {
		for _, it := range d.removed {
			if a, b := last(p.item.id), last(it.id); a != nil && b != nil && comparePosition(a, b) > 0 {
				return false
			}
		}
	}
	if len(rest) == 0 {
		return true
	}
	return slices.ContainsFunc(d.removed, func(it item) bool {
		m := last(it.id)
		return m != nil && strings.HasPrefix(canonical(blockText(itemRendering(m))), rest[0].text)
	})
}

// matchByWords finds the memories that the remaining blocks are other words for.
func (d *listDiff) matchByWords(by map[string]*memory.Memory, rest []block) {
	const enough, work = 0.4, 250_000
	type score struct {
		piece, item int
		value       float64
	}
	var scores []score
	// Every pair is compared; beyond this bound (some 500 by 500) changed lines count as removed and added.
	if len(rest)*len(d.removed) <= work {
		texts := make([]map[string]int, len(rest))
		for i, p := range rest {
			texts[i] = bigrams(p.text)
		}
		for j, it := range d.removed {
			m := by[it.id]
			if m == nil {
				continue
			}
			g := bigrams(blockText(itemRendering(m)))
			for i := range rest {
				if v := similarity(texts[i], g); v >= enough {
					scores = append(scores, score{i, j, v})
				}
			}
		}
	}
	slices.SortStableFunc(scores, func(a, b score) int {
		return cmp.Or(cmp.Compare(b.value, a.value), cmp.Compare(a.piece, b.piece), cmp.Compare(a.item, b.item))
	})
	// The best pairs first, each block and each memory once.
	usedPiece, usedItem := map[int]bool{}, map[int]bool{}
	for _, s := range scores {
		if !usedPiece[s.piece] && !usedItem[s.item] {
			usedPiece[s.piece], usedItem[s.item] = true, true
			d.pairs = append(d.pairs, matchedBlock{block: rest[s.piece], item: d.removed[s.item]})
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

// bigrams counts the pairs of letters of a text, by which English and Chinese are compared alike.
func bigrams(s string) map[string]int {
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

// similarity is how much two texts have in common, 0 to 1. One that is nearly all in the other has half at least:
// something was added, or cut.
func similarity(a, b map[string]int) float64 {
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
