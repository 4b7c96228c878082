package recall

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// clean makes a text safe to stand in a fence. Characters that are not seen or that turn the direction of writing go, nothing
// in it can open or close a tag or a block of code, and lines are as few as they can be.
func clean(s string) string {
	var lines []string
	for line := range strings.SplitSeq(visible(s), "\n") {
		if line = strings.TrimRight(line, " \t"); strings.TrimSpace(line) != "" {
			lines = append(lines, line)
		}
	}
	// Last, because whether a bracket may stay depends on what follows it, and a trimmed space follows it no more.
	return withoutTags(strings.TrimSpace(strings.Join(lines, "\n")))
}

// withoutNonce takes the nonce of a block out of what stands in it. A space stands before the mark left: "<" may have stood before it.
func withoutNonce(s, nonce string) string { return strings.ReplaceAll(s, nonce, " …") }

// indented is clean text whose lines but the first stand to the right of whatever begins a line of the block itself.
func indented(s string) string { return strings.ReplaceAll(s, "\n", "\n  ") }

func visible(s string) string {
	if !strings.ContainsFunc(s, unusual) {
		return s
	}
	s = strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\r\n", "\n")
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\r' || r == '\u2028' || r == '\u2029' || r == '\u0085' || r == '\v' || r == '\f':
			return '\n'
		case r == '\n' || r == '\t' || r == '\u200c' || r == '\u200d': // the last two join letters and emoji
			return r
		case unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co):
			return -1
		}
		return r
	}, s)
}

// unusual reports whether a character may be one that is not left as it is.
func unusual(r rune) bool { return (r < ' ' && r != '\n') || r >= 0x7f }

// withoutTags writes the bracket that begins a tag as "&lt;", also where it is written as an escape of JSON, and shortens the
// marks of code blocks.
func withoutTags(s string) string {
	if !strings.ContainsAny(s, "<\\`~") {
		return s
	}
	var out strings.Builder
	for i := 0; i < len(s); {
		switch c := s[i]; {
		case c == '<' && (i+1 == len(s) || !strings.ContainsRune(" =-0123456789", rune(s[i+1]))):
			out.WriteString("&lt;")
		case c == '\\' && len(s) >= i+6 && strings.EqualFold(s[i:i+6], `\u003c`):
			out.WriteString("&lt;")
			i += 5
		case (c == '`' || c == '~') && strings.HasSuffix(out.String()[max(0, out.Len()-2):], string(c)+string(c)):
			// a third one in a row would begin or end a block of code
		default:
			out.WriteByte(c)
		}
		i++
	}
	return out.String()
}

// clip shortens a text to at most limit characters, at a space where there is one near, and says whether it did.
func clip(s string, limit int) (string, bool) {
	if len(s) <= limit || utf8.RuneCountInString(s) <= limit {
		return s, false
	}
	end := 0
	for range limit - 1 {
		_, n := utf8.DecodeRuneInString(s[end:])
		end += n
	}
	if at := strings.LastIndexAny(s[:end], " \n"); at > end*4/5 {
		end = at
	}
	return strings.TrimRight(s[:end], " \n<") + "…", true // a bracket must not be left with something new behind it
}
