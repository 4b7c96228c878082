package reflector_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/redact"
	"github.com/memsidecar/memsidecar/internal/reflector"
	"github.com/memsidecar/memsidecar/internal/store"
)

// hints are those of one session.
type hints struct {
	open    []reflector.ShownHint
	settled []string
}

func (h *hints) Shown(string, string) []reflector.ShownHint { return h.open }

func (h *hints) Complete(_, _ string, ids []string) {
	h.settled = append(h.settled, ids...)
	h.open = slices.DeleteFunc(h.open, func(one reflector.ShownHint) bool { return slices.Contains(ids, one.ID) })
}

// TestHintsBesideAModel: what came of hints is told by code, whatever a model says of the session, and once.
func TestHintsBesideAModel(t *testing.T) {
	b := open(t, t.TempDir())
	bad := call("terminal", `{"command":"pip install ferry"}`, "", "permission denied")
	rule := ruleAbout("pip install needs a virtual environment", 2, bad)
	rule.Revision = 0
	b.update(func(tx *store.Tx) error { return tx.Put(rule) })
	h := &hints{open: []reflector.ShownHint{{ID: rule.ID, At: saturday}, {ID: "gone", At: saturday}}}
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
	if err != nil || m.Salience > 0.66 || m.Salience < 0.64 || m.Content != rule.Content ||
		m.Context().Occurrences != 3 || reflector.KnowledgeOf(m).Failed != 1 {
		t.Errorf("%+v, %v", m, err)
	}
	if diff := cmp.Diff([]string{rule.ID, "gone"}, h.settled); diff != "" {
		t.Error(diff)
	}
	b.say("s1", calls("go on", bad)...)
	b.reflect("s1")
	if again, _ := b.store.Space("p").Get(rule.ID); again.Salience != m.Salience || again.Context().Occurrences != 4 {
		t.Errorf("held against it twice: %+v", again)
	}
}

// TestPinnedRuleKeepsItsSalience: what a person pinned is not judged.
func TestPinnedRuleKeepsItsSalience(t *testing.T) {
	bad := call("terminal", `{"command":"pip install ferry"}`, "", "permission denied")
	rule := ruleAbout("pip install needs a virtual environment", 2, bad)
	rule.Pinned = true
	p := reflector.Reflect(reflector.Input{Session: "s1", Messages: calls("go on", bad),
		Rules:      map[string]*memory.Memory{rule.Context().Signature: rule},
		ShownHints: []reflector.ShownHint{{ID: rule.ID, At: saturday}}, Known: func(string) *memory.Memory {
			return rule
		}})
	if len(p.Items) != 1 || p.Items[0].Reason != "TOOL_FAILED_AGAIN" {
		t.Errorf("%+v", p.Items)
	}
}

// TestWhichCallFollowedAHint: the one after it by the host's time; nobody's when that cannot be told.
func TestWhichCallFollowedAHint(t *testing.T) {
	bad := call("terminal", `{"command":"pip install ferry"}`, "", "permission denied")
	good := call("terminal", `{"command":"uv add ferry"}`, "done", "")
	at := saturday.Add(1500 * time.Millisecond)
	type timed struct {
		after time.Duration // from saturday
		call  *memory.ToolCall
	}
	for _, tt := range []struct {
		name  string
		calls []timed
		want  string
	}{
		{"nothing", nil, ""},
		{"before it", []timed{{time.Second + 1, bad}}, ""},
		{"after it", []timed{{time.Second + 1, good}, {2 * time.Second, bad}}, "HINT_FAILED_AGAIN"},
		{"what came next counts", []timed{{2 * time.Second, good}, {3 * time.Second, bad}}, "HINT_HELPED"},
		{"in its second, by whole seconds", []timed{{time.Second, bad}}, "HINT_FAILED_AGAIN"},
		{"another thing in its second", []timed{{time.Second, good}}, ""},
		{"all at once, of one kind", []timed{{time.Minute, bad}, {time.Minute, bad}}, "HINT_FAILED_AGAIN"},
		{"all at once, of two", []timed{{time.Minute, bad}, {time.Minute, good}}, ""},
		{"another tool", []timed{{time.Minute, fetch("one")}}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			rule := ruleAbout("pip install needs a virtual environment", 2, bad)
			messages := user("go on")
			for i, c := range tt.calls {
				messages = append(messages,
					&memory.Message{Seq: int64(i + 2), At: saturday.Add(c.after), Role: "tool", Tool: c.call})
			}
			p := reflector.Reflect(reflector.Input{Session: "s1", Messages: messages,
				Rules:      map[string]*memory.Memory{rule.Context().Signature: rule},
				ShownHints: []reflector.ShownHint{{ID: rule.ID, At: at}}, Known: func(string) *memory.Memory {
					return rule
				}})
			got := ""
			for _, it := range p.Items {
				if it.Target == rule.ID && it.Reason != "TOOL_FAILED_AGAIN" && it.Reason != "TOOL_FIXED" {
					got = it.Reason
				}
			}
			if got != tt.want {
				t.Errorf("got %q, want %q: %+v", got, tt.want, p.Items)
			}
		})
	}
}

// TestKnowledgeIsNoSecret: what a rule keeps is not taken for a secret, which would keep the rule out.
func TestKnowledgeIsNoSecret(t *testing.T) {
	for i := range 500 {
		bad := call("terminal", fmt.Sprintf(`{"command":"deploy service-%d --to %d"}`, i, i*7919), "",
			"permission denied")
		p := reflector.Reflect(reflector.Input{Session: "s1", Messages: calls("go on", bad, bad)})
		if raw := string(p.Items[0].Memory.StructuredData()); len(p.Items) != 1 {
			t.Fatalf("%+v", p.Items)
		} else if clean, _ := redact.Text(raw); clean != raw {
			t.Errorf("%s becomes %s", raw, clean)
		}
	}
}

// TestSkillWithoutItsSecrets: a workflow in which a secret was used is kept, without the secret.
func TestSkillWithoutItsSecrets(t *testing.T) {
	const key = "ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
	b := open(t, t.TempDir())
	login := call("terminal", `{"command":"registry login --token `+key+`"}`, "ok", "")
	api := call("http", `{"url":"https://a.example/x","headers":{"Authorization":"Bearer `+key+`"}}`, "ok", "")
	b.say("s1", thanked("Publish the package", "Great, remember these steps", login, api, shell("make publish"))...)
	b.reflect("s1")
	for _, m := range b.store.Space("p").Memories() {
		if strings.Contains(m.Content+string(m.StructuredData()), key) {
			t.Errorf("kept %s", m.StructuredData())
		}
		if memory.SkillOf(m) != nil {
			return
		}
	}
	t.Error("no skill is kept")
}
