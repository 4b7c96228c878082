package llm

import (
	"encoding/json"
	"net/http"
)

// anthropicVersion is the API version of the request and response types below.
const anthropicVersion = "2023-06-01"

// anthropicProvider is the codec of POST {base}/v1/messages: https://docs.anthropic.com/en/api/messages.
var anthropicProvider = provider{
	path:        "/v1/messages",
	outputModes: []OutputMode{OutputSchema, OutputTool, OutputPlain},
	setHeaders: func(h http.Header, key string) {
		h.Set("Anthropic-Version", anthropicVersion)
		if key != "" {
			h.Set("X-Api-Key", key)
		}
	},
	encodeRequest: anthropicBody,
	decodeEvent:   anthropicEvent,
	decodeBody:    anthropicWhole,
}

// anthropicFormat requests output that conforms to a schema.
type anthropicFormat struct {
	Type   string          `json:"type"`
	Schema json.RawMessage `json:"schema"`
}

// anthropicConfig is the output_config of a request.
type anthropicConfig struct {
	Format anthropicFormat `json:"format"`
}

// anthropicTool declares a tool whose argument is the reply.
type anthropicTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"input_schema"`
}

// anthropicChoice forces the call of a tool.
type anthropicChoice struct {
	Type string `json:"type"`
	Name string `json:"name"`
}

// anthropicRequest is the request body.
type anthropicRequest struct {
	Model     string `json:"model"`
	MaxTokens int    `json:"max_tokens"`
	System    string `json:"system"`
	// same JSON form in both APIs
	Messages    []openAIMessage  `json:"messages"`
	Stream      bool             `json:"stream"`
	Temperature *float64         `json:"temperature,omitempty"`
	Output      *anthropicConfig `json:"output_config,omitempty"`
	Tools       []anthropicTool  `json:"tools,omitempty"`
	Choice      *anthropicChoice `json:"tool_choice,omitempty"`
}

// anthropicBody encodes a request.
func anthropicBody(q query) []byte {
	r := anthropicRequest{Model: q.model, MaxTokens: q.maxOutput, System: q.system, Stream: !q.dialect.noStream}
	r.Temperature = q.dialect.temperature()
	for _, t := range q.messages {
		r.Messages = append(r.Messages, openAIMessage{t.role, t.text})
	}
	switch q.outputMode {
	case OutputSchema:
		r.Output = &anthropicConfig{anthropicFormat{Type: "json_schema", Schema: q.schema}}
	case OutputTool:
		r.Tools = []anthropicTool{{Name: q.name, Description: "Takes the reply.", Schema: q.schema}}
		r.Choice = &anthropicChoice{Type: "tool", Name: q.name}
	}
	return encode(r)
}

// anthropicUsage is the token report of a response; nil counts were not reported.
type anthropicUsage struct {
	Input       *int `json:"input_tokens"`
	CacheWrites int  `json:"cache_creation_input_tokens"`
	CacheReads  int  `json:"cache_read_input_tokens"`
	Output      *int `json:"output_tokens"`
}

// input includes tokens read from and written to the prompt cache.
func (u *anthropicUsage) input() *int {
	if u.Input == nil {
		return nil
	}
	return new(*u.Input + max(u.CacheWrites, 0) + max(u.CacheReads, 0))
}

// anthropicBlock is a content block, or the delta of one in a stream.
type anthropicBlock struct {
	Type    string          `json:"type"`
	Text    string          `json:"text"`
	Think   string          `json:"thinking"`
	Input   json.RawMessage `json:"input"`
	Partial string          `json:"partial_json"`
	Stop    string          `json:"stop_reason"`
}

// anthropicMessage is a complete response, or the head of a stream.
type anthropicMessage struct {
	Type    string           `json:"type"`
	Content []anthropicBlock `json:"content"`
	Stop    string           `json:"stop_reason"`
	Usage   *anthropicUsage  `json:"usage"`
}

// anthropicChunk is one event of a stream.
type anthropicChunk struct {
	Type    string            `json:"type"`
	Message *anthropicMessage `json:"message"`
	Delta   *anthropicBlock   `json:"delta"`
	Usage   *anthropicUsage   `json:"usage"`
}

// anthropicEvent adds one event of a stream to the answer.
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
			a.setIn(c.Message.Usage.input()) // the output count here is only a placeholder
		}
	case "content_block_delta":
		if c.Delta != nil {
			a.text.WriteString(c.Delta.Text)
			a.toolCall.WriteString(c.Delta.Partial)
			a.reasoningBytes += len(c.Delta.Think)
		}
	case "message_delta":
		if c.Delta != nil {
			a.setFinish(c.Delta.Stop)
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

// anthropicWhole adds a complete message to the answer.
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
		// A structured answer comes as the arguments of a tool that the request defined.
		case "tool_use":
			a.toolCall.Write(b.Input)
		default:
			a.reasoningBytes += len(b.Think)
		}
	}
	a.setFinish(m.Stop)
	return nil
}

// setFinish records Anthropic's stop reason.
func (a *answer) setFinish(reason string) {
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
