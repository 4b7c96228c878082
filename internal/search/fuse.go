package search

import (
	"cmp"
	"context"
	"log/slog"
	"math"
	"slices"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/vector"
)

const (
	vectorShare = 0.45 // weight of meaning beside that of words
	nearest     = 20   // memories of a space that meaning alone proposes
	nearAlone   = 0.4  // cosine of a memory that nothing but meaning proposes, at least,
	nearAtAll   = 0.2  // and for a diffuse query, or when what was learnt beside it was found
	flat        = 1e-9 // a deviation below which candidates do not differ
)

// direction of the query, false when there is none now. It is asked for once, and only when there is something to compare with. The caller
// holds no lock of an index, for asking takes time, and changes would have to wait.
func (r *ranking) direction() (vector.Direction, bool) {
	if r.asks == nil {
		return vector.Direction{}, false
	}
	if !r.asked {
		r.asked = true
		r.towards, r.directed = r.asks()
	}
	return r.towards, r.directed
}

// asks returns what asks for the direction of the query; nil when meaning takes no part.
func (e *Engine) asks(ctx context.Context, req *Request) func() (vector.Direction, bool) {
	if e.embedder == nil || req.Arm == Keyword || req.Profile != Balanced || req.Query == "" {
		return nil
	}
	return func() (vector.Direction, bool) {
		any := slices.ContainsFunc(req.Spaces, func(name string) bool {
			x := e.reader(name)
			if x == nil {
				return false
			}
			x.mu.RLock()
			defer x.mu.RUnlock()
			return x.meanings.rows.Len() > 0
		})
		if !any {
			return vector.Direction{}, false
		}
		if req.Patience > 0 {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, req.Patience)
			defer cancel()
		}
		d, err := e.embedder.Query(ctx, req.Query)
		if err != nil {
			e.log.Debug("searching by words alone", slog.Any("error", err))
		}
		return d, err == nil
	}
}

// kin is a memory that meaning proposes.
type kin struct {
	memory *memory.Memory
	cosine float64
}

// kindred returns the memories of a space nearest to the query, best first, none unless its direction is known. The caller holds the lock.
func (r *ranking) kindred(x *index, space string) []kin {
	all, known := r.kin[space]
	if !known && r.directed && x.meanings != nil {
		for _, n := range x.near(r.towards, nearest, r.req) {
			all = append(all, kin{x.docs[n.doc], n.cosine})
		}
		if r.kin == nil {
			r.kin = map[string][]kin{}
		}
		r.kin[space] = all
	}
	return all
}

// fuse lets meaning take part in the order of what was found in the spaces that are answered from, and propose memories beside it.
func (r *ranking) fuse(answered map[string]bool) {
	if r.asks == nil || !anyTrue(answered) {
		return
	}
	d, ok := r.direction()
	if !ok {
		return
	}
	for _, space := range r.req.Spaces {
		if name := spaceName(space); answered[name] {
			r.mean(name, d)
		}
	}
	r.lift()
}

func anyTrue(m map[string]bool) bool {
	for _, v := range m {
		if v {
			return true
		}
	}
	return false
}

// mean notes the cosines of a space's candidates, and adds the nearest memories to them.
func (r *ranking) mean(space string, d vector.Direction) {
	x := r.reader(space)
	if x == nil {
		return
	}
	x.mu.RLock()
	defer x.mu.RUnlock()
	c := r.closer(x, space)
	for doc, i := range c.in {
		f := &r.pool.kept[i]
		f.cosine, f.meant = x.cosine(doc, d)
	}
	for _, k := range r.kindred(x, space) {
		if doc, ok := x.ids[k.memory.ID]; ok {
			f := c.found(doc)
			f.cosine, f.meant = k.cosine, true
		}
	}
	r.meant = r.meant || x.meanings.rows.Dim() == d.Dim()
}

func (x *index) cosine(doc uint32, d vector.Direction) (float64, bool) {
	own, ok := x.meanings.rows.Direction(int(doc))
	if !ok || own.Dim() != d.Dim() {
		return 0, false
	}
	return own.Cosine(d), true
}

type near struct {
	doc    uint32
	cosine float64
}

// near returns the n memories nearest to d that the request admits, nearest first; of equals, the one with the lesser id. The caller holds
// the lock.
func (x *index) near(d vector.Direction, n int, req *Request) []near {
	order := func(a, b near) int {
		if c := cmp.Compare(b.cosine, a.cosine); c != 0 {
			return c
		}
		return cmp.Compare(x.docs[a.doc].ID, x.docs[b.doc].ID)
	}
	var best []near // sorted
	x.meanings.rows.Cosines(d, func(doc int, cosine float64) {
		if len(best) == n && cosine < best[n-1].cosine { // most; their memories are not touched
			return
		}
		one := near{uint32(doc), cosine}
		if len(best) == n && order(one, best[n-1]) > 0 || !req.admits(x.docs[doc]) {
			return
		}
		at, _ := slices.BinarySearchFunc(best, one, order)
		best = slices.Insert(best, at, one)
		best = best[:min(n, len(best))]
	})
	return best
}

