// Package strictjson reads and writes the JSON files that people and other programs share with the daemon.
//
// Reading (Decoder) is stricter than encoding/json: text that is not UTF-8, a name given twice in one object, a
// name in another letter case, half a surrogate pair and text after the value are errors, and every error has line,
// column and field. I-JSON (RFC 7493) asks for the same. Writing (Encoder) is an indented stream that escapes only
// what JSON requires; Object appends the compact form of journal records. The package knows no file format.
// docs/decisions/0019 says why encoding/json does not do this.
package strictjson

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxDepth bounds the nesting of objects and arrays, so that hostile input cannot exhaust the stack.
const maxDepth = 500

// Error says what is wrong with a text and where.
type Error struct {
	Line, Column int    // from 1; the column counts characters
	Path         string // of the value, "memories[3].salience"; "" for the whole text
	Of           string // what the value belongs to, for people, `id "a1b2c3d4"`; may be empty
	Msg          string
}

// Error is one line, for people. It quotes names, never values: those may be private.
func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "line %d, column %d: ", e.Line, e.Column)
	if e.Path != "" {
		b.WriteString(e.Path)
		if e.Of != "" {
			b.WriteString(" (" + e.Of + ")")
		}
		b.WriteString(": ")
	}
	b.WriteString(e.Msg)
	return b.String()
}

// Decoder walks one JSON text that is completely in memory. The caller asks for the value that it expects next; a
// value of another type is an error. It is for one goroutine.
type Decoder struct {
	data  []byte
	pos   int
	depth int
	keys  [][]byte // names seen in the objects that are open
}

// NewDecoder starts to read data, which must not change meanwhile. It skips a byte order mark. Error: an *Error for
// text that is not UTF-8.
func NewDecoder(data []byte) (*Decoder, error) {
	d := &Decoder{}
	if err := d.Reset(data); err != nil {
		return nil, err
	}
	return d, nil
}

// Reset starts to read other data, as NewDecoder does. For one of many texts it saves the memory of a Decoder.
func (d *Decoder) Reset(data []byte) error {
	d.data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	d.Rewind(0)
	if utf8.Valid(d.data) {
		return nil
	}
	for d.pos < len(d.data) {
		r, n := utf8.DecodeRune(d.data[d.pos:])
		if r == utf8.RuneError && n == 1 {
			break
		}
		d.pos += n
	}
	return d.Fail("is not valid UTF-8 here")
}

// Fail makes an error about the present position.
func (d *Decoder) Fail(format string, args ...any) *Error { return d.FailAt(d.pos, format, args...) }

// FailAt makes an error about an offset that Pos returned.
func (d *Decoder) FailAt(pos int, format string, args ...any) *Error {
	before := d.data[:min(pos, len(d.data))]
	line := bytes.Count(before, []byte{'\n'}) + 1
	column := utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:]) + 1
	return &Error{Line: line, Column: column, Msg: fmt.Sprintf(format, args...)}
}

// Pos is the offset of the next value.
func (d *Decoder) Pos() int {
	d.space()
	return d.pos
}

// Rewind returns to an offset of Pos, to read a value again.
func (d *Decoder) Rewind(pos int) { d.pos, d.depth, d.keys = pos, 0, d.keys[:0] }

// End checks that nothing follows the value.
func (d *Decoder) End() error {
	if d.space(); d.pos < len(d.data) {
		return d.Fail("something follows the end of the document")
	}
	return nil
}

// Object reads an object and calls member after each name; member must read the value. key is valid during the call
// only.
func (d *Decoder) Object(member func(key []byte) error) error {
	if err := d.enter('{', "an object"); err != nil {
		return err
	}
	base := len(d.keys)
	var many map[string]bool // instead of a linear search, when there are many names
	for n := 0; ; n++ {
		more, err := d.more('}', n)
		if err != nil || !more {
			d.keys = d.keys[:base]
			return err
		}
		key, err := d.name()
		if err != nil {
			return err
		}
		if many, err = d.once(key, base, many); err != nil {
			return err
		}
		if err := member(key); err != nil {
			return prefix(err, string(key))
		}
	}
}

