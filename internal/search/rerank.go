package search

import (
	"cmp"
	"slices"
	"strings"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/search/analysis"
)

// The gains of the reranker. Each pays on both halves of the evaluation sets; see docs/ranking.md.
const (
	rerankTop         = 20   // best candidates whose neighbours are visited
	gainFromEarlier   = 0.35 // share of its relevance that a memory gives to the one learnt after it
	gainFromLater     = 0.2  // share of its relevance that a memory gives to the one learnt before it
	speakerShare      = 0.5  // of its relevance, for a memory that begins with "NAME:" when the query contains NAME
	subjectShare      = 0.3  // of its relevance, for a memory whose first word the query contains
	identifierFloor   = 0.85 // least relevance of a memory that holds an identifier of the query
	withoutIdentifier = 0.75 // factor for the others when there is one
	maxIdentifierDocs = 64   // documents of an identifier; one that more documents hold is an ordinary word
)

// reranker takes a second look at the candidates of one source.
type reranker struct {
	*ranking
	index       *invertedIndex
	source      source
	totalWeight float64        // of the query in this index
	poolByDoc   map[uint32]int // document → position in the pool
}

// newReranker maps the documents of a source to their candidates. The caller holds the lock.
func (r *ranking) newReranker(x *invertedIndex, src source) *reranker {
	rr := &reranker{ranking: r, index: x, source: src, poolByDoc: clearedMap(&r.scratch.poolByDoc)}
	for i := range r.pool.items {
		c := &r.pool.items[i]
		if c.source != src {
			continue
		}
		if doc, ok := x.docOf(c); ok {
			rr.poolByDoc[doc] = i
		}
	}
	return rr
}

// docOf is the document of a candidate, whose memory may have moved to another document since it was found.
func (x *invertedIndex) docOf(c *candidate) (uint32, bool) {
	if int(c.doc) < len(x.docs) && x.docs[c.doc] == c.memory {
		return c.doc, true
	}
	doc, ok := x.docIDs.Find(c.memory.ID, x.docs)
	return doc, ok
}

// rankPool reranks the pool: it drops sources without enough evidence, adds meaning and neighbours, and sorts.
func (r *ranking) rankPool() {
	answered := map[source]bool{}
	for _, src := range r.req.sources() {
		if _, ok := answered[src]; !ok {
			answered[src] = r.answerableFrom(src)
		}
	}
	r.pool.items = slices.DeleteFunc(r.pool.items, func(c candidate) bool { return !answered[c.source] })
	r.fuseVectors(answered)
	if r.req.Profile == Balanced {
		for src, ok := range answered {
			if ok {
				r.addNeighborGains(src)
			}
		}
	}
	r.identifierFound = slices.ContainsFunc(r.pool.items, func(c candidate) bool { return c.identifiers > 0 })
	if r.req.Profile == Balanced {
		r.dropTail()
	}
	for i := range r.pool.items {
		c := &r.pool.items[i]
		c.score = r.score(c, true)
	}
	if r.req.Profile == Recent {
		slices.SortFunc(r.pool.items, func(a, b candidate) int {
			if c := b.memory.CreatedAt.Compare(a.memory.CreatedAt); c != 0 {
				return c
			}
			return compareCandidates(&a, &b)
		})
		return
	}
	sortCandidates(r.pool.items)
}

// dropTail drops candidates far behind the best.
func (r *ranking) dropTail() {
	best := 0.0
	for i := range r.pool.items {
		c := &r.pool.items[i]
		if relevance := c.relevance + c.vectorGain; i == 0 || relevance > best {
			best = relevance
		}
	}
	r.pool.items = slices.DeleteFunc(r.pool.items, func(c candidate) bool {
		return c.relevance+c.vectorGain+c.neighborGain < best*tailShare && c.identifiers == 0
	})
}

// answerableFrom adds to the pool what an identifier of the query picks out, and reports whether a source has enough
// evidence to answer from.
func (r *ranking) answerableFrom(src source) (sufficient bool) {
	x := r.indexOf(src)
	if x == nil {
		return false
	}
	x.mu.RLock()
	defer x.mu.RUnlock()
	rr := r.newReranker(x, src)
	rr.totalWeight = float64(x.weighTerms(r.q.terms))
	for _, i := range rr.poolByDoc {
		sufficient = sufficient || r.pool.items[i].sufficient
	}
	if r.req.Profile == Balanced {
		sufficient = rr.addIdentifierMatches() || sufficient
	}
	return sufficient || rr.answerable()
}

// addIdentifierMatches counts, for each memory, the identifiers of the query that it holds or that are its id.
func (rr *reranker) addIdentifierMatches() (any bool) {
	match := func(doc uint32) {
		rr.candidateOf(doc).identifiers++
		_, admitted := rr.poolByDoc[doc]
		any = any || admitted
	}
	for _, identifier := range rr.q.identifiers {
		if doc, ok := rr.index.docIDs.Find(identifier.Text, rr.index.docs); ok {
			match(doc)
		}
		if id, ok := rr.index.terms.find(identifier.Term); ok && rr.index.holders(id) <= maxIdentifierDocs {
			for _, p := range rr.index.postings.of(id) {
				match(p.doc())
			}
		}
		folded := analysis.FoldPhrase(identifier.Text)
		for _, i := range rr.poolByDoc { // as the leading part of a longer identifier
			if c := &rr.pool.items[i]; c.identifiers == 0 && analysis.ContainsPhrase(c.memory.Content, folded) {
				c.identifiers++
				any = true
			}
		}
	}
	return any
}

