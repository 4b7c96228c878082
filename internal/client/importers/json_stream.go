package importers

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"
)

// jsonValue is a part of a JSON file: an element of the array that is the file or of one that is a member of it, or
// another member.
type jsonValue struct {
	key   string // of the member; "" for an element of the outermost array
	index int    // of the element, from 0; -1 for a member that is no array
	line  int    // where it begins
	raw   []byte
	bad   string // why raw cannot be used; it is nil then
}

// place returns the position of the value for reports: file, line and item.
func (v jsonValue) place(f file) Place {
	p := Place{File: f.name, Line: v.line}
	switch {
	case v.key != "" && v.index >= 0:
		p.Item = fmt.Sprintf("%s %d", v.key, v.index+1)
	case v.key != "":
		p.Item = v.key
	case v.index >= 0:
		p.Item = fmt.Sprintf("item %d", v.index+1)
	}
	return p
}

// jsonSplitter cuts a JSON text into values without holding more than one. A value that is damaged does not keep it
// from finding those behind it, as long as quotes and brackets are even.
type jsonSplitter struct {
	r     *bufio.Reader
	line  int
	left  int64 // bytes that may still be read
	limit int   // bytes of a value
}

// newSplitter returns a splitter for in, without a byte order mark. limit bounds one value, in bytes.
func newSplitter(in io.Reader, limit int) *jsonSplitter {
	r := bufio.NewReaderSize(in, 64<<10)
	if start, _ := r.Peek(3); bytes.Equal(start, []byte("\xef\xbb\xbf")) {
		_, _ = r.Discard(3) // what was peeked is there
	}
	return &jsonSplitter{r: r, line: 1, left: maxTotal, limit: limit}
}

var (
	errTooMuch = errors.New("too much")
	errTold    = errors.New("told already")
)

// eachValue visits the values of a JSON text, which may have limit bytes each. Errors: those of visit only; what is
// wrong with the text is a value with bad set.
func eachValue(in io.Reader, limit int, visit func(jsonValue) error) error {
	s := newSplitter(in, limit)
	c, err := s.skip(0)
	switch {
	case err != nil:
		return visit(jsonValue{index: -1, line: s.line, bad: "is empty"})
	case c == '[':
		err = s.array("", visit)
	case c == '{':
		err = s.object(visit)
	default:
		return visit(jsonValue{index: -1, line: s.line, bad: "is no JSON that holds items"})
	}
	switch {
	case errors.Is(err, errTold):
		return nil
	case isReadError(err):
		return visit(jsonValue{index: -1, line: s.line, bad: "ends in the middle: " + reason(err)})
	case err != nil:
		return err
	}
	if _, err = s.skip(0); err == nil {
		return visit(jsonValue{index: -1, line: s.line, bad: "has something behind its end"})
	}
	return nil
}

// readError is an error of the file, not of the visitor.
type readError struct{ error }

// Unwrap returns the underlying error.
func (e readError) Unwrap() error { return e.error }

// isReadError reports whether err came from reading the input and not from its content.
func isReadError(err error) bool {
	_, ok := errors.AsType[readError](err)
	return ok
}

// reason returns err as a phrase for the report.
func reason(err error) string {
	if errors.Is(err, errTooMuch) {
		return fmt.Sprintf("it has more than %d bytes", int64(maxTotal))
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return "unexpected end"
	}
	return err.Error()
}

// next returns the next byte and counts lines. Errors are of type readError.
func (s *jsonSplitter) next() (byte, error) {
	if s.left--; s.left < 0 {
		return 0, readError{errTooMuch}
	}
	c, err := s.r.ReadByte()
	if err != nil {
		return 0, readError{err}
	}
	if c == '\n' {
		s.line++
	}
	return c, nil
}

// unread gives the byte read last back.
func (s *jsonSplitter) unread(c byte) {
	_ = s.r.UnreadByte() // one was read
	s.left++
	if c == '\n' {
		s.line--
	}
}

