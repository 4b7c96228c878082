package search

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
	"math/bits"
	"slices"
	"strings"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
)

// Tokens analyses a text as memories and queries are.
func Tokens(text string) []string {
	a := newAnalyzer(newLexicon())
	var out []string
	for _, t := range a.tokenize(normalize(text)) {
		out = append(out, t.term)
	}
	return out
}

// Dates resolves the dates of a query, as "from to" with the day after the last.
func Dates(query string, now time.Time) []string {
	var out []string
	for _, s := range dates(normalize(query), now) {
		out = append(out, s.from.Format(time.DateOnly)+" "+s.to.Format(time.DateOnly))
	}
	return out
}

// Decode decodes an index file whatever analyzer made it, and uses what it got.
func Decode(data []byte) error {
	stamp := uint32(0)
	if len(data) >= 12 {
		stamp = uint32(data[8]) | uint32(data[9])<<8 | uint32(data[10])<<16 | uint32(data[11])<<24
	}
	x, saved, err := decodeIndex(data, stamp)
	if err != nil {
		return err
	}
	x.adopt(saved, nil)
	return nil
}

// Encode returns the index of a space as Save would write it.
func (e *Engine) Encode(space string) []byte {
	e.drain()
	s := e.space(space)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.index.saved = s.index.changes + 1
	data, _ := s.index.encode(e.stamp)
	return data
}

// Postings lists every term with the ids, frequencies and fields of its memories, which two equal indexes have in common whatever
// the order of their changes was.
func (e *Engine) Postings(space string) map[string]map[string]uint8 {
	e.drain()
	x := e.reader(space)
	x.mu.RLock()
	defer x.mu.RUnlock()
	out := map[string]map[string]uint8{}
	for term, n := range x.terms {
		out[term] = map[string]uint8{}
		for _, p := range x.lists[n] {
			out[term][x.docs[p.doc()].ID] = uint8(p)
		}
	}
	return out
}

// Checksummed puts the right magic, version and checksum on data.
func Checksummed(data []byte) []byte {
	if len(data) < headerSize {
		return data
	}
	out := append([]byte(fileMagic), data[4:]...)
	binary.LittleEndian.PutUint32(out[4:], fileVersion)
	return binary.LittleEndian.AppendUint32(out, crc32.Checksum(out, castagnoli))
}

// Thicken makes terms of that many documents dense in a space that exists.
func (e *Engine) Thicken(space string, least int) {
	e.drain()
	s := e.space(space)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.index.mu.Lock()
	defer s.index.mu.Unlock()
	s.index.denseLeast = least
	s.index.tighten()
}

// Dense is the number of dense terms of a space.
func (e *Engine) Dense(space string) int { return len(e.space(space).index.dense) }

// Blocks is in how many blocks of documents a term of a space occurs.
func (e *Engine) Blocks(space, term string) (n int) {
	e.drain()
	x, last := e.reader(space), uint32(0)
	for i, p := range x.lists[x.terms[term]] {
		if b := p.doc() >> blockShift; i == 0 || b != last {
			n, last = n+1, b
		}
	}
	return n
}

// Documents is the number of documents of a space, used or not.
func (e *Engine) Documents(space string) int {
	e.drain()
	return len(e.reader(space).docs)
}

// CheckBounds compares the bounds that searches of a space at a time go by with what they bound.
func (e *Engine) CheckBounds(space string, at time.Time) error {
	e.drain()
	x := e.space(space).index
	_, slope := x.lengthNorms()
	for id, doc := range x.ids {
		f := &x.facts[doc]
		yield := f.yield(slope, e.fading.most(minutes(at)-int64(f.used))) * float64(min(1, slope/x.yields.slope))
		if x.yields.blocks[doc>>blockShift].atLeast(uint8(min(level(yield)+1, 255)))&(1<<(doc&blockMask)) == 0 {
			return fmt.Errorf("%s: its level is no bound of %v", id, yield)
		}
		h := x.crests[doc>>blockShift]
		if f.detail.salience > h.salience || f.access > h.access || f.pinned && !h.pinned || f.length < h.length ||
			f.detail.created > h.created || max(f.accessed, f.detail.created) > h.accessed {
			return fmt.Errorf("%s: the crest %+v is no bound of %+v", id, h, f)
		}
	}
	return nil
}

