package strictjson

import (
	"errors"
	"strconv"
	"strings"
)

// errFound ends a walk early.
var errFound = errors.New("found")

// Locate returns where in a text the value of a path is, such as memories[3].salience. When the text has only the
// beginning of the path, it returns where that is; a path that is not there at all leads to the first value. Line
// and column count from 1, columns in characters.
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

// steps splits memories[3].salience into memories, 3, salience.
func steps(path string) []string {
	return strings.FieldsFunc(path, func(r rune) bool { return r == '.' || r == '[' || r == ']' })
}

// locate walks to the value of a path and records how far it came.
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
		// The document may have changed since the path was made; what was reached so far is still the best place.
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
