package share

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/share/merge"
	"github.com/memsidecar/memsidecar/internal/share/pglog"
	"github.com/memsidecar/memsidecar/internal/strictjson"
)

// Versions of records in the log: of operations, of purges, and of operations with entries of daily logs. Older
// programs must not pass over the latter two, so each of them refuses the versions behind its own.
const (
	recordVersion      = 1
	purgeRecordVersion = 2
	logRecordVersion   = 3
)

// errRecord is a record that cannot be used.
var errRecord = errors.New("not a record of memsidecar")

// record is what the log holds of an operation.
type record struct {
	Version int            `json:"v"`
	Actor   string         `json:"actor"`
	Reason  string         `json:"reason,omitempty"`
	Changes []merge.Change `json:"changes"`
	Purge   *purgeMark     `json:"purge,omitempty"`
	// Entries are those of daily logs, for the machines that share them.
	Entries []entryValue `json:"entries,omitempty"`
}

// recordOf returns the record of an operation with its changes against the log.
func recordOf(o *operation, changes []merge.Change) record {
	rec := record{Version: recordVersion, Actor: o.actor, Reason: o.reason, Changes: changes, Entries: o.entries}
	if len(o.entries) > 0 {
		rec.Version = logRecordVersion
	}
	return rec
}

// usualRecord is about how many bytes the record of one memory has.
const usualRecord = 1 << 9

// appendJSON appends the record as one JSON object, with the members that the struct tags name. encoding/json does not
// do it because it takes four times as long.
func (r *record) appendJSON(dst []byte) ([]byte, error) {
	o := strictjson.NewObject(dst)
	o.Int("v", int64(r.Version))
	o.String("actor", r.Actor)
	if r.Reason != "" {
		o.String("reason", r.Reason)
	}
	o.Value("changes", func(dst []byte) (_ []byte, err error) {
		dst = append(dst, '[')
		for i := range r.Changes {
			if i > 0 {
				dst = append(dst, ',')
			}
			if dst, err = r.Changes[i].AppendJSON(dst); err != nil {
				return dst, err
			}
		}
		return append(dst, ']'), nil
	})
	if r.Purge != nil {
		o.Marshal("purge", r.Purge)
	}
	if len(r.Entries) > 0 {
		o.Marshal("entries", r.Entries)
	}
	return o.End()
}

// decodeRecords reads the records of rows. Errors: memory.ErrNewerVersion, errRecord.
func decodeRecords(rows []pglog.Row) ([]record, error) {
	recs := make([]record, 0, len(rows))
	var r recordReader
	for i := range rows {
		rec, err := r.decode(&rows[i])
		if err != nil {
			return nil, err
		}
		recs = append(recs, rec)
	}
	return recs, nil
}

// decodeRecord is recordReader.decode of one row.
func decodeRecord(r *pglog.Row) (record, error) { return new(recordReader).decode(r) }

// recordReader reads records. It uses one buffer for all of them.
type recordReader struct {
	text    []byte
	changes merge.Reader
}

// decode reads the record of a row. A newer version, or a member that is not known, is refused: what is not understood
// must not be lost. Errors: memory.ErrNewerVersion, errRecord.
func (d *recordReader) decode(r *pglog.Row) (rec record, err error) {
	if rec, ok := d.read(r.Record); ok {
		return rec, nil
	}
	err = merge.DecodeStrict(strings.NewReader(r.Record), &rec)
	version := rec.Version
	if err != nil {
		version = versionOf(r.Record)
	}
	switch {
	case version > logRecordVersion:
		return rec, fmt.Errorf("row %d of the log: %w; update this program", r.Seq, memory.ErrNewerVersion)
	case err != nil:
		return rec, fmt.Errorf("row %d of the log: %w", r.Seq, errRecord)
	}
	rec.trim()
	return rec, nil
}

// trim drops what encoding/json leaves, see memory.Memory.Trim.
func (r *record) trim() {
	for _, c := range r.Changes {
		if c.Memory != nil && c.Memory.Value != nil {
			c.Memory.Value.Trim()
		}
	}
}

// read reads a record that says what memories are, as appendJSON writes it, which most are: encoding/json takes several
// times as long. ok is false when that has to read it.
func (d *recordReader) read(text string) (rec record, ok bool) {
	d.text = append(d.text[:0], text...)
	rest, ok := bytes.CutPrefix(d.text, []byte(`{"v":1,"actor":`))
	if !ok {
		return rec, false
	}
	rec.Version = recordVersion
	if rec.Actor, rest, ok = d.changes.Text(rest); !ok {
		return rec, false
	}
	if reason, found := bytes.CutPrefix(rest, []byte(`,"reason":`)); found {
		if rec.Reason, rest, ok = d.changes.Text(reason); !ok {
			return rec, false
		}
	}
	if rest, ok = bytes.CutPrefix(rest, []byte(`,"changes":`)); !ok {
		return rec, false
	}
	rec.Changes, rest, ok = d.changes.Changes(rest)
	return rec, ok && string(rest) == "}"
}

// versionOf is the version of a record that this program may not understand, 0 when there is none.
func versionOf(text string) int {
	var head struct {
		Version int `json:"v"`
	}
	if err := json.Unmarshal([]byte(text), &head); err != nil {
		return 0
	}
	return head.Version
}

// decodePart reads a part of a snapshot. Error: errRecord.
func decodePart(data string) (merge.Values, error) {
	p, err := merge.ReadPart([]byte(data))
	if err != nil {
		return merge.Values{}, errRecord
	}
	v := merge.Join(&p)
	v.Index()
	return v, nil
}
