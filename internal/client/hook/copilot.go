package hook

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"
)

// copilot passes on what hooks answer to four events (seen in 1.0.102).
func copilot() *Host {
	return &Host{
		Name: "copilot", Title: "Copilot CLI",
		Bindings: []Binding{
			{SessionStart, "sessionStart", true},
			{Prompt, "userPromptSubmitted", true},
			{PreTool, "preToolUse", true},
			{PostTool, "postToolUse", true},
			{ToolFailure, "postToolUseFailure", true},
			{PreCompact, "preCompact", false},
			{Stop, "agentStop", false},
			{SessionEnd, "sessionEnd", false},
		},
		decode: decodeCopilot, encode: encodeCopilot, parse: parseCopilot, lastLine: `"type":"session.shutdown"`,
	}
}

// encodeCopilot writes an answer for Copilot CLI, which takes no other fields for a context.
func encodeCopilot(_ Binding, text string) any {
	if text == "" {
		return struct{}{}
	}
	return map[string]string{"additionalContext": text}
}

// decodeCopilot reads an event of Copilot CLI. A command that ended with another code than 0 is a success to it: only
// the end of the text tells.
func decodeCopilot(kind Kind, p payload) (Event, error) {
	ev := p.event(kind)
	if kind == ToolFailure && ev.Tool != nil {
		ev.Tool.Error, ev.Tool.Failed = truncate(p.raw("error"), maxError), true
	}
	if kind == PostTool && ev.Tool != nil {
		text, failed := copilotResult(p)
		setPostTool(&ev, text, failed)
	}
	return ev, nil
}

// copilotResult is the text of a tool's result and whether the host calls it a failure: of Copilot CLI an object, of
// VS Code a text.
func copilotResult(p payload) (text string, failed bool) {
	if result := p.object("toolResult"); result != nil {
		kind := result.text("resultType")
		return result.raw("textResultForLlm", "error"), kind != "" && kind != "success"
	}
	return codexOutput(p["tool_response"])
}

// setPostTool fills in how a call ended, and makes a failure of the event when the output says that it is one.
func setPostTool(ev *Event, text string, failed bool) {
	failed = failed || isExitFailure(text)
	if failed {
		ev.Kind = ToolFailure
	}
	setResult(ev.Tool, text, failed)
}

// vscode reads the hooks of Copilot's agent in the editor. It writes the same kind of transcript as Copilot CLI.
func vscode() *Host {
	return &Host{
		Name: "vscode", Title: "VS Code",
		Bindings: []Binding{
			{SessionStart, "SessionStart", true},
			{Prompt, "UserPromptSubmit", false},
			{PreTool, "PreToolUse", true},
			{PostTool, "PostToolUse", true},
			{PreCompact, "PreCompact", false},
			{Stop, "Stop", false},
		},
		decode: decodeCopilot, encode: specificOutput, parse: parseCopilot,
	}
}

// WritesLate reports whether the host writes the end of a transcript only when its last hook has answered.
func (h *Host) WritesLate() bool { return h.lastLine != "" }

// AwaitTranscript waits until the transcript of a session that ends has its last line behind what was read of it
// before, or ctx has ended. It is for a process that the host does not wait for.
func (r *Runner) AwaitTranscript(ctx context.Context, ev Event) error {
	s, err := openState(ctx.Done(), r.Dir, ev.Session)
	if err != nil {
		return err
	}
	r.trackHost(s, ev)
	path, from := s.Transcript, s.Offset
	s.close()
	for seen := int64(0); ; {
		if size := fileSize(path); size > max(seen, from) {
			seen = size
			if found, err := hasLine(path, from, r.Host.lastLine); found || err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the transcript did not get its last line in time: %w", ctx.Err())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// hasLine reports whether a whole line behind an offset contains a text.
func hasLine(path string, from int64, text string) (found bool, err error) {
	f, err := os.Open(path)
	if err != nil {
		return false, fmt.Errorf("open the transcript: %w", err)
	}
	defer f.Close()
	_, err = eachLine(io.NewSectionReader(f, from, readAll), from, func(line []byte, _ int64) bool {
		found = bytes.Contains(line, []byte(text))
		return !found
	})
	return found, err
}

// copilotLine is an event of a session.
type copilotLine struct {
	Type      string `json:"type"`
	Timestamp string `json:"timestamp"`
	Data      struct {
		Content   string          `json:"content"`
		CallID    string          `json:"toolCallId"`
		Tool      string          `json:"toolName"`
		Arguments json.RawMessage `json:"arguments"`
		Success   *bool           `json:"success"`
		Result    json.RawMessage `json:"result"`
		Error     json.RawMessage `json:"error"`
		Shell     *struct {
			ExitCode int `json:"exitCode"`
		} `json:"shellExecution"`
	} `json:"data"`
}

// parseCopilot reads one line of a session's events.jsonl.
func parseCopilot(line []byte, t *transcript) {
	var l copilotLine
	if json.Unmarshal(line, &l) != nil {
		return
	}
	t.at = parseTime(l.Timestamp)
	d := &l.Data
	switch l.Type {
	case "user.message":
		t.addText("user", d.Content)
	case "assistant.message":
		t.addText("assistant", d.Content)
	case "tool.execution_start":
		t.addCall(d.CallID, d.Tool, unquote(d.Arguments))
	case "tool.execution_complete":
		failed := d.Success != nil && !*d.Success
		exit := d.Shell != nil && d.Shell.ExitCode != 0
		text := copilotText(d.Result, "content")
		if failed {
			text = copilotText(d.Error, "message")
		}
		t.addResult(d.CallID, text, failed || exit || isExitFailure(text))
	}
}

// copilotText returns a member of an object, or the value itself if it is a string.
func copilotText(v json.RawMessage, field string) string {
	var p payload
	if json.Unmarshal(v, &p) == nil {
		return p.raw(field)
	}
	return unquote(v)
}

// TranscriptOf is where a host is known to keep the transcript of a session whose event did not name one; "" when it
// is not known.
func (h *Host) TranscriptOf(home, session string) string {
	if h.Name != "copilot" || home == "" {
		return ""
	}
	return filepath.Join(home, ".copilot", "session-state", session, "events.jsonl")
}
