package hook

import (
	"encoding/json"
	"path/filepath"
)

// copilot passes nothing that a hook answers on to its agent.
func copilot() *Host {
	return &Host{
		Name: "copilot", Title: "Copilot CLI",
		Bindings: []Binding{
			{SessionStart, "sessionStart", false},
			{Prompt, "userPromptSubmitted", false},
			{ToolFailure, "postToolUseFailure", false},
			{PreCompact, "preCompact", false},
			{Stop, "agentStop", false},
			{SessionEnd, "sessionEnd", false},
		},
		decode: decodeCopilot, encode: specificOutput, parse: parseCopilot,
	}
}

// decodeCopilot reads an event of Copilot CLI.
func decodeCopilot(kind Kind, p payload) (Event, error) {
	ev := p.event(kind)
	if kind == ToolFailure && ev.Tool != nil {
		ev.Tool.Error, ev.Tool.Failed = truncate(p.raw("error"), maxError), true
	}
	return ev, nil
}

// vscode reads the hooks of Copilot's agent in the editor. It writes the same kind of transcript as Copilot CLI.
func vscode() *Host {
	return &Host{
		Name: "vscode", Title: "VS Code",
		Bindings: []Binding{
			{SessionStart, "SessionStart", true},
			{Prompt, "UserPromptSubmit", false},
			{PreTool, "PreToolUse", true},
			{PreCompact, "PreCompact", false},
			{Stop, "Stop", false},
		},
		decode: decodeCopilot, encode: specificOutput, parse: parseCopilot,
	}
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
		text := copilotText(d.Result, "content")
		if failed {
			text = copilotText(d.Error, "message")
		}
		t.addResult(d.CallID, text, failed || isExitFailure(text))
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
