//go:build unix

package hosts_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// answer is what a model says when it has run its commands.
const answer = "Understood, the crane stands still."

// models answers in the protocols of the four vendors, on one loopback port: first with a call of the shell tool for
// each command, one after the other, then with a sentence. It keeps what it was asked: that is what reached the agent.
type models struct {
	*httptest.Server
	id atomic.Int64

	mu       sync.Mutex
	commands []string // guarded by mu
	requests []string // guarded by mu; bodies of requests that offer a shell tool, in order
}

// startModels starts the server; it ends with the test.
func startModels(t *testing.T) *models {
	t.Helper()
	m := &models{}
	m.Server = httptest.NewServer(http.HandlerFunc(m.serve))
	t.Cleanup(m.Close)
	return m
}

// play sets the commands of the next session and forgets what was asked before.
func (m *models) play(commands ...string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.commands, m.requests = commands, nil
}

// asked returns the requests of the session so far, each as one text without the escapes of JSON strings.
func (m *models) asked() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := make([]string, len(m.requests))
	for i, r := range m.requests {
		out[i] = strings.NewReplacer(`\n`, "\n", `\"`, `"`, `\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(r)
	}
	return out
}

// next returns the command for a request in which so many calls were answered; "" when all were.
func (m *models) next(body []byte, answered int) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.requests = append(m.requests, string(body))
	if answered < len(m.commands) {
		return m.commands[answered]
	}
	return ""
}

// object is a JSON object.
type object = map[string]any

// serve answers one request by the end of its path.
func (m *models) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	id := fmt.Sprintf("%d", m.id.Add(1))
	switch path := r.URL.Path; {
	case r.Method != http.MethodPost:
		reply(w, object{"object": "list", "data": []object{{"id": "mock", "object": "model"}}, "models": []object{}})
	case strings.HasSuffix(path, "/count_tokens"):
		reply(w, object{"input_tokens": 10})
	case strings.HasSuffix(path, "/messages"):
		m.anthropic(w, body, id)
	case strings.HasSuffix(path, "/responses"):
		m.responses(w, body, id)
	case strings.HasSuffix(path, "/chat/completions"):
		m.chat(w, body, id)
	case strings.Contains(path, "enerateContent"):
		m.gemini(w, body, id, strings.Contains(path, "stream"))
	case strings.HasSuffix(path, ":countTokens"):
		reply(w, object{"totalTokens": 10})
	default:
		reply(w, object{})
	}
}

// reply writes one JSON object.
func reply(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // a client that has gone needs no answer
}

// stream writes server-sent events; those with a type are named by it.
func stream(w http.ResponseWriter, events ...any) {
	w.Header().Set("Content-Type", "text/event-stream")
	for _, e := range events {
		if o, ok := e.(object); ok && o["type"] != nil {
			fmt.Fprintf(w, "event: %s\n", o["type"])
		}
		text, isText := e.(string)
		if !isText {
			data, _ := json.Marshal(e)
			text = string(data)
		}
		fmt.Fprintf(w, "data: %s\n\n", text)
	}
}

// toolNames returns the names of the tools that a request offers, wherever the protocol puts them.
func toolNames(body []byte) map[string]bool {
	var req struct {
		Tools []struct {
			Name         string                  `json:"name"`
			Function     struct{ Name string }   `json:"function"`
			Declarations []struct{ Name string } `json:"functionDeclarations"`
		} `json:"tools"`
	}
	_ = json.Unmarshal(body, &req) // a request without tools offers none
	out := map[string]bool{}
	for _, t := range req.Tools {
		out[t.Name], out[t.Function.Name] = true, true
		for _, d := range t.Declarations {
			out[d.Name] = true
		}
	}
	return out
}

// anthropic answers as the Messages API does: Claude Code.
func (m *models) anthropic(w http.ResponseWriter, body []byte, id string) {
	command := ""
	if toolNames(body)["Bash"] {
		command = m.next(body, strings.Count(string(body), `"type":"tool_result"`))
	}
	block, start := object{"type": "text", "text": answer}, object{"type": "text", "text": ""}
	delta, reason := object{"type": "text_delta", "text": answer}, "end_turn"
	if command != "" {
		input, _ := json.Marshal(object{"command": command, "description": "run it"})
		block = object{"type": "tool_use", "id": "toolu_" + id, "name": "Bash", "input": json.RawMessage(input)}
		start = object{"type": "tool_use", "id": "toolu_" + id, "name": "Bash", "input": object{}}
		delta, reason = object{"type": "input_json_delta", "partial_json": string(input)}, "tool_use"
	}
	message := object{"id": "msg_" + id, "type": "message", "role": "assistant", "model": "mock", "content": []any{},
		"stop_reason": nil, "stop_sequence": nil, "usage": object{"input_tokens": 10, "output_tokens": 1}}
	if !strings.Contains(string(body), `"stream":true`) {
		message["content"], message["stop_reason"] = []any{block}, reason
		reply(w, message)
		return
	}
	stream(w, object{"type": "message_start", "message": message},
		object{"type": "content_block_start", "index": 0, "content_block": start},
		object{"type": "content_block_delta", "index": 0, "delta": delta},
		object{"type": "content_block_stop", "index": 0},
		object{"type": "message_delta", "delta": object{"stop_reason": reason, "stop_sequence": nil},
			"usage": object{"output_tokens": 5}},
		object{"type": "message_stop"})
}

// responses answers as the Responses API does: Codex.
func (m *models) responses(w http.ResponseWriter, body []byte, id string) {
	tools, command := toolNames(body), ""
	name, key := "exec_command", "cmd"
	if !tools[name] {
		name, key = "shell_command", "command"
	}
	if tools[name] {
		command = m.next(body, strings.Count(string(body), `"type":"function_call_output"`))
	}
	item := object{"type": "message", "id": "m_" + id, "role": "assistant",
		"content": []object{{"type": "output_text", "text": answer}}}
	if command != "" {
		args, _ := json.Marshal(object{key: command})
		item = object{"type": "function_call", "id": "fc_" + id, "call_id": "call_" + id, "name": name, "arguments": string(args)}
	}
	stream(w, object{"type": "response.created", "response": object{"id": "resp_" + id}},
		object{"type": "response.output_item.done", "output_index": 0, "item": item},
		object{"type": "response.completed", "response": object{"id": "resp_" + id, "usage": object{"input_tokens": 10,
			"input_tokens_details": nil, "output_tokens": 5, "output_tokens_details": nil, "total_tokens": 15}}})
}

// chat answers as the Chat Completions API does: OpenCode and Copilot CLI.
func (m *models) chat(w http.ResponseWriter, body []byte, id string) {
	command := ""
	if toolNames(body)["bash"] {
		command = m.next(body, strings.Count(string(body), `"role":"tool"`))
	}
	message, reason := object{"role": "assistant", "content": answer}, "stop"
	if command != "" {
		args, _ := json.Marshal(object{"command": command, "description": "run it"})
		message, reason = object{"role": "assistant", "content": nil, "tool_calls": []object{{"index": 0, "id": "call_" + id,
			"type": "function", "function": object{"name": "bash", "arguments": string(args)}}}}, "tool_calls"
	}
	usage := object{"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
	if !strings.Contains(string(body), `"stream":true`) {
		reply(w, object{"id": id, "object": "chat.completion", "created": 1, "model": "mock",
			"choices": []object{{"index": 0, "message": message, "finish_reason": reason}}, "usage": usage})
		return
	}
	chunk := func(delta object, reason any) object {
		return object{"id": id, "object": "chat.completion.chunk", "created": 1, "model": "mock",
			"choices": []object{{"index": 0, "delta": delta, "finish_reason": reason}}}
	}
	last := chunk(object{}, reason)
	last["usage"] = usage
	stream(w, chunk(message, nil), last, "[DONE]")
}

// gemini answers as generateContent does: Gemini CLI.
func (m *models) gemini(w http.ResponseWriter, body []byte, id string, streamed bool) {
	command := ""
	if toolNames(body)["run_shell_command"] {
		command = m.next(body, strings.Count(string(body), `"functionResponse"`))
	}
	part := object{"text": answer}
	switch {
	case command != "":
		part = object{"functionCall": object{"name": "run_shell_command", "args": object{"command": command, "description": "run it"}}}
	case strings.Contains(string(body), "responseJsonSchema"): // it asks itself who speaks next, and for a model
		part = object{"text": `{"reasoning":"done","next_speaker":"user","model_choice":"pro","complexity_reasoning":"-","complexity_score":9}`}
	}
	out := object{"candidates": []object{{"content": object{"role": "model", "parts": []object{part}}, "finishReason": "STOP", "index": 0}},
		"usageMetadata": object{"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15},
		"modelVersion":  "gemini-2.5-pro", "responseId": id}
	if streamed {
		stream(w, out)
		return
	}
	reply(w, out)
}
