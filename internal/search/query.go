package search

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"

	"github.com/memsidecar/memsidecar/internal/memory"
)

// query is a request's text, understood.
type query struct {
	terms  []queryTerm
	dates  []span
	phrase string // the query in lower case, for finding it word by word
	exact  []exactTerm
	topic  bool // it names something beside dates and words of general use
}

// maxTerms bounds the distinct terms of a query; a longer text is cut at its end.
const maxTerms = 400

// longMessage is from how many terms on a text tells of days rather than asking about one.
const longMessage = 40

// parse analyses a query. The result is valid until the next call.
func (a *analyzer) parse(req *Request) *query {
	text := normalize(req.Query)
	q := &a.query
	*q = query{dates: dates(text, req.AsOf), phrase: phrase(text), terms: q.terms[:0]}
	if a.asked == nil {
		a.asked = map[string]int{}
	}
	known := a.asked
	clear(known)
	add := func(t queryTerm) {
		if i, ok := known[t.term]; ok {
			q.terms[i].count += t.count
			q.terms[i].kind = min(q.terms[i].kind, t.kind)
			return
		}
		if len(q.terms) < maxTerms {
			known[t.term] = len(q.terms)
			q.terms = append(q.terms, t)
		}
	}
	tokens := a.tokenize(text)
	q.exact = exactTerms(text, tokens)
	named, name, nameEnd := namedIn(text), 0, 0
	for _, t := range tokens {
		if overlaps(q.dates, span{start: t.start, end: t.end}) {
			continue
		}
		term := queryTerm{term: t.term, kind: t.kind, weak: t.weak, count: 1}
		if named && isName(text, t.start) {
			if name == 0 || t.start > nameEnd+1 { // "Green Wheat Park" is one name
				name++
			}
			term.name, nameEnd = name, t.end
		}
		add(term)
		q.topic = q.topic || !t.weak && t.kind != unigram
	}
	if words := strings.Count(q.phrase, " ") + 1; !q.topic && len(q.dates) == 0 && words <= 2 && len(q.terms) >= words {
		// Nothing but one or two general words is a search for just these, not a question that happens to hold them.
		for i := range q.terms {
			q.terms[i].weak = false
		}
		q.topic = len(q.terms) > 0
	}
	if q.topic && len(q.terms) > longMessage {
		q.dates = nil
	}
	for _, d := range q.dates {
		if s := d.text(); s != "" {
			add(queryTerm{term: s, kind: whole, count: 1, optional: true})
		}
	}
	return q
}

// namedIn reports whether capitals mean something in a text: not when most words begin with one.
func namedIn(text string) bool {
	upper, words := 0, 0
	for w := range strings.FieldsSeq(text) {
		if r, _ := decode(w, 0); isLetter(r) {
			words++
			if isUpper(r) {
				upper++
			}
		}
	}
	return 2*upper <= words
}

// isName reports whether the word at i begins with a capital that no sentence asks for.
func isName(text string, i int) bool {
	if r, _ := decode(text, i); !isUpper(r) {
		return false
	}
	before := strings.TrimRight(text[:i], " \t\n\"'“‘([")
	return before != "" && !strings.ContainsRune(".?!:。？！：", rune(before[len(before)-1])) && before[len(before)-1] < 0x80
}

// phrase folds text for the search of a literal phrase: lower case, white space joined, no punctuation at the ends.
func phrase(text string) string {
	return strings.Trim(strings.Join(strings.Fields(strings.ToLower(text)), " "), " .,;:!?\"'`()[]。，；：！？「」“”‘’、")
}

