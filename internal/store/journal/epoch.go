package journal

import (
	"bytes"
	"cmp"
	"encoding/json"
	"strings"
	"time"

	"github.com/memsidecar/memsidecar/internal/store/durable"
)

// Epoch names the line of history that is being written: it is the origin of the records written from now on. The first
// epoch of a store has the store's name.
//
// A restored backup begins another epoch, because operations behind the backup get numbers that mean something else
// where the backup was taken. So does a store whose journal is gone and of which only the snapshot is left. Clients
// that follow the change feed compare epochs, not numbers alone.
func (j *Journal) Epoch() string { return j.epoch }

// EpochStart is when a backup was last restored, the zero time when none was.
func (j *Journal) EpochStart() time.Time { return j.epochStart }

// EpochOf returns the epoch of the record at an LSN, and the present epoch for an LSN that was not written yet. A new
// epoch always begins a segment, so the header of its segment decides. Of history that was trimmed it returns the epoch
// of the oldest segment. It reads a file at most once for each segment, and none in a store that was never restored.
func (j *Journal) EpochOf(lsn int64) string {
	if j.epoch == j.origin {
		return j.epoch
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	s := &j.segments[j.segmentOf(lsn)]
	if s.epoch == "" {
		_, _, h, err := readSegment(j.fs, *s)
		if err != nil {
			return j.epoch // damaged or just removed; its operations cannot be read either
		}
		s.epoch = cmp.Or(h.Epoch, h.Store)
	}
	return s.epoch
}

// epochSeparator separates the store's name from the random suffix of a later epoch.
const epochSeparator = "."

// newEpoch returns the name of an epoch of store. suffix must be random.
func newEpoch(store, suffix string) string { return store + epochSeparator + suffix }

// storeOf is the store that an epoch belongs to. A record's origin is an epoch.
func storeOf(epoch string) string {
	store, _, _ := strings.Cut(epoch, epochSeparator)
	return store
}

// newHeader is the first line of a segment that starts at operation first.
func newHeader(store string, first int64) header {
	return header{Kind: "journal", Format: CurrentFormat(), Store: store, First: first}
}

// headerAt is the first line of the segment that begins at LSN first. The first epoch is omitted, because it is the
// store's name.
func (j *Journal) headerAt(first int64) header {
	h := newHeader(j.origin, first)
	if j.epoch != j.origin {
		h.Epoch, h.Begun = j.epoch, j.epochStart
	}
	return h
}

// headerIn finds the header of a segment that may be damaged. Without a readable one, the epoch is that of the newest
// good record.
func headerIn(data []byte, store string, first int64) header {
	h := newHeader(store, first)
	for line := range bytes.SplitSeq(data, []byte{'\n'}) {
		if line = bytes.TrimLeft(line, "\x00"); !durable.ValidLine(line) {
			continue
		}
		var found header
		if json.Unmarshal(line, &found) == nil && found.Kind == "journal" {
			h.Epoch, h.Begun = found.Epoch, found.Begun
			return h
		}
		if rec, err := decodeLine(line); err == nil && storeOf(rec.Origin) == store && rec.Origin != store {
			h.Epoch = rec.Origin
		}
	}
	return h
}

// StartEpoch creates the segment in which a restored journal continues. It begins behind LSN last, in a new epoch that
// begins at now; suffix must be random, so that the epoch differs from all others. It also records a clean stop at
// last, so that Open notices when restored segments are missing. Durable on return, except for the name of the
// directory journal.
func StartEpoch(fsys durable.FS, store, suffix string, last int64, now time.Time) (epoch string, err error) {
	h := newHeader(store, last+1)
	h.Epoch, h.Begun = newEpoch(store, suffix), now.UTC().Truncate(time.Second)
	f, _, err := createSegment(fsys, h, 0)
	if err != nil {
		return "", err
	}
	if err := f.Close(); err != nil {
		return "", err
	}
	return h.Epoch, writeCleanStop(fsys, last)
}
