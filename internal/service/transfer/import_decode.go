package transfer

import (
	"bytes"
	"encoding/json"
	"errors"
	"time"

	"github.com/memsidecar/memsidecar/internal/strictjson"
)

// decodeJSON reads a value by the rules of strictjson into v, by its struct tags. Unknown fields are refused: there
// is no place to keep them.
func decodeJSON(d *strictjson.Decoder, v any) error {
	start := d.Pos()
	raw, err := d.Raw()
	if err != nil {
		return err
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		return d.FailAt(start, "is not understood: %s", withoutValue(err))
	}
	return nil
}

// withoutValue describes an error of encoding/json without quoting what was read, which is private.
func withoutValue(err error) string {
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return wrong.Field + " has the wrong type"
	}
	if _, ok := errors.AsType[*time.ParseError](err); ok {
		return "a time must be such as 2026-02-21T14:30:00Z"
	}
	return err.Error()
}

// forgotten reads a forgotten value.
func (s *lines) forgotten(it *item, d *strictjson.Decoder) error {
	return d.Object(func(key []byte) (err error) {
		switch string(key) {
		case "hash":
			it.forgotten.Hash, err = d.String()
			it.id = it.forgotten.Hash
		case "at":
			it.forgotten.At, err = d.Time(s.loc)
			it.forgotten.At = it.forgotten.At.UTC()
		default:
			err = d.Fail("is not known here")
		}
		return err
	})
}