// candidateOf is the candidate of a document, a new one when it has none. A document that the request does not admit
// gets one that is thrown away.
func (rr *reranker) candidateOf(doc uint32) *candidate {
	if i, ok := rr.poolByDoc[doc]; ok {
		return &rr.pool.items[i]
	}
	m := rr.index.docs[doc]
	if !rr.req.admits(m) {
		return &candidate{}
	}
	rr.poolByDoc[doc] = len(rr.pool.items)
	c := candidate{source: rr.source, memory: m, doc: doc, features: rr.index.features[doc]}
	if rr.req.Explain {
		c.parts = rr.index.explainTerms(rr.q.terms, doc)
	}
	rr.pool.items = append(rr.pool.items, c)
	return &rr.pool.items[rr.poolByDoc[doc]]
}

// addNeighborGains lets memories of a source that were learnt together support each other.
func (r *ranking) addNeighborGains(src source) {
	x := r.indexOf(src)
	x.mu.RLock()
	defer x.mu.RUnlock()
	r.newReranker(x, src).visitNeighbors()
}

// neighborGain is what a memory gains from those before and after it. Those that have only the day in common lift what
// is less relevant towards themselves: memories that agree with the query equally well stay equal, wherever they stand
// in their day, so that salience and age order them.
func (rr *reranker) neighborGain(doc uint32, links sessionLinks, byDay bool) float64 {
	earlier, later := rr.ownRelevance(links.previous), rr.ownRelevance(links.next)
	if !byDay {
		return gainFromEarlier*earlier + gainFromLater*later
	}
	own := rr.ownRelevance(doc)
	return gainFromEarlier*max(0, earlier-own) + gainFromLater*max(0, later-own)
}

// visitNeighbors lets a memory gain from those learnt right before and after it: an answer need not repeat the words of
// its question. A neighbour by session joins the pool; a neighbour by day must be in it, and gives less.
func (rr *reranker) visitNeighbors() {
	visited := clearedMap(&rr.scratch.visited)
	for _, i := range rr.bestPlaces(rerankTop, compareWithVectors) {
		doc, _ := rr.index.docOf(&rr.pool.items[i])
		key := sessionKeyOf(rr.index.docs[doc])
		byDay, links := key.session == "", rr.index.links[doc].inAny()
		for _, neighbor := range [...]uint32{links.previous, doc, links.next} {
			if neighbor == noDoc || visited[neighbor] || byDay && !rr.isRelevant(neighbor) {
				continue
			}
			visited[neighbor] = true
			if gain := rr.neighborGain(neighbor, rr.index.links[neighbor].inAny(), byDay); gain > 0 {
				rr.candidateOf(neighbor).neighborGain = gain
			}
		}
	}
}

// ownRelevance is the relevance of a document, neighbours aside; 0 for one not in the pool.
func (rr *reranker) ownRelevance(doc uint32) float64 {
	if i, ok := rr.poolByDoc[doc]; ok {
		return rr.pool.items[i].relevance + rr.pool.items[i].vectorGain
	}
	return 0
}

// isRelevant reports whether a document is in the pool.
func (rr *reranker) isRelevant(doc uint32) bool {
	_, ok := rr.poolByDoc[doc]
	return ok
}

// bestPlaces returns the positions of the n best candidates of the source in an order.
func (rr *reranker) bestPlaces(n int, compare func(a, b *candidate) int) []int {
	pool := rr.pool.items
	places := rr.scratch.places[:0]
	for _, i := range rr.poolByDoc {
		at, _ := slices.BinarySearchFunc(places, i, func(a, b int) int { return compare(&pool[a], &pool[b]) })
		if at < n {
			places = slices.Insert(places[:min(len(places), n-1)], at, i)
		}
	}
	rr.scratch.places = places
	return places
}

// compareWithVectors orders by words and meaning.
func compareWithVectors(a, b *candidate) int {
	if c := cmp.Compare(b.score+b.vectorGain, a.score+a.vectorGain); c != 0 {
		return c
	}
	return compareCandidates(a, b)
}

// subjectShare is the share that a memory gains when it is said by, or about, somebody whom the query names.
func (r *ranking) subjectShare(m *memory.Memory) float64 {
	head := m.Content[:min(len(m.Content), 40)]
	if speaker, _, ok := analysis.CutSpeaker(head); ok {
		if speaker = strings.ToLower(speaker); len(speaker) > 1 && analysis.ContainsPhrase(r.q.phrase, speaker) {
			return speakerShare
		}
		return 0
	}
	first, _, _ := strings.Cut(head, " ")
	if r.isQueryTerm(first) {
		return subjectShare
	}
	return 0
}

// isQueryTerm reports whether a word is an informative term of the query.
func (r *ranking) isQueryTerm(word string) bool {
	if !slices.ContainsFunc(r.q.terms, func(t queryTerm) bool { return mayStartAlike(t.term, word) }) {
		return false // the common case
	}
	word = strings.ToLower(word)
	stem := ""
	for i := range r.q.terms {
		t := &r.q.terms[i]
		if !t.informative() || t.kind > analysis.Subword || len(word) < 2 || !strings.HasPrefix(t.term, word[:2]) {
			continue
		}
		if stem == "" {
			stem = analysis.Stem(analysis.TrimClitic(word))
		}
		if t.term == stem {
			return true
		}
	}
	return false
}

// mayStartAlike reports whether the first byte of a word, in lower case, may be that of a term.
func mayStartAlike(term, word string) bool {
	return word != "" && (word[0] >= 0x80 || term[0] == word[0] || term[0] == word[0]|0x20)
}