// Outdone reports whether m of that relevance needs no score when worst is the worst that is kept.
func Outdone(worst *memory.Memory, worstRelevance float64, m *memory.Memory, relevance float64, asOf time.Time) bool {
	b := best{limit: 1, kept: []found{{memory: worst, relevance: worstRelevance, detail: detailOf(worst)}}, heap: []int32{0}}
	d := detailOf(m)
	return b.outdone(relevance, &d, nanoseconds(asOf))
}

// OtherNumbers reports whether two texts are taken for different by their numbers alone, and how alike they are by all they say.
func OtherNumbers(one, other string) (different bool, alike float64) {
	a := newAnalyzer(newLexicon())
	var s [2]said
	for i, text := range []string{one, other} {
		s[i].of(&memory.Memory{Content: text})
		a.outline(&s[i].outline, text)
	}
	return s[0].otherNumbers(&s[1]), similarity(&s[0].outline, &s[1].outline, func(string) float64 { return 1 })
}

// RepeatAt is the similarity from which a hit repeats a better one.
const RepeatAt = repeatAt

// Searching holds a space as a search does, until end is called.
func (e *Engine) Searching(space string) (end func()) {
	x := e.reader(space)
	x.mu.RLock()
	return x.mu.RUnlock
}

// TakeAccesses takes up what is queued of accesses, as Run does.
func (e *Engine) TakeAccesses() bool { return e.takeAccesses() }

// Levels puts levels into a block and tells which documents have at least one of them.
func Levels(all [64]uint8) (atLeast func(level uint8) uint64) {
	var l levels
	for doc, level := range all {
		l.put(uint32(doc), 255-level) // what was there before must not matter
		l.put(uint32(doc), level)
	}
	return l.atLeast
}

// postings of a block.
func (d dense) postings(list []posting, block int) []posting {
	if block+1 < len(d) {
		return list[d[block].at:d[block+1].at]
	}
	return list[d[block].at:]
}

// CheckDense compares what is kept beside the lists of a space with the lists.
func (e *Engine) CheckDense(space string) error {
	e.drain()
	x := e.space(space).index
	for term, d := range x.dense {
		n := 0
		for b, cell := range *d {
			for _, p := range d.postings(x.lists[term], b) {
				n++
				switch {
				case int(p.doc()>>blockShift) != b || cell.docs&(1<<(p.doc()&blockMask)) == 0:
					return fmt.Errorf("term %d: document %d is not in block %d", term, p.doc(), b)
				case cell.ease > x.easeOf(p):
					return fmt.Errorf("term %d, block %d: %v is no bound of %v", term, b, cell.ease, x.easeOf(p))
				case uint8(p&maxFrequency) > cell.most:
					return fmt.Errorf("term %d, block %d: %v is no bound of a frequency of %v", term, b, cell.most, p&maxFrequency)
				}
			}
			if got := bits.OnesCount64(cell.docs); got != len(d.postings(x.lists[term], b)) {
				return fmt.Errorf("term %d, block %d: %d documents", term, b, got)
			}
		}
		if n != len(x.lists[term]) || n < x.denseLeast/thinShare {
			return fmt.Errorf("term %d: %d of %d postings", term, n, len(x.lists[term]))
		}
	}
	return nil
}

// SearchAll answers a request by looking at every memory. It is what Search must be equal to.
func (e *Engine) SearchAll(req Request) (*Response, error) {
	r, matched, err := e.rankAll(&req, 0)
	if err != nil {
		return nil, err
	}
	resp := &Response{Candidates: matched}
	if len(r.q.terms) == 0 && len(r.q.dates) == 0 {
		resp.Abstained, resp.Reason = true, ReasonNoTerms
		return resp, nil
	}
	r.finish()
	resp.Hits = r.cut(newAnalyzer(e.lex))
	if len(resp.Hits) == 0 {
		resp.Abstained, resp.Reason = true, r.reason(matched)
	}
	return resp, nil
}

// PoolAll is what is kept for the closer look, best first, when every memory is looked at and limit may be kept.
func (e *Engine) PoolAll(req Request, limit int) ([]Hit, error) {
	r, _, err := e.rankAll(&req, limit)
	if err != nil {
		return nil, err
	}
	return r.pool.hits(), nil
}

