//go:build unix

package e2e_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestOpenCodePlugin installs the plugin and runs it under Node.js, with a script that calls it as OpenCode does.
func TestOpenCodePlugin(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("the plugin is JavaScript, and there is no node on the PATH to run it")
	}
	t.Setenv("XDG_CONFIG_HOME", "")
	p := newPlace(t)
	p.serve(t)
	p.Succeeds(t, "add", "The staging gateway listens on port 8443.", "--category", "facts")
	p.Succeeds(t, "install", "opencode")
	home := p.Home()
	plugin := filepath.Join(home, ".config", "opencode", "plugins", "memsidecar.js")
	text, err := os.ReadFile(plugin)
	if err != nil {
		t.Fatal(err)
	}
	// A machine that is busy is to be waited for.
	module := strings.TrimSuffix(plugin, ".js") + ".mjs"
	patient := strings.Replace(string(text), `, "--socket"`, `, "--timeout", "20s", "--no-start", "--socket"`, 1)
	if patient == string(text) {
		t.Fatalf("the plugin does not name the socket:\n%s", text)
	}
	if err := os.WriteFile(module, []byte(strings.Replace(patient, "timeout: 5000", "timeout: 30000", 1)),
		0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(node, "testdata/opencode.mjs", module, "which port does the staging gateway use?")
	cmd.Env = append(os.Environ(), "HOME="+home, "XDG_STATE_HOME="+home+"/state")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{`"told":"<recalled-memories`, "port 8443", `"compacted":"<recalled-memories`,
		"Asked first: which port does the staging gateway use?", `"second":"<recalled-memories`} {
		if !strings.Contains(string(out), want) {
			t.Errorf("no %q in %s", want, out)
		}
	}
	if diff := cmp.Diff([]string{"user which port does the staging gateway use?", "tool", "assistant Understood.",
		"tool"}, p.recorded(t, "main")); diff != "" {
		t.Errorf("recorded (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"user which port does the staging gateway use?", "tool"}, p.recorded(t, "second")); diff != "" {
		t.Errorf("recorded of OpenCode 2 (-want +got):\n%s", diff)
	}
	if list := p.Succeeds(t, "session", "list"); strings.Contains(list, "sub") {
		t.Errorf("a subagent was recorded:\n%s", list)
	}
}
