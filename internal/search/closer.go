package search

import (
	"cmp"
	"slices"
	"strings"

	"github.com/memsidecar/memsidecar/internal/memory"
)

// What the closer look adds. Each pays on both halves of the evaluation sets; see docs/ranking.md.
const (
	lookAt       = 20   // of the pool, the best, whose neighbours are looked at
	fromEarlier  = 0.35 // share of its relevance that a memory gives to the one learnt after it
	fromLater    = 0.2  // and to the one before it
	sameDay      = 0.5  // factor for both when the memories name no session
	speakerShare = 0.5  // of its relevance, for a memory that begins with "NAME:" and the query names NAME
	subjectShare = 0.3  // the same for one whose first word the query holds
	exactFloor   = 0.85 // relevance of a memory that holds an identifier of the query, at least
	exactRest    = 0.75 // factor for all others when there is one
	maxExact     = 64   // memories that an identifier picks out; one that more hold is an ordinary word
)

// closer looks at the pool of one space.
type closer struct {
	r     *ranking
	x     *index
	space string
	total float64
	in    map[uint32]int // document → place in the pool
}

// look takes the closer look at a space: what an identifier picks out joins the pool. It reports whether the space has enough
// to answer with.
func (r *ranking) look(space string) (sure bool) {
	x := r.reader(space)
	if x == nil {
		return false
	}
	x.mu.RLock()
	defer x.mu.RUnlock()
	c := r.closer(x, space)
	c.total = float64(x.weigh(r.q.terms))
	for _, i := range c.in {
		sure = sure || r.pool.kept[i].sure
	}
	if r.req.Profile == Balanced {
		sure = c.exact() || sure
	}
	return sure || c.evident()
}

// closer knows the places in the pool of a space's memories. The caller holds the lock.
func (r *ranking) closer(x *index, space string) *closer {
	c := &closer{r: r, x: x, space: space, in: emptied(&r.work.in)}
	for i := range r.pool.kept {
		f := &r.pool.kept[i]
		if f.space != space {
			continue
		}
		if doc, ok := x.docOf(f); ok {
			c.in[doc] = i
		}
	}
	return c
}

// docOf is the document of something found, which may have moved since.
func (x *index) docOf(f *found) (uint32, bool) {
	if int(f.doc) < len(x.docs) && x.docs[f.doc] == f.memory {
		return f.doc, true
	}
	doc, ok := x.ids[f.memory.ID]
	return doc, ok
}

// support lets what was learnt together in a space support each other.
func (r *ranking) support(space string) {
	x := r.reader(space)
	x.mu.RLock()
	defer x.mu.RUnlock()
	r.closer(x, space).neighbours()
}

// emptied is a map to be used again.
func emptied[V any](m *map[uint32]V) map[uint32]V {
	if *m == nil {
		*m = map[uint32]V{}
	}
	clear(*m)
	return *m
}

// relevance of the memory at a place of a course by what it says itself, 0 for what is not in the pool.
func (c *closer) relevance(list []uint32, at int) float64 {
	if at >= 0 && at < len(list) {
		if i, ok := c.in[list[at]]; ok {
			return c.r.pool.kept[i].relevance + c.r.pool.kept[i].lift
		}
	}
	return 0
}

// neighbours lets a memory gain from those learnt right before and after it: an answer need not repeat the words of its
// question. What gains joins the pool when a session connects them; what only the day connects must be in it, and gains less.
func (c *closer) neighbours() {
	done := emptied(&c.r.work.done)
	for _, i := range c.first(lookAt, strongest) {
		doc, _ := c.x.docOf(&c.r.pool.kept[i])
		together := courseOf(c.x.docs[doc])
		list := c.x.courses[together]
		at, _ := c.x.place(list, doc)
		for at := max(0, at-1); at < len(list); at++ {
			d := list[at]
			if !done[d] && (together.session != "" || c.relates(d)) {
				done[d] = true
				gain := fromEarlier*c.relevance(list, at-1) + fromLater*c.relevance(list, at+1)
				if together.session == "" {
					gain *= sameDay
				}
				if gain > 0 {
					c.found(d).gain = gain
				}
			}
			if at > 0 && list[at-1] == doc {
				break
			}
		}
	}
}

