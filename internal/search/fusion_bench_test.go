package search_test

import (
	"context"
	"hash/fnv"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/memsidecar/memsidecar/internal/search"
	"github.com/memsidecar/memsidecar/internal/search/embedding"
	"github.com/memsidecar/memsidecar/internal/search/vector"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

// anywhere points each text to a direction of 384 dimensions of its own, at once.
type anywhere struct{}

func (anywhere) Identity() string { return "anywhere" }

func (anywhere) Calibrated() bool { return true }

func (anywhere) Name() string { return "anywhere" }

func (anywhere) Supports(string) bool { return true }

func (anywhere) ClearCache() {}

func (anywhere) CacheUse() vector.CacheUse { return vector.CacheUse{} }

func (anywhere) EmbedQuery(_ context.Context, text string) (embedding.Query, error) {
	sum := fnv.New64a()
	sum.Write([]byte(text))
	r := rand.New(rand.NewPCG(sum.Sum64(), 1))
	v := make([]float32, 384)
	for i := range v {
		v[i] = float32(r.NormFloat64())
	}
	d, _ := vector.Quantize(v)
	return embedding.Query{Vector: d}, nil
}

func (a anywhere) EmbedDocuments(ctx context.Context, texts []string) (all []embedding.Document, err error) {
	for _, t := range texts {
		q, err := a.EmbedQuery(ctx, t)
		if err != nil {
			return nil, err
		}
		all = append(all, embedding.Document{Vector: q.Vector})
	}
	return all, nil
}

// BenchmarkFusion is a search by words and meaning without what the model takes for the query.
func BenchmarkFusion(b *testing.B) {
	e := search.New(search.Config{Models: []embedding.Model{anywhere{}}, Now: func() time.Time { return epoch }})
	for i, m := range corpus() {
		e.Apply(record(int64(i+1), "", journal.Change{Memory: &journal.MemoryChange{ID: m.ID, After: m}}))
	}
	if _, err := e.Search(b.Context(), search.Request{Query: "warm"}); err != nil {
		b.Fatal(err)
	}
	ctx, stop := context.WithCancel(b.Context())
	done := make(chan error)
	go func() { done <- e.RunEmbedding(ctx, newDir(b)) }()
	for {
		if s := e.EmbeddingCoverage(""); s.Embedded == benchSize {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	stop()
	if err := <-done; err != nil {
		b.Fatal(err)
	}
	qs := questions(corpus())
	i := 0
	defer processorTime(b)()
	for b.Loop() {
		if _, err := e.Search(b.Context(), search.Request{Query: qs[i%len(qs)], Arm: search.Fusion}); err != nil {
			b.Fatal(err)
		}
		i++
	}
}
