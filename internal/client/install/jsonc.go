package install

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf8"
)

// node is a value in JSON text, with comments and trailing commas allowed, and where it stands.
type node struct {
	kind       byte // '{', '[', '"' or 'v' for anything else
	start, end int  // of the value, brackets included
	items      []item
	text       string // of a string
}

// item is a member of an object or an element of an array.
type item struct {
	key   string
	start int // of the member's key, or of the element
	value *node
}

// member returns the value of a key, or nil.
func (n *node) member(key string) *node {
	for _, it := range n.items {
		if it.key == key {
			return it.value
		}
	}
	return nil
}

// maxDepth bounds how deep a configuration may be nested.
const maxDepth = 200

// scanner reads JSON text.
type scanner struct {
	text []byte
	pos  int

	comma error // of the first comma behind a last item
}

// checkCommas refuses a comma behind a last item, for a host that refuses the whole file because of it: what is
// registered there would never be called.
func checkCommas(text []byte) error {
	s := &scanner{text: bytes.TrimPrefix(text, []byte("\uFEFF"))}
	if err := s.blank(); err != nil {
		return err
	}
	if _, err := s.value(0); err != nil {
		return err
	}
	return s.comma
}

// parseJSON reads one value with nothing but white space and comments around it. Members of the same name are
// refused: hosts do not agree which one counts.
func parseJSON(text []byte) (*node, error) {
	s := &scanner{text: text}
	if !utf8.Valid(text) {
		return nil, s.syntaxError("text that is not UTF-8")
	}
	if len(text) >= 3 && string(text[:3]) == "\uFEFF" {
		s.pos = 3
	}
	if err := s.blank(); err != nil {
		return nil, err
	}
	n, err := s.value(0)
	if err != nil {
		return nil, err
	}
	if err := s.blank(); err != nil {
		return nil, err
	}
	if s.pos < len(text) {
		return nil, s.syntaxError("more behind the end")
	}
	return n, nil
}

// syntaxError returns an ErrUnreadable that names the line.
func (s *scanner) syntaxError(what string) error {
	line := 1
	for _, c := range s.text[:min(s.pos, len(s.text))] {
		if c == '\n' {
			line++
		}
	}
	return fmt.Errorf("%w: line %d: %s", ErrUnreadable, line, what)
}

// blank skips white space and comments.
func (s *scanner) blank() error {
	for s.pos < len(s.text) {
		switch c := s.text[s.pos]; {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			s.pos++
		case c == '/':
			n := comment(s.text[s.pos:])
			if n == 0 {
				return s.syntaxError("a comment that does not end, or none")
			}
			s.pos += n
		default:
			return nil
		}
	}
	return nil
}

// comment is the length of the comment that text begins with, without the line's end; 0 when there is none.
func comment(text []byte) int {
	if len(text) < 2 || text[0] != '/' {
		return 0
	}
	switch text[1] {
	case '/':
		for i, c := range text {
			if c == '\n' || c == '\r' {
				return i
			}
		}
		return len(text)
	case '*':
		for i := 2; i+1 < len(text); i++ {
			if text[i] == '*' && text[i+1] == '/' {
				return i + 2
			}
		}
	}
	return 0
}

// peek returns the next byte, 0 at the end.
func (s *scanner) peek() byte {
	if s.pos >= len(s.text) {
		return 0
	}
	return s.text[s.pos]
}

// value reads one value and remembers where it lies in the text; numbers and words are checked by
// encoding/json.
func (s *scanner) value(depth int) (*node, error) {
	if depth > maxDepth {
		return nil, s.syntaxError("nested too deep")
	}
	switch c := s.peek(); c {
	case '{', '[':
		return s.container(c, depth)
	case '"':
		return s.stringValue()
	default:
		n := &node{kind: 'v', start: s.pos}
		for s.pos < len(s.text) && isWord(s.text[s.pos]) {
			s.pos++
		}
		n.end = s.pos
		if !json.Valid(s.text[n.start:n.end]) {
			return nil, s.syntaxError("a value was expected")
		}
		return n, nil
	}
}

// isWord reports whether c can be part of a number, true, false or null.
func isWord(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '+' || c == '.'
}

// stringValue finds the closing quote and lets encoding/json decode the escapes.
func (s *scanner) stringValue() (*node, error) {
	n := &node{kind: '"', start: s.pos}
	for s.pos++; s.pos < len(s.text); s.pos++ {
		switch s.text[s.pos] {
		case '\\':
			s.pos++
		case '"':
			s.pos++
			n.end = s.pos
			if json.Unmarshal(s.text[n.start:n.end], &n.text) != nil {
				return nil, s.syntaxError("a string that is not valid")
			}
			return n, nil
		}
	}
	s.pos = len(s.text)
	return nil, s.syntaxError("a string that does not end")
}

// container reads an object or an array. A comma before the closing bracket is allowed, as the hosts that
// read JSONC allow it.
func (s *scanner) container(open byte, depth int) (*node, error) {
	n := &node{kind: open, start: s.pos}
	end := open + 2 // ']' and '}' stand two behind their counterparts
	s.pos++
	comma := false // the last byte read
	for {
		if err := s.blank(); err != nil {
			return nil, err
		}
		if s.peek() == end {
			if comma && s.comma == nil {
				s.comma = s.syntaxError("a comma behind the last item, for which the host refuses the whole file")
			}
			s.pos++
			n.end = s.pos
			return n, nil
		}
		it, err := s.item(n, depth)
		if err != nil {
			return nil, err
		}
		n.items = append(n.items, it)
		if err := s.blank(); err != nil {
			return nil, err
		}
		switch s.peek() {
		case ',':
			s.pos++
			comma = true
		case end:
			comma = false
		default:
			return nil, s.syntaxError(fmt.Sprintf("a comma or %c was expected", end))
		}
	}
}

// item reads one element of a container: with its key in an object. Duplicate keys are errors, because programs
// disagree on which counts.
func (s *scanner) item(n *node, depth int) (it item, err error) {
	it.start = s.pos
	if n.kind == '{' {
		if s.peek() != '"' {
			return it, s.syntaxError("a name was expected")
		}
		key, err := s.stringValue()
		if err != nil {
			return it, err
		}
		if it.key = key.text; n.member(it.key) != nil {
			return it, s.syntaxError(fmt.Sprintf("%q is there twice", it.key))
		}
		if err := s.blank(); err != nil {
			return it, err
		}
		if s.peek() != ':' {
			return it, s.syntaxError("a colon was expected")
		}
		s.pos++
		if err := s.blank(); err != nil {
			return it, err
		}
	}
	it.value, err = s.value(depth + 1)
	return it, err
}
