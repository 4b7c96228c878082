package search

import (
	"cmp"
	"slices"
	"strings"

	"github.com/memsidecar/memsidecar/internal/memory"
)

// literal reports whether the memory holds the query as it was typed.
func (r *ranking) literal(m *memory.Memory) bool {
	p := r.q.phrase
	if len(p) < 4 || len(p) > maxPhrase || !r.q.topic {
		return false
	}
	return containsPhrase(m.Content, p) || containsPhrase(m.Title, p)
}

const maxPhrase = 200 // bytes of a query that is looked for literally

func containsPhrase(text, p string) bool {
	if len(text) < len(p) || isASCII(text) && !holdsFolded(text, p) {
		return false
	}
	text = phrase(normalize(text))
	at := strings.Index(text, p)
	if at < 0 {
		return false
	}
	// A phrase that cuts a word in two is another phrase.
	end := at + len(p)
	return (at == 0 || !isASCIIWord(text[at-1]) || !isASCIIWord(p[0])) &&
		(end == len(text) || !isASCIIWord(text[end]) || !isASCIIWord(p[len(p)-1]))
}

// holdsFolded reports whether an ASCII text may hold the phrase up to its first space, in any case. It spares most texts
// being folded.
func holdsFolded(text, p string) bool {
	first, _, _ := strings.Cut(p, " ")
	for i := range len(text) - len(first) + 1 {
		if strings.EqualFold(text[i:i+len(first)], first) {
			return true
		}
	}
	return false
}

// finish takes the closer look at what was kept, and orders it.
func (r *ranking) finish() {
	if r.judges {
		r.direction()
	}
	answered := map[string]bool{}
	for _, space := range r.req.places() {
		if name := spaceName(space); !answered[name] {
			answered[name] = r.look(name)
		}
	}
	r.pool.kept = slices.DeleteFunc(r.pool.kept, func(f found) bool { return !answered[f.space] })
	r.fuse(answered)
	if r.req.Profile == Balanced {
		for name, ok := range answered {
			if ok {
				r.support(name)
			}
		}
	}
	r.pool.kept = slices.DeleteFunc(r.pool.kept, r.noise)
	r.exact = slices.ContainsFunc(r.pool.kept, func(f found) bool { return f.exact > 0 })
	if r.req.Profile == Balanced && len(r.pool.kept) > 0 {
		strongest := slices.MaxFunc(r.pool.kept, func(a, b found) int { return cmp.Compare(a.relevance+a.lift, b.relevance+b.lift) })
		best := strongest.relevance + strongest.lift
		r.pool.kept = slices.DeleteFunc(r.pool.kept, func(f found) bool { return f.relevance+f.lift+f.gain < best*tail && f.exact == 0 })
	}
	for i := range r.pool.kept {
		f := &r.pool.kept[i]
		if r.req.Profile != Overlap {
			f.score = r.score(f, true)
		}
	}
	if r.req.Profile == Recent {
		slices.SortFunc(r.pool.kept, func(a, b found) int {
			if c := b.memory.CreatedAt.Compare(a.memory.CreatedAt); c != 0 {
				return c
			}
			return before(&a, &b)
		})
		return
	}
	sortFound(r.pool.kept)
}

// cut turns the best into hits: as many as are wanted, none below the minimum score, none that repeats a better one.
func (r *ranking) cut(a *analyzer) []Hit {
	var hits []Hit
	work := r.work
	work.said = slices.Grow(work.said[:0], len(r.pool.kept)) // they must not move
	shown := work.shown[:0]
	defer func() { work.shown = shown }()
	memories := r.remembered()
	for i := range r.pool.kept {
		f := &r.pool.kept[i]
		if f.score < r.req.Filter.MinScore {
			continue
		}
		space, beside := spaceOf(f.space)
		work.said = work.said[:len(work.said)+1]
		s := &work.said[len(work.said)-1]
		s.of(f.memory)
		repeats := func(better *said) bool { return a.repeats(better, s) }
		if slices.ContainsFunc(shown, repeats) || beside && slices.ContainsFunc(memories, repeats) {
			continue
		}
		shown = append(shown, s)
		if hits == nil {
			hits = make([]Hit, 0, min(r.req.K, len(r.pool.kept)-i))
		}
		hits = append(hits, Hit{Space: space, Beside: beside, Memory: f.memory, Score: f.score, Parts: f.parts, Terms: r.terms(f)})
		if r.enough(hits) {
			break
		}
	}
	return hits
}

// enough reports whether no further hit is wanted.
func (r *ranking) enough(hits []Hit) bool {
	if r.req.Enough == nil {
		return len(hits) == r.req.K
	}
	return r.req.Enough(&hits[len(hits)-1])
}

// terms lists those of the query that something found holds, when that is wanted.
func (r *ranking) terms(f *found) (held []string) {
	if r.req.Terms == nil || !r.req.Terms(f.memory) {
		return nil
	}
	x := r.reader(f.space)
	x.mu.RLock()
	defer x.mu.RUnlock()
	doc, ok := x.docOf(f)
	for i := range r.q.terms {
		if n, known := x.terms[r.q.terms[i].term]; ok && known {
			if _, holds := find(x.lists[n], doc); holds {
				held = append(held, r.q.terms[i].term)
			}
		}
	}
	return held
}

// remembered lists the memories among what may be shown, for texts beside them that only repeat one.
func (r *ranking) remembered() (all []*said) {
	if len(r.req.Beside) == 0 {
		return nil
	}
	for _, f := range r.pool.kept {
		if f.score >= r.req.Filter.MinScore && !strings.HasPrefix(f.space, besideMark) {
			s := new(said)
			s.of(f.memory)
			all = append(all, s)
		}
	}
	return all
}

// reason says why there are no hits.
func (r *ranking) reason(matched int) string {
	switch {
	case matched == 0 && r.relevant == 0:
		return ReasonNoMatch
	case r.relevant == 0:
		return ReasonWeak
	case r.scored == 0:
		return ReasonFiltered
	case len(r.pool.kept) == 0:
		return ReasonWeak
	}
	return ReasonMinScore
}

// explain lists what each term adds to the keyword relevance. They sum up to it. The caller holds the lock.
func (x *index) explain(terms []queryTerm, doc uint32) []Part {
	var parts []Part
	a, b := x.lengthNorms()
	total := float32(0)
	for i := range terms {
		if t := &terms[i]; !t.optional || len(t.list) > 0 {
			total += t.weight
		}
	}
	for i := range terms {
		t := &terms[i]
		if at, ok := find(t.list, doc); ok {
			share := t.weight * saturation(t.list[at].frequency(), a+b*x.facts[doc].length) / total
			parts = append(parts, Part{"term:" + t.term, float64(share)})
		}
	}
	return parts
}
