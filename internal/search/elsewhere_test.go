package search_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/search"
)

// TestSearchElsewhere: a few memories of a space, with the statistics of all, are ranked as in the whole space.
func TestSearchElsewhere(t *testing.T) {
	var all []*memory.Memory
	for i := range 300 {
		all = append(all, mem(fmt.Sprint("m", i), fmt.Sprintf("The %s of the %s is %d", []string{"port", "owner", "budget"}[i%3],
			[]string{"server", "garden", "library", "kitchen", "workshop"}[i%5], 1000+i),
			func(m *memory.Memory) { m.CreatedAt = epoch.Add(-time.Duration(i) * day) })) // no two are neighbours of a day
	}
	whole := inDefault(all...)
	elsewhere := search.New(search.Config{Now: func() time.Time { return epoch }})
	for _, query := range []string{"owner of the garden", "port 1030", "library budget", "garden"} {
		req := search.Request{Query: query, K: 10, Explain: true}
		want := find(t, whole, req)
		var asked *search.Question
		got, err := elsewhere.SearchElsewhere(t.Context(), req, func(_ context.Context, q *search.Question) ([]search.Extract, error) {
			asked = q
			return []search.Extract{extractOf(whole, all, q, want)}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if len(want.Hits) == 0 || len(asked.Terms) == 0 {
			t.Errorf("%q: %d hits, asked for %v", query, len(want.Hits), asked.Terms)
		}
		if diff := cmp.Diff(want.Hits, got.Hits); diff != "" {
			t.Errorf("%q (-whole +elsewhere):\n%s", query, diff)
		}
	}
	_, err := elsewhere.SearchElsewhere(t.Context(), search.Request{Query: "garden"},
		func(context.Context, *search.Question) ([]search.Extract, error) { return nil, errors.ErrUnsupported })
	if !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("the error of a proposal: %v", err)
	}
}

// extractOf is an extract with the hits of a search, and statistics of all memories.
func extractOf(e *search.Engine, all []*memory.Memory, q *search.Question, hits *search.Response) search.Extract {
	out := search.Extract{Space: memory.DefaultSpace, Active: len(all), Holding: map[string]int{}}
	for _, m := range all {
		d := e.Describe(m)
		out.Length += d.Length
		for _, term := range d.Terms {
			if slices.Contains(q.Terms, term) {
				out.Holding[term]++
			}
		}
	}
	for _, h := range hits.Hits {
		out.Memories = append(out.Memories, search.KeptMemory{Memory: h.Memory})
	}
	return out
}