// Search answers a request. Errors: *memory.InvalidError, or that of ctx when it ended.
func (e *Engine) Search(ctx context.Context, req Request) (*Response, error) {
	if err := req.validate(e.now); err != nil {
		return nil, err
	}
	if err := e.wait(ctx); err != nil {
		return nil, err
	}
	a := e.analyzers.get()
	defer func() {
		clear(a.query.terms) // an idle analyzer keeps no list alive
		e.analyzers.put(a)
	}()
	q := a.parse(&req)
	resp := &Response{}
	if req.Arm == Vector {
		return e.searchMeaning(ctx, a, &req, q), ctx.Err()
	}
	if len(q.terms) == 0 && len(q.dates) == 0 {
		resp.Abstained, resp.Reason = true, ReasonNoTerms
		return resp, nil
	}
	r := newRanking(&req, q, e)
	r.asks = e.asks(ctx, &req)
	s := e.scratches.get()
	r.work, r.pool.kept, r.pool.heap = s, s.kept[:0], s.heap
	defer func() {
		s.kept, s.heap = r.pool.kept, r.pool.heap
		s.release()
		e.scratches.put(s)
	}()
	places := req.places()
	for i, name := range places {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if x := r.reader(name); x != nil && !slices.Contains(places[:i], name) {
			resp.Candidates += r.collect(x, spaceName(name), s)
		}
	}
	r.finish()
	resp.Hits, resp.Meant = r.cut(a), r.meant
	if len(resp.Hits) == 0 {
		resp.Abstained, resp.Reason = true, r.reason(resp.Candidates)
	}
	return resp, nil
}

// found is a memory on its way to becoming a hit.
type found struct {
	space     string
	memory    *memory.Memory
	doc       uint32 // of the memory, when it was found
	detail    detail
	relevance float64
	whole     bool // holds all terms of the query
	dated     bool // found by its date alone
	sure      bool
	gain      float64 // from its neighbours
	meant     bool    // has a vector, and
	cosine    float64 // its cosine with the query
	lift      float64 // from its meaning
	exact     int     // identifiers of the query it holds
	score     float64
	parts     []Part
}

// before orders hits: by score, then newest first; the id makes the order total.
func before(a, b *found) int {
	if c := cmp.Compare(b.score, a.score); c != 0 {
		return c
	}
	if c := cmp.Compare(b.detail.created, a.detail.created); c != 0 {
		return c
	}
	return cmp.Or(strings.Compare(a.memory.ID, b.memory.ID), strings.Compare(a.space, b.space))
}

func sortFound(all []found) {
	slices.SortFunc(all, func(a, b found) int { return before(&a, &b) })
}

// best keeps the limit best of what is pushed. limit is above 0.
type best struct {
	limit int
	kept  []found // in any order
	heap  []int32 // their places, once there are limit of them: the worst on top
}

// worst is the worst of what is kept, nil as long as everything is.
func (b *best) worst() *found {
	if len(b.kept) < b.limit {
		return nil
	}
	return &b.kept[b.heap[0]]
}

// bar is the score something must reach to be kept.
func (b *best) bar() float64 {
	if w := b.worst(); w != nil {
		return w.score
	}
	return math.Inf(-1)
}

// excludes reports that nothing with that score and creation, in nanoseconds, is kept.
func (b *best) excludes(score float64, created int64) bool {
	w := b.worst()
	return w != nil && (score < w.score || score == w.score && created < w.detail.created)
}

// outdone reports that nothing of that relevance and those details is kept by a balanced score, without making the score: the worst that is kept
// is as good in all that makes it, and newer. So of many memories that are alike few are looked at.
func (b *best) outdone(relevance float64, d *detail, asOf int64) bool {
	worst := b.worst()
	if worst == nil {
		return false
	}
	w := &worst.detail
	return relevance <= worst.relevance && d.created < w.created && d.salience <= w.salience && d.access <= w.access &&
		(w.pinned || !d.pinned) && d.idleMinutes(asOf) >= w.idleMinutes(asOf)
}

func (b *best) push(f *found) {
	if w := b.worst(); w != nil {
		if before(f, w) < 0 {
			*w = *f
			b.sink(0)
		}
		return
	}
	b.kept = append(b.kept, *f)
	if len(b.kept) == b.limit {
		b.heap = b.heap[:0]
		for i := range b.kept {
			b.heap = append(b.heap, int32(i))
		}
		for i := len(b.heap)/2 - 1; i >= 0; i-- {
			b.sink(i)
		}
	}
}

// sink moves what is at a place of the heap down until nothing worse is below it.
func (b *best) sink(i int) {
	h := b.heap
	for {
		child := 2*i + 1
		if child >= len(h) {
			return
		}
		if child+1 < len(h) && before(&b.kept[h[child]], &b.kept[h[child+1]]) < 0 {
			child++
		}
		if before(&b.kept[h[i]], &b.kept[h[child]]) >= 0 {
			return
		}
		h[i], h[child] = h[child], h[i]
		i = child
	}
}
