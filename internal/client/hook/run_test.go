package hook_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/memsidecar/memsidecar/internal/client/hook"
	"github.com/memsidecar/memsidecar/internal/memory"
)

// fakeDaemon numbers messages as the daemon does.
type fakeDaemon struct {
	mu        sync.Mutex // held during every call
	sessions  map[string][]memory.Message
	started   []hook.Start
	ended     []string
	asked     []string
	calls     int
	compacted int // notices of compactions

	paused   bool
	fail     func(call int) bool // the call is not carried out
	loseAck  func(call int) bool // it is, but the answer is lost
	recalled string
}

var errDown = errors.New("nobody answers")

func newDaemon() *fakeDaemon { return &fakeDaemon{sessions: map[string][]memory.Message{}} }

func (d *fakeDaemon) call() error {
	d.calls++
	if d.paused {
		return hook.ErrPaused
	}
	if d.fail != nil && d.fail(d.calls) {
		return errDown
	}
	return nil
}

func (d *fakeDaemon) answer() error {
	if d.loseAck != nil && d.loseAck(d.calls) {
		return errDown
	}
	return nil
}

func (d *fakeDaemon) Start(_ context.Context, s hook.Start) (string, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.call(); err != nil {
		return "", err
	}
	d.started = append(d.started, s)
	return "<context of " + s.Session + ">\n", d.answer()
}

func (d *fakeDaemon) Append(_ context.Context, session string, first int64, messages []memory.Message) (int64, int,
	error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.call(); err != nil {
		return 0, 0, err
	}
	have := d.sessions[session]
	next := int64(len(have)) + 1
	if first == 0 {
		first = next
	}
	if first > next {
		return 0, 0, hook.ErrGap
	}
	known := int(min(next-first, int64(len(messages))))
	d.sessions[session] = append(have, messages[known:]...)
	return int64(len(d.sessions[session])) + 1, known, d.answer()
}

func (d *fakeDaemon) Messages(_ context.Context, session string, from int64) ([]memory.Message, int64, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.call(); err != nil {
		return nil, 0, err
	}
	have := d.sessions[session]
	next := int64(len(have)) + 1
	part := have[min(max(from, 1)-1, int64(len(have))):]
	return part[:min(2, len(part))], next, d.answer() // in small pages
}

func (d *fakeDaemon) Recall(_ context.Context, _, prompt string, failed *memory.ToolCall) (string, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if failed != nil {
		prompt += failed.Name + " " + failed.Error
	}
	d.asked = append(d.asked, prompt)
	return d.recalled, nil
}

func (d *fakeDaemon) Hint(context.Context, string, *memory.ToolCall) (string, error) {
	return "<hint>", nil
}

func (d *fakeDaemon) Compacted(context.Context, string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.call(); err != nil {
		return err
	}
	d.compacted++
	return d.answer()
}

func (d *fakeDaemon) End(_ context.Context, session string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.call(); err != nil {
		return err
	}
	d.ended = append(d.ended, session)
	return nil
}

// said lists a session's messages, shortly.
func (d *fakeDaemon) said(session string) []string {
	out := []string{}
	for _, m := range d.sessions[session] {
		s := m.Role + ": " + m.Content
		if m.Tool != nil {
			s = "tool: " + m.Tool.Name + " " + m.Tool.Error
		}
		out = append(out, s)
	}
	return out
}

// host plays a host program: it writes its transcript and calls hooks.
type host struct {
	t          *testing.T
	daemon     *fakeDaemon
	dir        string
	name       string
	transcript string
	now        time.Time
	failed     int  // events whose hook reported an error
	mute       bool // nothing is written to the transcript
}

func newHost(t *testing.T, name string, d *fakeDaemon) *host {
	dir := t.TempDir()
	return &host{t: t, daemon: d, dir: dir, name: name, transcript: filepath.Join(dir, "t.jsonl"),
		now: time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)}
}

