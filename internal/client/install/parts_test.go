package install_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/memsidecar/memsidecar/internal/client/hook"
	"github.com/memsidecar/memsidecar/internal/client/install"
)

// found are configurations as they are found, by their place below the home directory or the project.
var found = map[string]string{
	"home/.claude.json":                       "{\n\t\"numStartups\": 3,\n\t\"mcpServers\": {}\n}",
	"home/.claude/settings.json":              "{\n  // mine\n  \"model\": \"opus\"\n}\n",
	"home/.codex/config.toml":                 "model = \"gpt-5\"\n\n[mcp_servers.docs]\ncommand = \"docs\"",
	"home/.gemini/settings.json":              "{ \"mcpServers\": { \"x\": { \"command\": \"x\" } } }\n",
	"home/.cursor/mcp.json":                   "{}",
	"home/.copilot/mcp-config.json":           "{\n  \"mcpServers\": {\n    \"x\": {\"type\": \"local\"}\n  }\n}\n",
	"home/.config/opencode/opencode.jsonc":    "{\r\n  \"model\": \"m\", // note\r\n}\r\n",
	"home/.config/Code/User/mcp.json":         "{\n    \"servers\": {\n        \"x\": {}\n    },\n    \"inputs\": []\n}\n",
	"home/Library/Application Support/Code/x": "",
	"shop/.mcp.json":                          "{\"mcpServers\": {\"x\": {\"command\": \"x\"}}}\n",
	"shop/.cursor/rules/mine.mdc":             "mine\n",
	"shop/opencode.json":                      "{\n}\n",
}

// tree is every file with its text below a directory, and every directory.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		text := []byte("a directory")
		if !e.IsDir() {
			text, err = os.ReadFile(path)
		}
		out[strings.TrimPrefix(path, dir)] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// place is a home directory and a project.
