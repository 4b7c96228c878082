package strictjson

import (
	"errors"
	"strconv"
	"strings"
)

// errFound ends a walk.
var errFound = errors.New("found")

// Locate finds where in a text the value of a path stands, such as memories[3].salience. When only the beginning of the path is there, it is where
// that stands; the names of one that is not there at all lead to the text's first value. Line and column count from 1, columns in characters.
func Locate(data []byte, path string) (line, column int) {
	d, err := NewDecoder(data)
	if err != nil {
		return 1, 1
	}
	at := d.Pos()
	_ = d.locate(steps(path), &at) // a text that cannot be read is known as far as it was
	e := d.FailAt(at, "")
	return e.Line, e.Column
}

// steps cuts memories[3].salience into memories, 3, salience.
func steps(path string) []string {
	return strings.FieldsFunc(path, func(r rune) bool { return r == '.' || r == '[' || r == ']' })
}

// locate walks to the value of a path and notes how far it came.
func (d *Decoder) locate(path []string, at *int) error {
	*at = d.Pos()
	if len(path) == 0 {
		return errFound
	}
	switch d.peek() {
	case '{':
		return d.Object(func(key []byte) error {
			if string(key) == path[0] {
				return d.locate(path[1:], at)
			}
			return d.Skip()
		})
	case '[':
		n, err := strconv.Atoi(path[0])
		if err != nil {
			return errFound
		}
		return d.Array(func(i int) error {
			if i == n {
				return d.locate(path[1:], at)
			}
			return d.Skip()
		})
	}
	return errFound
}
