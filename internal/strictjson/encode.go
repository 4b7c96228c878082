package strictjson

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"
)

// flushAt is how many bytes are collected before they are written.
const flushAt = 64 << 10

// Encoder writes one JSON value as an indented stream, in memory that does not grow with the value. It keeps the
// first error: checking the result of Close is enough. It is for one goroutine.
type Encoder struct {
	w     io.Writer
	buf   []byte
	stack []frame
	err   error
}

// frame is an open object or array.
type frame struct{ inline, members bool }

// NewEncoder starts a value.
func NewEncoder(w io.Writer) *Encoder {
	return &Encoder{w: w, buf: make([]byte, 0, flushAt+flushAt/4)}
}

// Close ends the text with a newline, writes what is left and returns the first error. It does not close the
// writer.
func (e *Encoder) Close() error {
	e.buf = append(e.buf, '\n')
	e.flush()
	return e.err
}

// Fail makes Close return err, unless there was an error before.
func (e *Encoder) Fail(err error) {
	if e.err == nil {
		e.err = err
	}
}

// Err is the first error so far.
func (e *Encoder) Err() error { return e.err }

// Begin opens an object '{' or an array '[' with one member a line.
func (e *Encoder) Begin(open byte) { e.begin(open, false) }

// BeginInline opens an object or an array that stays on one line with all its contents.
func (e *Encoder) BeginInline(open byte) { e.begin(open, true) }

// begin opens a container. Everything inside an inline one is inline, too.
func (e *Encoder) begin(open byte, inline bool) {
	if n := len(e.stack); n > 0 && e.stack[n-1].inline {
		inline = true
	}
	e.buf = append(e.buf, open)
	e.stack = append(e.stack, frame{inline: inline})
}

// End closes the innermost container with '}' or ']'.
func (e *Encoder) End(closing byte) {
	top := e.stack[len(e.stack)-1]
	e.stack = e.stack[:len(e.stack)-1]
	if top.members && !top.inline {
		e.newline()
	}
	e.buf = append(e.buf, closing)
}

// Item begins a value of an array.
func (e *Encoder) Item() {
	if len(e.buf) >= flushAt {
		e.flush()
	}
	top := &e.stack[len(e.stack)-1]
	if top.members {
		e.buf = append(e.buf, ',')
	}
	switch {
	case !top.inline:
		e.newline()
	case top.members:
		e.buf = append(e.buf, ' ')
	}
	top.members = true
}

// Field begins a member of an object.
func (e *Encoder) Field(name string) {
	e.Item()
	e.buf = append(AppendString(e.buf, name), ": "...)
}

// String writes a string.
func (e *Encoder) String(s string) { e.buf = AppendString(e.buf, s) }

// Strings writes an array of strings on one line.
func (e *Encoder) Strings(list []string) {
	e.BeginInline('[')
	for _, s := range list {
		e.Item()
		e.String(s)
	}
	e.End(']')
}

// Int writes a whole number.
func (e *Encoder) Int(v int64) { e.buf = strconv.AppendInt(e.buf, v, 10) }

// PaddedInt writes a whole number behind as many spaces as make it width characters wide.
func (e *Encoder) PaddedInt(v int64, width int) { e.buf = fmt.Appendf(e.buf, "%*d", width, v) }

// Bool writes true or false.
func (e *Encoder) Bool(v bool) { e.buf = strconv.AppendBool(e.buf, v) }

// Null writes null.
func (e *Encoder) Null() { e.buf = append(e.buf, "null"...) }

// Float writes a number in the shortest form that reads back as v.
func (e *Encoder) Float(v float64) {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		e.Fail(fmt.Errorf("%v cannot be written as JSON", v))
		v = 0
	}
	format := byte('f')
	if abs := math.Abs(v); abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		format = 'e'
	}
	e.buf = strconv.AppendFloat(e.buf, v, format, -1, 64)
}

// Time writes t in RFC 3339, with the zone it has and as many digits of the second as it needs.
func (e *Encoder) Time(t time.Time) {
	if y := t.Year(); y < 0 || y > 9999 {
		e.Fail(fmt.Errorf("a time in the year %d cannot be written", y))
		t = time.Time{}
	}
	e.buf = append(e.buf, '"')
	e.buf = t.AppendFormat(e.buf, time.RFC3339Nano)
	e.buf = append(e.buf, '"')
}

// Raw writes a value byte for byte; an empty one is null. An invalid value is an error: it would make the whole
// file unreadable.
func (e *Encoder) Raw(raw json.RawMessage) {
	if len(raw) == 0 {
		e.Null()
		return
	}
	if err := Check(raw); err != nil {
		e.Fail(err)
		return
	}
	e.buf = append(e.buf, raw...)
}

// Extra writes the members of extra in the order of their names. A name that known reports is left out: the known
// field wins.
func (e *Encoder) Extra(extra map[string]json.RawMessage, known func(string) bool) {
	if len(extra) == 0 {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(extra)) {
		if known(name) {
			continue
		}
		e.Field(name)
		if e.Raw(extra[name]); e.err != nil {
			e.err = fmt.Errorf("field %q: %w", name, e.err)
			return
		}
	}
}

// newline begins an indented line.
func (e *Encoder) newline() {
	e.buf = append(e.buf, '\n')
	for range e.stack {
		e.buf = append(e.buf, "  "...)
	}
}

// flush writes what is buffered. After an error it drops it.
func (e *Encoder) flush() {
	if e.err == nil && len(e.buf) > 0 {
		_, e.err = e.w.Write(e.buf)
	}
	e.buf = e.buf[:0]
}

// AppendString appends s as a JSON string. Only what JSON requires is escaped; bytes that are not UTF-8 become
// U+FFFD.
func AppendString(dst []byte, s string) []byte {
	const hexDigits = "0123456789abcdef"
	dst = append(dst, '"')
	valid := utf8.ValidString(s) // nearly always, and then no rune needs decoding
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= 0x20 && c != '"' && c != '\\' && (valid || c < utf8.RuneSelf) {
			i++
			continue
		}
		if c >= utf8.RuneSelf {
			r, n := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && n == 1 {
				dst = append(append(dst, s[start:i]...), "\uFFFD"...)
				start = i + 1
			}
			i += n
			continue
		}
		dst = append(dst, s[start:i]...)
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\t':
			dst = append(dst, '\\', 't')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
		i++
		start = i
	}
	return append(append(dst, s[start:]...), '"')
}

// Line ends a value with a newline, so that another may follow. Values that were opened inline take one line each.
func (e *Encoder) Line() {
	if e.buf = append(e.buf, '\n'); len(e.buf) >= flushAt {
		e.flush()
	}
}

// Flush writes what is buffered and returns the first error.
func (e *Encoder) Flush() error {
	e.flush()
	return e.err
}
