package reflector

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/memsidecar/memsidecar/internal/llm"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/memory/toolcall"
)

// Limits of a transcript's lines, in tokens.
const (
	userTokens   = 800
	answerTokens = 250
	// a context summary of the host
	summaryTokens = 1500
	toolTokens    = 120
	firstMessages = 3
	lastMessages  = 6
)

// transcriptLine is a message as the model sees it. It is JSON, so no text can imitate a turn of another role.
type transcriptLine struct {
	At        string `json:"at,omitempty"`
	Role      string `json:"role"`
	Text      string `json:"text,omitempty"`
	Tool      string `json:"tool,omitempty"`
	Arguments string `json:"arguments,omitempty"`
	Result    string `json:"result,omitempty"`
	Error     string `json:"error,omitempty"`
}

// transcript renders messages in at most budget tokens, one per line, deterministically. Messages are chosen by
// priority: the user's statements and corrections, start and end, each kind of failure once, other user turns, the
// rest; within a priority the newest first. Long texts lose their middle. A line "[n]" stands for n omitted messages.
func transcript(messages []*memory.Message, location *time.Location, budget int) string {
	lines := map[int]string{}
	for _, i := range byPriority(messages) {
		s := encodeMessage(messages[i], location)
		if n := llm.EstimateTokens(s) + 1; n <= budget {
			lines[i] = s
			budget -= n
		}
	}
	var b strings.Builder
	left := 0
	flush := func() {
		if left > 0 {
			fmt.Fprintf(&b, "[%d]\n", left)
		}
		left = 0
	}
	for i := range messages {
		if s, ok := lines[i]; ok {
			flush()
			b.WriteString(s + "\n")
			continue
		}
		left++
	}
	flush()
	return b.String()
}

// byPriority orders the indexes of messages by priority, the highest first.
func byPriority(messages []*memory.Message) []int {
	classes := make([][]int, 5)
	failed := map[string]bool{}
	for i, m := range messages {
		class := 4
		switch {
		case m.Role == "user" && m.Tool == nil && hasStatement(m.Content):
			class = 0
		case i < firstMessages || i >= len(messages)-lastMessages:
			class = 1
		case m.Tool != nil:
			if s := Signature(m.Tool); s != "" && !failed[s] && len(failed) < maxFailures {
				failed[s], class = true, 2
			}
		case m.Role == "user":
			class = 3
		}
		classes[class] = append(classes[class], i)
	}
	var out []int
	for _, class := range classes {
		slices.Reverse(class)
		out = append(out, class...)
	}
	return out
}

// hasStatement reports whether the rules recognise a statement in a user's text.
func hasStatement(text string) bool {
	for _, s := range sentences(truncate(text, 20000)) {
		if len(findStatements(&s)) > 0 {
			return true
		}
	}
	return false
}

// roleTool is the role of a message that a tool wrote; most have a ToolCall instead of a content.
const roleTool = "tool"

// toolText is what a tool said as the model sees it, in at most n tokens and without lines that tell what to do.
func toolText(s string, n int) string { return toolcall.WithoutInstructions(elideTokens(s, n)) }

// encodeMessage renders one message within its limits.
func encodeMessage(m *memory.Message, location *time.Location) string {
	line := transcriptLine{Role: m.Role}
	if t := m.Tool; t != nil {
		line.Role, line.Tool, line.Arguments, line.Text = "tool", truncate(t.Name, 80),
			elideTokens(t.Arguments, toolTokens/2), toolText(m.Content, toolTokens/2)
		if class := failureClass(t); class != "" {
			line.Error = cmp.Or(quotedError(t), class)
		} else {
			line.Result = toolText(t.Result, toolTokens)
		}
		return encodeLine(line)
	}
	if m.Role == roleTool {
		line.Text = toolText(m.Content, toolTokens)
		return encodeLine(line)
	}
	limit := answerTokens
	if m.Role == memory.RoleSummary {
		limit = summaryTokens
	}
	if m.Role == "user" {
		limit = userTokens
		if !m.At.IsZero() {
			line.At = m.At.In(location).Format("2006-01-02 15:04")
		}
	}
	line.Text = elideTokens(m.Content, limit)
	return encodeLine(line)
}

// encodeLine encodes v as one line of JSON without escaping < and >.
func encodeLine(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return "" // impossible for strings and numbers
	}
	return strings.TrimSpace(b.String())
}

// elideTokens removes the middle of s until about n tokens remain.
func elideTokens(s string, n int) string {
	if len(s) > 16*n { // avoids counting text that is removed anyway
		s = elideMiddle(truncate(s, 1<<20), 8*n)
	}
	for t := llm.EstimateTokens(s); t > n; t = llm.EstimateTokens(s) {
		s = elideMiddle(s, max(utf8.RuneCountInString(s)*n*9/(t*10)-3, 2))
		if utf8.RuneCountInString(s) <= 5 {
			break
		}
	}
	return strings.ToValidUTF8(s, "�")
}
