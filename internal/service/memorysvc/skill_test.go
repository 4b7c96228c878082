package memorysvc_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

func release(name string, steps ...string) memory.Skill {
	s := memory.Skill{Name: name}
	for _, text := range steps {
		s.Steps = append(s.Steps, memory.Step{Tool: "terminal", Arguments: text})
	}
	return s
}

func TestRecordSkill(t *testing.T) {
	b := newBench(t)
	record := func(s memory.Skill) *memory.Memory {
		t.Helper()
		res, err := b.RecordSkill(t.Context(), store.Meta{Session: "s1"}, s)
		if err != nil || len(res.Outcomes) != 1 || res.Outcomes[0].Status != journal.Applied {
			t.Fatalf("%+v, %v", res, err)
		}
		m, err := b.store.Space("").Get(res.Outcomes[0].ID)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	first := record(release("Release a version", "make test", "make release"))
	if first.Category != memory.Procedural || first.Source != memory.SourceSkill || first.Title != "Release a version" ||
		first.Context().LearnedFrom != "session_s1" || first.Context().Occurrences != 1 || first.Salience != 0.7 ||
		first.Content != "Release a version, steps that worked:\n1. terminal make test\n2. terminal make release" ||
		len(memory.SkillOf(first).Steps) != 2 {
		t.Errorf("%+v", first)
	}
	if again := record(release("Publish it", "make test", "make  release")); again.ID != first.ID ||
		again.Context().Occurrences != 2 || again.Title != "Publish it" {
		t.Errorf("the same steps: %+v", again)
	}
	changed := record(release("publish it", "make check", "make release"))
	if changed.ID != first.ID || changed.Context().Occurrences != 3 || !strings.Contains(changed.Content, "make check") {
		t.Errorf("other steps of that name: %+v", changed)
	}
	if other := record(release("发布版本", "make 测试", "make 发布")); other.ID == first.ID ||
		!strings.Contains(other.Content, "可行的步骤") {
		t.Errorf("another one: %+v", other)
	}
	if kept := record(release("Log in", "login --password hunter2hunter2 --token "+secret, "whoami")); strings.Contains(
		string(kept.StructuredData())+kept.Content, secret) {
		t.Errorf("a secret was kept: %s", kept.StructuredData())
	}
}

func TestBadSkills(t *testing.T) {
	b := newBench(t)
	for name, s := range map[string]memory.Skill{
		"no name": release("", "a", "b"), "one step": release("x", "a"),
		"many steps":          release("x", strings.Split(strings.Repeat("a ", 51), " ")...),
		"a name of two lines": release("x\ny", "a", "b"),
		"an empty step":       {Name: "x", Steps: []memory.Step{{Tool: "a"}, {Arguments: "b"}}},
		"long arguments":      release("x", "a", strings.Repeat("b", 2001)),
	} {
		_, err := b.RecordSkill(t.Context(), store.Meta{}, s)
		if _, ok := errors.AsType[*memory.InvalidError](err); !ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}
