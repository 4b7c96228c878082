package hook

import "github.com/memsidecar/memsidecar/internal/memory"

// openCode has no hooks but plugins; ours calls memsidecar with objects of a form of our own.
func openCode() *Host {
	return &Host{
		Name: "opencode", Title: "OpenCode",
		Bindings: []Binding{
			{SessionStart, "session.created", true},
			{Prompt, "chat.message", true},
			{PostTool, "tool.execute.after", true},
			{ToolFailure, "message.part.updated", false},
			{Reply, "message.updated", false},
			{PreCompact, "experimental.session.compacting", true},
			{Stop, "session.idle", false},
			{SessionEnd, "session.deleted", false},
		},
		decode: decodeOpenCode, encode: encodeOpenCode,
	}
}

// decodeOpenCode reads an event of our OpenCode plugin.
func decodeOpenCode(kind Kind, p payload) (Event, error) {
	ev := p.event(kind)
	ev.ToolID, ev.Reply = p.text("callID"), p.text("reply")
	if name := p.text("tool"); name != "" {
		ev.Tool = &memory.ToolCall{Name: truncate(name, 200), Arguments: truncate(p.raw("args"), maxArguments)}
	}
	if kind == PostTool && ev.Tool != nil {
		setPostTool(&ev, p.raw("output"), p.raw("exit") != "" && p.raw("exit") != "0")
	}
	if kind == ToolFailure && ev.Tool != nil {
		ev.Tool.Error, ev.Tool.Failed = truncate(p.raw("error"), maxError), true
	}
	return ev, nil
}

// encodeOpenCode writes an answer for our OpenCode plugin.
func encodeOpenCode(_ Binding, text string) any {
	if text == "" {
		return struct{}{}
	}
	return map[string]string{"context": text}
}
