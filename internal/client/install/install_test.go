package install_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/memsidecar/memsidecar/internal/client/hook"
	"github.com/memsidecar/memsidecar/internal/client/install"
)

var update = flag.Bool("update", false, "write the golden files")

const program = "/opt/mem sidecar/memsidecar"

func target(t *testing.T, host string, scope install.Scope) *install.Target {
	t.Helper()
	dir := t.TempDir()
	env := install.Env{Home: filepath.Join(dir, "home"), Dir: filepath.Join(dir, "shop"), Getenv: func(string) string {
		return ""
	}}
	tg, err := install.NewTarget(hook.ByName(host), install.Hooks, scope, env, program, []string{"--space", "shop"})
	if err != nil {
		t.Fatal(err)
	}
	return tg
}

func put(t *testing.T, path string, text []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text, 0o640); err != nil {
		t.Fatal(err)
	}
}

// apply carries out a change and returns what the file holds then; nil is no file.
func apply(t *testing.T, tg *install.Target, plan func() (*install.Change, error)) (text []byte, changed bool) {
	t.Helper()
	c, err := plan()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Write(); err != nil {
		t.Fatal(err)
	}
	text, err = os.ReadFile(tg.Path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return text, !c.Same()
}

// registeredOnce requires every event of the host once.
func registeredOnce(t *testing.T, tg *install.Target) {
	t.Helper()
	got, err := tg.Registered()
	if err != nil {
		t.Fatal(err)
	}
	want := map[hook.Kind][]string{}
	for _, b := range tg.Host.Bindings {
		want[b.Kind] = []string{tg.Command(b.Kind)}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("registered (-want +got):\n%s", diff)
	}
}

// TestThereAndBack installs into configurations as they are found, twice, and uninstalls: every byte is as it was.
// What was there is kept meanwhile.
func TestThereAndBack(t *testing.T) {
	files, err := filepath.Glob("testdata/*.*")
	if err != nil || len(files) < 8 {
		t.Fatalf("%d fixtures, %v", len(files), err)
	}
	for _, file := range files {
		name := strings.Split(filepath.Base(file), ".")[0]
		host := strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(name, "-bom"), "-hooks"),
			"-no-newline"), "-skeleton")
		t.Run(name, func(t *testing.T) {
			before, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			scope := install.User
			if host == "vscode" {
				scope = install.Project
			}
			tg := target(t, host, scope)
			put(t, tg.Path, before)
			after, changed := apply(t, tg, tg.Install)
			if !changed {
				t.Fatal("nothing was installed")
			}
			registeredOnce(t, tg)
			foreign(t, before, after)
			if kept, err := os.ReadFile(tg.Path + ".memsidecar.bak"); err != nil || !bytes.Equal(kept, before) {
				t.Errorf("the backup: %q, %v", kept, err)
			}
			if again, changed := apply(t, tg, tg.Install); changed || !bytes.Equal(again, after) {
				t.Errorf("a second time changed it:\n%s", cmp.Diff(string(after), string(again)))
			}
			if back, _ := apply(t, tg, tg.Uninstall); !bytes.Equal(back, before) {
				t.Errorf("uninstalled (-before +after):\n%s", cmp.Diff(string(before), string(back)))
			}
			if left, _ := filepath.Glob(filepath.Join(filepath.Dir(tg.Path), "*")); len(left) != 1 {
				t.Errorf("left behind: %v", left)
			}
			if info, err := os.Stat(tg.Path); err != nil || info.Mode().Perm() != 0o640 {
				t.Errorf("the file's mode: %v, %v", info.Mode(), err)
			}
			if _, changed := apply(t, tg, tg.Uninstall); changed {
				t.Error("uninstalling a second time changed something")
			}
		})
	}
}

// foreign requires that every line of before, but for a comma at its end, is in after, in the same order.
func foreign(t *testing.T, before, after []byte) {
	t.Helper()
	rest := string(after)
	for line := range strings.Lines(string(before)) {
		for _, part := range strings.FieldsFunc(line, func(r rune) bool {
			return strings.ContainsRune("{}[],\r\n", r)
		}) {
			i := strings.Index(rest, part)
			if i < 0 {
				t.Errorf("%q of the line %q is gone or has moved", part, line)
				return
			}
			rest = rest[i+len(part):]
		}
	}
}

// TestNewFile installs where there is no file, and leaves none.
func TestNewFile(t *testing.T) {
	for _, h := range hook.Hosts() {
		for _, scope := range []install.Scope{install.User, install.Project} {
			if h.Name == "vscode" && scope == install.User {
				continue
			}
			t.Run(h.Name+" "+string(scope), func(t *testing.T) {
				tg := target(t, h.Name, scope)
				text, _ := apply(t, tg, tg.Install)
				registeredOnce(t, tg)
				if strings.HasSuffix(tg.Path, ".json") && !json.Valid(text) {
					t.Errorf("not JSON:\n%s", text)
				}
				if again, changed := apply(t, tg, tg.Install); changed || !bytes.Equal(again, text) {
					t.Errorf("a second time changed it")
				}
				if back, _ := apply(t, tg, tg.Uninstall); back != nil {
					t.Errorf("left behind:\n%s", back)
				}
			})
		}
	}
}