func (h *host) runner() *hook.Runner {
	return &hook.Runner{Host: hook.ByName(h.name), Daemon: h.daemon, Dir: filepath.Join(h.dir, "sessions"),
		Now:   func() time.Time { return h.now },
		Nonce: func() string { return "0123456789abcdef" }}
}

// event calls the hook of an event of session s and returns what the agent is told.
func (h *host) event(kind hook.Kind, fields string) string {
	h.t.Helper()
	h.now = h.now.Add(time.Minute)
	in := `{"session_id":"s","cwd":"/home/mei/shop","transcript_path":` + quoted(h.transcript) + fields + `}`
	ev, err := hook.ByName(h.name).Decode(kind, []byte(in))
	if err != nil {
		h.t.Fatal(err)
	}
	told, err := h.runner().Run(h.t.Context(), ev)
	if err != nil {
		h.failed++
	}
	return told
}

func quoted(s string) string {
	out, _ := json.Marshal(s)
	return string(out)
}

// writes adds lines to the transcript.
func (h *host) writes(lines ...string) {
	h.t.Helper()
	if h.mute {
		return
	}
	f, err := os.OpenFile(h.transcript, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		h.t.Fatal(err)
	}
	defer f.Close()
	for _, l := range lines {
		if _, err := f.WriteString(l + "\n"); err != nil {
			h.t.Fatal(err)
		}
	}
}

func says(role, text string) string {
	return `{"type":"` + role + `","message":{"content":` + quoted(text) + `}}`
}

func calls(id, command string) string {
	return `{"type":"assistant","message":{"content":[{"type":"tool_use","id":"` + id +
		`","name":"Bash","input":{"command":` + quoted(command) + `}}]}}`
}

func fails(id, text string) string {
	return `{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"` + id +
		`","is_error":true,"content":` + quoted(text) + `}]}}`
}

// script is a session as Claude Code goes through it, a step each.
var script = []func(h *host){
	func(h *host) { h.event(hook.SessionStart, `,"source":"startup"`) },
	func(h *host) { h.event(hook.Prompt, `,"prompt":"deploy it"`) },
	func(h *host) {
		h.writes(says("user", "deploy it"), says("assistant", "Trying."), calls("t1", "make deploy"))
		h.event(hook.ToolFailure, `,"tool_name":"Bash","tool_use_id":"t1","tool_input":{"command":"make `+
			`deploy"},"error":"no rule"`)
	},
	func(h *host) {
		h.writes(fails("t1", "no rule"), calls("t2", "make deploy"))
		h.event(hook.ToolFailure, `,"tool_name":"Bash","tool_use_id":"t2","tool_input":{"command":"make `+
			`deploy"},"error":"no rule"`)
	},
	func(h *host) {
		h.writes(fails("t2", "no rule"), says("assistant", "There is none."))
		h.event(hook.Stop, "")
	},
	func(h *host) { h.event(hook.Prompt, `,"prompt":"deploy it"`) },
	func(h *host) {
		h.writes(says("user", "deploy it"), says("assistant", "Still none."))
		h.event(hook.Stop, "")
	},
	func(h *host) { h.event(hook.PreCompact, `,"trigger":"auto"`) },
	func(h *host) { h.event(hook.SessionStart, `,"source":"compact"`) },
	func(h *host) { h.event(hook.Prompt, `,"prompt":"thanks"`) },
	func(h *host) {
		h.writes(says("user", "thanks"), says("assistant", "Bye."))
		h.event(hook.SessionEnd, "")
	},
}

var whole = []string{
	"user: deploy it", "assistant: Trying.", "tool: Bash no rule", "tool: Bash no rule", "assistant: There is none.",
	"user: deploy it", "assistant: Still none.", "user: thanks", "assistant: Bye.",
}

