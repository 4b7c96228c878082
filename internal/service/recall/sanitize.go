package recall

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/memsidecar/memsidecar/internal/redact"
)

// sanitize makes a text safe inside a fence: it removes invisible characters and those that change the direction of
// writing, escapes the beginnings of tags and code fences, and drops empty lines. What looks like a secret is replaced:
// a hand edit is stored as it is, and no model is shown it.
func sanitize(s string) string {
	s, _ = redact.Text(removeInvisible(s))
	return tidy(s)
}

// tidy drops empty lines and escapes what could open or close a tag or a code block.
func tidy(s string) string {
	var lines []string
	for line := range strings.SplitSeq(s, "\n") {
		if line = strings.TrimRight(line, " \t"); strings.TrimSpace(line) != "" {
			lines = append(lines, line)
		}
	}
	// Tags last: whether a bracket is harmless depends on the character behind it, which trimming may have removed.
	return escapeTags(strings.TrimSpace(strings.Join(lines, "\n")))
}

// Shown is a stored text as an agent may see it outside a fence: what looks like a secret is replaced.
func Shown(text string) string {
	text, _ = redact.Text(text)
	return text
}

// removeNonce replaces the nonce of a block inside its content. The replacement begins with a space, because "<" may
// precede it.
func removeNonce(s, nonce string) string { return strings.ReplaceAll(s, nonce, " …") }

// indentContinuation indents every line but the first, so that none looks like a line of the block itself.
func indentContinuation(s string) string { return strings.ReplaceAll(s, "\n", "\n  ") }

// removeInvisible removes control, format and private-use characters and writes every line break as "\n".
func removeInvisible(s string) string {
	if !strings.ContainsFunc(s, needsCleaning) {
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

// needsCleaning reports whether removeInvisible might change r.
func needsCleaning(r rune) bool { return (r < ' ' && r != '\n') || r >= 0x7f }

// escapeTags replaces a bracket that could begin a tag by "&lt;", also in the form of a JSON escape, and drops every
// third character of a run of backquotes or tildes, which would begin or end a code block.
func escapeTags(s string) string {
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
			// dropped
		default:
			out.WriteByte(c)
		}
		i++
	}
	return out.String()
}

// truncate shortens s to at most limit characters, at a space in the last fifth if there is one, and reports whether it
// did.
func truncate(s string, limit int) (string, bool) {
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
	return strings.TrimRight(s[:end], " \n<") + "…", true // a trailing bracket would get a new character behind it
}