func TestNoScope(t *testing.T) {
	env := install.Env{Home: "/home/mei", Dir: "/shop", Getenv: func(string) string { return "" }}
	if _, err := install.NewTarget(hook.ByName("vscode"), install.Hooks, install.User, env, program, nil); !errors.Is(err,
		install.ErrNoScope) {
		t.Errorf("error %v", err)
	}
}

// TestMovedConfigurations follows the variables that hosts know.
func TestMovedConfigurations(t *testing.T) {
	for _, tt := range []struct{ host, variable, want string }{
		{"claude-code", "CLAUDE_CONFIG_DIR", "/x/settings.json"},
		{"codex", "CODEX_HOME", "/x/config.toml"},
		{"opencode", "XDG_CONFIG_HOME", "/x/opencode/plugins/memsidecar.js"},
	} {
		env := install.Env{Home: "/home/mei", Getenv: func(name string) string {
			return map[string]string{tt.variable: "/x"}[name]
		}}
		tg, err := install.NewTarget(hook.ByName(tt.host), install.Hooks, install.User, env, program, nil)
		if err != nil {
			t.Fatal(err)
		}
		if tg.Path != tt.want {
			t.Errorf("%s: %s, want %s", tt.host, tg.Path, tt.want)
		}
	}
}

// TestRefused leaves what it cannot read, byte for byte.
func TestRefused(t *testing.T) {
	for _, tt := range []struct{ name, host, text, want string }{
		{"empty", "claude-code", "", "a value was expected"},
		{"a list", "claude-code", "[]", "not a JSON object"},
		{"cut off", "claude-code", `{"hooks": {`, "line 1"},
		{"no comma", "claude-code", "{\n\"a\": 1\n\"b\": 2}", "line 3: a comma or } was expected"},
		{"deep nesting", "claude-code", `{"a": ` + strings.Repeat("[", 300) + strings.Repeat("]", 300) + "}",
			"nested too deep"},
		{"two of one name", "claude-code", `{"hooks": {}, "hooks": {}}`, `"hooks" is there twice`},
		{"hooks that are a list", "gemini", `{"hooks": []}`, `"hooks" is not an object`},
		{"an event that is an object", "cursor", `{"hooks": {"stop": {}}}`, "are not a list"},
		{"a comma that Gemini refuses", "gemini", "{\n\"a\": [1],\n}", "line 3: a comma behind the last item"},
		{"more behind the end", "gemini", "{} {}", "more behind the end"},
		{"a comment without an end", "gemini", "{} /*", "a comment that does not end"},
		{"not UTF-8", "gemini", "{\"a\": \"\xff\"}", "not UTF-8"},
		{"a string without an end", "codex", "a = \"x\n", "a string that does not end"},
		{"a list without an end", "codex", "a = [1,\n", "a bracket that is not closed"},
		{"hooks in a line", "codex", "hooks = { Stop = [] }\n", "is written in one line"},
		{"an event in a line", "codex", "[hooks]\nStop = []\n", "are not written as [[hooks.Stop]]"},
		{"an event that is a table", "codex", "[hooks.Stop]\nx = 1\n", "are not written as [[hooks.Stop]]"},
		{"half of ours", "codex", "# >>> memsidecar: hooks, written by \"memsidecar install codex\" >>>\n",
			"take them out by hand"},
		{"another's plugin", "opencode", "export const X = 1\n", "belongs to somebody else"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tg := target(t, tt.host, install.User)
			put(t, tg.Path, []byte(tt.text))
			_, err := tg.Install()
			if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), tg.Path) {
				t.Errorf("error %v, want one with %q and the file's name", err, tt.want)
			}
			if got, _ := os.ReadFile(tg.Path); string(got) != tt.text {
				t.Errorf("the file holds %q", got)
			}
		})
	}
}

// TestMovedProgram mends the hooks of another place in their lines, and takes away those that are there twice.
func TestMovedProgram(t *testing.T) {
	for _, host := range []string{"claude-code", "codex", "cursor", "opencode"} {
		t.Run(host, func(t *testing.T) {
			tg := target(t, host, install.User)
			old := *tg
			old.Program = "/usr/bin/memsidecar"
			first, _ := apply(t, &old, old.Install)
			text, _ := apply(t, tg, tg.Install)
			registeredOnce(t, tg)
			if bytes.Contains(text, []byte("/usr/bin")) ||
				bytes.Count(text, []byte("\n")) != bytes.Count(first, []byte("\n")) {
				t.Errorf("moved:\n%s", text)
			}
		})
	}
	tg := target(t, "cursor", install.User)
	put(t, tg.Path, []byte(`{"hooks": {"stop": [{"command": "memsidecar hook --host cursor stop"}, {"command": "x"}, {"command": "memsidecar hook --host cursor stop"}]}}`))
	text, _ := apply(t, tg, tg.Install)
	registeredOnce(t, tg)
	if !bytes.Contains(text, []byte(`{"command": "x"}`)) {
		t.Errorf("a foreign hook is gone:\n%s", text)
	}
}

