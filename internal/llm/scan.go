package llm

import (
	"errors"
	"fmt"
	"strings"
)

// maxNesting limits the nesting of objects and arrays in a reply.
const maxNesting = 64

var (
	errTruncated = errors.New("the JSON ends too early")
	errTooDeep   = fmt.Errorf("the JSON is nested deeper than %d levels", maxNesting)
	errMalformed = errors.New("the JSON is malformed")
)

// scanner finds the end of one JSON value; any text may follow it. encoding/json cannot do this for malformed input
// in linear time.
type scanner struct {
	s     string
	pos   int
	depth int
}

// skipValue returns the offset behind the JSON value at offset from. With an error, it returns the offset of the
// problem: errTruncated if the text is a prefix of a value, errTooDeep or errMalformed. Each byte is read once.
func skipValue(s string, from int) (end int, err error) {
	sc := scanner{s: s, pos: from}
	err = sc.value()
	return sc.pos, err
}

// value skips one value of any type.
func (sc *scanner) value() error {
	sc.space()
	if sc.pos >= len(sc.s) {
		return errTruncated
	}
	switch c := sc.s[sc.pos]; {
	case c == '{':
		return sc.list('}', true)
	case c == '[':
		return sc.list(']', false)
	case c == '"':
		return sc.str()
	case c == '-' || c >= '0' && c <= '9':
		return sc.number()
	case c == 't':
		return sc.word("true")
	case c == 'f':
		return sc.word("false")
	case c == 'n':
		return sc.word("null")
	}
	return errMalformed
}

// list skips an object or an array; named is true for an object.
func (sc *scanner) list(end byte, named bool) error {
	if sc.depth++; sc.depth > maxNesting {
		return errTooDeep
	}
	sc.pos++
	for n := 0; ; n++ {
		sc.space()
		switch c := sc.peek(); {
		case sc.pos >= len(sc.s):
			return errTruncated
		case c == end:
			sc.pos++
			sc.depth--
			return nil
		case n > 0 && c != ',':
			return errMalformed
		case n > 0:
			sc.pos++
		}
		if err := sc.member(named); err != nil {
			return err
		}
	}
}

// member skips one element of an array, or one name and value of an object.
func (sc *scanner) member(named bool) error {
	if named {
		if sc.space(); sc.pos >= len(sc.s) {
			return errTruncated
		}
		if sc.s[sc.pos] != '"' {
			return errMalformed
		}
		if err := sc.str(); err != nil {
			return err
		}
		if sc.space(); sc.pos >= len(sc.s) {
			return errTruncated
		}
		if sc.s[sc.pos] != ':' {
			return errMalformed
		}
		sc.pos++
	}
	return sc.value()
}

// str skips a string.
func (sc *scanner) str() error {
	for sc.pos++; sc.pos < len(sc.s); sc.pos++ {
		switch c := sc.s[sc.pos]; {
		case c == '"':
			sc.pos++
			return nil
		case c == '\\':
			sc.pos++ // the decoder validates the escape
		case c < 0x20:
			return errMalformed
		}
	}
	sc.pos = len(sc.s)
	return errTruncated
}

// number skips the characters of a number.
func (sc *scanner) number() error {
	for sc.pos < len(sc.s) && strings.IndexByte("0123456789-+.eE", sc.s[sc.pos]) >= 0 {
		sc.pos++ // the decoder validates the number
	}
	if sc.pos >= len(sc.s) && sc.depth > 0 {
		return errTruncated
	}
	return nil
}

// word skips the literal w.
func (sc *scanner) word(w string) error {
	for i := range len(w) {
		if sc.pos >= len(sc.s) {
			return errTruncated
		}
		if sc.s[sc.pos] != w[i] {
			return errMalformed
		}
		sc.pos++
	}
	return nil
}

// space skips white space.
func (sc *scanner) space() {
	for sc.pos < len(sc.s) {
		switch sc.s[sc.pos] {
		case ' ', '\n', '\r', '\t':
			sc.pos++
		default:
			return
		}
	}
}

// peek returns the next byte, 0 at the end.
func (sc *scanner) peek() byte {
	if sc.pos < len(sc.s) {
		return sc.s[sc.pos]
	}
	return 0
}