// Pool is the same as Search makes it.
func (e *Engine) Pool(req Request, limit int) ([]Hit, error) {
	if err := req.validate(e.now); err != nil {
		return nil, err
	}
	e.drain()
	r := newRanking(&req, newAnalyzer(e.lex).parse(&req), e)
	r.pool.limit = limit
	for i, name := range req.Spaces {
		if x := e.reader(name); x != nil && !slices.Contains(req.Spaces[:i], name) {
			r.collect(x, spaceName(name), new(scratch))
		}
	}
	sortFound(r.pool.kept)
	return r.pool.hits(), nil
}

func (b *best) hits() (hits []Hit) {
	for _, f := range b.kept {
		hits = append(hits, Hit{Space: f.space, Memory: f.memory, Score: f.score, Parts: f.parts})
	}
	return hits
}

func (e *Engine) rankAll(req *Request, limit int) (r *ranking, matched int, err error) {
	if err := req.validate(e.now); err != nil {
		return nil, 0, err
	}
	e.drain()
	r = newRanking(req, newAnalyzer(e.lex).parse(req), e)
	r.work, r.sieve.bare = new(scratch), false // what is admitted is asked of the memories
	if limit == 0 {
		limit = r.pool.limit
	}
	r.pool.limit = math.MaxInt
	for i, name := range req.Spaces {
		if x := e.reader(name); x != nil && !slices.Contains(req.Spaces[:i], name) {
			matched += r.collectAll(x, spaceName(name))
		}
	}
	sortFound(r.pool.kept)
	r.pool.kept = r.pool.kept[:min(limit, len(r.pool.kept))]
	return r, matched, nil
}

func (r *ranking) collectAll(x *index, space string) (matched int) {
	terms := r.q.terms
	total := x.weigh(terms)
	slices.SortFunc(terms, func(a, b queryTerm) int {
		return cmp.Or(cmp.Compare(b.weight, a.weight), strings.Compare(a.term, b.term))
	})
	least := floorFor(len(x.ids)).least(total)
	rest := make([]float32, len(terms)) // weight of this term and those after it
	sum := float32(0)
	for _, t := range terms {
		if len(t.list) > 0 {
			sum += t.weight
		}
	}
	for i, t := range terms {
		rest[i] = sum
		if len(t.list) > 0 {
			sum -= t.weight
		}
	}
	a, b := x.lengthNorms()
	for doc, m := range x.docs {
		if m == nil {
			continue
		}
		var score, weight, strong float32
		open := false
		for i, t := range terms {
			at, ok := find(t.list, uint32(doc))
			if !ok {
				continue
			}
			open = open || total > 0 && rest[i] >= least*slack
			p := t.list[at]
			score += float32(t.weight * (p.frequency() / (p.frequency() + (a + b*x.facts[doc].length))))
			weight += t.weight
			if !t.weak && t.kind != unigram {
				strong += t.weight
			}
		}
		c := candidate{doc: uint32(doc), relevance: float64(score / total), coverage: weight / total}
		byKeyword := open && strong > 0 && weight >= least
		byDate := !byKeyword && !r.q.topic && len(r.q.dates) > 0 && r.onDate(m)
		switch {
		case byDate:
			c = candidate{doc: uint32(doc), relevance: dateOnly, sure: true, dated: true}
		case !byKeyword && r.req.Profile == Overlap && (r.q.topic || len(r.q.dates) == 0) && r.inCategory(m) > 0:
			c = candidate{doc: uint32(doc), sure: true}
		case !byKeyword:
			if open {
				matched++
			}
			continue
		}
		if open {
			matched++
		}
		if byDate {
			matched++
		}
		r.relevant++
		r.judge(x, space, &c)
	}
	return matched
}

// IsIdentifier reports whether a word of a query picks out what holds it.
func IsIdentifier(s string) bool { return isIdentifier(s) }

// Normal is memory.Normalize as the comparison of texts makes it.
func Normal(text string) string { return string(appendNormal(nil, text)) }

// Negations counts the negations of a text.
func Negations(text string) int { return negations(text) }

// Normalized is a text as the analyzer reads it.
func Normalized(text string) string { return normalize(text) }