// TestTrust keeps what Codex writes down about hooks that were reviewed, which lands between the lines that are ours.
func TestTrust(t *testing.T) {
	tg := target(t, "codex", install.User)
	put(t, tg.Path, []byte("model = \"gpt-5\""))
	text, _ := apply(t, tg, tg.Install)
	const trust = "\n[hooks.state.\"config.toml:stop:0:0\"]\ntrusted_hash = \"sha256:ab\"\n"
	put(t, tg.Path, bytes.Replace(text, []byte("# <<<"), []byte(trust+"# <<<"), 1))
	tg.Program = "/elsewhere/memsidecar"
	text, _ = apply(t, tg, tg.Install)
	registeredOnce(t, tg)
	if !bytes.Contains(text, []byte(trust)) || bytes.Contains(text, []byte("mem sidecar")) {
		t.Errorf("installed again:\n%s", text)
	}
	if text, changed := apply(t, tg, tg.Install); changed {
		t.Errorf("a third time changed it:\n%s", text)
	}
	if back, _ := apply(t, tg, tg.Uninstall); string(back) != "model = \"gpt-5\"\n"+trust {
		t.Errorf("uninstalled: %q", back)
	}
}

// TestAmongOthers takes out a hook that somebody put beside his own, and leaves that.
func TestAmongOthers(t *testing.T) {
	tg := target(t, "claude-code", install.User)
	put(t, tg.Path, []byte(`{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "a"}, {"type": "command", "command": "memsidecar hook --host claude-code stop"}]}]}}`))
	back, _ := apply(t, tg, tg.Uninstall)
	if want := `{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "a"}]}]}}`; string(back) != want {
		t.Errorf("left:\n%s\nwant:\n%s", back, want)
	}
}

// TestSymlink edits what a link leads to.
func TestSymlink(t *testing.T) {
	tg := target(t, "gemini", install.User)
	real := filepath.Join(t.TempDir(), "dotfiles", "settings.json")
	put(t, real, []byte("{\n  \"a\": 1\n}\n"))
	if err := os.MkdirAll(filepath.Dir(tg.Path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(real, tg.Path); err != nil {
		t.Fatal(err)
	}
	apply(t, tg, tg.Install)
	if info, err := os.Lstat(tg.Path); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link: %v, %v", info, err)
	}
	if text, _ := os.ReadFile(real); !bytes.Contains(text, []byte("BeforeAgent")) {
		t.Errorf("the file holds %s", text)
	}
}

// TestChangedMeanwhile does not write over an edit that was made since the change was planned.
func TestChangedMeanwhile(t *testing.T) {
	tg := target(t, "gemini", install.User)
	put(t, tg.Path, []byte("{}"))
	c, err := tg.Install()
	if err != nil {
		t.Fatal(err)
	}
	put(t, tg.Path, []byte(`{"a": 1}`))
	if _, err := c.Write(); err == nil || !strings.Contains(err.Error(), "changed meanwhile") {
		t.Errorf("error %v", err)
	}
}

func TestDiff(t *testing.T) {
	c := &install.Change{Before: []byte("a\nb\nc\nd\ne\nf\ng\n"), After: []byte("a\nb\nc\nd\nE\nf\ng\nh\n")}
	want := []string{"@@", " c", " d", "-e", "+E", " f", " g", "+h"}
	if diff := cmp.Diff(want, c.Diff()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// FuzzThereAndBack installs into any text that is not refused, and back.
func FuzzThereAndBack(f *testing.F) {
	files, err := filepath.Glob("testdata/*.*")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	for _, s := range []string{"{ }", "{/**/}", "{\"hooks\":{\"Stop\":[/*x*/],\"stop\":[{}\n]}}", "{\"a\":[1,],}",
		"{\"hooks\":{\"Stop\":[1//x\n,2]}//y\n}", "a=1\n[b]\nc=''' ' '''"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, before []byte) {
		for _, host := range []string{"claude-code", "cursor", "codex", "copilot"} {
			env := install.Env{Home: "/home/mei", Getenv: func(string) string { return "" }}
			tg, err := install.NewTarget(hook.ByName(host), install.Hooks, install.User, env, program, nil)
			if err != nil {
				t.Fatal(err)
			}
			if n, err := tg.Count(before); err != nil || len(n) > 0 || len(before) == 0 {
				continue // refused, or installed already
			}
			after, err := tg.Add(before)
			if err != nil {
				continue
			}
			n, err := tg.Count(after)
			if err != nil || len(n) != len(tg.Host.Bindings) {
				t.Fatalf("%s: %q became %q with %v, %v", host, before, after, n, err)
			}
			if again, err := tg.Add(after); err != nil || !bytes.Equal(again, after) {
				t.Errorf("%s: a second time %q became %q, %v", host, after, again, err)
			}
			back, err := tg.Remove(after)
			if err != nil || back != nil && !bytes.Equal(back, before) { // nil brings the backup back
				t.Errorf("%s: %q became %q and then %q, %v", host, before, after, back, err)
			}
		}
	})
}
