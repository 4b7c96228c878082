package search_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/memtest"
	"github.com/memsidecar/memsidecar/internal/search"
)

// uniform makes memories that each hold every word with the same probability, and one word of their own in ten.
func uniform(n int, words []string, share float64) []*memory.Memory {
	r := rand.New(rand.NewPCG(5, 6))
	all := make([]*memory.Memory, n)
	for i := range all {
		var text strings.Builder
		for _, w := range words {
			if r.Float64() < share {
				text.WriteString(w + " ")
			}
		}
		fmt.Fprintf(&text, "group%d", i/10)
		all[i] = &memory.Memory{
			ID: fmt.Sprintf("u%07d", i), Category: memory.Facts, Content: text.String(), Salience: float64(i%10) / 10,
			Status:    memory.Active,
			CreatedAt: epoch.Add(-time.Duration(n-i) * time.Second), Source: memory.SourceUser, Revision: int64(i + 1),
		}
	}
	return all
}

var (
	commonWords = strings.Fields("apricot basalt cobalt dolphin ember falcon granite harbor indigo juniper kestrel " +
		"lantern meadow nutmeg orchid pepper quartz raven saffron timber")
	halves  = sync.OnceValue(func() []*memory.Memory { return uniform(benchSize, commonWords, 0.5) })
	eighths = sync.OnceValue(func() []*memory.Memory { return uniform(benchSize, commonWords, 0.125) })
)

// BenchmarkSearchCommon asks for words that many of the memories hold: nothing but common words, or a rare one among
// them.
func BenchmarkSearchCommon(b *testing.B) {
	for _, c := range []struct {
		name   string
		corpus func() []*memory.Memory
		words  int
		rare   bool
		change func(*search.Request)
	}{
		{name: "rare and 2 of an eighth", corpus: eighths, words: 2, rare: true},
		{name: "1 of an eighth", corpus: eighths, words: 1},
		{name: "2 of an eighth", corpus: eighths, words: 2},
		{name: "8 of an eighth", corpus: eighths, words: 8},
		{name: "rare and 3 of half", corpus: halves, words: 3, rare: true},
		{name: "1 of half", corpus: halves, words: 1},
		{name: "3 of half", corpus: halves, words: 3},
		{name: "8 of half", corpus: halves, words: 8},
		{name: "3 of half, product", corpus: halves, words: 3, change: func(r *search.Request) {
			r.Profile = search.Product
		}},
		{name: "3 of half, weighted", corpus: halves, words: 3, change: func(r *search.Request) {
			r.Profile = search.Weighted
		}},
		{name: "3 of half, recent", corpus: halves, words: 3, change: func(r *search.Request) {
			r.Profile = search.Recent
		}},
		{name: "3 of half, overlap", corpus: halves, words: 3, change: func(r *search.Request) {
			r.Profile = search.Overlap
		}},
		{name: "3 of half, filtered", corpus: halves, words: 3, change: func(r *search.Request) {
			r.Filter.Categories = []string{"none"}
		}},
		{name: "3 of half, dated", corpus: halves, words: 3, change: func(r *search.Request) {
			r.Query += " yesterday"
		}},
	} {
		b.Run(c.name, func(b *testing.B) {
			e := loaded(b, c.corpus())
			if _, err := e.Search(b.Context(), search.Request{Query: "warm"}); err != nil {
				b.Fatal(err)
			}
			i := 0
			defer processorTime(b)()
			for b.Loop() {
				var q []string
				if c.rare {
					q = append(q, fmt.Sprintf("group%d", i*7919%(benchSize/10)))
				}
				for w := range c.words {
					q = append(q, commonWords[(i+w)%len(commonWords)])
				}
				req := search.Request{Query: strings.Join(q, " ")}
				if c.change != nil {
					c.change(&req)
				}
				if _, err := e.Search(b.Context(), req); err != nil {
					b.Fatal(err)
				}
				i++
			}
		})
	}
}

// processorTime reports the time that all processors spent.
func processorTime(b *testing.B) (report func()) {
	before := memtest.ProcessorTime(b)
	return func() {
		b.ReportMetric(float64((memtest.ProcessorTime(b)-before).Microseconds())/float64(b.N), "cpu-µs/op")
	}
}
