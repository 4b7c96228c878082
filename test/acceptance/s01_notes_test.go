package acceptance_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/memsidecar/memsidecar/internal/memtest/process"
)

// TestNotesOfAgents: the memory.md and learnings.md that another agent has kept become memories where they lie. Their
// headings are headings, whatever they say: no category is made of one. Both files stay editable.
func TestNotesOfAgents(t *testing.T) {
	p := process.New(t, program)
	p.Serve(t)
	notes := filepath.Join(p.Home(), "context")
	put := func(name, text string) {
		t.Helper()
		if err := os.MkdirAll(notes, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(notes, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put("memory.md", "# Whatever this is\n\n## User Preferences\n- Prefers charts in blue\n\n## Known Facts\n- Works at TechCorp\n")
	put("learnings.md", "# Anything\n\n## Lighthouse\n- Deploy from main only\n\n* Tag before a release\n")
	p.Succeeds(t, "view", notes, "--format", "context")

	var got []string
	for _, m := range list(t, p) {
		got = append(got, m.Category+": "+m.Content)
	}
	slices.Sort(got)
	want := []string{"facts: Works at TechCorp", "preferences: Prefers charts in blue", "procedural: Deploy from main only",
		"procedural: Tag before a release"}
	if !slices.Equal(got, want) {
		t.Errorf("there are %q, want %q", got, want)
	}

	text, err := os.ReadFile(filepath.Join(notes, "learnings.md"))
	if err != nil {
		t.Fatal(err)
	}
	put("learnings.md", strings.Replace(string(text), "Tag before a release", "Tag and sign before a release", 1))
	p.Succeeds(t, "view", notes)
	if all := list(t, p); len(all) != 4 || len(containing(all, "Tag and sign")) != 1 {
		t.Errorf("after an edit there are %+v", all)
	}
}
