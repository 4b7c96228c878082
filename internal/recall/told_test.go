package recall_test

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/recall"
	"github.com/memsidecar/memsidecar/internal/session"
)

// A context counts as shown what stands in it whole, and nothing else.
func TestRecallLeavesOutTheContext(t *testing.T) {
	long := "The staging gateway keeps its certificates in the vault. " + strings.Repeat("It is renewed on a Monday. ", 30)
	titled := old("titled", "Ask for the ticket first.", 2)
	titled.Title = "Staging gateway access"
	all := []*memory.Memory{
		old("port", "The staging gateway\nlistens on port 8443 (TLS).", 0), old("long", long, 0), titled, old("zh", "预发布网关 staging gateway 每晚重启。", 3),
	}
	for _, tt := range []struct {
		name string
		req  recall.ContextRequest
		told func(context string) *memory.Working
		want []string // recalled
	}{
		{"grouped", recall.ContextRequest{}, func(c string) *memory.Working { return &memory.Working{Told: c} }, []string{"long"}},
		{"grouped, in Chinese", recall.ContextRequest{Language: recall.Chinese}, func(c string) *memory.Working { return &memory.Working{Told: c} }, []string{"long"}},
		{"index", recall.ContextRequest{Index: true}, func(c string) *memory.Working { return &memory.Working{Told: c} }, []string{"long", "port", "titled", "zh"}},
		{"not known", recall.ContextRequest{}, func(string) *memory.Working { return &memory.Working{} }, []string{"long", "port", "titled", "zh"}},
		{"before a compaction", recall.ContextRequest{}, func(c string) *memory.Working { return &memory.Working{Told: c, Compactions: 1} }, []string{"long", "port", "titled", "zh"}},
		{"after a compaction", recall.ContextRequest{}, func(c string) *memory.Working { return &memory.Working{Told: c, Compactions: 2, ToldAt: 2} }, []string{"long"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			sessions := working{}
			w := newWorld(t, recall.Config{Working: sessions.of, TopK: recall.MaxItems}, all...)
			sessions["s"] = tt.told(w.context(t, tt.req))
			res := w.recall(t, recall.Request{Text: "staging gateway", Session: "s"})
			if diff := cmp.Diff(tt.want, slices.Sorted(slices.Values(idsOf(res)))); diff != "" {
				t.Errorf("recalled (-want +got):\n%s", diff)
			}
			if explicit := w.recall(t, recall.Request{Text: "staging gateway", Session: "s", Explicit: true}); len(explicit.Items) != len(all) {
				t.Errorf("the agent's own question shows %v", idsOf(explicit))
			}
		})
	}
}

// What stands in the context of a session is not recalled in it: not after a restart either, but once it has changed, and after a compaction until
// the context is told again.
func TestContextCountsAsShown(t *testing.T) {
	w := newWorld(t, recall.Config{}, old("port", "The staging gateway listens on port 8443.", 0))
	var sessions *session.Service
	restart := func() {
		t.Helper()
		if w.store != nil && sessions != nil {
			if err := w.store.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		w = openWorld(t, w.fs, recall.Config{Working: func(space, id string) (*memory.Working, error) { return sessions.Working(space, id) }})
		sessions = session.New(session.Config{Store: w.store, Now: w.clock.Now, Logger: slog.New(slog.DiscardHandler)})
	}
	if err := w.store.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	restart()
	start := func() string {
		t.Helper()
		got, err := sessions.Start(t.Context(), session.StartRequest{ID: "s", Context: func(ctx context.Context) (string, error) {
			return w.Context(ctx, recall.ContextRequest{})
		}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Working("", "s"); err != nil {
			t.Fatal(err)
		}
		return got.Context
	}
	check := func(when, id string, want bool) {
		t.Helper()
		res := w.recall(t, recall.Request{Text: "which port does the staging gateway use?", Session: id})
		if got := len(res.Items) == 1; got != want || !want && res.Reason != recall.ReasonShown {
			t.Errorf("%s: recalled %v, reason %q", when, got, res.Reason)
		}
	}
	first := start()
	check("at once", "s", false)
	check("in another session", "other", true)
	restart()
	check("after a restart", "s", false)
	compact := func() {
		t.Helper()
		if _, _, err := sessions.UpdateWorking(t.Context(), session.WorkingUpdate{ID: "s", Compacted: true}); err != nil {
			t.Fatal(err)
		}
	}
	compact()
	check("after a compaction", "s", true)
	check("again after it", "s", false)
	compact()
	if again := start(); again != first {
		t.Errorf("told %q, and then %q", first, again)
	}
	check("told again after a compaction", "s", false)
	w.put(t, "", old("port", "The staging gateway listens on port 9443.", 0))
	check("changed since", "s", true)
	if again := start(); again != first {
		t.Errorf("told %q, and then %q", first, again)
	}
}
