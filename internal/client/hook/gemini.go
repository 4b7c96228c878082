package hook

import "strings"

// gemini rewrites its transcript as a whole, so nothing is read from it: the events hold all that is needed.
func gemini() *Host {
	return &Host{
		Name: "gemini", Title: "Gemini CLI",
		Bindings: []Binding{
			{SessionStart, "SessionStart", true},
			{Prompt, "BeforeAgent", true},
			{PostTool, "AfterTool", true},
			{PreCompact, "PreCompress", false},
			{Stop, "AfterAgent", false},
			{SessionEnd, "SessionEnd", false},
		},
		decode: decodeGemini, encode: specificOutput,
	}
}

// decodeGemini reads an event of Gemini CLI. Its tool events have no call id, so the time and the arguments identify
// a call.
func decodeGemini(kind Kind, p payload) (Event, error) {
	ev := p.event(kind)
	ev.Prompt = withoutHookContext(ev.Prompt)
	if kind == Stop {
		ev.Prompt, ev.Reply = "", p.text("prompt_response")
	}
	if kind == PostTool && ev.Tool != nil {
		if ev.ToolID == "" { // Gemini sends none: time and arguments identify a call that is delivered twice
			ev.ToolID = p.raw("timestamp") + " " + ev.Tool.Arguments
		}
		response := p.object("tool_response")
		output, failed := response.raw("llmContent", "returnDisplay"), response.raw("error") != ""
		if failed {
			if e := response.object("error"); e != nil {
				output = e.text("message")
			} else {
				output = response.raw("error")
			}
		}
		failed = failed || isExitFailure(output)
		if failed {
			ev.Kind = ToolFailure
		}
		setResult(ev.Tool, output, failed)
	}
	return ev, nil
}

// withoutHookContext removes what hooks answered from a prompt: Gemini CLI puts it in front of what the user said, in
// a tag of its own, with angle brackets as HTML entities, so the first closing tag is the host's.
func withoutHookContext(prompt string) string {
	const open, end = "<hook_context>", "</hook_context>"
	for {
		before, rest, found := strings.Cut(prompt, open)
		if !found {
			return prompt
		}
		_, after, _ := strings.Cut(rest, end) // without an end nothing behind it is known to be the user's
		prompt = before + strings.TrimLeft(after, "\r\n")
	}
}