// lift puts the cosines of the candidates on the scale of their relevance, by mean and deviation, and moves each candidate by a share towards it:
// a weighted sum of z-scores, on a scale that still is from 0 to 1. What has no vector yet stays where it is.
func (r *ranking) lift() {
	order := slices.Clone(r.pool.kept) // sums depend on the order in their last bits
	slices.SortFunc(order, func(a, b found) int {
		return cmp.Or(cmp.Compare(a.space, b.space), cmp.Compare(a.memory.ID, b.memory.ID))
	})
	var words, meaning spread
	for i := range order {
		if order[i].meant {
			words.add(order[i].relevance)
			meaning.add(order[i].cosine)
		}
	}
	if words.deviation() < flat || meaning.deviation() < flat {
		r.unlike(order)
		return
	}
	scale := words.deviation() / meaning.deviation()
	for i := range r.pool.kept {
		f := &r.pool.kept[i]
		if f.meant {
			away := float64((f.cosine - meaning.mean()) * scale) // rounded here on every machine
			target := min(max(words.mean()+away, 0), 1)
			f.lift = float64(vectorShare * (target - f.relevance))
		}
	}
}

// relates reports whether a memory has something to do with the query by itself: by its words, or by that cosine where cosines tell.
func (r *ranking) relates(f *found, least float64) bool {
	return !r.judges || !f.meant || f.relevance > 0 || f.exact > 0 || f.cosine >= least
}

// noise reports whether a memory was proposed for too little: neither does it relate to the query nor does one that was learnt beside it.
func (r *ranking) noise(f found) bool {
	least := nearAlone
	if r.q.diffuse() {
		least = nearAtAll
	}
	return f.gain == 0 && !r.relates(&f, least)
}

// unlike puts what words do not tell apart in the order of meaning. Beside something that words found and that has no vector, to have one is no
// merit: then what words found keeps in the mean the place that they give it. The candidates are added up in the order given.
func (r *ranking) unlike(order []found) {
	var meaning spread
	beside := false
	for i := range order {
		switch f := &order[i]; {
		case f.relevance <= 0:
		case f.meant:
			meaning.add(max(0, f.cosine))
		default:
			beside = true
		}
	}
	if !beside {
		meaning = spread{}
	}
	for i := range r.pool.kept {
		f := &r.pool.kept[i]
		if !f.meant {
			continue
		}
		away := max(0, f.cosine)
		if f.relevance > 0 {
			away -= meaning.mean()
		}
		f.lift = float64(vectorShare * away)
	}
}

// spread is the mean and deviation of numbers.
type spread struct {
	n            int
	sum, squares float64
}

func (s *spread) add(v float64) {
	s.n++
	s.sum += v
	s.squares += float64(v * v)
}

func (s *spread) mean() float64 { return s.sum / float64(max(1, s.n)) }

func (s *spread) deviation() float64 {
	if s.n < 2 {
		return 0
	}
	m := s.mean()
	return math.Sqrt(max(0, s.squares/float64(s.n)-float64(m*m)))
}

// byMeaning is the search of the arm Vector: nearest first, whatever words there are. It does not abstain.
func (r *ranking) byMeaning() (matched int) {
	d, ok := r.direction()
	if !ok {
		return 0
	}
	for i, space := range r.req.Spaces {
		name := spaceName(space)
		x := r.reader(name)
		if x == nil || slices.Contains(r.req.Spaces[:i], space) {
			continue
		}
		x.mu.RLock()
		r.meant = r.meant || x.meanings.rows.Dim() == d.Dim()
		for _, n := range x.near(d, r.pool.limit, r.req) {
			f := found{space: name, memory: x.docs[n.doc], doc: n.doc, detail: x.facts[n.doc].detail, score: max(0, n.cosine)}
			if r.req.Explain {
				f.parts = []Part{{"vector", n.cosine}}
			}
			r.pool.kept = append(r.pool.kept, f)
			matched++
		}
		x.mu.RUnlock()
	}
	sortFound(r.pool.kept)
	return matched
}

// searchMeaning answers a request of the arm Vector.
func (e *Engine) searchMeaning(ctx context.Context, a *analyzer, req *Request, q *query) *Response {
	r := newRanking(req, q, e)
	r.asks, r.work = e.asks(ctx, req), new(scratch)
	resp := &Response{Candidates: r.byMeaning()}
	if resp.Hits, resp.Meant = r.cut(a), r.meant; len(resp.Hits) == 0 {
		resp.Abstained, resp.Reason = true, ReasonVectors
	}
	return resp
}
