package summary_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/memtest"
	"github.com/memsidecar/memsidecar/internal/reflector/summary"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/durable/crashfs"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

func one(id, category, content string, salience float64) *memory.Memory {
	return &memory.Memory{ID: id, Category: category, Content: content, Salience: salience, Confidence: 1,
		Source: memory.SourceUser, Status: memory.Active}
}

func TestBuild(t *testing.T) {
	past := &memory.Entry{ID: "e1", Type: memory.EntrySessionSummary, Content: "Planned the\nrelease.",
		At: memtest.Epoch}
	gone := one("x", memory.Facts, "was never so", 1)
	gone.Status = memory.Retired
	over := one("y", memory.Facts, "is over", 1)
	over.SetExpiresAt(memtest.Epoch.Add(-time.Hour))
	pinned := one("p", memory.Facts, "Backups run at 02:30.", 0.1)
	pinned.Pinned = true
	var many []*memory.Memory
	for i := range 20 {
		many = append(many, one(fmt.Sprintf("m%02d", i), memory.Facts, fmt.Sprint("fact ", i), 0.5))
	}
	for _, tt := range []struct {
		name     string
		memories []*memory.Memory
		entries  []*memory.Entry
		want     string
	}{
		{"nothing", nil, []*memory.Entry{{Type: memory.EntryEvent, Content: "lunch"}}, ""},
		{"english", []*memory.Memory{one("a", memory.Facts, "We use Postgres 16.", 0.5),
			one("b", memory.Preferences, "The user prefers tabs", 0.7), gone, over, pinned},
			[]*memory.Entry{past, past},
			summary.HeadEn + "\nPreferences: The user prefers tabs\nFacts: Backups run at 02:30; We use Postgres " +
				"16\nLately: Planned the release"},
		{"chinese", []*memory.Memory{one("a", memory.Tasks, "周五之前修好登录", 0.5),
			one("b", memory.Preferences, "用户喜欢绿茶。", 0.7)}, nil,
			summary.HeadZh + "\n偏好：用户喜欢绿茶\n待办：周五之前修好登录"},
		{"the weightiest", many, nil, summary.HeadEn +
			"\nFacts: fact 0; fact 1; fact 2; fact 3; fact 4; fact 5; fact 6; fact 7"},
		{"long", []*memory.Memory{one("a", memory.Facts, strings.Repeat("长", 500), 0.5)}, nil, summary.HeadZh +
			"\n事实：" + strings.Repeat("长", 159) + "…"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := summary.Build(tt.memories, tt.entries, memtest.Epoch)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if !summary.IsGenerated(got) {
				t.Error("it does not know its own")
			}
		})
	}
}

// TestRebuild: the summary follows the memories and never its own text; somebody else's is left alone.
func TestRebuild(t *testing.T) {
	st := memtest.OpenStore(t, crashfs.New())
	put := func(m *memory.Memory) {
		t.Helper()
		if _, err := st.Update(t.Context(), store.Meta{Actor: journal.ActorClient}, func(tx *store.Tx) error {
			return tx.Put(m)
		}); err != nil {
			t.Fatal(err)
		}
	}
	s := summary.New(st, new(memtest.Clock).Now)
	rebuild := func(opts summary.Options) store.Result {
		t.Helper()
		res, _, err := s.Rebuild(t.Context(), memory.DefaultSpace, opts)
		if err != nil {
			t.Fatal(err)
		}
		return res
	}
	put(one("a", memory.Facts, "We use Postgres 14", 0.5))
	if n, err := s.Refresh(t.Context()); n != 0 || err != nil || st.Space("").Summary() != "" {
		t.Errorf("a space without a summary got one: %d, %v", n, err)
	}
	if res := rebuild(summary.Options{DryRun: true}); res.Op != 0 || st.Space("").Summary() != "" {
		t.Errorf("a dry run: %+v", res)
	}
	first := rebuild(summary.Options{})
	if got := st.Space("").Summary(); got != summary.HeadEn+"\nFacts: We use Postgres 14" {
		t.Errorf("%q", got)
	}
	if again := rebuild(summary.Options{}); again.Op != 0 || again.Outcomes[0].Status != journal.Duplicate {
		t.Errorf("the same again: %+v", again)
	}
	put(one("a", memory.Facts, "We use Postgres 16", 0.5))
	if n, err := s.Refresh(t.Context()); n != 1 || err != nil || strings.Contains(st.Space("").Summary(), "14") {
		t.Errorf("%d, %v: %q", n, err, st.Space("").Summary())
	}
	if _, err := st.Undo(t.Context(), store.Meta{}, first.Op); err != nil { // it was changed since, so nothing happens
		t.Fatal(err)
	}
	if _, err := st.Update(t.Context(), store.Meta{Actor: journal.ActorClient}, func(tx *store.Tx) error {
		tx.SetSummary("Mine.")
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if res := rebuild(summary.Options{}); res.Op != 0 || res.Outcomes[0].Reason != summary.ReasonNotGenerated ||
		st.Space("").Summary() != "Mine." {
		t.Errorf("somebody else's: %+v, %q", res, st.Space("").Summary())
	}
	if n, err := s.Refresh(t.Context()); n != 0 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	if rebuild(summary.Options{Replace: true}); strings.Contains(st.Space("").Summary(), "Mine") {
		t.Errorf("replaced: %q", st.Space("").Summary())
	}
}
