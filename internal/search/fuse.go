package search

import (
	"cmp"
	"context"
	"log/slog"
	"math"
	"slices"

	"github.com/memsidecar/memsidecar/internal/vector"
)

const (
	vectorShare = 0.3  // weight of meaning beside that of words
	nearest     = 20   // memories of a space that meaning alone proposes
	flat        = 1e-9 // a deviation below which candidates do not differ
)

// asks returns the direction of the query, false when there is none now. It asks only once there is something to compare with.
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
		d, err := e.embedder.Query(ctx, req.Query)
		if err != nil {
			e.log.Debug("searching by words alone", slog.Any("error", err))
		}
		return d, err == nil
	}
}

// fuse lets meaning take part in the order of what words have found, and propose memories beside it. It decides neither whether there is an
// answer nor from which space: only words are calibrated for that.
func (r *ranking) fuse(answered map[string]bool) {
	if r.asks == nil || !anyTrue(answered) {
		return
	}
	d, ok := r.asks()
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
	c := &closer{r: r, x: x, space: space, in: map[uint32]int{}}
	for i := range r.pool.heap {
		f := &r.pool.heap[i]
		if doc, ok := x.ids[f.memory.ID]; ok && f.space == space {
			c.in[doc] = i
			f.cosine, f.meant = x.cosine(doc, d)
		}
	}
	for _, n := range x.near(d, nearest, r.req) {
		f := c.found(n.doc)
		f.cosine, f.meant = n.cosine, true
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
		return cmp.Or(cmp.Compare(b.cosine, a.cosine), cmp.Compare(x.docs[a.doc].ID, x.docs[b.doc].ID))
	}
	var best []near // sorted
	x.meanings.rows.Cosines(d, func(doc int, cosine float64) {
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
	order := slices.Clone(r.pool.heap) // sums depend on the order in their last bits
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
		return
	}
	scale := words.deviation() / meaning.deviation()
	for i := range r.pool.heap {
		f := &r.pool.heap[i]
		if f.meant {
			away := float64((f.cosine - meaning.mean()) * scale) // rounded here on every machine
			target := min(max(words.mean()+away, 0), 1)
			f.lift = float64(vectorShare * (target - f.relevance))
		}
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
	if r.asks == nil {
		return 0
	}
	d, ok := r.asks()
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
			f := found{space: name, memory: x.docs[n.doc], score: max(0, n.cosine)}
			if r.req.Explain {
				f.parts = []Part{{"vector", n.cosine}}
			}
			r.pool.heap = append(r.pool.heap, f)
			matched++
		}
		x.mu.RUnlock()
	}
	sortFound(r.pool.heap)
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
