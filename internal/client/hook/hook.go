// Package hook turns what agents' host programs tell their hooks into calls of the daemon, and the answers into what
// the hosts take. Each host has a file of its own: which events it has, how it writes them, what it accepts back, and
// how it records a conversation. The handling of events is the same for all hosts; see run.go.
//
// It knows no gRPC and starts nothing; who uses it brings the connection. What it keeps between two events of a
// session is a small file without any of the conversation's text.
package hook

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/redact"
)

// Kind is what happened, in words of our own. Hosts have their own names for it.
type Kind string

// The kinds, in the order in which a session meets them.
const (
	SessionStart Kind = "session-start"
	Prompt       Kind = "prompt"
	PreTool      Kind = "pre-tool"
	PostTool     Kind = "post-tool"
	ToolFailure  Kind = "tool-failure"
	Reply        Kind = "reply" // what the agent answered
	PreCompact   Kind = "pre-compact"
	Stop         Kind = "stop" // the agent's turn is over
	SessionEnd   Kind = "session-end"
)

// Event is one event of a session, read from what the host sent.
type Event struct {
	Kind       Kind
	Session    string // the host's id
	Cwd        string
	Transcript string // the host's own record of the conversation; "" when it named none
	Source     string // how the session was started: startup, resume, clear or compact
	Prompt     string
	Reply      string
	ToolID     string
	Tool       *memory.ToolCall
	Stopped    bool // the user stopped the tool, which is no failure of it
}

// Binding says how a host calls an event.
type Binding struct {
	Kind     Kind
	Native   string // the host's name of it
	PassesOn bool   // the host gives the agent what the hook answers
}

// Host is a program that runs an agent and calls hooks. Values are immutable.
type Host struct {
	Name     string // in --host and install
	Title    string // for people
	Bindings []Binding

	decode func(kind Kind, p payload) (Event, error)
	encode func(b Binding, text string) any
	parse  func(line []byte, t *transcript) // nil: its transcripts are not read
	// a part of the line with which the host ends a transcript, of a host that writes it after its last hook
	lastLine string
}

// Hosts returns all hosts.
func Hosts() []*Host {
	return []*Host{claudeCode(), codex(), openCode(), gemini(), cursor(), copilot(), vscode()}
}

// ByName returns a host, nil when there is none of that name.
func ByName(name string) *Host {
	for _, h := range Hosts() {
		if h.Name == name {
			return h
		}
	}
	return nil
}

// Binding returns how the host calls a kind of event; ok is false when it has none such.
func (h *Host) Binding(kind Kind) (Binding, bool) {
	i := slices.IndexFunc(h.Bindings, func(b Binding) bool { return b.Kind == kind })
	if i < 0 {
		return Binding{}, false
	}
	return h.Bindings[i], true
}

// maxSession is how long a host's id of a session may be.
const maxSession = 128

// Decode reads what the host wrote to the hook's standard input. What an event does not need may be missing, and what
// is not known is ignored: hosts add fields with every release.
func (h *Host) Decode(kind Kind, stdin []byte) (Event, error) {
	if _, ok := h.Binding(kind); !ok {
		return Event{}, fmt.Errorf("%s has no event %s", h.Name, kind)
	}
	var p payload
	if err := json.Unmarshal(stdin, &p); err != nil {
		return Event{}, fmt.Errorf("the input is not a JSON object: %d bytes that do not parse", len(stdin))
	}
	ev, err := h.decode(kind, p)
	if err != nil {
		return Event{}, err
	}
	if ev.Session = sessionID(ev.Session); ev.Session == "" {
		return Event{}, fmt.Errorf("the input names no session")
	}
	return ev, nil
}

// Encode writes the answer of a hook in the host's format. text is for the agent; where the host does not pass it on,
// or it is empty, the answer is the host's form of nothing.
func (h *Host) Encode(kind Kind, text string) []byte {
	b, ok := h.Binding(kind)
	if !ok || !b.PassesOn {
		text = ""
	}
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if e.Encode(h.encode(b, text)) != nil { // cannot be: strings and booleans only
		return []byte("{}\n")
	}
	return out.Bytes()
}

