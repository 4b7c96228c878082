package jsonstore

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/strictjson"
)

// Decode reads a memory.json. Times without a zone are times in loc; nil is UTC.
//
// It is strict: the text must be UTF-8, no name may occur twice in an object, names match by letter case, every known
// field must have its type, and nothing may follow the document. Fields it does not know are kept in Extra. It is
// generous with what other programs leave out: a missing or null field takes its default (salience 0.5, confidence 1,
// source user_explicit, category general, status active). Only version, memories and each content must be there. Whether values hold
// to the limits of a memory is not asked here; see Tidy.
//
// Errors: a *strictjson.Error with line, column, and the memory's ordinal and id; memory.ErrNewerVersion.
func Decode(data []byte, loc *time.Location) (*File, error) {
	if loc == nil {
		loc = time.UTC
	}
	d, err := strictjson.NewDecoder(data)
	if err != nil {
		return nil, err
	}
	// The version decides whether the rest can be understood at all, so it is looked for first.
	start := d.Pos()
	if err := checkVersion(d); err != nil {
		return nil, err
	}
	d.Rewind(start)
	f := &File{}
	c := &codec{Decoder: d, loc: loc}
	found := false
	err = d.Object(func(key []byte) error {
		found = found || string(key) == "memories"
		return c.file(f, key)
	})
	if err != nil {
		return nil, err
	}
	if err := d.End(); err != nil {
		return nil, err
	}
	if !found {
		return nil, d.FailAt(start, "has no memories")
	}
	return f, nil
}

var errStop = errors.New("found what was looked for")

func checkVersion(d *strictjson.Decoder) error {
	start := d.Pos()
	version, at := int64(-1), start
	err := d.Object(func(key []byte) (err error) {
		if string(key) != "version" {
			return d.Skip()
		}
		at = d.Pos()
		if version, err = d.Int(); err != nil {
			return err
		}
		return errStop
	})
	switch {
	case err != nil && !errors.Is(err, errStop):
		return err
	case version > Version:
		return fmt.Errorf("%w: format version %d, this one reads up to %d", memory.ErrNewerVersion, version, Version)
	case version == -1:
		return d.FailAt(start, "has no version")
	case version != Version:
		return d.FailAt(at, "version %d is not a version of this format", version)
	}
	return nil
}

// codec reads the parts of a file.
type codec struct {
	*strictjson.Decoder
	loc *time.Location
}

func (c *codec) file(f *File, key []byte) (err error) {
	if string(key) != "memories" && isFileField(string(key)) && c.Null() {
		return nil
	}
	switch string(key) {
	case "version":
		var v int64
		v, err = c.Int()
		f.Version = int(v)
	case "last_updated":
		f.LastUpdated, err = c.time()
	case "revision":
		f.Revision, err = c.Int()
	case "rolling_summary":
		f.RollingSummary, err = c.String()
	case "memories":
		err = c.Array(func(int) error {
			start := c.Pos()
			m, err := c.memory()
			if err != nil {
				return c.name(err, start)
			}
			f.Memories = append(f.Memories, m)
			return nil
		})
	case "forgotten":
		err = c.Array(func(int) error {
			g, err := c.forgotten()
			f.Forgotten = append(f.Forgotten, g)
			return err
		})
	default:
		err = c.Keep(&f.Extra, key)
	}
	return err
}

// name adds to an error inside the memory that begins at start the memory's id, when it can still be read.
func (c *codec) name(err error, start int) error {
	e, ok := errors.AsType[*strictjson.Error](err)
	if !ok {
		return err
	}
	c.Rewind(start)
	_ = c.Object(func(key []byte) error { // stops at the error we already have
		if string(key) != "id" {
			return c.Skip()
		}
		id, err := c.String()
		if err == nil && len(id) <= memory.MaxID {
			e.Of = "id " + strconv.Quote(id)
		}
		return errStop
	})
	return err
}

func (c *codec) memory() (*memory.Memory, error) {
	m := &memory.Memory{
		Category:   memory.General,
		Source:     memory.SourceUser,
		Salience:   memory.DefaultSalience,
		Confidence: 1,
		Status:     memory.Active,
	}
	start, content := c.Pos(), false
	err := c.Object(func(key []byte) error {
		if string(key) == "content" {
			content = true
		} else if isMemoryField(string(key)) && c.Null() {
			return nil
		}
		return c.memoryField(m, key)
	})
	if err != nil {
		return nil, err
	}
	if !content {
		return nil, c.FailAt(start, "has no content")
	}
	switch {
	case m.AccessCount == 0 && m.LastAccessed.Equal(m.CreatedAt):
		m.LastAccessed = time.Time{} // how a memory that was never accessed is written
	case m.AccessCount != 0 && m.LastAccessed.IsZero():
		m.LastAccessed = m.CreatedAt // nothing better is known
	}
	return m, nil
}