// relates reports whether a memory has something to do with the query by itself.
func (c *closer) relates(doc uint32) bool {
	i, ok := c.in[doc]
	return ok && c.r.relates(&c.r.pool.kept[i], nearAtAll)
}

// first returns the places of the n first members of the pool that are of this space.
func (c *closer) first(n int, order func(a, b *found) int) []int {
	pool := c.r.pool.kept
	places := c.r.work.places[:0]
	for _, i := range c.in {
		at, _ := slices.BinarySearchFunc(places, i, func(a, b int) int { return order(&pool[a], &pool[b]) })
		if at < n {
			places = slices.Insert(places[:min(len(places), n-1)], at, i)
		}
	}
	c.r.work.places = places
	return places
}

// found is the entry of a document in the pool, a new one when it has none. A document that is not admitted gets one that
// is thrown away.
func (c *closer) found(doc uint32) *found {
	if i, ok := c.in[doc]; ok {
		return &c.r.pool.kept[i]
	}
	m := c.x.docs[doc]
	if !c.r.req.admits(m) {
		return &found{}
	}
	c.in[doc] = len(c.r.pool.kept)
	f := found{space: c.space, memory: m, doc: doc, detail: c.x.facts[doc].detail}
	if c.r.req.Explain {
		f.parts = c.x.explain(c.r.q.terms, doc)
	}
	c.r.pool.kept = append(c.r.pool.kept, f)
	return &c.r.pool.kept[c.in[doc]]
}

// exact marks what holds an identifier of the query, or is named by its id.
func (c *closer) exact() (any bool) {
	if len(c.r.q.exact) == 0 {
		return false
	}
	for _, e := range c.r.q.exact {
		if doc, ok := c.x.ids[e.text]; ok {
			c.found(doc).exact++
			any = any || c.has(doc)
		}
		n, ok := c.x.terms[e.term]
		if !ok || len(c.x.lists[n]) > maxExact {
			continue
		}
		for _, p := range c.x.lists[n] {
			c.found(p.doc()).exact++
			any = any || c.has(p.doc())
		}
	}
	return any
}

func (c *closer) has(doc uint32) bool {
	_, ok := c.in[doc]
	return ok
}

// subject is the share a memory gains that is said by, or about, whom the query names.
func (r *ranking) subject(m *memory.Memory) float64 {
	head := m.Content[:min(len(m.Content), 40)]
	if speaker, _, ok := cutSpeaker(head); ok {
		if speaker = strings.ToLower(speaker); len(speaker) > 1 && containsPhrase(r.q.phrase, speaker) {
			return speakerShare
		}
		return 0
	}
	first, _, _ := strings.Cut(head, " ")
	if r.startsTerm(first) {
		return subjectShare
	}
	return 0
}

// cutSpeaker cuts "NAME: text", in ASCII or full width.
func cutSpeaker(s string) (speaker, text string, ok bool) {
	for _, colon := range []string{":", "："} {
		if speaker, text, ok = strings.Cut(s, colon); ok && !strings.ContainsAny(speaker, " .,/") {
			return speaker, text, true
		}
	}
	return "", s, false
}

// startsTerm reports whether a word is an informative term of the query.
func (r *ranking) startsTerm(w string) bool {
	if !slices.ContainsFunc(r.q.terms, func(t queryTerm) bool { return beginsAlike(t.term, w) }) {
		return false // as mostly
	}
	w = strings.ToLower(w)
	stemmed := ""
	for i := range r.q.terms {
		t := &r.q.terms[i]
		if !t.informative() || t.kind > part || len(w) < 2 || !strings.HasPrefix(t.term, w[:2]) {
			continue
		}
		if stemmed == "" {
			stemmed = stem(trimClitic(w))
		}
		if t.term == stemmed {
			return true
		}
	}
	return false
}

// beginsAlike reports whether the first byte of a word, in lower case, may be that of a term.
func beginsAlike(term, w string) bool {
	return w != "" && (w[0] >= 0x80 || term[0] == w[0] || term[0] == w[0]|0x20)
}

// strongest puts first what is relevant by words and meaning.
func strongest(a, b *found) int {
	if c := cmp.Compare(b.score+b.lift, a.score+a.lift); c != 0 {
		return c
	}
	return before(a, b)
}
