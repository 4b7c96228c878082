package search_test

import (
	"context"
	"fmt"
	"hash/fnv"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/search"
	"github.com/memsidecar/memsidecar/internal/search/embedding"
	"github.com/memsidecar/memsidecar/internal/search/vector"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

// circle points each text somewhere on a circle, so that many texts are near to each other.
type circle struct{ anywhere }

func (circle) EmbedQuery(_ context.Context, text string) (embedding.Query, error) {
	sum := fnv.New32a()
	sum.Write([]byte(text))
	x := float32(sum.Sum32()%997) / 997
	d, _ := vector.Quantize([]float32{x, 1 - x, x * x, 1})
	return embedding.Query{Vector: d}, nil
}

func (c circle) EmbedDocuments(ctx context.Context, texts []string) (all []embedding.Document, err error) {
	for _, t := range texts {
		q, err := c.EmbedQuery(ctx, t)
		if err != nil {
			return nil, err
		}
		all = append(all, embedding.Document{Vector: q.Vector})
	}
	return all, nil
}

// TestPartsOf covers every document once, in whole blocks.
func TestPartsOf(t *testing.T) {
	for _, docs := range []int{0, 1, 511, 16 << 10, 32 << 10, 32<<10 + 1, 100_000, 1_000_003} {
		for processors := 1; processors < 9; processors++ {
			bounds := search.PartsOf(docs, processors)
			if len(bounds) > processors+1 || bounds[0] != 0 || bounds[len(bounds)-1] != docs || !slices.IsSorted(bounds) {
				t.Errorf("%d documents, %d processors: %v", docs, processors, bounds)
			}
			for _, b := range bounds[:len(bounds)-1] {
				if b != docs && b%vector.RowsPerBlock != 0 {
					t.Errorf("%d documents, %d processors: %v", docs, processors, bounds)
				}
			}
		}
	}
	if bounds := search.PartsOf(100_000, 2); len(bounds) != 3 {
		t.Errorf("100,000 documents are not shared by two processors: %v", bounds)
	}
}

// TestParts finds the same however many goroutines look at parts of the index.
func TestParts(t *testing.T) {
	var memories []*memory.Memory
	for i := range 50_000 {
		memories = append(memories, &memory.Memory{
			ID: fmt.Sprintf("m%05d", i*7919%50_000), Category: memory.Facts, Content: fmt.Sprintf("room%d has lamp%d", i%613, i%89),
			Status: memory.Active, Salience: float64(i%10) / 10, CreatedAt: epoch.Add(-time.Duration(i%300) * time.Hour),
			Source: memory.SourceUser, Revision: int64(i + 1),
		})
	}
	e := search.New(search.Config{Models: []embedding.Model{circle{}}, Now: func() time.Time { return epoch }})
	for i, m := range memories {
		e.Apply(record(int64(i+1), "", journal.Change{Memory: &journal.MemoryChange{ID: m.ID, After: m}}))
	}
	embedAll(t, e, "")
	find := func(query string, processors int) (found []string) {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(processors))
		resp, err := e.Search(t.Context(), search.Request{Query: query, K: 100, Arm: search.Fusion, AsOf: epoch})
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range resp.Hits {
			found = append(found, fmt.Sprintf("%s %.6f", h.Memory.ID, h.Score))
		}
		return found
	}
	for _, query := range []string{"which lamp is in room17", "lamp3"} {
		want := find(query, 1)
		if len(want) == 0 {
			t.Errorf("%q finds nothing", query)
		}
		for _, processors := range []int{2, 3, 8} {
			if got := find(query, processors); fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%q with %d processors finds\n%v\ninstead of\n%v", query, processors, got, want)
			}
		}
	}
}
