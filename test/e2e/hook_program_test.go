//go:build unix

package e2e_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/memsidecar/memsidecar/internal/client/hook"
)

// changing is what differs between two answers to the same event: nonces, their tokens, and the time.
var changing = regexp.MustCompile(`id=\\?"[0-9a-f]{16}\\?"|\d\d:\d\d|/tmp/[^"\\ ]*|"tokens":\d+`)

// TestHookProgramsAgree: memsidecar-hook answers each event of each host as memsidecar does, byte for byte, and the
// same is recorded.
func TestHookProgramsAgree(t *testing.T) {
	for _, host := range hook.Hosts() {
		t.Run(host.Name, func(t *testing.T) {
			t.Parallel()
			var logs strings.Builder
			answers, records := map[bool][]string{}, map[bool][]string{}
			for _, slim := range []bool{false, true} {
				p := newPlace(t)
				serve := p.Command("daemon", "serve")
				// On a busy machine meaning misses its deadline, once here, once there.
				serve.Env = append(serve.Env, "MEMSIDECAR_EMBEDDINGS_INSIDE=false")
				p.serveAs(t, serve)
				p.Succeeds(t, "add", lesson)
				p.Succeeds(t, "add", "The deploy command is make ship; 部署用 make ship")
				h := p.host(t, host.Name)
				h.slim = slim
				for round := range 2 {
					for _, b := range host.Bindings {
						if b.Kind == hook.Stop {
							h.turn(t, "which port?", fmt.Sprint("call_", round), "make deploy", failure, "8443")
						}
						if _, ok := h.events[b.Kind]; !ok || b.Kind == hook.SessionEnd && host.WritesLate() {
							continue
						}
						answer := h.call(t, b.Kind, "one", nil)
						answers[slim] = append(answers[slim], string(b.Kind)+" "+changing.ReplaceAllString(answer, "…"))
						if b.Kind == hook.SessionEnd {
							p.await(t, "reflected", "session", "get", "one") // what was learnt is in the next answers
						}
					}
				}
				records[slim] = p.recorded(t, "one")
				log, _ := os.ReadFile(filepath.Join(p.Home(), "state/memsidecar/hooks/hook.log"))
				logs.WriteString(string(log))
				for _, b := range host.Bindings {
					mark, err := os.ReadFile(filepath.Join(p.hookState(t), "fired", host.Name+"."+string(b.Kind)))
					if err != nil && !errors.Is(err, fs.ErrNotExist) {
						t.Fatal(err)
					}
					records[slim] = append(records[slim], string(b.Kind)+": "+string(mark))
				}
			}
			if diff := cmp.Diff(answers[false], answers[true]); diff != "" {
				t.Errorf("answers (-memsidecar +memsidecar-hook):\n%s", diff)
			}
			if t.Failed() {
				t.Log(logs.String())
			}
			if diff := cmp.Diff(records[false], records[true]); diff != "" {
				t.Errorf("records (-memsidecar +memsidecar-hook):\n%s", diff)
			}
			if !strings.Contains(strings.Join(answers[true], ""), "8443") && host.Name != "vscode" {
				t.Errorf("no answer holds a memory: %q", answers[true])
			}
		})
	}
}

// hookState is the directory in which the hooks of the place keep their marks.
func (p place) hookState(t *testing.T) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(p.Home(), "state/memsidecar/hooks-*"))
	if err != nil || len(found) != 1 {
		t.Fatalf("%v, %v", found, err)
	}
	return found[0]
}

// TestHookProgramDelegates: the daemon runs what memsidecar-hook asks for, also events that are larger than what flow
// control lets through at once: without the program that it would fall back to, the answers still come.
func TestHookProgramDelegates(t *testing.T) {
	p := newPlace(t)
	p.serve(t)
	p.Succeeds(t, "add", lesson)
	for _, size := range []int{0, 70_000, 3_000_000} {
		in, err := json.Marshal(map[string]any{"session_id": fmt.Sprint("s", size), "cwd": "/",
			"padding": strings.Repeat("x", size), "prompt": "which port does the staging gateway use?"})
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(hookProgram(), "hook", "--host", "claude-code", "prompt", "--data", p.Data, "--socket", p.Socket,
			"--timeout", "20s", "--program", "/nowhere")
		cmd.Env = p.Command().Env
		cmd.Stdin = bytes.NewReader(in)
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), "8443") {
			t.Errorf("%d bytes more: %v\n%s", size, err, out)
		}
	}
}

