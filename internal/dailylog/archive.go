package dailylog

import (
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/strictjson"
)

// ArchiveName is the base name of the index of archived logs, which stands beside them.
const ArchiveName = archive + suffix

// archive stands for the index among the dates in keys and names.
const archive = "archive"

// ArchivePath is the path of the index of a space's archived logs below the data directory.
func ArchivePath(space string) string { return path.Join(Dir(space), ArchiveName) }

// Archive is the index of archived logs, logs/archive.json:
//
//	{
//	  "version": 1,
//	  "logs": [
//	    {
//	      "id": "2026-01-03",
//	      "date": "2026-01-03",
//	      "entries": 12,
//	      "summary": "2026-01-03: 12 entries (event 12)\n- moved the timetable service",
//	      "promoted": ["01a1…", "01a2…"],
//	      "archived_at": "2026-02-02T09:00:00Z",
//	      "archive_operation": 1650,
//	      "deleted_at": "2026-03-04T09:00:00Z",
//	      "delete_operation": 1822
//	    }
//	  ],
//	  "revision": 1841
//	}
//
// deleted_at and delete_operation are written once the log is gone.
type Archive struct {
	Logs     []*memory.Archived // by date; never empty when published
	Revision int64              // newest operation that changed one
}

// EncodeArchive writes a as an index. Errors: those of w, a time that JSON cannot hold.
func EncodeArchive(w io.Writer, a *Archive) error {
	e := strictjson.NewEncoder(w)
	e.Begin('{')
	e.Field("version")
	e.Int(1)
	e.Field("logs")
	e.Begin('[')
	for _, r := range a.Logs {
		e.Item()
		encodeArchived(e, r)
	}
	e.End(']')
	e.Field("revision")
	e.Int(a.Revision)
	e.End('}')
	if err := e.Close(); err != nil {
		return fmt.Errorf("encode index of archived logs: %w", err)
	}
	return nil
}

// encodeArchived writes one record.
func encodeArchived(e *strictjson.Encoder, r *memory.Archived) {
	e.Begin('{')
	e.Field("id")
	e.String(r.ID)
	e.Field("date")
	e.String(r.Date)
	e.Field("entries")
	e.Int(int64(r.Entries))
	e.Field("summary")
	e.String(r.Summary)
	e.Field("promoted")
	e.Strings(r.Promoted)
	e.Field("archived_at")
	e.Time(r.At)
	operation(e, "archive_operation", r.Op)
	if r.Deleted() {
		e.Field("deleted_at")
		e.Time(r.DeletedAt)
		operation(e, "delete_operation", r.DeletedOp)
	}
	e.End('}')
}

// operation writes the number of an operation unless it is unknown.
func operation(e *strictjson.Encoder, name string, op int64) {
	if op != 0 {
		e.Field(name)
		e.Int(op)
	}
}

// DecodeArchive reads an index, as strictly as Decode reads a log. Fields it does not know are passed over. Errors:
// a *strictjson.Error, memory.ErrNewerVersion.
func DecodeArchive(data []byte, loc *time.Location) (*Archive, error) {
	d, err := strictjson.NewDecoder(data)
	if err != nil {
		return nil, err
	}
	c := &reader{Decoder: d, loc: loc}
	a := &Archive{}
	version := int64(1)
	err = d.Object(func(key []byte) (err error) {
		switch string(key) {
		case "version":
			version, err = d.Int()
		case "revision":
			a.Revision, err = d.Int()
		case "logs":
			err = d.Array(func(int) error {
				r, err := c.archived()
				a.Logs = append(a.Logs, r)
				return err
			})
		default:
			err = d.Skip()
		}
		return err
	})
	// Checked before other errors: a newer format may look like a damaged one.
	if version > 1 {
		return nil, fmt.Errorf("has format %d: %w", version, memory.ErrNewerVersion)
	}
	if err == nil {
		err = d.End()
	}
	return a, err
}

// archived reads one record and checks that its id fits its date.
func (c *reader) archived() (*memory.Archived, error) {
	r := &memory.Archived{}
	start := c.Pos()
	err := c.Object(func(key []byte) error { return c.archivedField(r, key) })
	if err != nil {
		return r, err
	}
	// The id names the date, and perhaps which log of it.
	if _, bad := time.Parse(memory.DateLayout, r.Date); bad != nil ||
		r.ID != r.Date && !strings.HasPrefix(r.ID, r.Date+".") {
		return r, c.FailAt(start, "its date or id is not that of a log")
	}
	return r, nil
}

// archivedField reads one member of a record.
func (c *reader) archivedField(r *memory.Archived, key []byte) (err error) {
	var n int64
	switch string(key) {
	case "id":
		r.ID, err = c.String()
	case "date":
		r.Date, err = c.String()
	case "entries":
		n, err = c.Int()
		r.Entries = int(n)
	case "summary":
		r.Summary, err = c.String()
	case "promoted":
		r.Promoted, err = c.Strings()
		r.Promoted = slices.Clip(r.Promoted)
	case "archived_at":
		r.At, err = c.Time(c.loc)
	case "archive_operation":
		r.Op, err = c.Int()
	case "deleted_at":
		r.DeletedAt, err = c.Time(c.loc)
	case "delete_operation":
		r.DeletedOp, err = c.Int()
	default:
		err = c.Skip()
	}
	return err
}
