package recall_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/search"
	"github.com/memsidecar/memsidecar/internal/service/recall"
	"github.com/memsidecar/memsidecar/internal/store"
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

// TestContextIsNotRecalled: what the start context told in full is not told again by a recall, until the memory changes
// or the agent's context was compacted without it.
func TestContextIsNotRecalled(t *testing.T) {
	for _, index := range []bool{false, true} {
		t.Run(fmt.Sprint("index ", index), func(t *testing.T) {
			w := newWorld(t, recall.Config{}, old("f", "Deploys of staging (the small one): need the tunnel (2 days ago).", 2))
			text, err := w.Context(t.Context(), recall.ContextRequest{Index: index})
			if err != nil {
				t.Fatal(err)
			}
			ask := func(session string) *recall.Result {
				t.Helper()
				res, err := w.Recall(t.Context(), recall.Request{Session: session, Text: "how do deploys of staging work?"})
				if err != nil {
					t.Fatal(err)
				}
				return res
			}
			w.ContextShown("s1", nil, text)
			if got := ask("s1"); got.Block != "" || got.Reason != recall.ReasonShown {
				t.Errorf("told twice: %q, %s", got.Block, got.Reason)
			}
			if got := ask("s2"); len(got.Items) != 1 {
				t.Errorf("another session was told %q", got.Block)
			}
			w.put(t, memory.DefaultSpace, old("f", "Deploys of staging (the small one): need the tunnel and a ticket.", 2))
			if got := ask("s1"); len(got.Items) != 1 {
				t.Errorf("the changed memory is not told: %s", got.Reason)
			}
		})
	}
}

// TestContextWithoutBareSummaries: entries that only count turns and tools do not fill the context.
func TestContextWithoutBareSummaries(t *testing.T) {
	w := newWorld(t, recall.Config{})
	w.update(t, func(tx *store.Tx) error {
		for _, content := range []string{"Session of 1 user turn; first request: hi; tools: Bash ×1", "会话 1 轮；工具：Bash ×1",
			"Session of 0 user turns", "Session of 4 user turns; tools: Bash ×1",
			"Session of 4 user turns; first request: move the crane", "They moved the crane."} {
			if err := tx.AppendEntry("2026-02-21", &memory.Entry{Type: memory.EntrySessionSummary, Content: content}); err != nil {
				return err
			}
		}
		return nil
	})
	text, err := w.Context(t.Context(), recall.ContextRequest{})
	if err != nil || strings.Count(text, "[session_summary]") != 2 || !strings.Contains(text, "first request: move the crane") ||
		!strings.Contains(text, "They moved the crane.") {
		t.Errorf("%v\n%s", err, text)
	}
}
