package recall

import (
	"strings"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/redact"
)

const minChars = 60 // characters; a memory that would be cut below that is omitted

// block writes the fenced block of the chosen memories, as many as the token budget holds. A memory that does not fit
// is cut by a third at a time.
func (s *Service) block(req *Request, chosen []candidate, lang string, now time.Time) *Result {
	res := &Result{Language: lang}
	if len(chosen) == 0 {
		return res
	}
	nonce, w := s.nonce(), phrasesByLanguage[lang]
	open, end := redact.Fence(nonce)
	head, tail := open+"\n"+w.short+"\n", end+"\n"
	text, spent := head, tokenCost(head) // and what is shown so far
	ends := tokenCost(tail)
	for _, c := range chosen {
		item := Item{
			Space: c.space, Memory: c.memory, Score: c.score, Strength: c.strength, Tool: c.tool, Selected: c.selected,
		}
		item.Age = Age(c.memory.KnownAt(), now, lang)
		item.Caveat = Caveat(c.memory.KnownAt(), now, lang)
		title := singleLine(s.cleanTexts.sanitize(c.memory.Title))
		full := removeNonce(indentContinuation(s.cleanTexts.sanitize(c.memory.Content)), nonce)
		for limit := req.maxCharsPerMemory(); limit >= minChars; limit = limit * 2 / 3 {
			item.Text, item.Clipped = truncate(full, limit)
			line := removeNonce(item.line(w, title, len(req.Spaces) > 1), nonce)
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
	x := m.Context()
	return m.Source == memory.SourceReflection && x != nil && x.Signature != "" && x.ErrorType != ""
}

// line formats one memory of a block, whose title is safe inside a fence: "- title (category, age): text", and "-
// (category, age) text" without a title. Marks follow the text: one for a memory of more than a day, and one for what a
// tool said.
func (it *Item) line(w phrases, title string, spaces bool) string {
	about := it.Memory.Category
	if spaces {
		about += "/" + it.Space
	}
	if it.Tool != "" {
		name, _ := truncate(onOneLine(it.Tool), minChars)
		about += " · " + name
	}
	about = "(" + about + ", " + it.Age + ")"
	if title != "" {
		about = title + " " + about + ":"
	}
	line := "- " + about + " " + it.Text
	if it.Caveat != "" {
		line += w.stale
	}
	if isFromTool(it.Memory) {
		line += w.fromTool
	}
	return line + "\n"
}

// onOneLine is a stored text without line breaks, safe inside a fence.
func onOneLine(s string) string { return singleLine(sanitize(s)) }

// singleLine is s without line breaks and repeated spaces.
func singleLine(s string) string { return strings.Join(strings.Fields(s), " ") }
