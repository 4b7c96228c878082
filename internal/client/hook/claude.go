package hook

import (
	"encoding/json"
	"strings"

	"github.com/memsidecar/memsidecar/internal/memory"
)

// claudeCode describes Claude Code.
func claudeCode() *Host {
	return &Host{
		Name: "claude-code", Title: "Claude Code",
		Bindings: []Binding{
			{SessionStart, "SessionStart", true},
			{Prompt, "UserPromptSubmit", true},
			{PreTool, "PreToolUse", true},
			{ToolFailure, "PostToolUseFailure", true},
			{PreCompact, "PreCompact", false},
			{Stop, "Stop", false},
			{SessionEnd, "SessionEnd", false},
		},
		decode: decodeClaude, encode: specificOutput, parse: parseClaude,
	}
}

// decodeClaude reads an event of Claude Code. A failed tool has its error in a field of its own.
func decodeClaude(kind Kind, p payload) (Event, error) {
	ev := p.event(kind)
	if kind == ToolFailure && ev.Tool != nil {
		ev.Tool.Error, ev.Tool.Failed = truncate(p.raw("error"), maxError), true
		ev.Stopped = p.isTrue("is_interrupt")
	}
	return ev, nil
}

// specificOutput is the form that Claude Code introduced and others took over.
func specificOutput(b Binding, text string) any {
	if text == "" {
		return struct{}{}
	}
	type specific struct {
		Event   string `json:"hookEventName"`
		Context string `json:"additionalContext"`
	}
	return struct {
		Output specific `json:"hookSpecificOutput"`
	}{specific{b.Native, text}}
}

// claudeLine is a line of a transcript: a turn, or something that is left out.
type claudeLine struct {
	Type      string `json:"type"`
	Timestamp string `json:"timestamp"`
	Meta      bool   `json:"isMeta"`           // written by the host
	Side      bool   `json:"isSidechain"`      // of a subagent
	Summary   bool   `json:"isCompactSummary"` // of what was said before
	Message   struct {
		Content json.RawMessage `json:"content"`
	} `json:"message"`
}

// claudeBlock is a part of a turn.
type claudeBlock struct {
	Type    string          `json:"type"`
	Text    string          `json:"text"`
	ID      string          `json:"id"`
	Name    string          `json:"name"`
	Input   json.RawMessage `json:"input"`
	UseID   string          `json:"tool_use_id"`
	Content json.RawMessage `json:"content"`
	IsError bool            `json:"is_error"`
}

// parseClaude also reads the transcripts of VS Code, which calls the hooks of Claude Code with its own.
func parseClaude(line []byte, t *transcript) {
	var l claudeLine
	if json.Unmarshal(line, &l) != nil {
		return
	}
	if strings.Contains(l.Type, ".") {
		parseCopilot(line, t)
		return
	}
	if l.Meta || l.Side || l.Summary || l.Type != "user" && l.Type != "assistant" {
		return
	}
	t.at = parseTime(l.Timestamp)
	var blocks []claudeBlock
	if json.Unmarshal(l.Message.Content, &blocks) != nil {
		blocks = []claudeBlock{{Type: "text", Text: unquote(l.Message.Content)}}
	}
	var text []string
	for _, b := range blocks {
		switch b.Type {
		case "text":
			text = append(text, b.Text)
		case "tool_use":
			t.addCall(b.ID, b.Name, string(b.Input))
		case "tool_result":
			t.addResult(b.UseID, claudeText(b.Content), b.IsError)
		}
	}
	said := strings.Join(text, "\n")
	if l.Type == "user" && isHostText(said) {
		return
	}
	t.addText(l.Type, said)
}

// isHostText reports whether a user's turn was written by the host: what a slash command did, or that the user
// interrupted.
func isHostText(s string) bool {
	s = strings.TrimSpace(s)
	for _, start := range []string{"<command-", "<local-command-", "<bash-", "<system-reminder>",
		"[Request interrupted", "Caveat: The messages below"} {
		if strings.HasPrefix(s, start) {
			return true
		}
	}
	return false
}

// claudeText is the text of a result: a string, or blocks.
func claudeText(v json.RawMessage) string {
	var blocks []claudeBlock
	if json.Unmarshal(v, &blocks) != nil {
		return unquote(v)
	}
	var out []string
	for _, b := range blocks {
		if b.Text != "" {
			out = append(out, b.Text)
		}
	}
	return strings.Join(out, "\n")
}

// setResult fills in how a call ended.
func setResult(c *memory.ToolCall, text string, failed bool) {
	if failed {
		c.Failed, c.Error = true, truncate(text, maxError)
		return
	}
	c.Result = truncate(text, maxResult)
}
