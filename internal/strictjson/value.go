package strictjson

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"
	"unicode/utf8"
)

// Null reads a null if there is one and reports whether there was.
func (d *Decoder) Null() bool {
	d.space()
	return d.word("null")
}

// String reads a string.
func (d *Decoder) String() (string, error) {
	b, err := d.StringBytes()
	return string(b), err
}

// StringBytes is String without a copy: the result may be part of the data, and must not be changed.
func (d *Decoder) StringBytes() ([]byte, error) {
	if d.space(); d.peek() != '"' {
		return nil, d.mismatch("a string")
	}
	return d.text()
}

// Bool reads true or false.
func (d *Decoder) Bool() (bool, error) {
	d.space()
	switch {
	case d.word("true"):
		return true, nil
	case d.word("false"):
		return false, nil
	}
	return false, d.mismatch("true or false")
}

// Float reads a number that a float64 can hold.
func (d *Decoder) Float() (float64, error) {
	start := d.Pos()
	b, err := d.number()
	if err != nil {
		return 0, err
	}
	v, err := strconv.ParseFloat(string(b), 64)
	if err != nil {
		return 0, d.FailAt(start, "is a number too large to keep")
	}
	return v, nil
}

// Int reads a whole number. Forms such as 3.0 are accepted as long as they are exact.
func (d *Decoder) Int() (int64, error) {
	start := d.Pos()
	b, err := d.number()
	if err != nil {
		return 0, err
	}
	if v, err := strconv.ParseInt(string(b), 10, 64); err == nil {
		return v, nil
	}
	v, err := strconv.ParseFloat(string(b), 64)
	if err != nil || v != math.Trunc(v) || math.Abs(v) > 1<<53 {
		return 0, d.FailAt(start, "must be a whole number")
	}
	return int64(v), nil
}

// Strings reads an array of strings; an empty one is nil.
func (d *Decoder) Strings() ([]string, error) {
	var list []string
	err := d.Array(func(int) error {
		s, err := d.String()
		list = append(list, s)
		return err
	})
	return list, err
}

// timeLayouts are tried in turn; a fraction of a second is accepted behind the seconds of each.
var timeLayouts = [...]string{
	time.RFC3339, "2006-01-02T15:04:05", "2006-01-02 15:04:05Z07:00", "2006-01-02 15:04:05",
	"2006-01-02T15:04:05Z0700", "2006-01-02T15:04", time.DateOnly,
}

// Time reads a date with time of day in RFC 3339, or in the similar forms that other programs write. Without a zone
// it is a time in loc. An empty string is the zero time.
func (d *Decoder) Time(loc *time.Location) (time.Time, error) {
	start := d.Pos()
	s, err := d.String()
	if err != nil || s == "" {
		return time.Time{}, err
	}
	for _, layout := range timeLayouts {
		t, err := time.ParseInLocation(layout, s, loc)
		// The year must still have four digits in UTC, or it could not be written again.
		if y := t.UTC().Year(); err == nil && y >= 0 && y <= 9999 {
			return t, nil
		}
	}
	return time.Time{}, d.FailAt(start, "must be a time such as 2026-02-21T14:30:00Z")
}

// Raw reads any value by the rules of this package and returns a copy of its bytes.
func (d *Decoder) Raw() (json.RawMessage, error) {
	start := d.Pos()
	if err := d.Skip(); err != nil {
		return nil, err
	}
	return bytes.Clone(d.data[start:d.pos]), nil
}

// Keep reads any value into extra, under a name that the caller does not know.
func (d *Decoder) Keep(extra *map[string]json.RawMessage, key []byte) error {
	raw, err := d.Raw()
	if err != nil {
		return err
	}
	if *extra == nil {
		*extra = make(map[string]json.RawMessage)
	}
	(*extra)[string(key)] = raw
	return nil
}

// Skip reads any value and drops it. It still checks the value.
func (d *Decoder) Skip() error {
	d.space()
	switch c := d.peek(); {
	case c == '{':
		return d.Object(func([]byte) error { return d.Skip() })
	case c == '[':
		return d.Array(func(int) error { return d.Skip() })
	case c == '"':
		_, err := d.text()
		return err
	case c == '-' || c >= '0' && c <= '9':
		_, err := d.number()
		return err
	case d.word("null"), d.word("true"), d.word("false"):
		return nil
	}
	return d.mismatch("a value")
}

