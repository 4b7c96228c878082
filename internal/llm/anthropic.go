package llm

import (
	"encoding/json"
	"net/http"
)

// anthropicVersion is the version of the API that the bodies here are written in.
const anthropicVersion = "2023-06-01"

// anthropic is the wire of POST {base}/v1/messages.
var anthropic = wire{
	path:  "/v1/messages",
	rungs: []Rung{RungSchema, RungTool, RungPlain},
	authorize: func(h http.Header, key string) {
		h.Set("Anthropic-Version", anthropicVersion)
		if key != "" {
			h.Set("X-Api-Key", key)
		}
	},
	body:  anthropicBody,
	event: anthropicEvent,
	whole: anthropicWhole,
}

type anthropicFormat struct {
	Type   string          `json:"type"`
	Schema json.RawMessage `json:"schema"`
}

type anthropicConfig struct {
	Format anthropicFormat `json:"format"`
}

type anthropicTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"input_schema"`
}

type anthropicChoice struct {
	Type string `json:"type"`
	Name string `json:"name"`
}

type anthropicRequest struct {
	Model     string           `json:"model"`
	MaxTokens int              `json:"max_tokens"`
	System    string           `json:"system"`
	Messages  []openAIMessage  `json:"messages"` // the same form
	Stream    bool             `json:"stream"`
	Output    *anthropicConfig `json:"output_config,omitempty"`
	Tools     []anthropicTool  `json:"tools,omitempty"`
	Choice    *anthropicChoice `json:"tool_choice,omitempty"`
}

func anthropicBody(q query) []byte {
	r := anthropicRequest{Model: q.model, MaxTokens: q.maxOutput, System: q.system, Stream: !q.mode.noStream}
	for _, t := range q.turns {
		r.Messages = append(r.Messages, openAIMessage{t.role, t.text})
	}
	switch q.rung {
	case RungSchema:
		r.Output = &anthropicConfig{anthropicFormat{Type: "json_schema", Schema: q.schema}}
	case RungTool:
		r.Tools = []anthropicTool{{Name: q.name, Description: "Takes the reply.", Schema: q.schema}}
		r.Choice = &anthropicChoice{Type: "tool", Name: q.name}
	}
	return encode(r)
}

type anthropicUsage struct {
	Input       *int `json:"input_tokens"`
	CacheWrites int  `json:"cache_creation_input_tokens"`
	CacheReads  int  `json:"cache_read_input_tokens"`
	Output      *int `json:"output_tokens"`
}

// input counts what came from a cache like everything else that was read.
func (u *anthropicUsage) input() *int {
	if u.Input == nil {
		return nil
	}
	return new(*u.Input + max(u.CacheWrites, 0) + max(u.CacheReads, 0))
}

type anthropicBlock struct {
	Type    string          `json:"type"`
	Text    string          `json:"text"`
	Think   string          `json:"thinking"`
	Input   json.RawMessage `json:"input"`
	Partial string          `json:"partial_json"`
	Stop    string          `json:"stop_reason"`
}

type anthropicMessage struct {
	Type    string           `json:"type"`
	Content []anthropicBlock `json:"content"`
	Stop    string           `json:"stop_reason"`
	Usage   *anthropicUsage  `json:"usage"`
}

type anthropicChunk struct {
	Type    string            `json:"type"`
	Message *anthropicMessage `json:"message"`
	Delta   *anthropicBlock   `json:"delta"`
	Usage   *anthropicUsage   `json:"usage"`
}

func anthropicEvent(a *answer, data []byte) error {
	var c anthropicChunk
	if json.Unmarshal(data, &c) != nil {
		return errNotModel
	}
	switch c.Type {
	case "error":
		return &serverError{errorCode(data)}
	case "message_start":
		if c.Message != nil && c.Message.Usage != nil {
			a.setIn(c.Message.Usage.input()) // the output's count is a placeholder yet
		}
	case "content_block_delta":
		if c.Delta != nil {
			a.text.WriteString(c.Delta.Text)
			a.call.WriteString(c.Delta.Partial)
			a.thought += len(c.Delta.Think)
		}
	case "message_delta":
		if c.Delta != nil {
			a.stopped(c.Delta.Stop)
		}
		if c.Usage != nil {
			if in := c.Usage.input(); in != nil && *in > 0 {
				a.setIn(in)
			}
			a.setOut(c.Usage.Output)
		}
	case "message_stop":
		a.done = true
	}
	return nil
}

func anthropicWhole(a *answer, data []byte) error {
	var m anthropicMessage
	if json.Unmarshal(data, &m) != nil {
		return errNotModel
	}
	if m.Usage != nil {
		a.setIn(m.Usage.input())
		a.setOut(m.Usage.Output)
	}
	if m.Type == "error" {
		return &serverError{errorCode(data)}
	}
	if m.Type != "message" && m.Content == nil {
		return errNotModel
	}
	for _, b := range m.Content {
		switch b.Type {
		case "text":
			a.text.WriteString(b.Text)
		case "tool_use":
			a.call.Write(b.Input)
		default:
			a.thought += len(b.Think)
		}
	}
	a.stopped(m.Stop)
	return nil
}

func (a *answer) stopped(reason string) {
	switch reason {
	case "":
	case "max_tokens", "model_context_window_exceeded":
		a.finish = finishLength
	case "refusal":
		a.finish, a.code = finishRefused, "refusal"
	default:
		a.finish = finishStop
	}
}