func TestSession(t *testing.T) {
	d := newDaemon()
	h := newHost(t, "claude-code", d)
	for _, step := range script {
		step(h)
	}
	if diff := cmp.Diff(whole, d.said("s")); diff != "" {
		t.Errorf("recorded (-want +got):\n%s", diff)
	}
	if h.failed != 0 || len(d.ended) != 1 {
		t.Errorf("%d events failed, ended %v", h.failed, d.ended)
	}
	if want := []hook.Start{{Session: "s", Host: "claude-code", Cwd: "/home/mei/shop"}}; !cmp.Equal(want,
		d.started[:1]) {
		t.Errorf("started %v", d.started)
	}
}

// TestDoubles calls every hook twice, as when it is registered twice.
func TestDoubles(t *testing.T) {
	d := newDaemon()
	h := newHost(t, "claude-code", d)
	for _, step := range script {
		step(h)
		h.mute = true // the second time nothing is written
		h.now = h.now.Add(-time.Minute)
		step(h)
		h.mute = false
	}
	h.event(hook.Stop, "")
	if diff := cmp.Diff(whole, d.said("s")); diff != "" {
		t.Errorf("recorded (-want +got):\n%s", diff)
	}
}

// TestKilled loses, at every single call of the daemon, the call, or its answer, or what the hook noted of the event
// that made it; and at every event all that was ever noted. At the end everything is recorded, once.
func TestKilled(t *testing.T) {
	for _, how := range []string{"call lost", "answer lost", "note lost", "all notes lost"} {
		t.Run(how, func(t *testing.T) {
			most := len(script)
			if how != "all notes lost" && how != "note lost" {
				most = 30
			}
			for n := range most {
				d := newDaemon()
				h := newHost(t, "claude-code", d)
				switch how {
				case "call lost":
					d.fail = func(call int) bool { return call == n+1 }
				case "answer lost":
					d.loseAck = func(call int) bool { return call == n+1 }
				}
				note := filepath.Join(h.dir, "sessions", "s.json")
				for i, step := range script {
					before, _ := os.ReadFile(note)
					step(h)
					if i == n && how == "note lost" {
						if err := os.WriteFile(note, before, 0o600); err != nil {
							t.Fatal(err)
						}
					}
					if i == n && how == "all notes lost" {
						if err := os.Remove(note); err != nil {
							t.Fatal(err)
						}
					}
				}
				h.event(hook.SessionEnd, "")
				if missing, extra := compare(whole, d.said("s")); len(missing)+len(extra) > 0 {
					t.Errorf("%s at %d: missing %q, too many %q, of\n%s", how, n, missing, extra,
						strings.Join(d.said("s"), "\n"))
				}
			}
		})
	}
}

// compare tells what of want is not in got and what of got is not in want, each as often as it is there.
func compare(want, got []string) (missing, extra []string) {
	count := map[string]int{}
	for _, s := range want {
		count[s]++
	}
	for _, s := range got {
		if count[s] == 0 {
			extra = append(extra, s)
			continue
		}
		count[s]--
	}
	for s, n := range count {
		for range n {
			missing = append(missing, s)
		}
	}
	return missing, extra
}

// TestHostKilled stops a host at every point; the next session's start finds what its transcript still shows.
func TestHostKilled(t *testing.T) {
	for n := range script {
		d := newDaemon()
		h := newHost(t, "claude-code", d)
		for _, step := range script[:n+1] {
			step(h)
		}
		h.writes(says("assistant", "The last word."))
		if err := h.runner().RecoverOrphans(t.Context(), "another"); err != nil {
			t.Fatal(err)
		}
		said := d.said("s")
		if n < len(script)-1 && (len(said) == 0 || said[len(said)-1] != "assistant: The last word.") {
			t.Errorf("after %d events: %q", n+1, said)
		}
	}
}

