package hook

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

func decodeGemini(kind Kind, p payload) (Event, error) {
	ev := p.event(kind)
	if kind == Stop {
		ev.Prompt, ev.Reply = "", p.text("prompt_response")
	}
	if kind == PostTool && ev.Tool != nil {
		if ev.ToolID == "" { // there is none; the time and what was asked know a call that is told twice
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
		failed = failed || exitFailed(output)
		if failed {
			ev.Kind = ToolFailure
		}
		result(ev.Tool, output, failed)
	}
	return ev, nil
}
