package reflector

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/memsidecar/memsidecar/internal/llm"
	"github.com/memsidecar/memsidecar/internal/memory"
)

// What a line of a transcript may have, in tokens.
const (
	userTokens    = 800
	answerTokens  = 250
	summaryTokens = 1500 // of what the host made of the context
	toolTokens    = 120
	firstMessages = 3
	lastMessages  = 6
)

// transcriptLine is a message as a model is shown it: JSON, so that no text can pass for a turn of somebody else.
type transcriptLine struct {
	At        string `json:"at,omitempty"`
	Role      string `json:"role"`
	Text      string `json:"text,omitempty"`
	Tool      string `json:"tool,omitempty"`
	Arguments string `json:"arguments,omitempty"`
	Result    string `json:"result,omitempty"`
	Error     string `json:"error,omitempty"`
}

// transcript renders a stretch in at most budget tokens, the same way every time, one message a line. What does not fit is left out in
// the order opposite to this: what the user stated or corrected, the start and the end, each kind of failure once, what else the user said,
// the rest; of each the newest stays longest. Long texts lose their middle.
func transcript(messages []*memory.Message, location *time.Location, budget int) string {
	lines := map[int]string{}
	for _, i := range byWeight(messages) {
		s := lineOf(messages[i], location)
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

// byWeight orders the indexes of messages, the weightiest first.
func byWeight(messages []*memory.Message) []int {
	classes := make([][]int, 5)
	failed := map[string]bool{}
	for i, m := range messages {
		class := 4
		switch {
		case m.Role == "user" && m.Tool == nil && states(m.Content):
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

// states reports whether the rules find something worth keeping in what the user said.
func states(text string) bool {
	for _, s := range sentences(head(text, 20000)) {
		if len(find(&s)) > 0 {
			return true
		}
	}
	return false
}

func lineOf(m *memory.Message, location *time.Location) string {
	line := transcriptLine{Role: m.Role}
	if t := m.Tool; t != nil {
		line.Role, line.Tool, line.Arguments, line.Text = "tool", head(t.Name, 80), cutTokens(t.Arguments, toolTokens/2), cutTokens(m.Content, toolTokens/2)
		if failureClass(t) != "" {
			line.Error = cutTokens(strings.TrimSpace(t.Error+"\n"+t.Result), toolTokens)
		} else {
			line.Result = cutTokens(t.Result, toolTokens)
		}
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
	line.Text = cutTokens(m.Content, limit)
	return encodeLine(line)
}

// encodeLine is v as one line of JSON, with < and > as they are.
func encodeLine(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return "" // cannot be: strings and numbers only
	}
	return strings.TrimSpace(b.String())
}

// cutTokens cuts the middle out of s until about n tokens are left.
func cutTokens(s string, n int) string {
	if len(s) > 16*n { // no need to count what is cut anyway
		s = middle(head(s, 1<<20), 8*n)
	}
	for t := llm.EstimateTokens(s); t > n; t = llm.EstimateTokens(s) {
		s = middle(s, max(utf8.RuneCountInString(s)*n*9/(t*10)-3, 2))
		if utf8.RuneCountInString(s) <= 5 {
			break
		}
	}
	return strings.ToValidUTF8(s, "�")
}
