package reflector_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/reflector"
	"github.com/memsidecar/memsidecar/internal/store"
)

// hints are those of one session.
type hints struct {
	open    []reflector.Hinted
	settled []string
}

func (h *hints) Hinted(string, string) []reflector.Hinted { return h.open }

func (h *hints) Settled(_, _ string, ids []string) {
	h.settled = append(h.settled, ids...)
	h.open = slices.DeleteFunc(h.open, func(one reflector.Hinted) bool { return slices.Contains(ids, one.ID) })
}

// TestHintsBesideAModel: what came of hints is told by code, whatever a model says of the session, and once.
func TestHintsBesideAModel(t *testing.T) {
	b := open(t, t.TempDir())
	bad := call("terminal", `{"command":"pip install ferry"}`, "", "permission denied")
	rule := ruleAbout("pip install needs a virtual environment", 2, bad)
	rule.Revision = 0
	b.update(func(tx *store.Tx) error { return tx.Put(rule) })
	h := &hints{open: []reflector.Hinted{{ID: rule.ID, At: saturday}, {ID: "gone", At: saturday}}}
	b.Reflector = reflector.New(reflector.Config{
		Store: b.store, Search: b.engine, Now: func() time.Time { return saturday }, Location: time.UTC, Hints: h,
		Model: says(`{"summary":"They installed it.","history":"","items":[],"rules":[{"failure":1,"title":"","content":"pip install works everywhere, always","salience":1,"why":""}]}`),
	})
	b.say("s1", calls("go on", bad)...)
	if _, err := b.Reflect(t.Context(), "p", "s1", reflector.Options{DryRun: true}); err != nil || len(h.settled) > 0 {
		t.Errorf("the dry run settled %q, %v", h.settled, err)
	}
	b.reflect("s1")
	m, err := b.store.Space("p").Get(rule.ID)
	if err != nil || m.Salience > 0.66 || m.Salience < 0.64 || m.Content != rule.Content || m.Context.Occurrences != 3 || reflector.KnowledgeOf(m).Failed != 1 {
		t.Errorf("%+v, %v", m, err)
	}
	if diff := cmp.Diff([]string{rule.ID, "gone"}, h.settled); diff != "" {
		t.Error(diff)
	}
	b.say("s1", calls("go on", bad)...)
	b.reflect("s1")
	if again, _ := b.store.Space("p").Get(rule.ID); again.Salience != m.Salience || again.Context.Occurrences != 4 {
		t.Errorf("held against it twice: %+v", again)
	}
}

// TestPinnedRuleKeepsItsSalience: what a person pinned is not judged.
func TestPinnedRuleKeepsItsSalience(t *testing.T) {
	bad := call("terminal", `{"command":"pip install ferry"}`, "", "permission denied")
	rule := ruleAbout("pip install needs a virtual environment", 2, bad)
	rule.Pinned = true
	p := reflector.Reflect(reflector.Input{Session: "s1", Messages: calls("go on", bad), Rules: map[string]*memory.Memory{rule.Context.Signature: rule},
		Hinted: []reflector.Hinted{{ID: rule.ID, At: saturday}}, Known: func(string) *memory.Memory { return rule }})
	if len(p.Items) != 1 || p.Items[0].Why != "TOOL_FAILED_AGAIN" {
		t.Errorf("%+v", p.Items)
	}
}