// Check reports what is wrong with a single value by the rules of this package.
func Check(raw []byte) error {
	d, err := NewDecoder(raw)
	if err != nil {
		return err
	}
	if err := d.Skip(); err != nil {
		return err
	}
	return d.End()
}

// word reads a literal if it is next.
func (d *Decoder) word(w string) bool {
	if len(d.data)-d.pos < len(w) || string(d.data[d.pos:d.pos+len(w)]) != w {
		return false
	}
	d.pos += len(w)
	return true
}

// number reads a number and returns its bytes. encoding/json decides what a number is.
func (d *Decoder) number() ([]byte, error) {
	start := d.pos
	if c := d.peek(); c != '-' && (c < '0' || c > '9') {
		return nil, d.mismatch("a number")
	}
	for d.pos < len(d.data) && strings.IndexByte("+-.0123456789Ee", d.data[d.pos]) >= 0 {
		d.pos++
	}
	number := d.data[start:d.pos]
	if !json.Valid(number) {
		return nil, d.FailAt(start, "is not a number in JSON's form")
	}
	return number, nil
}

// text reads the string at the present position. The result shares the data when nothing in it is escaped.
func (d *Decoder) text() ([]byte, error) {
	opening := d.pos
	d.pos++
	start := d.pos
	for d.pos < len(d.data) {
		switch c := d.data[d.pos]; {
		case c == '"':
			d.pos++
			return d.data[start : d.pos-1 : d.pos-1], nil
		case c == '\\':
			return d.unescape(opening, start)
		case c < 0x20:
			return nil, d.Fail("a control character in a string must be escaped; is the closing quote missing?")
		default:
			d.pos++
		}
	}
	return nil, d.FailAt(opening, "the string has no closing quote")
}

// unescape reads the rest of a string from its first escape on.
func (d *Decoder) unescape(opening, start int) ([]byte, error) {
	out := append(make([]byte, 0, 2*(d.pos-start)+64), d.data[start:d.pos]...)
	for d.pos < len(d.data) {
		switch c := d.data[d.pos]; {
		case c == '"':
			d.pos++
			return out, nil
		case c == '\\':
			r, err := d.escape()
			if err != nil {
				return nil, err
			}
			out = utf8.AppendRune(out, r)
		case c < 0x20:
			return nil, d.Fail("a control character in a string must be escaped; is the closing quote missing?")
		default:
			out = append(out, c)
			d.pos++
		}
	}
	return nil, d.FailAt(opening, "the string has no closing quote")
}

// escape reads one escape. RFC 8259 lets half a surrogate pair pass; it is no character, so it is an error here.
func (d *Decoder) escape() (rune, error) {
	start := d.pos
	d.pos++
	c := d.peek()
	d.pos++
	switch c {
	case '"', '\\', '/':
		return rune(c), nil
	case 'b':
		return '\b', nil
	case 'f':
		return '\f', nil
	case 'n':
		return '\n', nil
	case 'r':
		return '\r', nil
	case 't':
		return '\t', nil
	case 'u':
		r, ok := d.hex()
		if ok && utf16.IsSurrogate(r) {
			low := rune(-1)
			if d.word(`\u`) {
				low, ok = d.hex()
			}
			if r = utf16.DecodeRune(r, low); r == utf8.RuneError {
				return 0, d.FailAt(start, "half a surrogate pair is not a character")
			}
		}
		if ok {
			return r, nil
		}
	}
	return 0, d.FailAt(start, "is not a valid escape")
}

// hex reads the four digits of an escape.
func (d *Decoder) hex() (rune, bool) {
	const digits = 4
	if len(d.data)-d.pos < digits {
		return 0, false
	}
	v, err := strconv.ParseUint(string(d.data[d.pos:d.pos+digits]), 16, 16)
	if err != nil {
		return 0, false
	}
	d.pos += digits
	return rune(v), true
}
