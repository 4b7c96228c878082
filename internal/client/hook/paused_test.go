package hook_test

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/memsidecar/memsidecar/internal/client/hook"
)

// turn is a turn of Claude Code: a prompt, its answer in the transcript, and the end of the turn. It returns what the
// agent is told.
func (h *host) turn(prompt string) string {
	told := h.event(hook.Prompt, `,"prompt":`+quoted(prompt))
	h.writes(says("user", prompt), says("assistant", "answer to "+prompt))
	return told + h.event(hook.Stop, "")
}

// TestPausedHost checks that nothing that is said during a pause is ever recorded, in a session that began before it,
// and that everything after it is.
func TestPausedHost(t *testing.T) {
	d := newDaemon()
	d.recalled = "<memories>"
	h := newHost(t, "claude-code", d)
	h.event(hook.SessionStart, `,"source":"startup"`)
	h.turn("one")
	d.paused = true
	if told := h.turn("secret two"); told != "" {
		t.Errorf("the paused host is told %q", told)
	}
	h.turn("secret three")
	h.writes(says("assistant", "a secret afterthought")) // after the last event of the pause
	d.paused = false
	if told := h.turn("four"); !strings.Contains(told, "<memories>") {
		t.Errorf("the resumed host is told %q", told)
	}
	want := []string{"user: one", "assistant: answer to one", "user: four", "assistant: answer to four"}
	if diff := cmp.Diff(want, d.said("s")); diff != "" {
		t.Error(diff)
	}
}

// TestPausedSession checks a session that begins during the pause: it gets its context with the first prompt after it.
func TestPausedSession(t *testing.T) {
	d := newDaemon()
	d.paused = true
	h := newHost(t, "claude-code", d)
	if told := h.event(hook.SessionStart, `,"source":"startup"`); told != "" {
		t.Errorf("the paused host is told %q", told)
	}
	h.turn("secret one")
	d.paused = false
	if told := h.turn("two"); !strings.Contains(told, "<context of s>") {
		t.Errorf("the resumed host is told %q", told)
	}
	// A transcript that moves, or is written anew, has the pause in it.
	text, err := os.ReadFile(h.transcript)
	if err != nil {
		t.Fatal(err)
	}
	h.transcript += "2"
	if err := os.WriteFile(h.transcript, text, 0o600); err != nil {
		t.Fatal(err)
	}
	h.turn("three")
	if err := os.WriteFile(h.transcript, text[:len(text)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	h.event(hook.Stop, "")
	h.turn("four")
	for _, s := range d.said("s") {
		if strings.Contains(s, "secret") {
			t.Errorf("recorded: %s", s)
		}
	}
	if got := strings.Join(d.said("s"), "\n"); !strings.Contains(got, "user: four") || !strings.Contains(got, "user: two") {
		t.Errorf("recorded:\n%s", got)
	}
}