// Array reads an array and calls item before each value; item must read it.
func (d *Decoder) Array(item func(i int) error) error {
	if err := d.enter('[', "an array"); err != nil {
		return err
	}
	for i := 0; ; i++ {
		more, err := d.more(']', i)
		if err != nil || !more {
			return err
		}
		if err := item(i); err != nil {
			return prefix(err, "["+strconv.Itoa(i)+"]")
		}
	}
}

// prefix puts a step before the path of an error, on its way out of the nested values.
func prefix(err error, step string) error {
	e, ok := errors.AsType[*Error](err)
	if !ok {
		return err
	}
	if e.Path != "" && e.Path[0] != '[' {
		step += "."
	}
	e.Path = step + e.Path
	return e
}

// enter opens a container.
func (d *Decoder) enter(open byte, what string) error {
	if d.space(); d.peek() != open {
		return d.mismatch(what)
	}
	if d.depth++; d.depth > maxDepth {
		return d.Fail("is nested more than %d deep", maxDepth)
	}
	d.pos++
	return nil
}

// more reads the comma before value n of a container, or the container's end.
func (d *Decoder) more(end byte, n int) (bool, error) {
	d.space()
	switch c := d.peek(); {
	case c == end:
		d.pos++
		d.depth--
		return false, nil
	case n == 0 && d.pos < len(d.data):
		return true, nil
	case c == ',':
		d.pos++
		if d.space(); d.peek() == end {
			return false, d.Fail("a comma with nothing behind it")
		}
		return true, nil
	default:
		return false, d.Fail("expected ',' or '%c', found %s", end, d.found())
	}
}

// name reads the name of a member and the colon.
func (d *Decoder) name() ([]byte, error) {
	if d.space(); d.peek() != '"' {
		return nil, d.Fail("expected a name in quotes, found %s", d.found())
	}
	key, err := d.text()
	if err != nil {
		return nil, err
	}
	if d.space(); d.peek() != ':' {
		return nil, d.Fail("expected ':' behind the name %q, found %s", key, d.found())
	}
	d.pos++
	return key, nil
}

// usualNames is room for the names of most objects with those around them: growing to it would take twice the memory.
const usualNames = 16

// once records a name of the object whose names begin at base and refuses it the second time. A linear search
// serves small objects; a map takes over from there, so that a hostile object costs no quadratic time.
func (d *Decoder) once(key []byte, base int, many map[string]bool) (map[string]bool, error) {
	const few = 40
	duplicate := false
	switch n := len(d.keys) - base; {
	case n < few:
		if d.keys == nil {
			d.keys = make([][]byte, 0, usualNames)
		}
		for _, k := range d.keys[base:] {
			duplicate = duplicate || bytes.Equal(k, key)
		}
		d.keys = append(d.keys, key)
	default:
		if many == nil {
			many = make(map[string]bool, 2*few)
			for _, k := range d.keys[base:] {
				many[string(k)] = true
			}
		}
		duplicate = many[string(key)]
		many[string(key)] = true
	}
	if duplicate {
		return many, d.Fail("the name %q occurs twice in one object", key)
	}
	return many, nil
}

// space skips white space.
func (d *Decoder) space() {
	for d.pos < len(d.data) {
		switch d.data[d.pos] {
		case ' ', '\n', '\r', '\t':
			d.pos++
		default:
			return
		}
	}
}

// peek returns the next byte, 0 at the end.
func (d *Decoder) peek() byte {
	if d.pos < len(d.data) {
		return d.data[d.pos]
	}
	return 0
}

// mismatch is the error for a value of another type.
func (d *Decoder) mismatch(want string) error {
	return d.Fail("must be %s, found %s", want, d.found())
}

// found describes the next value for an error without quoting it: it may be private.
func (d *Decoder) found() string {
	if d.pos >= len(d.data) {
		return "the end of the document"
	}
	switch c := d.data[d.pos]; {
	case c == '{':
		return "an object"
	case c == '[':
		return "an array"
	case c == '"':
		return "a string"
	case c == '-' || c >= '0' && c <= '9':
		return "a number"
	case bytes.HasPrefix(d.data[d.pos:], []byte("null")):
		return "null"
	case bytes.HasPrefix(d.data[d.pos:], []byte("true")), bytes.HasPrefix(d.data[d.pos:], []byte("false")):
		return "true or false"
	default:
		r, _ := utf8.DecodeRune(d.data[d.pos:])
		return strconv.QuoteRune(r)
	}
}
