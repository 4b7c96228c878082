package redact

import "strings"

// The tags around injected context. Only a closing tag with the same id ends a block, so recalled text cannot end it
// early.
const (
	recallTag  = "memsidecar-recall"
	privateTag = "private"
	maxTag     = 256 // maximum length of a tag in bytes; anything longer is text
)

// Fence returns the opening and closing line of an injected block. The nonce must be unpredictable for the authors of
// the block's text.
func Fence(nonce string) (open, end string) {
	return `<` + recallTag + ` id="` + nonce + `">`, `</` + recallTag + ` id="` + nonce + `">`
}

// strip removes private passages and recall blocks, terminated or not, and counts the private passages. A tag also
// counts when a removal joins its two halves. Angle brackets may be JSON escapes (\u003c), quotes may be escaped.
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
			out, s = out[:start], afterPrivateEnd(s)
			found++
		case recallTag:
			out, s = out[:start], afterRecallEnd(s, id)
		}
	}
	return string(out), found
}

// nextClose returns the offset behind the next closing bracket, or the length of s.
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

// escapeLen is the length of a JSON escape in bytes.
const escapeLen = len(`\u003c`)

// isEscape reports whether s starts with the JSON escape \u003c or \u003e, in any case.
func isEscape(s string, last byte) bool {
	return len(s) >= escapeLen && s[:escapeLen-1] == `\u003` && s[escapeLen-1]|0x20 == last
}

// openTag parses the tag at the end of out. name is "" when it is neither private nor recall.
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

// tag returns the text between the brackets of the tag at the end of s, and the offset of the tag; "" without a tag.
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

// cutSpace splits s at the first white space.
func cutSpace(s string) (word, rest string) {
	if i := strings.IndexAny(s, " \t\r\n"); i >= 0 {
		return s[:i], s[i+1:]
	}
	return s, ""
}

// attribute returns the value of id="…"; its quotes may be escaped.
func attribute(s string) string {
	_, s, _ = strings.Cut(s, "id=")
	return strings.Trim(s, "\\\"' \t\r\n/")
}

// afterPrivateEnd returns the text behind the matching end of a private passage. An unterminated passage extends to
// the end of s: losing text is safer than storing it.
func afterPrivateEnd(s string) string {
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

// afterRecallEnd returns the text behind the closing tag of the block with this id, "" when the block is not
// terminated.
func afterRecallEnd(s, id string) string {
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
