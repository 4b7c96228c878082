package recall

import (
	"strings"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/redact"
)

const (
	smallBudget = 250 // tokens; below that the guidance is short
	minChars    = 60  // characters; a memory that would be cut below that is omitted
)

// block writes the fenced block of the chosen memories, as many as the token budget holds. A memory that does not fit
// is cut by a third at a time.
func (s *Service) block(req *Request, chosen []candidate, lang string, now time.Time) *Result {
	res := &Result{Language: lang}
	if len(chosen) == 0 {
		return res
	}
	nonce, w := s.nonce(), phrasesByLanguage[lang]
	open, end := redact.Fence(nonce)
	guide := w.guide
	if req.Tokens < smallBudget {
		guide = w.short
	}
	head, tail := open+"\n"+guide+"\n", end+"\n"
	text, spent := head, tokenCost(head) // and what is shown so far
	ends := tokenCost(tail)
	for _, c := range chosen {
		item := Item{
			Space: c.space, Memory: c.memory, Score: c.score, Strength: c.strength, Tool: c.tool, Selected: c.selected,
		}
		item.Age = Age(changedAt(c.memory), now, lang)
		item.Caveat = Caveat(changedAt(c.memory), now, lang)
		full := removeNonce(indentContinuation(sanitize(displayText(c.memory))), nonce)
		for limit := req.maxCharsPerMemory(); limit >= minChars; limit = limit * 2 / 3 {
			item.Text, item.Clipped = truncate(full, limit)
			line := removeNonce(item.line(w, len(req.Spaces) > 1), nonce)
			if more := tokenCost(line); ceilTokens(spent+more+ends) <= req.Tokens {
				text, spent = text+line, spent+more
				res.Items = append(res.Items, item)
				break
			}
			if !item.Clipped && limit > len(full) {
				limit = len(full) // start below its own length, or the first cuts change nothing
			}
		}
	}
	if len(res.Items) > 0 {
		res.Block, res.Tokens = text+tail, ceilTokens(spent+ends)
	}
	return res
}

// displayText returns the content of m, after its title if the content does not repeat it.
func displayText(m *memory.Memory) string {
	if m.Title == "" || strings.Contains(m.Content, m.Title) {
		return m.Content
	}
	return m.Title + ": " + m.Content
}

// isFromTool reports whether a reflection made m of a failure that it saw, so that it holds what a tool said.
func isFromTool(m *memory.Memory) bool {
	return m.Source == memory.SourceReflection && m.Context != nil && m.Context.Signature != "" && m.Context.ErrorType != ""
}

// line formats one memory of a block.
func (it *Item) line(w phrases, spaces bool) string {
	var b strings.Builder
	b.WriteString("- [" + it.Memory.Category)
	if spaces {
		b.WriteString("/" + it.Space)
	}
	if it.Tool != "" {
		name, _ := truncate(strings.Join(strings.Fields(sanitize(it.Tool)), " "), minChars)
		b.WriteString(" · " + name)
	}
	b.WriteString("] " + it.Text + " (" + it.Age)
	if it.Caveat != "" {
		b.WriteString(w.stale)
	}
	if isFromTool(it.Memory) {
		b.WriteString(w.fromTool)
	}
	b.WriteString(")\n")
	return b.String()
}
