package hook

import "encoding/json"

// cursor names its transcript in the editor only, and writes no results of tools to it: the events are what is
// recorded.
func cursor() *Host {
	return &Host{
		Name: "cursor", Title: "Cursor",
		Bindings: []Binding{
			{SessionStart, "sessionStart", true},
			{Prompt, "beforeSubmitPrompt", true},
			{PreTool, "preToolUse", true},
			{PostTool, "postToolUse", true},
			{ToolFailure, "postToolUseFailure", false},
			{Reply, "afterAgentResponse", false},
			{PreCompact, "preCompact", false},
			{Stop, "stop", false},
			{SessionEnd, "sessionEnd", false},
		},
		decode: decodeCursor, encode: encodeCursor,
	}
}

// decodeCursor reads an event of Cursor. Its transcript holds no tool results and is ignored.
func decodeCursor(kind Kind, p payload) (Event, error) {
	ev := p.event(kind)
	ev.Session = p.text("conversation_id", "session_id")
	ev.Transcript = ""
	var roots []string
	if json.Unmarshal(p["workspace_roots"], &roots) == nil && len(roots) > 0 && ev.Cwd == "" {
		ev.Cwd = roots[0]
	}
	if kind == Reply {
		ev.Reply = p.text("text")
	}
	if kind == PostTool && ev.Tool != nil {
		text, failed := codexOutput(p["tool_output"])
		setPostTool(&ev, text, failed)
	}
	if kind == ToolFailure && ev.Tool != nil {
		ev.Tool.Error, ev.Tool.Failed = truncate(p.raw("error_message", "error"), maxError), true
		ev.Stopped = p.isTrue("is_interrupt") || p.text("failure_type") == "permission_denied"
	}
	return ev, nil
}

// encodeCursor writes an answer for Cursor. At a prompt it wants permission to continue; that it takes a context there
// too is not documented, and some versions drop it.
func encodeCursor(b Binding, text string) any {
	switch {
	case b.Kind == Prompt && text == "":
		return map[string]bool{"continue": true}
	case b.Kind == Prompt:
		return map[string]any{"continue": true, "additional_context": text}
	case text == "":
		return struct{}{}
	default:
		return map[string]string{"additional_context": text}
	}
}
