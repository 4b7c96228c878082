package install_test

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/memsidecar/memsidecar/internal/client/hook"
	"github.com/memsidecar/memsidecar/internal/client/install"
)

// TestClaudePlugin keeps the hooks of the plugin the same as those that are installed.
func TestClaudePlugin(t *testing.T) {
	const path = "../../../integrations/claude-code/hooks/hooks.json"
	env := install.Env{Home: "/home/mei", Getenv: func(string) string { return "" }}
	tg, err := install.NewTarget(hook.ByName("claude-code"), install.User, env, "memsidecar", nil)
	if err != nil {
		t.Fatal(err)
	}
	want, err := tg.Add([]byte("{\n  \"description\": \"Tell memsidecar what happens in a session.\"\n}\n"))
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(path, want, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

// TestOpenCodePlugin requires that the plugin calls the hook of every event once, and nothing else.
func TestOpenCodePlugin(t *testing.T) {
	text, err := os.ReadFile("opencode.js")
	if err != nil {
		t.Fatal(err)
	}
	left := strings.ReplaceAll(string(text), "function call(", "")
	for _, b := range hook.ByName("opencode").Bindings {
		if n := strings.Count(left, `call("`+string(b.Kind)+`"`); n != 1 {
			t.Errorf("%s is called %d times", b.Kind, n)
		}
		left = strings.ReplaceAll(left, `call("`+string(b.Kind)+`"`, "")
	}
	if strings.Contains(left, "call(") {
		t.Error("the plugin calls the hook of an event that OpenCode has not")
	}
}
