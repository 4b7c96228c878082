// Package search finds memories by words and by meaning.
//
// Each space that is used has an inverted index in memory. Words are ranked by BM25 (Robertson and Zaragoza 2009, "The
// Probabilistic Relevance Framework: BM25 and Beyond") with term-at-a-time accumulation: every posting of a term is
// added to the score of its document before the next term is read, and a bounded heap selects the top k. Every
// document that can be relevant is scored. The best candidates are reranked with what only a second look shows:
// neighbours in a session, literal phrases, identifiers and embeddings. A request is answered with nothing when the
// evidence is too weak (abstention), and near-duplicates of a better hit are dropped.
//
// The index follows the journal as a store.Projection and can be saved to a file that start-up loads. Files are
// derived data and may be deleted at any time. Memory text is neither logged nor stored anywhere else.
package search

import (
	"context"
	"slices"

	"github.com/memsidecar/memsidecar/internal/search/embedding"
)

// Search answers a request. Errors: *memory.InvalidError, or that of ctx when it ended.
func (e *Engine) Search(ctx context.Context, req Request) (*Response, error) {
	if err := req.validate(e.now); err != nil {
		return nil, err
	}
	if err := e.waitReady(ctx); err != nil {
		return nil, err
	}
	in, err := e.use(ctx, req.Spaces)
	if err != nil {
		return nil, err
	}
	defer in.release()
	a := e.analyzers.get()
	defer e.putQueryAnalyzer(a)
	q := a.parseQuery(&req)
	if q.isEmpty(&req) {
		return &Response{Abstained: true, Reason: ReasonNoTerms}, nil
	}
	return e.rank(ctx, &req, a, sourceIndexes(&req, in), e.queryEmbedder(ctx, &req))
}

// putQueryAnalyzer gives an analyzer back that has parsed a query. An idle one keeps no posting list alive.
func (e *Engine) putQueryAnalyzer(a *analyzer) {
	clear(a.query.terms)
	e.analyzers.put(a)
}

// isEmpty reports whether a query has nothing to search for.
func (q *query) isEmpty(req *Request) bool {
	return req.Arm != Vector && req.Profile != Overlap && len(q.terms) == 0 && len(q.dates) == 0
}

// rank answers the request whose query was parsed last, from indexes. embed makes the vectors of the query; nil when
// vectors take no part. Error: that of ctx.
func (e *Engine) rank(ctx context.Context, req *Request, a *analyzer, indexOf func(source) *invertedIndex,
	embed func() []embedding.Query) (*Response, error) {
	s := e.scratches.get()
	r := newRanking(req, &a.query, e, s, indexOf)
	r.embedQueries = embed
	defer func() {
		s.pool, s.heap = r.pool.items, r.pool.heap
		s.release()
		e.scratches.put(s)
	}()
	collect, rank := r.collectCandidates, r.rankPool
	switch {
	case req.Arm == Vector && !r.embedded():
		return &Response{Abstained: true, Reason: ReasonVectors}, ctx.Err()
	case req.bySource():
		r.embedAll()
		collect, rank = r.collectBySource, r.rankBySource
	case r.useEvidence():
		collect, rank = r.collectByEvidence, r.rankByEvidence
	}
	resp := &Response{}
	sources := req.sources()
	for i, src := range sources {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if x := r.indexOf(src); x != nil && !slices.Contains(sources[:i], src) {
			resp.Candidates += collect(x, src, s)
		}
	}
	rank()
	resp.Hits, resp.VectorsUsed = r.selectHits(a), r.vectorsUsed
	if len(resp.Hits) == 0 {
		resp.Abstained, resp.Reason = true, r.reason(resp.Candidates)
	}
	return resp, nil
}
