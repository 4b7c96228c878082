package search_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/memsidecar/memsidecar/internal/search"
)

// BenchmarkSearchZipf reports p50 and p99 of queries of 3 to 12 words over 100,000 memories of Zipf-like text.
func BenchmarkSearchZipf(b *testing.B) {
	memories := corpus()
	e := loaded(b, memories)
	r := rand.New(rand.NewPCG(11, 12))
	queries := make([]string, 2000)
	for i := range queries {
		var q []string
		words := strings.Fields(memories[r.IntN(len(memories))].Content)
		for range 3 + r.IntN(10) {
			q = append(q, words[r.IntN(len(words)-1)])
		}
		queries[i] = strings.Join(q, " ")
	}
	for _, q := range queries[:100] {
		if _, err := e.Search(b.Context(), search.Request{Query: q, AsOf: epoch}); err != nil {
			b.Fatal(err)
		}
	}
	for range 3 {
		b.Run(fmt.Sprint(len(memories)), func(b *testing.B) {
			var took []time.Duration
			i := 0
			for b.Loop() {
				began := time.Now()
				if _, err := e.Search(b.Context(),
					search.Request{Query: queries[i%len(queries)], AsOf: epoch}); err != nil {
					b.Fatal(err)
				}
				took = append(took, time.Since(began))
				i++
			}
			percentiles(b, took)
		})
	}
}
