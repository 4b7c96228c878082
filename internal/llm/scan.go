package llm

import (
	"errors"
	"fmt"
	"strings"
)

// maxNesting bounds how deep objects and arrays of a reply can be nested.
const maxNesting = 64

var (
	errCut  = errors.New("the text ends before the JSON value does")
	errDeep = fmt.Errorf("the JSON is nested more than %d deep", maxNesting)
	errForm = errors.New("the JSON is malformed")
)

// scanner passes over one JSON value of a text that can hold anything else behind it.
type scanner struct {
	s     string
	pos   int
	depth int
}

// scan passes over the JSON value that begins at offset from. It returns the offset behind it, or with an error the offset of what is wrong:
// errCut when the text could go on to be a value, errDeep, errForm. Every byte is looked at once.
func scan(s string, from int) (end int, err error) {
	sc := scanner{s: s, pos: from}
	err = sc.value()
	return sc.pos, err
}

func (sc *scanner) value() error {
	sc.space()
	if sc.pos >= len(sc.s) {
		return errCut
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
	return errForm
}

// list passes over an object or an array.
func (sc *scanner) list(end byte, named bool) error {
	if sc.depth++; sc.depth > maxNesting {
		return errDeep
	}
	sc.pos++
	for n := 0; ; n++ {
		sc.space()
		switch c := sc.peek(); {
		case sc.pos >= len(sc.s):
			return errCut
		case c == end:
			sc.pos++
			sc.depth--
			return nil
		case n > 0 && c != ',':
			return errForm
		case n > 0:
			sc.pos++
		}
		if err := sc.member(named); err != nil {
			return err
		}
	}
}

func (sc *scanner) member(named bool) error {
	if named {
		if sc.space(); sc.pos >= len(sc.s) {
			return errCut
		}
		if sc.s[sc.pos] != '"' {
			return errForm
		}
		if err := sc.str(); err != nil {
			return err
		}
		if sc.space(); sc.pos >= len(sc.s) {
			return errCut
		}
		if sc.s[sc.pos] != ':' {
			return errForm
		}
		sc.pos++
	}
	return sc.value()
}

func (sc *scanner) str() error {
	for sc.pos++; sc.pos < len(sc.s); sc.pos++ {
		switch c := sc.s[sc.pos]; {
		case c == '"':
			sc.pos++
			return nil
		case c == '\\':
			sc.pos++ // whether the escape exists is for the decoder to say
		case c < 0x20:
			return errForm
		}
	}
	sc.pos = len(sc.s)
	return errCut
}

func (sc *scanner) number() error {
	for sc.pos < len(sc.s) && strings.IndexByte("0123456789-+.eE", sc.s[sc.pos]) >= 0 {
		sc.pos++ // whether it is a number in JSON's form is for the decoder to say
	}
	if sc.pos >= len(sc.s) && sc.depth > 0 {
		return errCut
	}
	return nil
}

func (sc *scanner) word(w string) error {
	for i := range len(w) {
		if sc.pos >= len(sc.s) {
			return errCut
		}
		if sc.s[sc.pos] != w[i] {
			return errForm
		}
		sc.pos++
	}
	return nil
}

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