// skip passes over white space and the bytes of also, and returns the next byte.
func (s *jsonSplitter) skip(also byte) (byte, error) {
	for {
		c, err := s.next()
		if err != nil {
			return 0, err
		}
		if c != ' ' && c != '\t' && c != '\n' && c != '\r' && (also == 0 || c != also) {
			return c, nil
		}
	}
}

// array visits the elements behind a "[".
func (s *jsonSplitter) array(key string, visit func(jsonValue) error) error {
	for i := 0; ; i++ {
		c, err := s.skip(',')
		if err != nil || c == ']' {
			return err
		}
		if c == '}' { // which no value would get past
			if err := visit(jsonValue{key: key, index: i, line: s.line, bad: "is not valid JSON"}); err != nil {
				return err
			}
			continue
		}
		s.unread(c)
		v, err := s.value()
		v.key, v.index = key, i
		if err := cmp.Or(visit(v), err); err != nil {
			return err
		}
	}
}

// object visits the members behind a "{".
func (s *jsonSplitter) object(visit func(jsonValue) error) error {
	for {
		c, err := s.skip(',')
		if err != nil || c == '}' {
			return err
		}
		s.unread(c)
		name, err := s.name()
		if err != nil {
			return err
		}
		if name == "" {
			return cmp.Or(visit(jsonValue{index: -1, line: s.line, bad: "is damaged here; what follows was not read"}),
				errTold)
		}
		if c, err = s.skip(0); err != nil {
			return err
		}
		if c == '[' {
			if err := s.array(name, visit); err != nil {
				return err
			}
			continue
		}
		s.unread(c)
		v, err := s.value()
		v.key, v.index = name, -1
		if err := cmp.Or(visit(v), err); err != nil {
			return err
		}
	}
}

// maxName is the longest name of a member in bytes.
const maxName = 1000

// name reads a name and the colon behind it; "" when there is none.
func (s *jsonSplitter) name() (string, error) {
	c, err := s.next()
	if err != nil || c != '"' {
		return "", err
	}
	raw := []byte{'"'}
	for escaped := false; ; {
		c, err := s.next()
		if err != nil {
			return "", err
		}
		if raw = append(raw, c); len(raw) > maxName {
			return "", nil
		}
		if c == '"' && !escaped {
			break
		}
		escaped = c == '\\' && !escaped
	}
	if c, err = s.skip(0); err != nil || c != ':' {
		return "", err
	}
	var name string
	if json.Unmarshal(raw, &name) != nil {
		return "", nil
	}
	return name, nil
}

// value reads up to what ends a value. When the text ends before, the value says so and the error is errTold.
func (s *jsonSplitter) value() (jsonValue, error) {
	v := jsonValue{line: s.line}
	var raw []byte
	depth, inString, escaped := 0, false, false
	for {
		c, err := s.next()
		if err != nil {
			v.bad = "is not whole, so nothing behind it could be read: " + reason(err)
			return v, errTold
		}
		if !inString && depth == 0 && (c == ',' || c == ']' || c == '}') {
			s.unread(c)
			break
		}
		switch {
		case inString:
			if c == '"' && !escaped {
				inString = false
			}
			escaped = c == '\\' && !escaped
		case c == '"':
			inString = true
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			depth--
		}
		if len(raw) <= s.limit {
			raw = append(raw, c)
		}
	}
	v.judge(raw, s.limit)
	return v, nil
}

// judge takes in the bytes of the value if they are whole.
func (v *jsonValue) judge(raw []byte, limit int) {
	long := len(raw) > limit
	raw = bytes.TrimSpace(raw)
	switch {
	case long:
		v.bad = fmt.Sprintf("has more than %d bytes", limit)
	case !utf8.Valid(raw):
		v.bad = "is not valid UTF-8"
	case !json.Valid(raw):
		v.bad = "is not valid JSON"
	default:
		v.raw = raw
	}
}