// TestHookProgramFallsBack: what the daemon cannot run, or is for another one, memsidecar runs with the same input.
func TestHookProgramFallsBack(t *testing.T) {
	p := newPlace(t)
	p.serve(t)
	other := newPlace(t)
	other.serve(t)
	other.Succeeds(t, "add", lesson)
	config := filepath.Join(p.Home(), "other.yaml")
	if err := os.WriteFile(config, fmt.Appendf(nil, "data: %s\n", other.Data), 0o600); err != nil {
		t.Fatal(err)
	}
	prompt := `{"session_id":"s","cwd":"/","prompt":"which port does the staging gateway use?"` +
		`,"padding":"` + strings.Repeat("x", 200_000) + `"}`
	for name, tt := range map[string]struct {
		args []string
		env  string
	}{
		"a file names another daemon's data": {[]string{"--config", config, "--socket", other.Socket}, ""},
		"another time zone":                  {[]string{"--data", other.Data, "--socket", other.Socket}, "TZ=Asia/Tokyo"},
		"not this daemon's data":             {[]string{"--data", other.Data, "--socket", other.Socket}, "TZ=UTC"},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := exec.Command(hookProgram(), append(append([]string{"hook", "--host", "claude-code", "prompt", "--timeout", "20s",
				"--no-start"}, tt.args...), "--program", program)...)
			cmd.Env = append(p.Command().Env, tt.env)
			cmd.Stdin = strings.NewReader(strings.Replace(prompt, `"s"`, `"`+strings.ReplaceAll(name, " ", "-")+`"`, 1))
			out, err := cmd.CombinedOutput()
			if err != nil || !strings.Contains(string(out), "8443") {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
	for _, args := range [][]string{{"version"}, {"recall", "which port", "--nonsense"}, {"recall"}, {"hook", "--help"}} {
		want, wantErr := p.hookCommand(false, args...).CombinedOutput()
		got, gotErr := p.hookCommand(true, args...).CombinedOutput()
		if diff := cmp.Diff(string(want), string(got)); diff != "" || fmt.Sprint(wantErr) != fmt.Sprint(gotErr) {
			t.Errorf("%v: %v, want %v\n%s", args, gotErr, wantErr, diff)
		}
	}
}

// TestHookProgramRecalls: a recall of memsidecar-hook prints what memsidecar prints.
func TestHookProgramRecalls(t *testing.T) {
	p := newPlace(t)
	p.serve(t)
	p.Succeeds(t, "add", lesson)
	for _, args := range [][]string{
		{"recall", "which port does the staging gateway use?"},
		{"recall", "which port does the staging gateway use?", "--json", "--explicit", "--cwd", "work"},
		{"recall", "nothing that is known", "--or-nothing", "--timeout", "20s"},
		{"recall", "which port does the staging gateway use?", "--or-nothing", "--timeout", "20s", "--project"},
	} {
		ran := map[bool]string{}
		for _, slim := range []bool{false, true} {
			cmd := p.hookCommand(slim, args...)
			cmd.Dir = p.Home()
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%v: %v\n%s", args, err, out)
			}
			ran[slim] = changing.ReplaceAllString(string(out), "…")
		}
		if diff := cmp.Diff(ran[false], ran[true]); diff != "" {
			t.Errorf("%v (-memsidecar +memsidecar-hook):\n%s", args, diff)
		}
	}
}

// TestHookProgramInstalled: a released program writes memsidecar-hook out for the hooks that it registers, replaces it
// when the daemon of another version starts, and removes it with the last host that calls it.
func TestHookProgramInstalled(t *testing.T) {
	home, err := os.MkdirTemp("/tmp", "ms")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(home) })
	if err := os.Mkdir(filepath.Join(home, "run"), 0o700); err != nil {
		t.Fatal(err)
	}
	released := filepath.Join(home, "memsidecar")
	if out, err := exec.Command("../../.ci/build", released).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	run := func(args ...string) string {
		t.Helper()
		cmd := exec.Command(released, args...)
		cmd.Env = []string{"HOME=" + home, "XDG_RUNTIME_DIR=" + home + "/run", "PATH=" + os.Getenv("PATH")}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
		return string(out)
	}
	installed := filepath.Join(home, ".local/state/memsidecar/bin/memsidecar-hook")
	exists := func() bool { _, err := os.Lstat(installed); return err == nil }
	if run("install", "claude-code", "gemini", "--dry-run"); exists() {
		t.Error("a dry run wrote the program")
	}
	run("install", "claude-code", "gemini")
	settings, err := os.ReadFile(filepath.Join(home, ".claude/settings.json"))
	want := `"` + installed + " hook --host claude-code prompt --program " + released + `"`
	if err != nil || !bytes.Contains(settings, []byte(want)) {
		t.Errorf("%v, no %s in %s", err, want, settings)
	}
	info, err := os.Stat(installed)
	if err != nil || info.Mode().Perm() != 0o700 || info.Size() > 4<<20 {
		t.Fatalf("%v, %v", info, err)
	}
	if out := run("install", "claude-code", "gemini"); !strings.Contains(out, "Nothing to do") {
		t.Errorf("installed again: %s", out)
	}
	if out := run("install", "status"); strings.Contains(out, "!") {
		t.Errorf("status: %s", out)
	}
	if err := os.WriteFile(installed, []byte("#!/bin/sh\nexit 3\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	if out := run("install", "status"); !strings.Contains(out, "does not answer as this version does") {
		t.Errorf("status with another program: %s", out)
	}
	run("daemon", "start")
	t.Cleanup(func() { run("daemon", "stop") })
	if again, err := os.Stat(installed); err != nil || again.Size() != info.Size() {
		t.Errorf("the daemon did not replace it: %v, %v", again, err)
	}
	if out := run("install", "status"); strings.Contains(out, "!") {
		t.Errorf("status after the daemon's start: %s", out)
	}
	if run("uninstall", "gemini"); !exists() {
		t.Error("removed while a host calls it")
	}
	if run("uninstall", "claude-code"); exists() {
		t.Error("not removed with the last host")
	}
}

// TestHookProgramGivesUp: a host that does not close the input gets the answer that its hook has for nothing, and the
// call counts as one that gave up.
func TestHookProgramGivesUp(t *testing.T) {
	p := newPlace(t)
	p.serve(t)
	cmd := p.hookCommand(true, "hook", "--host", "cursor", "prompt")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = in.Close() }()
	if _, err := in.Write([]byte(`{"conversation_id":"s","pro`)); err != nil {
		t.Fatal(err)
	}
	out, err := cmd.Output()
	if err != nil || string(out) != `{"continue":true}`+"\n" {
		t.Errorf("%v, %q", err, out)
	}
	mark, err := os.ReadFile(filepath.Join(p.hookState(t), "timeouts/cursor.prompt"))
	if err != nil || len(mark) != 1 {
		t.Errorf("%v, counted %d times", err, len(mark))
	}
}
