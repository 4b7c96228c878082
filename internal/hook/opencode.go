package hook

import "github.com/memsidecar/memsidecar/internal/memory"

// openCode has no hooks but plugins; ours calls memsidecar with objects of a form of our own.
func openCode() *Host {
	return &Host{
		Name: "opencode", Title: "OpenCode",
		Bindings: []Binding{
			{SessionStart, "session.created", true},
			{Prompt, "chat.message", true},
			{ToolFailure, "message.part.updated", false},
			{Reply, "message.updated", false},
			{PreCompact, "experimental.session.compacting", true},
			{Stop, "session.idle", false},
			{SessionEnd, "session.deleted", false},
		},
		decode: decodeOpenCode, encode: encodeOpenCode,
	}
}

func decodeOpenCode(kind Kind, p payload) (Event, error) {
	ev := p.event(kind)
	ev.ToolID, ev.Reply = p.text("callID"), p.text("reply")
	if name := p.text("tool"); name != "" {
		ev.Tool = &memory.ToolCall{Name: clip(name, 200), Arguments: clip(p.raw("args"), maxArguments)}
	}
	if kind == ToolFailure && ev.Tool != nil {
		ev.Tool.Error, ev.Tool.Failed = clip(p.raw("error"), maxError), true
	}
	return ev, nil
}

func encodeOpenCode(_ Binding, text string) any {
	if text == "" {
		return struct{}{}
	}
	return map[string]string{"context": text}
}
