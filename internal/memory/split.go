package memory

import (
	"strings"
	"unicode/utf8"
)

// SplitContent cuts text into parts of at most MaxContent characters, preferably at the end of a line or a word.
// Blank parts are left out. A text that is short enough is one part.
func SplitContent(text string) []string {
	var parts []string
	for {
		end := 0
		for i := 0; i < MaxContent && end < len(text); i++ {
			_, n := utf8.DecodeRuneInString(text[end:])
			end += n
		}
		if end == len(text) {
			break
		}
		late := end - end/8 // a cut before that would waste too much
		if i := strings.LastIndexByte(text[:end], '\n'); i >= late {
			end = i + 1
		} else if i := strings.LastIndexByte(text[:end], ' '); i >= late {
			end = i + 1
		}
		if strings.TrimSpace(text[:end]) != "" {
			parts = append(parts, text[:end])
		}
		text = text[end:]
	}
	if len(parts) == 0 || strings.TrimSpace(text) != "" {
		parts = append(parts, text)
	}
	return parts
}
