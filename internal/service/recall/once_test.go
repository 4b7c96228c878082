package recall_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/search"
	"github.com/memsidecar/memsidecar/internal/service/recall"
)

// counting counts the searches.
type counting struct {
	recall.Searcher
	searches int
}

func (c *counting) Search(ctx context.Context, req search.Request) (*search.Response, error) {
	c.searches++
	return c.Searcher.Search(ctx, req)
}

// TestRecallSearchesOnce: however much a session was shown before, and whatever the rules about tools, a prompt costs
// one search.
func TestRecallSearchesOnce(t *testing.T) {
	const facts = 30
	var all []*memory.Memory
	for i := range facts {
		all = append(all, old(fmt.Sprint("f", i), fmt.Sprintf("Deploys of service%d need the tunnel", i), i))
	}
	all = append(all, rule("r1", "Bash", "Deploys need the tunnel to be open"))
	w := newWorld(t, recall.Config{}, all...)
	count := &counting{Searcher: w.engine}
	s := recall.New(recall.Config{Store: w.store, Search: count, Now: w.clock.Now, Index: recall.NewIndex()})
	shown := map[string]bool{}
	prompts := 0
	for ; len(shown) < facts && prompts < facts; prompts++ {
		res, err := s.Recall(t.Context(), recall.Request{Session: "s1", Text: "deploys need the tunnel"})
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range idsOf(res) {
			if shown[id] {
				t.Errorf("%s was shown twice", id)
			}
			shown[id] = true
		}
	}
	if len(shown) < facts {
		t.Errorf("%d memories were shown with %d prompts, want all %d facts", len(shown), prompts, facts)
	}
	if count.searches != prompts {
		t.Errorf("%d searches for %d prompts", count.searches, prompts)
	}
}
