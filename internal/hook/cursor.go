package hook

import "encoding/json"

// cursor names its transcript in the editor only, and writes no results of tools to it: the events are what is recorded.
func cursor() *Host {
	return &Host{
		Name: "cursor", Title: "Cursor",
		Bindings: []Binding{
			{SessionStart, "sessionStart", true},
			{Prompt, "beforeSubmitPrompt", false},
			{ToolFailure, "postToolUseFailure", false},
			{Reply, "afterAgentResponse", false},
			{PreCompact, "preCompact", false},
			{Stop, "stop", false},
			{SessionEnd, "sessionEnd", false},
		},
		decode: decodeCursor, encode: encodeCursor,
	}
}

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
	if kind == ToolFailure && ev.Tool != nil {
		ev.Tool.Error, ev.Tool.Failed = clip(p.raw("error_message", "error"), maxError), true
		ev.Stopped = p.yes("is_interrupt") || p.text("failure_type") == "permission_denied"
	}
	return ev, nil
}

func encodeCursor(b Binding, text string) any {
	switch {
	case b.Kind == Prompt:
		return map[string]bool{"continue": true}
	case text == "":
		return struct{}{}
	default:
		return map[string]string{"additional_context": text}
	}
}
