package reflector

import (
	"unicode/utf8"

	"github.com/memsidecar/memsidecar/internal/memory"
)

const (
	headMessages = 6
	tailMessages = 20
)

// Reduce shortens a transcript to about limit characters, deterministically. It drops the assistant's messages and
// successful tool calls between start and end, then the middle of long texts, then the oldest middle turns. User
// turns and failures are kept as long as possible. The given messages are not changed.
func Reduce(messages []*memory.Message, limit int) []*memory.Message {
	if transcriptSize(messages) <= limit {
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
		out[i] = truncateMessage(m, share)
	}
	for transcriptSize(out) > limit && len(out) > headMessages+tailMessages { // thousands of turns: drop the middle
		drop := max(1, (len(out)-headMessages-tailMessages)/2)
		out = append(out[:headMessages:headMessages], out[headMessages+drop:]...)
	}
	return out
}

// transcriptSize counts the characters of all texts.
func transcriptSize(messages []*memory.Message) (n int) {
	for _, m := range messages {
		n += utf8.RuneCountInString(m.Content)
		if t := m.Tool; t != nil {
			n += utf8.RuneCountInString(t.Arguments) + utf8.RuneCountInString(t.Result) +
				utf8.RuneCountInString(t.Error)
		}
	}
	return n
}

// truncateMessage shortens every text of a message to about n characters.
func truncateMessage(m *memory.Message, n int) *memory.Message {
	c := *m
	c.Content = elideMiddle(m.Content, n)
	if m.Tool != nil {
		t := *m.Tool
		t.Arguments, t.Result, t.Error = elideMiddle(t.Arguments, n/2), elideMiddle(t.Result, n/2),
			elideMiddle(t.Error, n/2)
		c.Tool = &t
	}
	return &c
}

// elideMiddle replaces the middle of s by "…", so that n characters of it remain.
func elideMiddle(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	r := []rune(s)
	return string(r[:n/2]) + "\n…\n" + string(r[len(r)-n/2:])
}
