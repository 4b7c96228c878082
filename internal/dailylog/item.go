package dailylog

import (
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/strictjson"
)

// EncodeArchived writes one record in the form it has in the index of archived logs.
func EncodeArchived(e *strictjson.Encoder, r *memory.Archived) { encodeArchived(e, r) }

// DecodeArchived reads one record in the form it has in the index of archived logs, without the numbers of
// operations, which belong to the store that wrote them. Times without a zone are times in loc. Errors: a
// *strictjson.Error.
func DecodeArchived(d *strictjson.Decoder, loc *time.Location) (*memory.Archived, error) {
	c := &reader{Decoder: d, loc: loc}
	r, err := c.archived()
	r.Op, r.DeletedOp = 0, 0
	return r, err
}

// EncodeDay writes what a daily log says of itself, without the entries.
func EncodeDay(e *strictjson.Encoder, d *memory.Day) {
	e.Begin('{')
	e.Field("date")
	e.String(d.Date)
	text(e, "summary", d.Summary)
	if d.Archived {
		e.Field("archived")
		e.Bool(true)
	}
	e.Extra(d.Extra, isDayField)
	e.End('}')
}

// DecodeDay reads what EncodeDay wrote. Errors: a *strictjson.Error.
func DecodeDay(d *strictjson.Decoder, loc *time.Location) (*memory.Day, error) {
	c, f := &reader{Decoder: d, loc: loc}, &File{}
	err := d.Object(func(key []byte) error {
		if string(key) == "entries" {
			return d.Fail("does not belong here: each entry has a line of its own")
		}
		return c.day(f, key)
	})
	f.Day.Revision = 0
	return &f.Day, err
}
