package search

import (
	"context"
	"slices"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/search/analysis"
	"github.com/memsidecar/memsidecar/internal/search/embedding"
	"github.com/memsidecar/memsidecar/internal/search/vector"
)

// Memories that no index of the engine has are ranked like the others: what keeps them proposes candidates
// and says how common the terms of the query are, and both become an index that lives for one request.

// proposeElsewhere is how many candidates each kind of evidence proposes: as many as the first stage looks at for the
// names of the query.
const proposeElsewhere = namesPool

// Question asks for candidates among memories that are kept elsewhere.
type Question struct {
	Terms  []string          // of the query, distinct, as Describe makes them
	IDs    []string          // texts of the query that may be the id of a memory
	Codes  map[string][]byte // of the vector of the query, by model; none without vectors
	Times  []Span            // that the query names: beside the best of all times, the best of each of these are wanted
	Filter memory.Filter     // what may be found, besides what has not expired at AsOf
	AsOf   time.Time
	Past   bool // leave out what was created after AsOf
	Limit  int  // candidates by words, by each model, and by each time

	terms []queryTerm
}

// Span is a time without its end.
type Span struct{ From, Before time.Time }

// Weights are those of the terms where holding says how many of some active memories hold each term. A term that none
// of them holds has none.
func (q *Question) Weights(active int, holding map[string]int) map[string]float64 {
	weights := map[string]float64{}
	for i := range q.terms {
		if t := &q.terms[i]; holding[t.term] > 0 {
			weights[t.term] = float64(t.weightAmong(active, holding[t.term]))
		}
	}
	return weights
}

// Extract is what one space that is kept elsewhere answers to a Question.
type Extract struct {
	Space    string
	Active   int            // its active memories
	Length   int64          // sum of their Description.Length
	Holding  map[string]int // active memories that hold a term of the question
	Memories []KeptMemory   // candidates, and those before and after each in its session
}

// KeptMemory is a memory that is kept elsewhere, with what models made of its text.
type KeptMemory struct {
	Memory *memory.Memory
	Codes  map[string][]byte // of its vectors, by model
	Tokens map[string][]byte // vectors of its tokens, by model
}

// SearchElsewhere answers a request from what propose returns, as Search does from the spaces of the engine. Only the
// profile Balanced can be asked for: the others look at every memory. Spaces and Collections of the request are not
// used. Errors: *memory.InvalidError, those of propose, that of ctx.
func (e *Engine) SearchElsewhere(ctx context.Context, req Request,
	propose func(context.Context, *Question) ([]Extract, error)) (*Response, error) {
	if err := req.validate(e.now); err != nil {
		return nil, err
	}
	a := e.analyzers.get()
	defer e.putQueryAnalyzer(a)
	q := a.parseQuery(&req)
	if q.isEmpty(&req) {
		return &Response{Abstained: true, Reason: ReasonNoTerms}, nil
	}
	queries := e.embedElsewhere(ctx, &req)
	extracts, err := propose(ctx, e.question(&req, q, queries))
	if err != nil {
		return nil, err
	}
	req.Spaces, req.Collections = nil, nil
	indexes := map[string]*invertedIndex{}
	for i := range extracts {
		name := extracts[i].Space
		req.Spaces, indexes[name] = append(req.Spaces, name), e.indexExtract(&extracts[i])
	}
	indexOf := func(src source) *invertedIndex { return indexes[src.space] }
	if len(queries) == 0 {
		return e.rank(ctx, &req, a, indexOf, nil)
	}
	return e.rank(ctx, &req, a, indexOf, func() []embedding.Query { return queriesWithRows(queries, indexes) })
}

// embedElsewhere embeds the query by the models whose cosines are evidence; none when vectors take no part.
func (e *Engine) embedElsewhere(ctx context.Context, req *Request) []embedding.Query {
	if len(e.models) == 0 || req.Arm == Keyword || req.Query == "" {
		return nil
	}
	ctx, cancel := req.embedContext(ctx)
	defer cancel()
	return e.embedBy(ctx, req.Query, func(i int) bool { return e.models[i].Calibrated() })
}

// question is what a request asks for.
func (e *Engine) question(req *Request, q *query, queries []embedding.Query) *Question {
	out := &Question{
		Codes: map[string][]byte{}, Filter: req.Filter, AsOf: req.AsOf, Past: req.historical, Limit: proposeElsewhere,
		terms: slices.Clone(q.terms),
	}
	if req.Arm != Vector {
		for i := range q.terms {
			out.Terms = append(out.Terms, q.terms[i].term)
		}
	}
	for _, identifier := range q.identifiers {
		out.IDs = append(out.IDs, identifier.Text)
		if !slices.Contains(out.Terms, identifier.Term) {
			out.Terms = append(out.Terms, identifier.Term)
		}
	}
	for i, vectors := range queries {
		if vectors.Vector.Dim() > 0 {
			out.Codes[e.models[i].Name()] = vectors.Vector.AppendCodes(nil)
		}
	}
	for _, d := range q.dates {
		out.Times = append(out.Times, Span{d.From, d.Before})
		if d.Kind == analysis.CalendarDate && d.IsDay() {
			out.Times = append(out.Times, Span{d.Before, d.Before.Add(toldLater)})
		}
	}
	return out
}

// indexExtract is an index of the candidates of a space, which knows how common the terms of the query are in it.
func (e *Engine) indexExtract(extract *Extract) *invertedIndex {
	a := e.analyzers.get()
	defer e.analyzers.put(a)
	x := newInvertedIndex(len(extract.Memories))
	x.vectors = newDocVectors(e.models)
	for i := range extract.Memories {
		kept := &extract.Memories[i]
		x.put(a, kept.Memory)
		for _, v := range x.vectors {
			x.setKept(v, kept)
		}
	}
	x.liveDocs, x.totalLength, x.elsewhereDF = extract.Active, float64(extract.Length), map[uint32]int{}
	for term, n := range extract.Holding {
		id, ok := x.terms.find(term)
		if !ok {
			id = x.addTerm(term)
		}
		x.elsewhereDF[id] = max(0, n-x.documentFrequency(id))
	}
	return x
}

// setKept gives a document the vectors that one model made of it.
func (x *invertedIndex) setKept(v *docVectors, kept *KeptMemory) {
	doc, _ := x.docIDs.Find(kept.Memory.ID, x.docs)
	q, ok := vector.FromCodes(kept.Codes[v.model.Name()])
	if !ok || v.rejected.has(doc) {
		return
	}
	x.setRow(v, doc, q)
	if tokens := kept.Tokens[v.model.Name()]; len(tokens) > 0 && len(tokens)%vector.TokenBytes(q.Dim()) == 0 {
		if v.tokens == nil {
			v.tokens = map[vector.Key]vector.TokenSet{}
		}
		v.tokens[keyOf(kept.Memory)] = tokens
	}
}

// queriesWithRows are the vectors of a query by the models of which some memory has one, as in a search here.
func queriesWithRows(queries []embedding.Query, indexes map[string]*invertedIndex) []embedding.Query {
	out := make([]embedding.Query, len(queries))
	for i, q := range queries {
		for _, x := range indexes {
			if x.vectors[i].rows.Len() > 0 {
				out[i] = q
			}
		}
	}
	return out
}
