package redact

import "strings"

// The fence around context that memsidecar put into a prompt. Only a closing line with the same id ends a block,
// so recalled text cannot end it early.
const (
	recallTag  = "memsidecar-recall"
	privateTag = "private"
	maxTag     = 256 // bytes a tag may have; longer ones are text
)

// Fence returns the lines that open and close an injected block with the given nonce.
func Fence(nonce string) (open, end string) {
	return `<` + recallTag + ` id="` + nonce + `">`, `</` + recallTag + ` id="` + nonce + `">`
}

// strip removes private passages and recall blocks, terminated or not. Tags are recognised in what is left after earlier
// removals, so a tag put together from the two sides of a removed passage counts too. The angle brackets may be
// JSON escapes (\u003c), the quotes may be escaped.
func strip(s string) (string, int) {
	if !strings.ContainsRune(s, '>') && !strings.Contains(s, `\u003`) {
		return s, 0
	}
	out, found := make([]byte, 0, len(s)), 0
	for len(s) > 0 {
		n := nextClose(s)
		out, s = append(out, s[:n]...), s[n:]
		start, name, id := openTag(out)
		switch name {
		case privateTag:
			out, s = out[:start], afterPrivate(s)
			found++
		case recallTag:
			out, s = out[:start], afterRecall(s, id)
		}
	}
	return string(out), found
}

// nextClose is the offset just behind the next closing bracket, or the length of s.
func nextClose(s string) int {
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '>':
			return i + 1
		case s[i] == '\\' && isEscape(s[i:], 'e'):
			return i + escapeLen
		}
	}
	return len(s)
}

const escapeLen = len(`\u003c`)

// isEscape reports whether s starts with the JSON escape \u003c or \u003e, in any case.
func isEscape(s string, last byte) bool {
	return len(s) >= escapeLen && s[:escapeLen-1] == `\u003` && s[escapeLen-1]|0x20 == last
}

// openTag looks at the tag that ends where out ends. name is "" when it is not one of ours.
func openTag(out []byte) (start int, name, id string) {
	tail := string(out[max(0, len(out)-maxTag):])
	text, at := tag(tail)
	word, rest := cutSpace(text)
	for _, name := range []string{privateTag, recallTag} {
		if strings.EqualFold(word, name) {
			return len(out) - len(tail) + at, name, attribute(rest)
		}
	}
	return 0, "", ""
}

// tag returns what stands between the brackets of the tag that ends where s ends, and where it starts; "" when none does.
func tag(s string) (text string, at int) {
	s = s[max(0, len(s)-maxTag):]
	if n := len(s) - escapeLen; n >= 0 && isEscape(s[n:], 'e') {
		s = s[:n]
	} else if body, ok := strings.CutSuffix(s, ">"); ok {
		s = body
	} else {
		return "", 0
	}
	at, width := strings.LastIndexByte(s, '<'), 1
	if i := strings.LastIndex(s, `\u003`); i > at && isEscape(s[i:], 'c') {
		at, width = i, escapeLen
	}
	if at < 0 {
		return "", 0
	}
	return s[at+width:], at
}

func cutSpace(s string) (word, rest string) {
	if i := strings.IndexAny(s, " \t\r\n"); i >= 0 {
		return s[:i], s[i+1:]
	}
	return s, ""
}

// attribute returns the value of id="…", whose quotes may be escaped.
func attribute(s string) string {
	_, s, _ = strings.Cut(s, "id=")
	return strings.Trim(s, "\\\"' \t\r\n/")
}

// afterPrivate returns what follows the matching end of a private passage, "" when it has none.
func afterPrivate(s string) string {
	for depth := 1; depth > 0 && s != ""; {
		n := nextClose(s)
		text, _ := tag(s[:n])
		s = s[n:]
		word, _ := cutSpace(text)
		switch {
		case strings.EqualFold(word, privateTag):
			depth++
		case strings.EqualFold(word, "/"+privateTag):
			depth--
		}
	}
	return s
}

// afterRecall returns what follows the closing line of the block with this id, "" when it has none.
func afterRecall(s, id string) string {
	for s != "" {
		n := nextClose(s)
		text, _ := tag(s[:n])
		s = s[n:]
		word, rest := cutSpace(text)
		if strings.EqualFold(word, "/"+recallTag) && attribute(rest) == id {
			return s
		}
	}
	return ""
}