// TestWithoutTranscript records from the events alone.
func TestWithoutTranscript(t *testing.T) {
	d := newDaemon()
	h := newHost(t, "gemini", d)
	tool := `,"tool_name":"run_shell_command","tool_input":{"command":"make"},"tool_response":{"llmContent":"x\nExit ` +
		`Code: 2"}`
	for range 2 {
		h.event(hook.Prompt, `,"prompt":"continue"`)
		h.event(hook.Prompt, `,"prompt":"continue"`)
		at := h.now.String()
		h.event(hook.PostTool, `,"timestamp":"`+at+`"`+tool)
		h.event(hook.PostTool, `,"timestamp":"`+at+`"`+tool)
		h.event(hook.Stop, `,"prompt_response":"Done."`)
		h.event(hook.Stop, `,"prompt_response":"Done."`)
	}
	turn := []string{"user: continue", "tool: run_shell_command x\nExit Code: 2", "assistant: Done."}
	if diff := cmp.Diff(append(turn, turn...), d.said("s")); diff != "" {
		t.Errorf("recorded (-want +got):\n%s", diff)
	}
}

// TestTold checks what an agent is told, and when.
func TestTold(t *testing.T) {
	d := newDaemon()
	d.recalled = "<recalled>"
	h := newHost(t, "claude-code", d)
	const context = "<context of s>\n"
	check := func(what, got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("%s: told %q, want %q", what, got, want)
		}
	}
	d.fail = func(int) bool { return true }
	check("no daemon", h.event(hook.SessionStart, `,"source":"startup"`), "")
	d.fail = nil
	check("a start that was missed", h.event(hook.Prompt, `,"prompt":"a"`), context+"<recalled>")
	check("a prompt", h.event(hook.Prompt, `,"prompt":"b"`), "<recalled>")
	check("a prompt of nothing", h.event(hook.Prompt, `,"prompt":" "`), "")
	check("taken up again", h.event(hook.SessionStart, `,"source":"resume"`), "")
	check("a failure", h.event(hook.ToolFailure, `,"tool_name":"Bash","tool_use_id":"1","error":"no"`), "<recalled>")
	check("a failure by the user", h.event(hook.ToolFailure,
		`,"tool_name":"Bash","tool_use_id":"2","error":"no","is_interrupt":true`), "")
	check("before a tool", h.event(hook.PreTool, `,"tool_name":"Bash"`), "<hint>")
	check("before a compaction", h.event(hook.PreCompact, ``), "")
	if d.compacted != 1 {
		t.Errorf("the daemon was told of %d compactions, want 1", d.compacted)
	}
	told := h.event(hook.SessionStart, `,"source":"compact"`)
	if !strings.HasPrefix(told, context) || !strings.Contains(told, "Asked first: a\nAsked lately:\n- b\n") ||
		!strings.Contains(told, "Tools used: Bash 1 (1 failed)") {
		t.Errorf("after a compaction: %q", told)
	}
	if want := []string{"a", "b", "Bash no"}; !cmp.Equal(want, d.asked) {
		t.Errorf("looked up %q, want %q", d.asked, want)
	}
}

// TestCompactedWithoutStart tells the agent of a host that has no start behind a compaction with its next prompt.
func TestCompactedWithoutStart(t *testing.T) {
	d := newDaemon()
	h := newHost(t, "gemini", d)
	h.event(hook.SessionStart, `,"source":"startup"`)
	h.event(hook.Prompt, `,"prompt":"部署到测试环境"`)
	h.event(hook.PreCompact, ``)
	if told := h.event(hook.Prompt, `,"prompt":"b"`); !strings.Contains(told, "最初的请求：部署到测试环境") {
		t.Errorf("told %q", told)
	}
	if told := h.event(hook.Prompt, `,"prompt":"c"`); told != "" {
		t.Errorf("told again: %q", told)
	}
}

