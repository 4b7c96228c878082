package hook

import (
	"encoding/json"
	"strings"
)

// codex describes Codex CLI.
func codex() *Host {
	return &Host{
		Name: "codex", Title: "Codex CLI",
		Bindings: []Binding{
			{SessionStart, "SessionStart", true},
			{Prompt, "UserPromptSubmit", true},
			{PreTool, "PreToolUse", true},
			{PostTool, "PostToolUse", true},
			{PreCompact, "PreCompact", false},
			{Stop, "Stop", false},
			{SessionEnd, "SessionEnd", false},
		},
		decode: decodeCodex, encode: specificOutput, parse: parseCodex,
	}
}

// decodeCodex reads an event of Codex CLI, which reports a failed tool by the exit code in its output.
func decodeCodex(kind Kind, p payload) (Event, error) {
	ev := p.event(kind)
	ev.Reply = p.text("last_assistant_message")
	if kind == PostTool && ev.Tool != nil {
		output, failed := codexOutput(p["tool_response"])
		if failed {
			ev.Kind = ToolFailure
		}
		setResult(ev.Tool, output, failed)
	}
	return ev, nil
}

// codexOutput is the text of a tool's answer: plain, or an object with the output and what is known about it.
func codexOutput(v json.RawMessage) (text string, failed bool) {
	text = unquote(v)
	var o struct {
		Output   *string `json:"output"`
		ExitCode int     `json:"exit_code"`
		Exit     int     `json:"exitCode"` // Cursor's spelling
		Success  *bool   `json:"success"`
		Metadata struct {
			ExitCode int `json:"exit_code"`
		} `json:"metadata"`
	}
	if json.Unmarshal([]byte(text), &o) == nil && o.Output != nil {
		return *o.Output, o.ExitCode != 0 || o.Exit != 0 || o.Metadata.ExitCode != 0 || o.Success != nil && !*o.Success
	}
	return text, isExitFailure(text[:min(len(text), 300)])
}

// codexLine is a line of a rollout.
type codexLine struct {
	Timestamp string `json:"timestamp"`
	Type      string `json:"type"`
	Payload   struct {
		Type      string          `json:"type"`
		Role      string          `json:"role"`
		Message   string          `json:"message"`
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
		Input     json.RawMessage `json:"input"`
		CallID    string          `json:"call_id"`
		Output    json.RawMessage `json:"output"`
		Content   []struct {
			Text string `json:"text"`
		} `json:"content"`
	} `json:"payload"`
}

// parseCodex takes what the user said from the events, because the items of the same role also hold what the host
// adds to a prompt.
func parseCodex(line []byte, t *transcript) {
	var l codexLine
	if json.Unmarshal(line, &l) != nil {
		return
	}
	t.at = parseTime(l.Timestamp)
	p := &l.Payload
	switch l.Type + "/" + p.Type {
	case "event_msg/user_message":
		t.addText("user", p.Message)
	case "response_item/message":
		if p.Role != "assistant" {
			return
		}
		var text []string
		for _, c := range p.Content {
			text = append(text, c.Text)
		}
		t.addText("assistant", strings.Join(text, "\n"))
	case "response_item/function_call":
		t.addCall(p.CallID, p.Name, unquote(p.Arguments))
	case "response_item/custom_tool_call":
		t.addCall(p.CallID, p.Name, unquote(p.Input))
	case "response_item/function_call_output", "response_item/custom_tool_call_output":
		output, failed := codexOutput(p.Output)
		t.addResult(p.CallID, output, failed)
	}
}
