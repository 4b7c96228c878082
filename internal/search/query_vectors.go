package search

import (
	"context"
	"log/slog"
	"slices"
	"sync"

	"github.com/memsidecar/memsidecar/internal/search/embedding"
	"github.com/memsidecar/memsidecar/internal/search/vector"
)

// queryEmbedder returns the function that embeds the query by every model; nil when vectors take no part.
func (e *Engine) queryEmbedder(ctx context.Context, req *Request) func() []embedding.Query {
	if len(e.models) == 0 || req.Arm == Keyword || !req.usesVectors() || req.Query == "" {
		return nil
	}
	return func() []embedding.Query {
		ctx, cancel := req.embedContext(ctx)
		defer cancel()
		return e.embedQuery(ctx, req.Query, req.Spaces, func(embedding.Model) bool { return true })
	}
}

// embedContext bounds the time for the vectors of the query.
func (r *Request) embedContext(ctx context.Context) (context.Context, context.CancelFunc) {
	if r.EmbedTimeout > 0 {
		return context.WithTimeout(ctx, r.EmbedTimeout)
	}
	return ctx, func() {}
}

// embedQuery embeds a text by the models that are admitted, know its language, and have vectors in the spaces. The
// queries are in the order of the models; those of the others, and those that are not made in time, are empty.
func (e *Engine) embedQuery(
	ctx context.Context, text string, spaces []string, admits func(embedding.Model) bool,
) []embedding.Query {
	return e.embedBy(ctx, text, func(i int) bool {
		hasVectors := func(space string) bool { return e.hasVectors(space, i) }
		return admits(e.models[i]) && slices.ContainsFunc(spaces, hasVectors)
	})
}

// embedBy embeds a text by the models that are wanted and know its language, as embedQuery does.
func (e *Engine) embedBy(ctx context.Context, text string, wanted func(model int) bool) []embedding.Query {
	queries := make([]embedding.Query, len(e.models))
	embed := func(i int) {
		q, err := e.models[i].EmbedQuery(ctx, text)
		if err != nil {
			e.log.Debug("query has no vector", slog.String("model", e.models[i].Name()), slog.Any("error", err))
			return
		}
		queries[i] = q
	}
	first := -1
	var others sync.WaitGroup
	for i, m := range e.models {
		switch {
		case !m.Supports(text) || !wanted(i):
		case first < 0:
			first = i
		default:
			others.Go(func() { embed(i) })
		}
	}
	if first >= 0 {
		embed(first) // here, where it need not wait for a processor: of the models inside it is the slower one
	}
	others.Wait()
	return queries
}

// QueryUse counts searches and recalls since the start by what the vector of their query cost.
type QueryUse struct {
	Cache   vector.CacheUse // of all models: a query in a cache costs nothing
	ByWords int64           // for which words were sure, so that no vector was needed
}

// QueryUse of all spaces.
func (e *Engine) QueryUse() QueryUse {
	use := QueryUse{ByWords: e.sureQueries.Load()}
	for _, m := range e.models {
		one := m.CacheUse()
		use.Cache.Lookups += one.Lookups
		use.Cache.Hits += one.Hits
	}
	return use
}

// usesVectors reports whether the profile of the request has a part by meaning.
func (r *Request) usesVectors() bool {
	return r.Profile == Balanced || r.Profile == Product || r.Profile == Weighted
}

// hasVectors reports whether any memory of a space has a vector by the nth model.
func (e *Engine) hasVectors(space string, model int) bool {
	x := e.spaceIndex(space)
	if x == nil {
		return false
	}
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.vectors[model].rows.Len() > 0
}

// embedAll embeds the query by every model, once. The caller holds no lock of an index: embedding takes milliseconds,
// and changes would have to wait.
func (r *ranking) embedAll() []embedding.Query {
	if r.queries == nil && r.embedQueries != nil {
		r.queries = r.embedQueries()
	}
	return r.queries
}

// embedded reports whether the query has a vector by any model.
func (r *ranking) embedded() bool {
	return slices.ContainsFunc(r.embedAll(), func(q embedding.Query) bool { return q.Vector.Dim() > 0 })
}

// embedQueryOnce returns the query vector of one model, preferably MiniLM; false when there is none.
func (r *ranking) embedQueryOnce() (vector.Quantized, bool) {
	if r.hasQueryVector {
		return r.queryVector, true
	}
	for i, q := range r.embedAll() {
		if q.Vector.Dim() > 0 {
			r.queryModel, r.queryVector, r.hasQueryVector = i, q.Vector, true
		}
	}
	return r.queryVector, r.hasQueryVector
}
