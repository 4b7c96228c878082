package search_test

import (
	"context"
	"hash/fnv"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/memsidecar/memsidecar/internal/journal"
	"github.com/memsidecar/memsidecar/internal/search"
	"github.com/memsidecar/memsidecar/internal/vector"
)

// anywhere points each text to a direction of 384 dimensions of its own, at once.
type anywhere struct{}

func (anywhere) Identity() string { return "anywhere" }

func (anywhere) Calibrated() bool { return true }

func (anywhere) Query(_ context.Context, text string) (vector.Direction, error) {
	sum := fnv.New64a()
	sum.Write([]byte(text))
	r := rand.New(rand.NewPCG(sum.Sum64(), 1))
	v := make([]float32, 384)
	for i := range v {
		v[i] = float32(r.NormFloat64())
	}
	d, _ := vector.Quantise(v)
	return d, nil
}

func (a anywhere) Embed(ctx context.Context, texts []string) (all []vector.Direction, err error) {
	for _, t := range texts {
		d, err := a.Query(ctx, t)
		if err != nil {
			return nil, err
		}
		all = append(all, d)
	}
	return all, nil
}

// BenchmarkFusion is a search by words and meaning without what the model takes for the query.
func BenchmarkFusion(b *testing.B) {
	e := search.New(search.Config{Embedder: anywhere{}, Now: func() time.Time { return epoch }})
	for i, m := range corpus() {
		e.Apply(record(int64(i+1), "", journal.Change{Memory: &journal.MemoryChange{ID: m.ID, After: m}}))
	}
	if _, err := e.Search(b.Context(), search.Request{Query: "warm"}); err != nil {
		b.Fatal(err)
	}
	ctx, stop := context.WithCancel(b.Context())
	done := make(chan error)
	go func() { done <- e.Embed(ctx, newDir(b)) }()
	for {
		if s := e.Coverage(""); s.Embedded == benchSize {
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
