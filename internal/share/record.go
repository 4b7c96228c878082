package share

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/share/merge"
	"github.com/memsidecar/memsidecar/internal/share/pglog"
)

// Versions of records in the log: of operations, of purges, and of operations with entries of daily logs. Older programs
// must not pass over the latter two, so each of them refuses the versions behind its own.
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

// encodeRecord returns the record of an operation with its changes against the log, and its text.
func encodeRecord(o *operation, changes []merge.Change) (rec record, text string, err error) {
	rec = record{Version: recordVersion, Actor: o.actor, Reason: o.reason, Changes: changes, Entries: o.entries}
	if len(o.entries) > 0 {
		rec.Version = logRecordVersion
	}
	raw, err := json.Marshal(rec)
	if err != nil {
		return rec, "", fmt.Errorf("encode operation %d for the log: %w", o.op, err)
	}
	return rec, string(raw), nil
}

// decodeRecords reads the records of rows. Errors: memory.ErrNewerVersion, errRecord.
func decodeRecords(rows []pglog.Row) (recs []record, err error) {
	for i := range rows {
		rec, err := decodeRecord(&rows[i])
		if err != nil {
			return nil, err
		}
		recs = append(recs, rec)
	}
	return recs, nil
}

// decodeRecord reads the record of a row. A newer version, or a member that is not known, is refused: what is not
// understood must not be lost. Errors: memory.ErrNewerVersion, errRecord.
func decodeRecord(r *pglog.Row) (rec record, err error) {
	var head struct {
		Version int `json:"v"`
	}
	if err := json.Unmarshal([]byte(r.Record), &head); err != nil {
		return rec, fmt.Errorf("row %d of the log: %w", r.Seq, errRecord)
	}
	if head.Version > logRecordVersion {
		return rec, fmt.Errorf("row %d of the log: %w; update this program", r.Seq, memory.ErrNewerVersion)
	}
	if err := decodeStrict(r.Record, &rec); err != nil {
		return rec, fmt.Errorf("row %d of the log: %w", r.Seq, errRecord)
	}
	return rec, nil
}

// decodeStrict decodes JSON and refuses members that are not known.
func decodeStrict(text string, v any) error {
	d := json.NewDecoder(bytes.NewReader([]byte(text)))
	d.DisallowUnknownFields()
	return d.Decode(v)
}
