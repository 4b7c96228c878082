//go:build unix

package e2e_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/memsidecar/memsidecar/internal/client/hook"
)

// agentHost is a process that calls hooks as a host program does: a shell under another name, so that it is taken for
// the host and not for the shell by which hosts call hooks.
type agentHost struct {
	place
	name       string
	slim       bool // it calls memsidecar-hook
	dir        string
	transcript string
	cmd        *exec.Cmd
	in         io.WriteCloser
	out        *bufio.Scanner
	events     map[hook.Kind]map[string]any
}

func (p place) host(t *testing.T, name string) *agentHost {
	t.Helper()
	h := &agentHost{place: p, name: name, dir: t.TempDir()}
	h.transcript = filepath.Join(h.dir, "transcript.jsonl")
	shell := filepath.Join(p.Home(), "agent")
	if _, err := os.Stat(shell); err != nil {
		// Another test may start a process while this one writes; a file that is open in it for writing cannot be run.
		if out, err := exec.Command("cp", "/bin/sh", shell).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	h.cmd = exec.Command(shell, "-c", `while read -r line; do eval "$line"; done`)
	h.cmd.Env = append(os.Environ(), "HOME="+p.Home(), "XDG_STATE_HOME="+p.Home()+"/state")
	h.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	in, err := h.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := h.cmd.StdoutPipe()
	if err == nil {
		err = h.cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	h.in, h.out = in, bufio.NewScanner(out)
	t.Cleanup(h.kill)
	h.events = sent(t, name)
	return h
}

// sent is what a host sends, by event.
func sent(t *testing.T, host string) map[hook.Kind]map[string]any {
	t.Helper()
	a, err := txtar.ParseFile("../../internal/client/hook/testdata/events/" + host + ".txtar")
	if err != nil {
		t.Fatal(err)
	}
	out := map[hook.Kind]map[string]any{}
	for _, f := range a.Files {
		var fields map[string]any
		if err := json.Unmarshal(f.Data, &fields); err != nil {
			t.Fatal(err)
		}
		out[hook.Kind(f.Name)] = fields
	}
	return out
}

// kill ends the host and the hooks that it is calling, as the end of a terminal does.
func (h *agentHost) kill() {
	_ = syscall.Kill(-h.cmd.Process.Pid, syscall.SIGKILL)
	_ = h.cmd.Wait()
}

// begin writes the input of an event of a session, with what is to be changed in it, and has the host call the hook.
func (h *agentHost) begin(t *testing.T, kind hook.Kind, session string, change map[string]any) (answer string) {
	t.Helper()
	fields, ok := h.events[kind]
	if !ok {
		t.Fatalf("%s has no event %s", h.name, kind)
	}
	for name := range fields {
		switch name {
		case "session_id", "sessionId", "conversation_id", "sessionID":
			fields[name] = session
		case "transcript_path", "transcriptPath":
			fields[name] = h.transcript
		case "cwd", "directory":
			fields[name] = h.dir
		}
	}
	for name, v := range change {
		if _, ok := fields[name]; ok {
			fields[name] = v
		}
	}
	in, err := json.Marshal(fields)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(h.dir, "in.json")
	answer = filepath.Join(h.dir, "answer.json")
	if err := os.WriteFile(file, in, 0o600); err != nil {
		t.Fatal(err)
	}
	before, behind := program, ""
	if h.slim {
		before, behind = hookProgram(), "--program "+program
	}
	_, err = fmt.Fprintf(h.in, "%s hook --host %s %s --data %s --socket %s --no-start --timeout 20s %s < %s > %s 2> "+
		"%s.err; echo $?\n",
		before, h.name, kind, h.Data, h.Socket, behind, file, answer, answer)
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

// call has the host call a hook and returns what the hook answered.
func (h *agentHost) call(t *testing.T, kind hook.Kind, session string, change map[string]any) string {
	t.Helper()
	answer := h.begin(t, kind, session, change)
	if !h.out.Scan() || h.out.Text() != "0" {
		t.Fatalf("%s: exit code %q", kind, h.out.Text())
	}
	text, err := os.ReadFile(answer)
	if err != nil {
		t.Fatal(err)
	}
	if !json.Valid(text) {
		t.Fatalf("%s answered %q", kind, text)
	}
	if said, _ := os.ReadFile(answer + ".err"); len(said) > 0 {
		t.Fatalf("%s printed %s", kind, said)
	}
	return string(text)
}

// writes adds to the transcript what the host would.
func (h *agentHost) writes(t *testing.T, lines ...string) {
	t.Helper()
	f, err := os.OpenFile(h.transcript, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(strings.Join(lines, "\n") + "\n"); err != nil {
		t.Fatal(err)
	}
}

// turn is a turn of the user, a tool that fails and an answer, in the host's transcript.
func (h *agentHost) turn(t *testing.T, asked, id, command, failure, answered string) {
	t.Helper()
	q := func(s string) string { out, _ := json.Marshal(s); return string(out) }
	switch h.name {
	case "claude-code":
		h.writes(t, `{"type":"user","message":{"role":"user","content":`+q(asked)+`}}`,
			`{"type":"assistant","message":{"content":[{"type":"tool_use","id":`+q(id)+
				`,"name":"Bash","input":{"command":`+q(command)+`}}]}}`,
			`{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":`+q(id)+
				`,"is_error":true,"content":`+q(failure)+`}]}}`,
			`{"type":"assistant","message":{"content":[{"type":"text","text":`+q(answered)+`}]}}`)
	case "codex":
		h.writes(t, `{"type":"event_msg","payload":{"type":"user_message","message":`+q(asked)+`}}`,
			`{"type":"response_item","payload":{"type":"function_call","name":"Bash","arguments":`+
				q(`{"command":`+q(command)+`}`)+`,"call_id":`+q(id)+`}}`,
			`{"type":"response_item","payload":{"type":"function_call_output","call_id":`+q(id)+`,"output":`+
				q("Exit code: 2\n"+failure)+`}}`,
			`{"type":"response_item","payload":{"type":"message","role":"assistant",`+
				`"content":[{"type":"output_text","text":`+q(answered)+`}]}}`)
	case "copilot", "vscode":
		h.writes(t, `{"type":"user.message","data":{"content":`+q(asked)+`}}`,
			`{"type":"tool.execution_start","data":{"toolCallId":`+q(id)+`,"toolName":"bash","arguments":{"command":`+
				q(command)+`}}}`,
			`{"type":"tool.execution_complete","data":{"toolCallId":`+q(id)+`,"success":false,"error":{"message":`+
				q(failure)+`}}}`,
			`{"type":"assistant.message","data":{"content":`+q(answered)+`}}`)
	}
}

const (
	lesson  = "Please remember that the staging gateway listens on port 8443"
	rule    = "下次不要直接推送到 main 分支"
	failure = "make: *** No rule to make target 'deploy'. Stop."
)

// replay is a session of a host: two prompts with a failing tool each, a compaction between them, and its end. The
// agent of the host is told something after the compaction if the host can tell it anything there.
func (h *agentHost) replay(t *testing.T, session string) {
	t.Helper()
	has := func(kind hook.Kind) bool { _, ok := h.events[kind]; return ok }
	h.call(t, hook.SessionStart, session, map[string]any{"source": "startup"})
	for i, asked := range []string{lesson, rule} {
		id := fmt.Sprintf("call_%d", i)
		h.call(t, hook.Prompt, session, map[string]any{"prompt": asked})
		h.turn(t, asked, id, "make deploy", failure, "Understood.")
		for _, kind := range []hook.Kind{hook.PreTool, hook.PostTool, hook.ToolFailure} {
			if has(kind) {
				h.call(t, kind, session, map[string]any{"tool_use_id": id, "callID": id,
					"timestamp": fmt.Sprint("2026-11-21T10:00:0", i), "error": failure})
			}
		}
		if has(hook.Reply) {
			h.call(t, hook.Reply, session, map[string]any{"text": "Understood.", "reply": "Understood."})
		}
		h.call(t, hook.Stop, session, map[string]any{"prompt_response": "Understood."})
		// as when it is registered twice
		h.call(t, hook.Stop, session, map[string]any{"prompt_response": "Understood."})
		if i > 0 {
			continue
		}
		told := h.call(t, hook.PreCompact, session, nil)
		if h.name == "claude-code" {
			told = h.call(t, hook.SessionStart, session, map[string]any{"source": "compact"})
		}
		if b, _ := hook.ByName(h.name).Binding(hook.PreCompact); (b.PassesOn || h.name == "claude-code") &&
			!strings.Contains(told, "Asked first: "+lesson) {
			t.Errorf("after the compaction: %s", told)
		}
	}
}

// TestHooks replays a session of each host through the real program, and asks what its next one is told.
func TestHooks(t *testing.T) {
	for _, host := range hook.Hosts() {
		t.Run(host.Name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			p.serve(t)
			h := p.host(t, host.Name)
			h.slim = true // as it is installed; TestHookProgramsAgree has the other
			h.replay(t, "first")
			want := []string{"user " + lesson, "tool", "assistant Understood.", "user " + rule, "tool",
				"assistant Understood."}
			if diff := cmp.Diff(want, p.recorded(t, "first")); diff != "" {
				t.Errorf("recorded (-want +got):\n%s", diff)
			}
			if _, ok := host.Binding(hook.SessionEnd); ok {
				h.call(t, hook.SessionEnd, "first", nil)
				if host.WritesLate() {
					h.writes(t, `{"type":"session.shutdown","data":{}}`)
				}
			} else {
				h.kill() // the daemon sees it
				h = p.host(t, host.Name)
				h.slim = true
			}
			p.await(t, "8443", "list", "--json")
			p.await(t, "main 分支", "list", "--json")

			told := h.call(t, hook.SessionStart, "second", map[string]any{"source": "startup"})
			if b, _ := host.Binding(hook.SessionStart); strings.Contains(told, "8443") != b.PassesOn {
				t.Errorf("the next session's start answered %s", told)
			}
			asks := map[string]any{"prompt": "which port does the staging gateway use?"}
			if told = h.call(t, hook.Prompt, "second", asks); strings.Contains(told, "8443") {
				t.Errorf("the start told it, and the next session's prompt again: %s", told)
			}
			told = h.call(t, hook.Prompt, "third", asks) // its start was missed
			if b, _ := host.Binding(hook.Prompt); strings.Contains(told, "8443") != b.PassesOn ||
				strings.Count(told, "<recalled-memories") > 1 {
				t.Errorf("the first prompt of a session without a start answered %s", told)
			}
		})
	}
}

// recorded lists the messages of a session, shortly.
func (p place) recorded(t *testing.T, session string) []string {
	t.Helper()
	var got struct {
		Messages []struct {
			Role, Content string
			Tool          *struct{ Name string }
		}
	}
	text := p.Succeeds(t, "session", "get", session, "--messages", "--json")
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	var out []string
	for _, m := range got.Messages {
		s := m.Role + " " + m.Content
		if m.Tool != nil {
			s = "tool"
		}
		out = append(out, s)
	}
	return out
}

// await runs the program until it prints a text.
func (p place) await(t *testing.T, text string, args ...string) {
	t.Helper()
	out := ""
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if out = p.Succeeds(t, args...); strings.Contains(out, text) {
			return
		}
	}
	t.Fatalf("no %q in %s", text, out)
}

// TestHostKilled kills a host with the hook that it is calling, at every event and at any moment in it. What its
// transcript shows and what was acknowledged is recorded once, when the next session starts.
func TestHostKilled(t *testing.T) {
	p := newPlace(t)
	p.serve(t)
	rng := rand.New(rand.NewPCG(7, 11))
	const events = 6
	for n := range 2 * events {
		session := fmt.Sprint("killed-", n)
		h := p.host(t, "claude-code")
		step := 0
		var written []string
		at := func(kind hook.Kind, change map[string]any) bool {
			if step++; step <= n%events {
				h.call(t, kind, session, change)
				return true
			}
			h.begin(t, kind, session, change)
			time.Sleep(time.Duration(rng.IntN(12_000)) * time.Microsecond) // any moment will do
			h.kill()
			return false
		}
		for i := range 2 {
			asked, answered := fmt.Sprint("question ", n, i), fmt.Sprint("answer ", n, i)
			if i == 0 && !at(hook.SessionStart, map[string]any{"source": "startup"}) ||
				!at(hook.Prompt, map[string]any{"prompt": asked}) {
				break
			}
			h.turn(t, asked, fmt.Sprint("call_", i), "make", failure, answered)
			written = append(written, "user "+asked, "tool", "assistant "+answered)
			if !at(hook.Stop, nil) {
				break
			}
		}
		h.kill()
		next := p.host(t, "claude-code")
		next.call(t, hook.SessionStart, session+"-next", map[string]any{"source": "startup"})
		if len(written) == 0 {
			continue
		}
		got := p.recorded(t, session)
		// the prompt of the killed hook, perhaps
		if slices.Equal(got[:min(len(got), len(written))], written) && len(got) <= len(written)+1 {
			continue
		}
		t.Errorf("killed at event %d:\n%s", step, cmp.Diff(written, got))
	}
}

// TestHookFailsOpen calls hooks when something is wrong. Each ends by itself, with nothing in the host's form, and
// says why in its log only.
func TestHookFailsOpen(t *testing.T) {
	const prompt = `{"session_id":"s","prompt":"a very private prompt"}`
	for _, tt := range []struct {
		name  string
		setup func(t *testing.T, p place)
		args  []string
		in    string
		want  string
		log   string
	}{
		{name: "no daemon", args: []string{"--host", "claude-code", "prompt"}, in: prompt, log: "connect"},
		{name: "a daemon that does not answer", setup: deaf, args: []string{"--host", "gemini", "prompt"}, in: prompt,
			log: "deadline"},
		{name: "at a start", setup: deaf, args: []string{"--host", "codex", "session-start"}, in: prompt,
			log: "codex session-start"},
		{name: "a daemon that was halted", setup: halted, args: []string{"--host", "cursor", "prompt"}, in: prompt,
			want: `{"continue":true}`, log: "deadline"},
		{name: "not JSON", args: []string{"--host", "claude-code", "stop"}, in: "a very private prompt",
			log: "not a JSON object"},
		{name: "no input", args: []string{"--host", "copilot", "stop"}, log: "not a JSON object"},
		{name: "no such host", args: []string{"--host", "emacs", "stop"}, in: prompt, log: `unknown host "emacs"`},
		{name: "no such event", args: []string{"--host", "codex", "reply"}, in: prompt,
			log: "has no event reply"},
		{name: "no such flag", args: []string{"--host", "codex", "--nonsense", "stop"}, in: prompt,
			log: "unknown flag"},
		{name: "a bad setting", args: []string{"--host", "codex", "stop", "--config", "/nowhere.yaml"}, in: prompt,
			log: "nowhere"},
	} {
		for _, slim := range []bool{false, true} {
			t.Run(fmt.Sprint(tt.name, " slim=", slim), func(t *testing.T) {
				t.Parallel()
				p := newPlace(t)
				if tt.setup != nil {
					tt.setup(t, p)
				}
				cmd := p.hookCommand(slim, append([]string{"hook"}, tt.args...)...)
				var stdout, stderr bytes.Buffer
				cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(tt.in), &stdout, &stderr
				if err := cmd.Run(); err != nil {
					t.Errorf("the hook ended with %v", err)
				}
				want := tt.want
				if want == "" {
					want = "{}"
				}
				if strings.TrimSpace(stdout.String()) != want || stderr.Len() > 0 {
					t.Errorf("answered %q and printed %q, want %q", stdout.String(), stderr.String(), want)
				}
				log, err := os.ReadFile(filepath.Join(p.Home(), "state", "memsidecar", "hooks", "hook.log"))
				if err != nil || !strings.Contains(strings.ToLower(string(log)), strings.ToLower(tt.log)) ||
					bytes.Contains(log, []byte("private")) {
					t.Errorf("the log: %q, %v; want %q and nothing of the prompt", log, err, tt.log)
				}
			})
		}
	}
}

// hookProgram is memsidecar-hook.
func hookProgram() string { return filepath.Join(filepath.Dir(program), "memsidecar-hook") }

// hookCommand is Command with one of the two programs that handle hooks.
func (p place) hookCommand(slim bool, args ...string) *exec.Cmd {
	cmd := p.Command(args...)
	if slim {
		cmd.Path = hookProgram()
		cmd.Args = append(append([]string{cmd.Path}, cmd.Args[1:]...), "--program", p.Program)
	}
	return cmd
}

// deaf listens in the place of a daemon and says nothing.
func deaf(t *testing.T, p place) {
	t.Helper()
	l, err := net.Listen("unix", p.Socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
}

// halted is a daemon that the system does not let run.
func halted(t *testing.T, p place) {
	t.Helper()
	d := p.serve(t)
	if err := d.Cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
}
