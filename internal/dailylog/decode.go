package dailylog

import (
	"time"

	"github.com/memsidecar/memsidecar/internal/memory/codec"
	"github.com/memsidecar/memsidecar/internal/strictjson"
)

// Decode reads a daily log. Times without a zone are times in loc; nil is UTC.
//
// It is strict: the text must be UTF-8, no name may occur twice in an object, names match by letter case, every known
// field must have its type, and nothing may follow the document. Fields it does not know are kept in Extra. Only
// date, entries and each content must be there; a type that is missing is event. What files of other programs lack
// beside that is filled in by Complete.
//
// Errors: a *strictjson.Error with line, column and the entry's ordinal.
func Decode(data []byte, loc *time.Location) (*File, error) {
	if loc == nil {
		loc = time.UTC
	}
	d, err := strictjson.NewDecoder(data)
	if err != nil {
		return nil, err
	}
	f := &File{}
	c := &reader{Decoder: d, loc: loc}
	start, date, entries := d.Pos(), false, false
	err = d.Object(func(key []byte) error {
		// Presence is noted apart from the value, which may be empty.
		date = date || string(key) == "date"
		entries = entries || string(key) == "entries"
		return c.day(f, key)
	})
	if err != nil {
		return nil, err
	}
	if err := d.End(); err != nil {
		return nil, err
	}
	switch {
	case !date:
		return nil, d.FailAt(start, "has no date")
	case !entries:
		return nil, d.FailAt(start, "has no entries")
	}
	f.Day.Entries = len(f.Entries)
	return f, nil
}

// reader reads the parts of a file.
type reader struct {
	*strictjson.Decoder
	loc *time.Location
}

// day reads one top-level member of a log.
func (c *reader) day(f *File, key []byte) (err error) {
	switch k := string(key); k {
	case "summary", "archived", "revision":
		if c.Null() {
			return nil
		}
	}
	switch string(key) {
	case "date":
		f.Day.Date, err = c.String()
	case "entries":
		err = c.Array(func(int) error {
			n, err := codec.DecodeEntry(c.Decoder, c.loc)
			if err != nil {
				return err
			}
			f.Entries = append(f.Entries, n)
			return nil
		})
	case "summary":
		f.Day.Summary, err = c.String()
	case "archived":
		f.Day.Archived, err = c.Bool()
	case "revision":
		f.Day.Revision, err = c.Int()
	default:
		err = c.Keep(&f.Day.Extra, key)
	}
	return err
}
