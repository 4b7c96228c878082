package journal

import (
	"bytes"
	"encoding/json"
	"strings"
	"time"

	"github.com/memsidecar/memsidecar/internal/durable"
)

// Epoch names the line of history that is being written: it is the origin of the records written from now on. The first epoch of a store has the
// store's name. A restored backup begins another one, because the numbers behind the backup's mean other operations there than where the backup was
// taken; so does a store whose journal is gone and of which only the snapshot is left.
func (j *Journal) Epoch() string { return j.epoch }

// Begun is when a backup was restored last, the zero time when none was.
func (j *Journal) Begun() time.Time { return j.begun }

// epochMark stands between the store and what makes an epoch of it another one.
const epochMark = "."

func newEpoch(store, fresh string) string { return store + epochMark + fresh }

// storeOf is the store that an epoch, and so the origin of a record, belongs to.
func storeOf(epoch string) string {
	store, _, _ := strings.Cut(epoch, epochMark)
	return store
}

func newHeader(store string, first int64) header {
	return header{Kind: "journal", Version: Version, Store: store, First: first}
}

// headerAt is the first line of a segment of this journal. The first epoch is not written: it has the store's name.
func (j *Journal) headerAt(first int64) header {
	h := newHeader(j.origin, first)
	if j.epoch != j.origin {
		h.Epoch, h.Begun = j.epoch, j.begun
	}
	return h
}

// headerIn finds the header of a segment that may be damaged; else the epoch is that of its newest good record.
func headerIn(data []byte, store string, first int64) header {
	h := newHeader(store, first)
	for line := range bytes.SplitSeq(data, []byte{'\n'}) {
		if line = bytes.TrimLeft(line, "\x00"); !durable.LineGood(line) {
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

// Branch makes the segment in which a restored journal goes on: it begins behind last, in an epoch of its own that begins now. fresh makes the
// epoch another one than all before. It also leaves the mark that the journal reached last. Durable on return, save for the directory's own name.
func Branch(fsys durable.FS, store, fresh string, last int64, now time.Time) (epoch string, err error) {
	h := newHeader(store, last+1)
	h.Epoch, h.Begun = newEpoch(store, fresh), now.UTC().Truncate(time.Second)
	f, _, err := createSegment(fsys, h, 0)
	if err != nil {
		return "", err
	}
	if err := f.Close(); err != nil {
		return "", err
	}
	return h.Epoch, writeMark(fsys, last)
}