// sessionID makes a valid id of what a host calls a session: they are UUIDs everywhere, but nobody promised it.
func sessionID(s string) string {
	s = strings.Map(func(r rune) rune {
		if r <= ' ' || r > '~' || r == '/' {
			return '-'
		}
		return r
	}, s)
	return s[:min(len(s), maxSession)]
}

// payload is a JSON object of which only some fields are known.
type payload map[string]json.RawMessage

// text returns the first of the fields that is a string, "" when none is.
func (p payload) text(names ...string) string {
	for _, n := range names {
		var s string
		if json.Unmarshal(p[n], &s) == nil && s != "" {
			return s
		}
	}
	return ""
}

// raw returns the first of the fields that is there, as it was written; a string is taken out of its quotes.
func (p payload) raw(names ...string) string {
	for _, n := range names {
		if v := p[n]; len(v) > 0 && string(v) != "null" {
			return unquote(v)
		}
	}
	return ""
}

// isTrue reports whether a member is the JSON value true.
func (p payload) isTrue(name string) bool { return string(p[name]) == "true" }

// object returns a field that is an object; nil when it is none.
func (p payload) object(name string) payload {
	var out payload
	if json.Unmarshal(p[name], &out) != nil {
		return nil
	}
	return out
}

// unquote returns the text of a JSON string, or the raw JSON of another value.
func unquote(v json.RawMessage) string {
	var s string
	if json.Unmarshal(v, &s) == nil {
		return s
	}
	return string(v)
}

// event fills in what all hosts have in common, in either spelling.
func (p payload) event(kind Kind) Event {
	ev := Event{
		Kind:       kind,
		Session:    p.text("session_id", "sessionId", "conversation_id", "sessionID"),
		Cwd:        p.text("cwd", "directory"),
		Transcript: p.text("transcript_path", "transcriptPath"),
		Source:     p.text("source"),
		Prompt:     p.text("prompt"),
		ToolID:     p.text("tool_use_id", "toolUseId", "tool_call_id", "toolCallId"),
	}
	if name := p.text("tool_name", "toolName"); name != "" {
		ev.Tool = &memory.ToolCall{Name: truncate(name, 200),
			Arguments: truncate(p.raw("tool_input", "toolArgs"), maxArguments)}
	}
	return ev
}

// Sizes of what is kept of a tool call, in bytes. What a tool was asked and what went wrong is worth more than what
// it answered.
const (
	maxArguments = 4 << 10
	maxResult    = 4 << 10
	maxError     = 8 << 10
	maxText      = 60 << 10
)

// truncate leaves out the middle of a text that has more than limit bytes. It is redacted before: the daemon would not
// know half a secret, or half a block of our own.
func truncate(s string, limit int) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= limit {
		return s
	}
	if s, _ = redact.Text(s); len(s) <= limit {
		return s
	}
	const gap = "\n[…]\n"
	half := (limit - len(gap)) / 2
	return strings.ToValidUTF8(s[:half], "") + gap + strings.ToValidUTF8(s[len(s)-half:], "")
}

// parseTime parses an RFC 3339 time; anything else is the zero time.
func parseTime(s string) time.Time {
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		return time.Time{}
	}
	return t
}

// isExitFailure reports whether a tool's output says near its beginning or its end that the command ended with another
// code than 0.
func isExitFailure(output string) bool {
	for _, part := range []string{output[:min(len(output), 300)], output[max(0, len(output)-300):]} {
		for _, words := range []string{"exit code: ", "exit code ", "exited with code "} {
			_, rest, found := strings.Cut(strings.ToLower(part), words)
			if found && rest != "" && rest[0] >= '1' && rest[0] <= '9' {
				return true
			}
		}
	}
	return false
}
