package llm

import (
	"encoding/json"
	"net/http"
	"strings"
)

// openAIProvider is the codec of POST {base}/chat/completions: https://platform.openai.com/docs/api-reference/chat.
// A parameter that the server or the model rejects is left out from then on; see dialect.
var openAIProvider = provider{
	path:        "/chat/completions",
	outputModes: []OutputMode{OutputSchema, OutputJSON, OutputPlain},
	setHeaders: func(h http.Header, key string) {
		if key != "" {
			h.Set("Authorization", "Bearer "+key)
		}
	},
	encodeRequest: openAIBody,
	decodeEvent:   openAIEvent,
	decodeBody:    openAIWhole,
}

// openAIMessage is one message of a conversation.
type openAIMessage struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// openAIFormat requests structured output.
type openAIFormat struct {
	Type   string        `json:"type"`
	Schema *openAISchema `json:"json_schema,omitempty"`
}

// openAISchema is a named schema that the server enforces.
type openAISchema struct {
	Name   string          `json:"name"`
	Strict bool            `json:"strict"`
	Schema json.RawMessage `json:"schema"`
}

// openAIRequest is the request body.
type openAIRequest struct {
	Model               string          `json:"model"`
	Messages            []openAIMessage `json:"messages"`
	MaxTokens           int             `json:"max_tokens,omitempty"`
	MaxCompletionTokens int             `json:"max_completion_tokens,omitempty"`
	Temperature         *float64        `json:"temperature,omitempty"`
	Format              *openAIFormat   `json:"response_format,omitempty"`
	Stream              bool            `json:"stream"`
	StreamOptions       *struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options,omitempty"`
}

// openAIBody encodes a request.
func openAIBody(q query) []byte {
	r := openAIRequest{Model: q.model, Messages: []openAIMessage{{"system", q.system}}, Stream: !q.dialect.noStream}
	for _, t := range q.messages {
		r.Messages = append(r.Messages, openAIMessage{t.role, t.text})
	}
	r.Temperature = q.dialect.temperature()
	if q.dialect.completionTokens {
		r.MaxCompletionTokens = q.maxOutput
	} else {
		r.MaxTokens = q.maxOutput
	}
	if r.Stream && !q.dialect.noStreamOptions {
		r.StreamOptions = &struct {
			IncludeUsage bool `json:"include_usage"`
		}{true}
	}
	switch q.outputMode {
	case OutputSchema:
		r.Format = &openAIFormat{Type: "json_schema",
			Schema: &openAISchema{Name: q.name, Strict: true, Schema: q.schema}}
	case OutputJSON:
		r.Format = &openAIFormat{Type: "json_object"}
	}
	return encode(r)
}

// encode panics on an error, which cannot happen: the only raw part, the schema, was validated before.
func encode(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic("llm: request cannot be encoded: " + err.Error())
	}
	return data
}

// openAIChunk is a complete body or one event of a stream; they differ only in message and delta.
type openAIChunk struct {
	Choices []struct {
		Message *openAIDelta `json:"message"`
		Delta   *openAIDelta `json:"delta"`
		Finish  string       `json:"finish_reason"`
	} `json:"choices"`
	Usage *struct {
		Input  *int `json:"prompt_tokens"`
		Output *int `json:"completion_tokens"`
	} `json:"usage"`
	Error json.RawMessage `json:"error"`
}

// openAIDelta is a message, or a part of one in a stream.
type openAIDelta struct {
	// a string, null, or parts
	Content   json.RawMessage `json:"content"`
	Reasoning json.RawMessage `json:"reasoning_content"`
	Refusal   string          `json:"refusal"`
	Calls     []struct {
		Function struct {
			Arguments json.RawMessage `json:"arguments"` // a string, or the object itself
		} `json:"function"`
	} `json:"tool_calls"`
}

// openAIEvent adds one event of a stream to the answer.
func openAIEvent(a *answer, data []byte) error {
	var c openAIChunk
	if json.Unmarshal(data, &c) != nil {
		return errNotModel
	}
	return c.addTo(a, data)
}

// openAIWhole adds a complete body to the answer; one without choices is not a chat response.
func openAIWhole(a *answer, data []byte) error {
	var c openAIChunk
	if json.Unmarshal(data, &c) != nil {
		return errNotModel
	}
	err := c.addTo(a, data)
	if err == nil && len(c.Choices) == 0 {
		return errNotModel
	}
	return err
}

// addTo adds a chunk to the answer. data is the chunk's JSON, for its error code.
func (c *openAIChunk) addTo(a *answer, data []byte) error {
	if c.Usage != nil {
		a.setIn(c.Usage.Input)
		a.setOut(c.Usage.Output)
	}
	if len(c.Error) > 0 && string(c.Error) != "null" {
		return &serverError{errorCode(data)}
	}
	if len(c.Choices) == 0 {
		return nil
	}
	choice := c.Choices[0]
	// Some servers send a whole message although a stream was asked for.
	for _, d := range []*openAIDelta{choice.Message, choice.Delta} {
		if d == nil {
			continue
		}
		a.text.WriteString(contentText(d.Content))
		a.reasoningBytes += len(d.Reasoning)
		for _, call := range d.Calls {
			a.toolCall.WriteString(contentText(call.Function.Arguments))
		}
		if d.Refusal != "" {
			a.finish = finishRefused
		}
	}
	switch choice.Finish {
	case "":
	case "length":
		a.finish = finishLength
	case "content_filter":
		a.finish, a.code = finishRefused, "content_filter"
	default:
		if a.finish == "" {
			a.finish = finishStop
		}
	}
	return nil
}

// contentText returns the text of a content, which servers send as a string, as parts or as an object.
func contentText(raw json.RawMessage) string {
	if len(raw) == 0 || string(raw) == "null" {
		return ""
	}
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	var parts []struct {
		Text string `json:"text"`
	}
	if raw[0] == '[' && json.Unmarshal(raw, &parts) == nil {
		var b strings.Builder
		for _, p := range parts {
			b.WriteString(p.Text)
		}
		return b.String()
	}
	return string(raw)
}
