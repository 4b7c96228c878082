package codec

import (
	"bytes"
	"encoding/json"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/strictjson"
)

// DecodeMemory reads a memory in the published form. Times without a zone are times in loc; nil is UTC. A missing or
// null field takes its default (salience 0.5, confidence 1, category general, status active, the given source); only
// content is required. Unknown fields are kept in Extra. Errors: a *strictjson.Error.
func DecodeMemory(d *strictjson.Decoder, loc *time.Location, source string) (*memory.Memory, error) {
	m := &memory.Memory{
		Category:   memory.General,
		Source:     source,
		Salience:   memory.DefaultSalience,
		Confidence: 1,
		Status:     memory.Active,
	}
	r := newReader(d, loc)
	own := m.Own()
	if err := decodeWithContent(r, memoryFields, m, &own.Extra); err != nil {
		return nil, err
	}
	switch {
	case own.AccessCount == 0 && own.LastAccessed.Equal(m.CreatedAt):
		own.LastAccessed = time.Time{} // how EncodeMemory writes a memory that was never accessed
	case own.AccessCount != 0 && own.LastAccessed.IsZero():
		own.LastAccessed = m.CreatedAt // the best guess
	}
	m.Trim()
	return m, nil
}

// DecodeEntry reads a log entry in the published form. Times without a zone are times in loc; nil is UTC. A missing
// type is event; content is required. Unknown fields are kept in Extra. Errors: a *strictjson.Error.
func DecodeEntry(d *strictjson.Decoder, loc *time.Location) (*memory.Entry, error) {
	entry := &memory.Entry{Type: memory.EntryEvent}
	return entry, decodeWithContent(newReader(d, loc), entryFields, entry, &entry.Extra)
}

// reader reads values of the published form.
type reader struct {
	*strictjson.Decoder
	loc *time.Location // of times without a zone
}

// newReader reads from d; a nil loc is UTC.
func newReader(d *strictjson.Decoder, loc *time.Location) reader {
	if loc == nil {
		loc = time.UTC
	}
	return reader{d, loc}
}

// decodeWithContent reads an object that must have the member content, which must not be null.
func decodeWithContent[T any](
	r reader,
	fields map[string]*memory.Field[T],
	v *T,
	extra *map[string]json.RawMessage,
) error {
	start, content := r.Pos(), false
	err := r.Object(func(key []byte) error {
		f := fields[string(key)]
		switch {
		case f == nil:
			return r.Keep(extra, key)
		case f.Name == "content":
			content = true
		case r.Null():
			return nil
		}
		return r.value(f.Pointer(v), f.Zoned)
	})
	if err == nil && !content {
		err = r.FailAt(start, "has no content")
	}
	return err
}

// decodeKnown reads an object and refuses members that are not in the table: it has no place to keep them.
func decodeKnown[T any](r reader, fields map[string]*memory.Field[T], v *T) error {
	return r.Object(func(key []byte) error {
		f := fields[string(key)]
		if f == nil {
			return r.Fail("is not a field that is known here")
		}
		return r.value(f.Pointer(v), f.Zoned)
	})
}

// value reads a value into what a result of Field.Pointer points to.
func (r reader) value(pointer any, zoned bool) (err error) {
	switch p := pointer.(type) {
	case *string:
		*p, err = r.String()
	case *memory.Status:
		var s string
		s, err = r.String()
		*p = memory.Status(s)
	case *float64:
		*p, err = r.Float()
	case *int64:
		*p, err = r.Int()
	case *bool:
		*p, err = r.Bool()
	case *time.Time:
		*p, err = r.time(zoned)
	case *[]string:
		*p, err = r.Strings()
	case *json.RawMessage:
		*p, err = r.compact()
	case **memory.Context:
		*p, err = r.context()
	case *[]memory.Relation:
		*p, err = decodeList(r, relationFields, memory.Relation{Strength: memory.DefaultSalience})
	case *[]memory.Evidence:
		*p, err = decodeList(r, evidenceFields, memory.Evidence{})
	}
	return err
}

// time reads a time, in UTC unless it keeps its zone.
func (r reader) time(zoned bool) (time.Time, error) {
	t, err := r.Time(r.loc)
	switch {
	case zoned:
		return t, err
	case t.IsZero():
		return time.Time{}, err
	}
	return t.UTC(), err
}

// compact reads any value and drops white space between its parts, so that indenting the file changes nothing.
func (r reader) compact() (json.RawMessage, error) {
	raw, err := r.Raw()
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := json.Compact(&b, raw); err != nil {
		return nil, r.Fail("is not JSON: %v", err)
	}
	return b.Bytes(), nil
}

// context reads a memory's context. Null members take their defaults, unknown ones are kept.
func (r reader) context() (*memory.Context, error) {
	c := &memory.Context{}
	return c, r.Object(func(key []byte) error {
		switch f := contextFields[string(key)]; {
		case f == nil:
			return r.Keep(&c.Extra, key)
		case r.Null():
			return nil
		default:
			return r.value(f.Pointer(c), f.Zoned)
		}
	})
}

// decodeList reads an array of objects, each starting from initial.
func decodeList[T any](r reader, fields map[string]*memory.Field[T], initial T) (list []T, err error) {
	err = r.Array(func(int) error {
		v := initial
		err := decodeKnown(r, fields, &v)
		list = append(list, v)
		return err
	})
	return list, err
}
