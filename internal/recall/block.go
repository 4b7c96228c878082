package recall

import (
	"strings"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/redact"
)

const (
	smallBudget = 250 // tokens below which the guidance is short
	leastChars  = 60  // of a memory that is clipped to fit the budget; below that it is left out
)

// block writes what was chosen, as much of it as the budget holds.
func (s *Service) block(req *Request, chosen []choice, lang string, now time.Time) *Result {
	res := &Result{Language: lang}
	if len(chosen) == 0 {
		return res
	}
	nonce, w := s.nonce(), vocabulary[lang]
	open, end := redact.Fence(nonce)
	guide := w.guide
	if req.Tokens < smallBudget {
		guide = w.short
	}
	head, tail := open+"\n"+guide+"\n", end+"\n"
	text, spent := head, shares(head) // and what is shown so far
	ends := shares(tail)
	for _, c := range chosen {
		item := Item{Space: c.space, Memory: c.memory, Score: c.score, Tool: c.tool, Selected: c.selected}
		item.Age = Age(changedAt(c.memory), now, lang)
		item.Caveat = Caveat(changedAt(c.memory), now, lang)
		full := withoutNonce(indented(clean(said(c.memory))), nonce)
		for limit := req.chars(); limit >= leastChars; limit = limit * 2 / 3 {
			item.Text, item.Clipped = clip(full, limit)
			line := withoutNonce(item.line(w, len(req.Spaces) > 1), nonce)
			if more := shares(line); whole(spent+more+ends) <= req.Tokens {
				text, spent = text+line, spent+more
				res.Items = append(res.Items, item)
				break
			}
			if !item.Clipped && limit > len(full) {
				limit = len(full) // what is short already must become shorter than it is
			}
		}
	}
	if len(res.Items) > 0 {
		res.Block, res.Tokens = text+tail, whole(spent+ends)
	}
	return res
}

// said is what a memory says, with its title where that says more.
func said(m *memory.Memory) string {
	if m.Title == "" || strings.Contains(m.Content, m.Title) {
		return m.Content
	}
	return m.Title + ": " + m.Content
}

// line is one memory in a block.
func (it *Item) line(w words, spaces bool) string {
	var b strings.Builder
	b.WriteString("- [" + it.Memory.Category)
	if spaces {
		b.WriteString("/" + it.Space)
	}
	if it.Tool != "" {
		name, _ := clip(strings.Join(strings.Fields(clean(it.Tool)), " "), leastChars)
		b.WriteString(" · " + name)
	}
	b.WriteString("] " + it.Text + " (" + it.Age)
	if it.Caveat != "" {
		b.WriteString(w.stale)
	}
	b.WriteString(")\n")
	return b.String()
}
