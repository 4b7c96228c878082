package reflector

import (
	"unicode/utf8"

	"github.com/memsidecar/memsidecar/internal/memory"
)

const (
	headMessages = 6
	tailMessages = 20
)

// Reduce brings a transcript down to about limit characters, the same way every time: long texts are cut in their middle, and
// when that is not enough what the assistant said and the successful tool calls between the start and the end are left
// out. What the user said and what failed stays, the oldest of it cut shortest. The messages given are not changed.
func Reduce(messages []*memory.Message, limit int) []*memory.Message {
	if size(messages) <= limit {
		return messages
	}
	var kept []*memory.Message
	for i, m := range messages {
		edge := i < headMessages || i >= len(messages)-tailMessages
		if edge || m.Role == "user" && m.Tool == nil || m.Tool != nil && failureClass(m.Tool) != "" {
			kept = append(kept, m)
		}
	}
	share := max(limit/max(len(kept), 1)/2, 200)
	out := make([]*memory.Message, len(kept))
	for i, m := range kept {
		out[i] = cut(m, share)
	}
	for size(out) > limit && len(out) > headMessages+tailMessages { // thousands of turns: the middle goes
		drop := max(1, (len(out)-headMessages-tailMessages)/2)
		out = append(out[:headMessages:headMessages], out[headMessages+drop:]...)
	}
	return out
}

func size(messages []*memory.Message) (n int) {
	for _, m := range messages {
		n += utf8.RuneCountInString(m.Content)
		if t := m.Tool; t != nil {
			n += utf8.RuneCountInString(t.Arguments) + utf8.RuneCountInString(t.Result) + utf8.RuneCountInString(t.Error)
		}
	}
	return n
}

// cut shortens every text of a message to at most n characters.
func cut(m *memory.Message, n int) *memory.Message {
	c := *m
	c.Content = middle(m.Content, n)
	if m.Tool != nil {
		t := *m.Tool
		t.Arguments, t.Result, t.Error = middle(t.Arguments, n/2), middle(t.Result, n/2), middle(t.Error, n/2)
		c.Tool = &t
	}
	return &c
}

// middle cuts out the middle of s, so that n characters are left.
func middle(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	r := []rune(s)
	return string(r[:n/2]) + "\n…\n" + string(r[len(r)-n/2:])
}
