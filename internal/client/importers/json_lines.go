package importers

import (
	"bytes"
	"errors"
	"io"
)

// eachLine visits the lines of JSON lines, which may have limit bytes each, without blank ones.
func eachLine(in io.Reader, limit int, visit func(jsonValue) error) error {
	s := newSplitter(in, limit)
	for {
		v := jsonValue{index: -1, line: s.line}
		var raw []byte
		var err error
		for {
			var c byte
			if c, err = s.next(); err != nil || c == '\n' {
				break
			}
			if len(raw) <= s.limit {
				raw = append(raw, c)
			}
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return visit(jsonValue{index: -1, line: s.line, bad: "cannot be read further: " + reason(err)})
		}
		if len(bytes.TrimSpace(raw)) > 0 {
			v.judge(raw, s.limit)
			if e := visit(v); e != nil {
				return e
			}
		}
		if err != nil {
			return nil // the end of the file
		}
	}
}

// values visits the values of a file; what is damaged is named and left out. lines is for JSON lines.
func (r *reader) values(f file, lines bool, visit func(v jsonValue, p Place) error) error {
	h, err := r.tree.Open(f.name)
	if err != nil {
		return r.skip(Place{File: f.name}, "cannot be read")
	}
	defer h.Close()
	r.mod = f.mod
	each := eachValue
	if lines {
		each = eachLine
	}
	return each(h, maxItem, func(v jsonValue) error {
		if v.bad != "" {
			return r.skip(v.place(f), "%s", v.bad)
		}
		return visit(v, v.place(f))
	})
}
