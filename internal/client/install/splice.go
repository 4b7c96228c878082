package install

import "bytes"

// insert adds an item at the end of a container: a comma after the last item, then the new item on its own line, behind
// a comment that belongs to the last one. removeItem reverts it byte for byte.
func insert(text []byte, n *node, line, content string) []byte {
	if len(n.items) == 0 {
		return splice(text, n.start+1, n.start+1, content)
	}
	end := n.items[len(n.items)-1].value.end
	at := end
	for at < n.end && (text[at] == ' ' || text[at] == '\t') {
		at++
	}
	if c := comment(text[at:]); c > 0 && !bytes.ContainsRune(text[at:at+c], '\n') {
		at += c
	} else {
		at = end
	}
	return splice(splice(text, at, at, line+content), end, end, ",")
}

// removeItem deletes an item, its comma and the white space before it.
func removeItem(text []byte, n *node, i int) []byte {
	start, end := n.items[i].start, n.items[i].value.end
	switch {
	case i > 0:
		prev := n.items[i-1].value.end
		for start > prev && isSpace(text[start-1]) {
			start--
		}
		comma := commaAfter(text, prev)
		return splice(splice(text, start, end, ""), comma, comma+1, "")
	case len(n.items) > 1:
		return splice(text, start, commaAfter(text, end)+1, "")
	case createdByUs(text, n):
		for isSpace(text[start-1]) {
			start--
		}
		for isSpace(text[end]) {
			end++
		}
		return splice(text, start, end, indentOf(text, n))
	default:
		if c := trailingComma(text, n, end); c >= 0 {
			end = c + 1
		}
		return splice(text, start, end, "")
	}
}

// indentOf returns the line break and indentation before the closing bracket of n.
func indentOf(text []byte, n *node) string {
	tail := text[n.items[0].value.end : n.end-1]
	if i := bytes.LastIndexByte(tail, '\n'); i >= 0 {
		return string(tail[i:])
	}
	return ""
}

// trailingComma returns the position of a comma behind the last item of a container, or -1.
func trailingComma(text []byte, n *node, from int) int {
	for i := from; i < n.end-1; i++ {
		if text[i] == ',' {
			return i
		}
		if c := comment(text[i:]); c > 0 {
			i += c - 1
		}
	}
	return -1
}

// commaAfter is where the comma behind a value stands, which has one.
func commaAfter(text []byte, from int) int {
	for i := from; i < len(text); i++ {
		if c := comment(text[i:]); c > 0 {
			i += c - 1
			continue
		}
		if text[i] == ',' {
			return i
		}
	}
	return len(text) - 1
}

// isSpace reports whether c is white space in JSON.
func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

// splice returns text with text[start:end] replaced. It never changes its argument.
func splice(text []byte, start, end int, with string) []byte {
	out := make([]byte, 0, len(text)+len(with))
	out = append(out, text[:start]...)
	out = append(out, with...)
	return append(out, text[end:]...)
}
