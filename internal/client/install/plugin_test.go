package install_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/memsidecar/memsidecar/internal/client/hook"
	"github.com/memsidecar/memsidecar/internal/client/install"
)

// TestClaudePlugin keeps the plugin the same as what is installed, part by part.
func TestClaudePlugin(t *testing.T) {
	const dir = "../../../integrations/claude-code/"
	env := install.Env{Home: "/home/mei", Getenv: func(string) string { return "" }}
	for _, tt := range []struct {
		part         install.Part
		path, before string
	}{
		{install.Hooks, "hooks/hooks.json", "{\n  \"description\": \"Tell memsidecar what happens in a session.\"\n}\n"},
		{install.MCP, ".mcp.json", ""},
		{install.Instructions, "skills/memsidecar/SKILL.md", ""},
	} {
		tg, err := install.NewTarget(hook.ByName("claude-code"), tt.part, install.User, env, "memsidecar", nil)
		if err != nil {
			t.Fatal(err)
		}
		var before []byte
		if tt.before != "" {
			before = []byte(tt.before)
		}
		want, err := tg.Add(before)
		if err != nil {
			t.Fatal(err)
		}
		if *update {
			if err := os.WriteFile(dir+tt.path, want, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		got, err := os.ReadFile(dir + tt.path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.path, diff)
		}
	}
}

// TestMarketplace follows the marketplace file to the plugin that it offers.
func TestMarketplace(t *testing.T) {
	read := func(path string, into any) {
		t.Helper()
		text, err := os.ReadFile(path)
		if err == nil {
			err = json.Unmarshal(text, into)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	var market struct {
		Name    string
		Owner   struct{ Name string }
		Plugins []struct{ Name, Source string }
	}
	read("../../../.claude-plugin/marketplace.json", &market)
	if market.Name == "" || market.Owner.Name == "" || len(market.Plugins) != 1 {
		t.Fatalf("marketplace %+v", market)
	}
	var plugin struct{ Name, Version string }
	read(filepath.Join("../../..", market.Plugins[0].Source, ".claude-plugin/plugin.json"), &plugin)
	if plugin.Name != market.Plugins[0].Name || plugin.Version == "" {
		t.Errorf("the marketplace offers %q, the plugin is %+v", market.Plugins[0].Name, plugin)
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
