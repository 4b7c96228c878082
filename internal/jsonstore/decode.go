package jsonstore

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/memory/codec"
	"github.com/memsidecar/memsidecar/internal/strictjson"
)

// Decode reads a memory.json. Times without a zone are in loc; nil is UTC. A memory without a source is user_explicit.
//
// It is strict about form: the text must be UTF-8, no name may occur twice in an object, names match by letter
// case, every known field must have its type, and nothing may follow the document. It keeps unknown fields in
// Extra. It is lenient about what other programs leave out: a missing or null field takes its default
// (codec.DecodeMemory lists them). Only version, memories and each content are required. Limits are the business of
// Sanitize.
//
// Errors: a *strictjson.Error with line, column, and the memory's position and id; memory.ErrNewerVersion.
func Decode(data []byte, loc *time.Location) (*File, error) {
	return decode(data, loc, memory.SourceUser)
}

// DecodeEdit is Decode for a file that a person edited: a memory without a source was written by hand.
func DecodeEdit(data []byte, loc *time.Location) (*File, error) {
	return decode(data, loc, memory.SourceEdit)
}

// decode is Decode with the source of a memory that names none.
func decode(data []byte, loc *time.Location, source string) (*File, error) {
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
	r := &fileReader{Decoder: d, loc: loc, source: source}
	found := false
	err = d.Object(func(key []byte) error {
		found = found || string(key) == "memories"
		return r.file(f, key)
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

// errDone ends the walk over an object early.
var errDone = errors.New("found what was looked for")

// checkVersion reads only the version, which decides whether the rest can be understood.
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
		return errDone
	})
	switch {
	case err != nil && !errors.Is(err, errDone):
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

// fileReader reads the members of a file.
type fileReader struct {
	*strictjson.Decoder
	loc    *time.Location // of times without a zone
	source string         // of a memory that names none
}

// file reads one member.
func (r *fileReader) file(f *File, key []byte) (err error) {
	if string(key) != "memories" && isFileField(string(key)) && r.Null() {
		return nil
	}
	switch string(key) {
	case "version":
		var v int64
		v, err = r.Int()
		f.Version = int(v)
	case "last_updated":
		f.LastUpdated, err = r.time()
	case "revision":
		f.Revision, err = r.Int()
	case "rolling_summary":
		f.RollingSummary, err = r.String()
	case "memories":
		err = r.Array(func(int) error {
			start := r.Pos()
			m, err := codec.DecodeMemory(r.Decoder, r.loc, r.source)
			if err != nil {
				return r.addID(err, start)
			}
			f.Memories = append(f.Memories, m)
			return nil
		})
	case "forgotten":
		err = r.Array(func(int) error {
			g, err := r.forgotten()
			f.Forgotten = append(f.Forgotten, g)
			return err
		})
	default:
		err = r.Keep(&f.Extra, key)
	}
	return err
}

// addID adds the id of the memory that begins at start to an error inside it, when the id can still be read.
func (r *fileReader) addID(err error, start int) error {
	e, ok := errors.AsType[*strictjson.Error](err)
	if !ok {
		return err
	}
	r.Rewind(start)
	_ = r.Object(func(key []byte) error { // stops at the error we already have
		if string(key) != "id" {
			return r.Skip()
		}
		id, err := r.String()
		if err == nil && len(id) <= memory.MaxID {
			e.Of = "id " + strconv.Quote(id)
		}
		return errDone
	})
	return err
}

// forgotten reads a forgotten value.
func (r *fileReader) forgotten() (g Forgotten, err error) {
	err = r.Object(func(key []byte) (err error) {
		switch string(key) {
		case "hash":
			g.Hash, err = r.String()
		case "at":
			g.At, err = r.time()
		default:
			err = r.unknown()
		}
		return err
	})
	return g, err
}

// unknown refuses a field where there is no place to keep it.
func (r *fileReader) unknown() error { return r.Fail("is not a field that is known here") }

// time reads a time, in UTC.
func (r *fileReader) time() (time.Time, error) {
	t, err := r.Time(r.loc)
	if t.IsZero() {
		return time.Time{}, err
	}
	return t.UTC(), err
}

// decodeExtra returns only the unknown top-level fields.
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

// accesses returns the id of a memory, which is part of value, and the accesses that it shows, and reads nothing else.
func (r *fileReader) accesses(value []byte) (id []byte, a accesses, err error) {
	if err := r.Reset(value); err != nil {
		return nil, accesses{}, err
	}
	err = r.Object(func(key []byte) (err error) {
		switch string(key) {
		case "id":
			id, err = r.StringBytes()
		case "access_count":
			a.count, err = r.Int()
		case "last_accessed":
			a.last, err = r.time()
		default:
			err = r.Skip()
		}
		return err
	})
	if err != nil {
		return nil, accesses{}, err
	}
	return id, a, r.End()
}
