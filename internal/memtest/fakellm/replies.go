package fakellm

import "encoding/json"

// split cuts a text into pieces as a stream does, without regard to what they mean but not within a character.
func split(s string) []string {
	var out []string
	size := max(8, len(s)/64)
	for part := ""; s != ""; s = s[len(part):] {
		part = s[:min(size, len(s))]
		for len(part) < len(s) && s[len(part)]&0xc0 == 0x80 {
			part = s[:len(part)+1]
		}
		out = append(out, part)
	}
	return out
}

func text(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(data)
}

type obj = map[string]any

func event(name string, v any) string {
	if name != "" {
		name = "event: " + name + "\n"
	}
	return name + "data: " + text(v) + "\n\n"
}

// openAI is the response in chunks, and the one in which the usage is.
func openAI(step Step, req Request) (chunks []string, usageAt int) {
	finish := step.Finish
	if finish == "" {
		finish = "stop"
	}
	usage := obj{
		"prompt_tokens":     step.Input,
		"completion_tokens": step.Output,
		"total_tokens":      step.Input + step.Output,
	}
	call := func(args string) []obj {
		return []obj{
			{"index": 0, "id": "call_1", "type": "function", "function": obj{"name": "reply", "arguments": args}},
		}
	}
	if !req.Stream || step.Whole {
		message := obj{"role": "assistant", "content": step.Text}
		if step.Call != "" {
			message["tool_calls"] = call(step.Call)
		}
		body := obj{
			"object":  "chat.completion",
			"choices": []obj{{"index": 0, "message": message, "finish_reason": finish}},
		}
		if !step.NoUsage {
			body["usage"] = usage
		}
		return []string{text(body)}, 0
	}
	delta := func(d obj, finish any) string {
		return event(
			"",
			obj{
				"object":  "chat.completion.chunk",
				"choices": []obj{{"index": 0, "delta": d, "finish_reason": finish}},
				"usage":   nil,
			},
		)
	}
	chunks = append(chunks, ": thinking\n\n", delta(obj{"role": "assistant", "content": ""}, nil))
	for _, s := range split(step.Thought) {
		chunks = append(chunks, delta(obj{"reasoning_content": s}, nil))
	}
	for _, s := range split(step.Text) {
		chunks = append(chunks, delta(obj{"content": s}, nil))
	}
	for _, s := range split(step.Call) {
		chunks = append(chunks, delta(obj{"tool_calls": call(s)}, nil))
	}
	chunks = append(chunks, delta(obj{}, finish))
	if options, _ := req.Body["stream_options"].(map[string]any); !step.NoUsage && options["include_usage"] == true {
		chunks = append(chunks, event("", obj{"choices": []obj{}, "usage": usage}))
		usageAt = len(chunks) - 1
	} else {
		usageAt = -1
	}
	return append(chunks, "data: [DONE]\n\n"), usageAt
}

// anthropic is the response in chunks, and the one in which the usage is complete.
func anthropic(step Step, req Request) (chunks []string, usageAt int) {
	stop := map[string]string{"": "end_turn", "stop": "end_turn", "length": "max_tokens", "content_filter": "refusal"}[step.Finish]
	block := obj{"type": "text", "text": step.Text}
	if step.Call != "" {
		block = obj{"type": "tool_use", "id": "toolu_1", "name": "reply", "input": json.RawMessage(step.Call)}
		stop = "tool_use"
	}
	if !req.Stream || step.Whole {
		body := obj{"type": "message", "role": "assistant", "content": []obj{block}, "stop_reason": stop}
		if !step.NoUsage {
			body["usage"] = obj{"input_tokens": step.Input, "output_tokens": step.Output}
		}
		return []string{text(body)}, 0
	}
	start := obj{"type": "message", "role": "assistant", "content": []obj{}}
	delta := obj{"type": "message_delta", "delta": obj{"stop_reason": stop}}
	if !step.NoUsage {
		// A part of the input came from a cache, and the output's count is provisional at first.
		cached := step.Input / 2
		start["usage"] = obj{
			"input_tokens":            step.Input - cached,
			"cache_read_input_tokens": cached,
			"output_tokens":           1,
		}
		delta["usage"] = obj{"output_tokens": step.Output}
	}
	chunks = append(
		chunks,
		event("message_start", obj{"type": "message_start", "message": start}),
		event("ping", obj{"type": "ping"}),
	)
	piece := func(d obj) {
		chunks = append(
			chunks,
			event("content_block_delta", obj{"type": "content_block_delta", "index": 0, "delta": d}),
		)
	}
	chunks = append(
		chunks,
		event(
			"content_block_start",
			obj{"type": "content_block_start", "index": 0, "content_block": obj{"type": block["type"]}},
		),
	)
	for _, s := range split(step.Thought) {
		piece(obj{"type": "thinking_delta", "thinking": s})
	}
	for _, s := range split(step.Text) {
		piece(obj{"type": "text_delta", "text": s})
	}
	for _, s := range split(step.Call) {
		piece(obj{"type": "input_json_delta", "partial_json": s})
	}
	chunks = append(chunks, event("message_delta", delta))
	return append(chunks, event("message_stop", obj{"type": "message_stop"})), len(chunks) - 1
}
