package journal

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/memsidecar/memsidecar/internal/durable"
)

// Epoch names the line of history that is being written: it is the origin of the records written from now on. The first epoch of a store has the
// store's name. A restored backup begins another one, because the numbers behind the backup's mean other operations there than where the backup was
// taken; so does a store whose journal is gone and of which only the snapshot is left.
func (j *Journal) Epoch() string { return j.epoch }

// epochMark stands between the store and what makes an epoch of it another one.
const epochMark = "."

func newEpoch(store, fresh string) string { return store + epochMark + fresh }

// storeOf is the store that an epoch, and so the origin of a record, belongs to.
func storeOf(epoch string) string {
	store, _, _ := strings.Cut(epoch, epochMark)
	return store
}

// headerOf is the first line of a segment. The first epoch is not written: it has the store's name.
func headerOf(store, epoch string, first int64) header {
	h := header{Kind: "journal", Version: Version, Store: store, First: first}
	if epoch != store {
		h.Epoch = epoch
	}
	return h
}

// epochIn finds the epoch of a segment that may be damaged: in its header, else in the newest good record. "" is the store's first.
func epochIn(data []byte, store string) (epoch string) {
	for line := range bytes.SplitSeq(data, []byte{'\n'}) {
		if line = bytes.TrimLeft(line, "\x00"); !durable.LineGood(line) {
			continue
		}
		var h header
		if json.Unmarshal(line, &h) == nil && h.Kind == "journal" {
			return h.Epoch
		}
		if rec, err := decodeLine(line); err == nil && storeOf(rec.Origin) == store && rec.Origin != store {
			epoch = rec.Origin
		}
	}
	return epoch
}

// Branch makes the segment in which a restored journal goes on: it begins behind last, in an epoch of its own. fresh makes the epoch another
// one than all before. It also leaves the mark that the journal reached last. Durable on return, save for the directory's own name.
func Branch(fsys durable.FS, store, fresh string, last int64) (epoch string, err error) {
	epoch = newEpoch(store, fresh)
	f, _, err := createSegment(fsys, store, epoch, last+1, 0)
	if err != nil {
		return "", err
	}
	if err := f.Close(); err != nil {
		return "", err
	}
	return epoch, writeMark(fsys, last)
}