func place(t *testing.T, files map[string]string) (dir string, env install.Env) {
	t.Helper()
	dir = t.TempDir()
	for path, text := range files {
		put(t, filepath.Join(dir, path), []byte(text))
	}
	for _, name := range []string{"home", "shop"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return dir, install.Env{Home: filepath.Join(dir, "home"), Dir: filepath.Join(dir, "shop"),
		State: filepath.Join(t.TempDir(), "state"), Getenv: func(string) string { return "" }}
}

// carryOut plans a change of every file of a host and writes it; it returns whether anything changed.
func carryOut(t *testing.T, files []*install.File, plan func(*install.File, []install.Part) (*install.Change, error),
	parts ...install.Part) (changed bool) {
	t.Helper()
	for _, f := range files {
		c, err := plan(f, parts)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Write(); err != nil {
			t.Fatal(err)
		}
		changed = changed || !c.Same()
	}
	return changed
}

// TestAllParts installs everything into every host, where its files are and where nothing is, twice, and takes it out
// again, at once and part by part in any order: every file and every directory is as it was.
func TestAllParts(t *testing.T) {
	orders := [][]install.Part{
		install.Parts(),
		{install.MCP, install.Hooks, install.Instructions},
		{install.Instructions, install.MCP, install.Hooks},
	}
	for _, h := range hook.Hosts() {
		for _, scope := range []install.Scope{install.User, install.Project} {
			for name, files := range map[string]map[string]string{"found": found, "nothing": nil} {
				t.Run(h.Name+" "+string(scope)+" "+name, func(t *testing.T) {
					for i, order := range append(orders, nil) {
						dir, env := place(t, files)
						before := tree(t, dir)
						all := install.Files(h, scope, env, program, []string{"--space", "shop"})
						carryOut(t, all, (*install.File).Install, install.Parts()...)
						allRegistered(t, all)
						if carryOut(t, all, (*install.File).Install, install.Parts()...) {
							t.Error("a second time changed something")
						}
						if order == nil {
							order, i = install.Parts(), -1
							carryOut(t, all, (*install.File).Uninstall, order...)
						}
						for _, part := range order {
							carryOut(t, all, (*install.File).Uninstall, part)
						}
						if diff := cmp.Diff(before, tree(t, dir)); diff != "" {
							t.Errorf("order %d: uninstalled (-before +after):\n%s", i, diff)
						}
						if _, err := os.Stat(filepath.Join(env.State, "install-directories.json")); !errors.Is(err, fs.ErrNotExist) {
							t.Errorf("order %d: directories are still remembered: %v", i, err)
						}
					}
				})
			}
		}
	}
}

// allRegistered requires each part of each file, with the program in its command.
func allRegistered(t *testing.T, files []*install.File) {
	t.Helper()
	for _, f := range files {
		for _, tg := range f.Targets {
			got, err := tg.Registered()
			if err != nil || len(got) == 0 {
				t.Errorf("%s in %s: %v, %v", tg.Part, f.Path, got, err)
			}
			if tg.Part == install.MCP && !slices.Equal(got[""], []string{"'" + program + "' mcp --space shop"}) {
				t.Errorf("%s in %s: %q", tg.Part, f.Path, got[""])
			}
		}
	}
}

// TestServerOfAnother leaves a server of our name that starts another program, and what a person added to ours.
func TestServerOfAnother(t *testing.T) {
	_, env := place(t, map[string]string{"home/.cursor/mcp.json": `{"mcpServers": {"memsidecar": {"command": "docker"}}}`})
	tg, err := install.NewTarget(hook.ByName("cursor"), install.MCP, install.User, env, program, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tg.Install(); !errors.Is(err, install.ErrForeign) {
		t.Errorf("error %v", err)
	}
	const ours = `{"mcpServers": {"memsidecar": {"command": "/old/memsidecar", "args": ["mcp"], "env": {"A": "b"}}}}`
	put(t, tg.Path, []byte(ours))
	text, _ := apply(t, tg, tg.Install)
	if want := strings.Replace(ours, "/old/memsidecar", program, 1); string(text) != want {
		t.Errorf("mended:\n%s\nwant:\n%s", text, want)
	}
}

// TestCodexServer keeps what Codex writes into the server's table and below it, and takes both out with the server:
// a table below a server that is gone makes the file invalid.
func TestCodexServer(t *testing.T) {
	_, env := place(t, nil)
	env.Home = t.TempDir()
	tg, err := install.NewTarget(hook.ByName("codex"), install.MCP, install.User, env, program, nil)
	if err != nil {
		t.Fatal(err)
	}
	put(t, tg.Path, []byte("model = \"gpt-5\"\n"))
	text, _ := apply(t, tg, tg.Install)
	const more = "enabled = false\n[mcp_servers.memsidecar.tools.memory_search]\napproval_mode = \"approve\"\n"
	const state = "[hooks.state]\n"
	put(t, tg.Path, []byte(strings.Replace(string(text), "# <<<", more+state+"# <<<", 1)))
	tg.Program = "/new/memsidecar"
	text, _ = apply(t, tg, tg.Install)
	if !strings.Contains(string(text), "command = \"/new/memsidecar\"\nargs = [\"mcp\"]\n"+more+state) {
		t.Errorf("installed again:\n%s", text)
	}
	if back, _ := apply(t, tg, tg.Uninstall); string(back) != "model = \"gpt-5\"\n"+state {
		t.Errorf("uninstalled:\n%s", back)
	}
	const by = "[mcp_servers.memsidecar]\ncommand = \"memsidecar\"\nargs = [\"mcp\"]\n"
	put(t, tg.Path, []byte(by))
	if text, changed := apply(t, tg, tg.Install); changed {
		t.Errorf("a server that somebody else registered was changed:\n%s", text)
	}
	put(t, tg.Path, []byte("[mcp_servers]\nmemsidecar = { command = \"x\" }\n"))
	if _, err := tg.Install(); err == nil || !strings.Contains(err.Error(), "written in one line") {
		t.Errorf("error %v", err)
	}
}

// TestPresent finds a host by its program or its directory.
func TestPresent(t *testing.T) {
	_, env := place(t, map[string]string{"home/.gemini/settings.json": "{}"})
	var got []string
	for _, h := range hook.Hosts() {
		if install.Present(h, env, func(name string) (string, error) {
			if name == "codex" {
				return "/usr/bin/codex", nil
			}
			return "", errors.New("not found")
		}) {
			got = append(got, h.Name)
		}
	}
	if diff := cmp.Diff([]string{"codex", "gemini"}, got); diff != "" {
		t.Errorf("found (-want +got):\n%s", diff)
	}
}