// TestAtOnce calls many hooks of a session at the same time, with and without a transcript that shows the same later.
func TestAtOnce(t *testing.T) {
	for _, name := range []string{"claude-code", "opencode"} {
		t.Run(name, func(t *testing.T) {
			d := newDaemon()
			h := newHost(t, name, d)
			h.event(hook.SessionStart, `,"source":"startup"`)
			var want []string
			var all sync.WaitGroup
			for i := range 32 {
				want = append(want, fmt.Sprint("tool: Bash no rule ", i))
				id, failure := fmt.Sprint("t", i), fmt.Sprint("no rule ", i)
				h.writes(calls(id, "make"), fails(id, failure))
				in := fmt.Sprintf(`{"session_id":"s","transcript_path":%q,"tool_name":"Bash","tool_use_id":%q,`+
					`"tool":"Bash","callID":%q,"error":%q}`, h.transcript, id, id, failure)
				ev, err := hook.ByName(name).Decode(hook.ToolFailure, []byte(in))
				if err != nil {
					t.Fatal(err)
				}
				r := h.runner()
				all.Go(func() { _, _ = r.Run(t.Context(), ev) })
			}
			all.Wait()
			h.event(hook.Stop, "")
			if missing, extra := compare(want, d.said("s")); len(missing)+len(extra) > 0 {
				t.Errorf("missing %q, too many %q", missing, extra)
			}
		})
	}
}

// TestRewritten reads a transcript that was written anew, and shorter.
func TestRewritten(t *testing.T) {
	d := newDaemon()
	h := newHost(t, "claude-code", d)
	h.writes(says("user", "one"), says("assistant", "two"), says("user", "three"))
	h.event(hook.Stop, "")
	if err := os.WriteFile(h.transcript, []byte(says("user", "one")+"\n"+says("assistant", "four")+"\n"),
		0o600); err != nil {
		t.Fatal(err)
	}
	h.event(hook.Stop, "")
	if diff := cmp.Diff([]string{"user: one", "assistant: two", "user: three", "assistant: four"},
		d.said("s")); diff != "" {
		t.Errorf("recorded (-want +got):\n%s", diff)
	}
}

// TestMoved reads a transcript that the host has moved, with what it holds.
func TestMoved(t *testing.T) {
	d := newDaemon()
	h := newHost(t, "claude-code", d)
	h.writes(says("user", "one"), says("assistant", "two"))
	h.event(hook.Stop, "")
	h.transcript += ".moved"
	h.writes(says("user", "one"), says("assistant", "two"), says("user", "one"))
	h.event(hook.Stop, "")
	if diff := cmp.Diff([]string{"user: one", "assistant: two", "user: one"}, d.said("s")); diff != "" {
		t.Errorf("recorded (-want +got):\n%s", diff)
	}
}

// TestManyMessages appends more than a call takes.
func TestManyMessages(t *testing.T) {
	d := newDaemon()
	h := newHost(t, "claude-code", d)
	var want []string
	for i := range 1000 {
		h.writes(says("user", fmt.Sprint("line ", i)))
		want = append(want, fmt.Sprint("user: line ", i))
	}
	d.fail = func(call int) bool { return call == 4 }
	h.event(hook.Stop, "")
	h.event(hook.Stop, "")
	if diff := cmp.Diff(want, d.said("s")); diff != "" {
		t.Errorf("recorded (-want +got):\n%s", diff)
	}
}

// TestRestored goes on with a daemon that knows less than it had acknowledged, as after a restore of a backup.
func TestRestored(t *testing.T) {
	d := newDaemon()
	h := newHost(t, "claude-code", d)
	h.writes(says("user", "one"), says("assistant", "two"))
	h.event(hook.Stop, "")
	d.sessions["s"] = d.sessions["s"][:1]
	h.writes(says("user", "three"))
	h.event(hook.Stop, "")
	if diff := cmp.Diff([]string{"user: one", "user: three"}, d.said("s")); diff != "" {
		t.Errorf("recorded (-want +got):\n%s", diff)
	}
}