func (c *codec) memoryField(m *memory.Memory, key []byte) (err error) {
	switch string(key) {
	case "id":
		m.ID, err = c.String()
	case "category":
		m.Category, err = c.String()
	case "content":
		m.Content, err = c.String()
	case "salience":
		m.Salience, err = c.Float()
	case "created_at":
		m.CreatedAt, err = c.time()
	case "last_accessed":
		m.LastAccessed, err = c.time()
	case "access_count":
		m.AccessCount, err = c.Int()
	case "source":
		m.Source, err = c.String()
	case "context":
		m.Context = &memory.Context{}
		err = c.Object(func(key []byte) error { return c.context(m.Context, key) })
	case "updated_at":
		m.UpdatedAt, err = c.time()
	case "revision":
		m.Revision, err = c.Int()
	default:
		err = c.addedField(m, key)
	}
	return err
}

// addedField reads the fields that the original format does not have.
func (c *codec) addedField(m *memory.Memory, key []byte) (err error) {
	switch string(key) {
	case "tags":
		m.Tags, err = c.Strings()
	case "title":
		m.Title, err = c.String()
	case "pinned":
		m.Pinned, err = c.Bool()
	case "confidence":
		m.Confidence, err = c.Float()
	case "expires_at":
		m.ExpiresAt, err = c.time()
	case "status":
		var s string
		s, err = c.String()
		m.Status = memory.Status(s)
	case "supersedes":
		m.Supersedes, err = c.Strings()
	case "superseded_by":
		m.SupersededBy, err = c.String()
	case "relations":
		err = c.Array(func(int) error {
			r, err := c.relation()
			m.Relations = append(m.Relations, r)
			return err
		})
	case "evidence":
		err = c.Array(func(int) error {
			v, err := c.evidence()
			m.Evidence = append(m.Evidence, v)
			return err
		})
	case "structured_data":
		m.StructuredData, err = c.compact()
	default:
		err = c.Keep(&m.Extra, key)
	}
	return err
}

func (c *codec) context(x *memory.Context, key []byte) (err error) {
	if isContextField(string(key)) && c.Null() {
		return nil
	}
	switch string(key) {
	case "tool":
		x.Tool, err = c.String()
	case "error_type":
		x.ErrorType, err = c.String()
	case "learned_from":
		x.LearnedFrom, err = c.String()
	case "signature":
		x.Signature, err = c.String()
	case "occurrences":
		x.Occurrences, err = c.Int()
	default:
		err = c.Keep(&x.Extra, key)
	}
	return err
}

func (c *codec) relation() (r memory.Relation, err error) {
	r.Strength = memory.DefaultSalience
	err = c.Object(func(key []byte) (err error) {
		switch string(key) {
		case "type":
			r.Type, err = c.String()
		case "target":
			r.Target, err = c.String()
		case "strength":
			r.Strength, err = c.Float()
		default:
			err = c.unknown()
		}
		return err
	})
	return r, err
}

func (c *codec) evidence() (v memory.Evidence, err error) {
	err = c.Object(func(key []byte) (err error) {
		switch string(key) {
		case "log":
			v.Log, err = c.String()
		case "entry":
			v.Entry, err = c.String()
		case "session":
			v.Session, err = c.String()
		default:
			err = c.unknown()
		}
		return err
	})
	return v, err
}

func (c *codec) forgotten() (g Forgotten, err error) {
	err = c.Object(func(key []byte) (err error) {
		switch string(key) {
		case "hash":
			g.Hash, err = c.String()
		case "at":
			g.At, err = c.time()
		default:
			err = c.unknown()
		}
		return err
	})
	return g, err
}

// unknown refuses a field where there is no place to keep it.
func (c *codec) unknown() error { return c.Fail("is not a field that is known here") }

// compact reads a value without the white space between its parts, so that indenting it is no change.
func (c *codec) compact() (json.RawMessage, error) {
	raw, err := c.Raw()
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := json.Compact(&b, raw); err != nil {
		return nil, c.Fail("is not JSON: %v", err)
	}
	return b.Bytes(), nil
}

func (c *codec) time() (time.Time, error) {
	t, err := c.Time(c.loc)
	if t.IsZero() {
		return time.Time{}, err
	}
	return t.UTC(), err
}

// decodeExtra returns only the unknown fields of the file as a whole.
func decodeExtra(data []byte) (map[string]json.RawMessage, error) {
	d, err := strictjson.NewDecoder(data)
	if err != nil {
		return nil, err
	}
	var extra map[string]json.RawMessage
	if err := d.Object(func(key []byte) error {
		if isFileField(string(key)) {
			return d.Skip()
		}
		return d.Keep(&extra, key)
	}); err != nil {
		return nil, err
	}
	return extra, d.End()
}
