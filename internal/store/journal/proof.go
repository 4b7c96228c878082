package journal

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/memsidecar/memsidecar/internal/store/durable"
)

// Proof says that a file outside the segments exists only because operation LSN was durable. A journal that ends
// before it has lost acknowledged operations.
type Proof struct {
	File string
	LSN  int64
}

// HighWaterFile is not in the directory journal, so that it survives the loss of that directory, and in one of its own,
// because each group changes it and the data directory is watched for edits.
const (
	HighWaterFile = proofDir + "/high-water.jsonl"
	proofDir      = "proof"
)

// formerHighWaterFile is where earlier versions kept the mark. It counts until Open has made the new one durable.
const formerHighWaterFile = "high-water.jsonl"

const (
	// highWaterSlot is the size of a slot in bytes: one sector, so a torn write spoils one slot at most.
	highWaterSlot  = 512
	highWaterSlots = 2
)

// highWater is one slot of HighWaterFile: the newest operation that was durable when the slot was written.
type highWater struct {
	Format
	Store string `json:"store"`
	LSN   int64  `json:"lsn"`
}

// readHighWater returns the newest valid slot and its file, the zero value when there is none. A damaged slot proves
// nothing.
func readHighWater(fsys durable.FS) (newest highWater, file string, err error) {
	file = HighWaterFile
	for _, name := range []string{HighWaterFile, formerHighWaterFile} {
		slot, err := readSlots(fsys, name)
		if err != nil {
			return newest, name, err
		}
		if slot.LSN > newest.LSN {
			newest, file = slot, name
		}
	}
	return newest, file, nil
}

// readSlots returns the newest valid slot of one file.
func readSlots(fsys durable.FS, name string) (newest highWater, err error) {
	data, err := durable.ReadFile(fsys, name)
	if errors.Is(err, errNotExist) {
		return newest, nil
	}
	if err != nil {
		return newest, fmt.Errorf("read %s: %w", name, err)
	}
	for at := 0; at < len(data); at += highWaterSlot {
		line, _, _ := bytes.Cut(data[at:min(at+highWaterSlot, len(data))], []byte{'\n'})
		var slot highWater
		// The slots are written in turn, so a torn write damages one and leaves the other.
		if !durable.ValidLine(line) || json.Unmarshal(line, &slot) != nil {
			continue
		}
		if err := knownLine(name, line, slot.Format, new(highWater)); err != nil {
			return newest, err
		}
		if slot.LSN > newest.LSN {
			newest = slot
		}
	}
	return newest, nil
}

// collectProofs returns given, the LSN after of the snapshot, and what the journal's own files prove: the clean stop,
// and the high-water mark unless it belongs to another store. reached is the LSN of the clean stop.
//
// Without a segment and without a snapshot (after is 0), only the journal's own files count: published files alone are
// a directory that may come from elsewhere and is adopted.
func collectProofs(fsys durable.FS, store string, after int64, segments []segment, given []Proof) (all []Proof,
	reached int64, err error) {
	if len(segments) > 0 || after > 0 {
		all = append([]Proof{{File: "the snapshot", LSN: after}}, given...)
	}
	mark, file, err := readHighWater(fsys)
	if err != nil {
		return nil, 0, err
	}
	if store == "" {
		store, _ = findStoreID(fsys, segments) // "" without a segment that says so
	}
	if store == "" || mark.Store == store {
		all = append(all, Proof{File: file, LSN: mark.LSN})
	}
	reached, err = readCleanStop(fsys)
	return append(all, Proof{File: cleanStopFile, LSN: reached}), reached, err
}

// Absent reports whether nothing shows that there ever was a journal: no segment, no clean stop and no high-water mark.
func Absent(fsys durable.FS) (bool, error) {
	segments, err := listSegments(fsys)
	if err != nil && !errors.Is(err, errNotExist) {
		return false, err
	}
	proofs, _, err := collectProofs(fsys, "", 0, nil, nil)
	return len(segments) == 0 && strongest(proofs).LSN == 0, err
}

// strongest returns the proof of the newest operation, the last of several.
func strongest(proofs []Proof) (best Proof) {
	for _, p := range proofs {
		if p.LSN >= best.LSN {
			best = p
		}
	}
	return best
}

// contradicts describes a journal that ends at end, before what p says.
func (p Proof) contradicts(end int64) string {
	return fmt.Sprintf("it ends at operation %d, but %s proves that operation %d was acknowledged", end, p.File, p.LSN)
}

// noSegment is the damage of a journal whose segments are all missing.
func noSegment(proof Proof) *CorruptError {
	return &CorruptError{File: dir, Detail: fmt.Sprintf(
		"there is no segment, but %s proves that operation %d was acknowledged", proof.File, proof.LSN)}
}

// openHighWater opens the high-water file for advanceHighWater and records the present end in it. Durable on return.
// Without the file the journal works as well, so an error, that of a full disk for example, is only logged.
func (j *Journal) openHighWater() {
	var f durable.File
	err := makeDir(j.fs, proofDir)
	if err == nil {
		f, err = j.fs.OpenFile(HighWaterFile, os.O_RDWR|os.O_CREATE, 0o600)
	}
	if err == nil {
		err = f.Allocate(highWaterSlot * highWaterSlots)
	}
	if err == nil {
		j.highWater = f
		j.advanceHighWater(j.synced)
		err = f.Sync()
	}
	if err == nil {
		err = j.fs.SyncDir(proofDir)
	}
	if err == nil {
		err = j.removeFormerHighWater()
	}
	if err != nil {
		j.log.Warn("cannot keep the journal's high-water mark; a lost end of the journal may go unnoticed", "file",
			HighWaterFile, "err", err)
	}
}

// removeFormerHighWater removes the mark of earlier versions, whose place HighWaterFile has taken.
func (j *Journal) removeFormerHighWater() error {
	err := j.fs.Remove(formerHighWaterFile)
	if errors.Is(err, errNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return j.fs.SyncDir(".")
}

// advanceHighWater records that operation lsn is durable. It does not sync: after the end of the process the mark is
// exact, because the page cache survives; after a power failure it may be older. Slots alternate, so that a torn write
// leaves the previous mark. The caller is the flusher, or Open.
func (j *Journal) advanceHighWater(lsn int64) {
	if j.highWater == nil {
		return
	}
	line, err := durable.AppendLine(make([]byte, 0, highWaterSlot), highWater{Format: CurrentFormat(), Store: j.origin,
		LSN: lsn})
	if err != nil || len(line) > highWaterSlot {
		return
	}
	j.highWaterTurn++
	// An error costs the mark only. The next group tries again.
	_, _ = j.highWater.WriteAt(line, int64(j.highWaterTurn%highWaterSlots)*highWaterSlot)
}

// SyncHighWater makes the high-water mark durable when it advanced since the last call. Maintenance calls it every few
// seconds, so that no write pays for it.
func (j *Journal) SyncHighWater() error {
	j.mu.Lock()
	synced, f := j.synced, j.highWater
	if f == nil || j.err != nil || j.closing || synced == j.highWaterSynced {
		j.mu.Unlock()
		return nil
	}
	j.highWaterSynced = synced
	j.mu.Unlock()
	if err := f.Datasync(); err != nil {
		return fmt.Errorf("sync %s: %w", HighWaterFile, err)
	}
	return nil
}
