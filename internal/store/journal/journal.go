// Package journal is the write-ahead log of memsidecar: append-only segments of JSON lines, group commit, recovery, and
// reading for history and the change feed. It stores records and does not interpret them; the store does.
// docs/crash-safety.md describes every step and the state that a crash in it leaves.
//
// Writers that arrive while a sync is running share the next one. This is group commit: D. DeWitt et al.,
// "Implementation techniques for main memory database systems", SIGMOD 1984; J. Gray and A. Reuter, "Transaction
// Processing", 1993. After a failed sync the journal accepts no more writes, because a second sync may report success
// for pages that the kernel has dropped: A. Rebello et al., "Can applications recover from fsync failures?", USENIX ATC
// 2020. Recovery assumes that an unsynced append may be torn anywhere: T. S. Pillai et al., "All file systems are not
// created equal", OSDI 2014.
//
// A segment has one JSON object per line, then zeros up to its allocated size:
//
//	{"memsidecar":"journal","version":1,"minor":2,"min_reader":2,"store":"5e1f…","first":1,"crc":"5a1b2c3d"}
//	{"lsn":1,"group":1,"op":1,"at":"2026-02-21T10:30:00Z",…,"changes":[…],"crc":"…"}
package journal

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"sync"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/store/durable"
)

const (
	dir           = "journal"
	quarantineDir = "quarantine"
	cleanStopFile = dir + "/mark.json"

	// defaultSegmentSize is the length in bytes at which the journal continues in a new segment.
	defaultSegmentSize = 8 << 20
	// maxChunk is the length in bytes from which an operation is split into several records, and how far ahead space is
	// allocated. It is at most an eighth of a segment.
	maxChunk = 1 << 20
	// reservedBytes of the allocated space are left to essential records when the disk is full.
	reservedBytes = 64 << 10
	// maxParts is more records than any operation has within the limits of a request.
	maxParts = 1 << 12
)

// Config configures Open. FS and Logger are required, and one of Origin and NewOrigin for an empty directory.
type Config struct {
	FS     durable.FS
	Logger *slog.Logger
	// Origin is the identity of the store. Open refuses segments of another store. When it is empty, the first segment
	// decides, or NewOrigin when there is none.
	Origin string
	// NewOrigin is the identity of a journal that Open creates.
	NewOrigin string
	// After is the LSN that the caller's snapshot includes. Replay begins behind it, and the journal must reach it.
	After int64
	// Proofs are what files outside the journal prove. The journal must reach all of them.
	Proofs []Proof
	// Replay is called during Open for each operation behind After, in order.
	Replay func(*Record) error
	// Failed is called once, when the journal turns read-only. It must not block or call the journal.
	Failed func(error)
	// SegmentSize is the length in bytes at which the journal continues in a new segment; 0 means 8 MiB. Tests use
	// small ones.
	SegmentSize int64
	// Durable is called with each synced group, in order, one call at a time, before its writers return. It applies the
	// group to the state that readers see.
	Durable func([]*Record)
}

// Journal is an open journal. It is safe for concurrent use.
//
// At most one goroutine is the flusher: the one that set flushing. Only the flusher writes to file, and it releases mu
// while it does.
type Journal struct {
	fs          durable.FS
	log         *slog.Logger
	origin      string
	epoch       string    // origin of the records written from now on; see Epoch
	epochStart  time.Time // see EpochStart
	durable     func([]*Record)
	failed      func(error)
	segmentSize int64
	chunk       int64
	// buffers are those of groups that were written, for the next ones.
	buffers sync.Pool
	// readOnly is set by Scan: recovery then changes nothing on disk.
	readOnly bool

	// mu guards the fields below it.
	mu       sync.Mutex
	segments []segment // oldest first; guarded by mu
	// file is the last segment. Only the flusher replaces it, under mu.
	file durable.File
	// fileInfo identifies file, so that a group is not acknowledged when the file is not under its name any more.
	fileInfo fs.FileInfo
	// appendEnd is the offset in file where the next group is written. The flusher advances it before it writes, so
	// bytes before it may not be durable yet. A failed write moves it back.
	appendEnd int64
	// allocated is the length of file: bytes beyond appendEnd are zeros.
	allocated int64
	next      int64 // LSN of the next record
	synced    int64 // newest durable LSN
	// lastGroupOffset is where the last group of the last segment begins, 0 when it is the first group. Replay sets it.
	lastGroupOffset int64
	// lastFormat is the format of the last segment. Replay sets it.
	lastFormat Format
	// syncs counts the groups that were synced.
	syncs int64
	bytes int64 // bytes replayed by Open and appended since
	// pending is the group that is being staged; the flusher takes it. nil when nothing is staged.
	pending *batch
	// flushing is set while one goroutine is the flusher.
	flushing bool
	// err is why nothing can be written any more, nil while the journal is healthy.
	err error
	// closing refuses to stage more; closed is set once the last group is durable.
	closing bool
	closed  bool
	// advanced is closed when synced advances; nil when nobody waits.
	advanced chan struct{}
	// lastGroupSize is the number of records in the group before; expectedGroupSize is how many the next one is likely
	// to get. See waitForWritersLocked.
	lastGroupSize     int
	expectedGroupSize int

	// highWater is HighWaterFile, nil when it cannot be written. Only the flusher writes to it, and counts
	// highWaterTurn. highWaterSynced is the LSN up to which it is durable; guarded by mu.
	highWater       durable.File
	highWaterTurn   int
	highWaterSynced int64

	background sync.WaitGroup // the flusher when it is not one of the writers
	filesMu    sync.Mutex     // held while old segments are removed or rewritten; taken before mu
}

// segment is one file of the journal.
type segment struct {
	name  string
	first int64  // LSN of its first record
	epoch string // of its records, "" until somebody asked
	// settled says that it is compressed, or damaged and must stay as it is.
	settled bool
}

// batch is a group: the records that are written and synced together. first is the LSN of its first record. err is set
// before done is closed.
type batch struct {
	first int64
	buf   []byte
	recs  []*Record
	done  chan struct{} // closed when durable or failed
	err   error
	// awaited says that somebody waits for the sync while another group is written.
	awaited bool
}

// CorruptError says where acknowledged data is damaged. errors.Is(err, memory.ErrCorrupt) holds for it.
type CorruptError struct {
	File   string
	Line   int // 1 is the segment's header; 0 when the whole file is meant
	Detail string
}

// Error names file and line, says that nothing was changed, and names the command that repairs.
func (e *CorruptError) Error() string {
	at := e.File
	if e.Line > 0 {
		at = fmt.Sprintf("%s line %d", e.File, e.Line)
	}
	return fmt.Sprintf("%s is damaged: %s; nothing was changed; `memsidecar daemon repair` sets the damaged part "+
		"aside, keeps the rest and recovers what published files hold", at, e.Detail)
}

// Is makes errors.Is(err, memory.ErrCorrupt) true.
func (e *CorruptError) Is(target error) bool { return target == memory.ErrCorrupt }

// Origin is the identity of the store that writes this journal. It never changes.
func (j *Journal) Origin() string { return j.origin }

// Synced is the newest durable LSN, 0 for an empty journal.
func (j *Journal) Synced() int64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.synced
}

// First is the oldest LSN still kept, or Synced+1 when there is none.
func (j *Journal) First() int64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.segments[0].first
}

// Err says why nothing can be written any more; nil when writing is possible.
func (j *Journal) Err() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.err
}

// Stats are counters of the journal.
type Stats struct {
	Syncs    int64 // groups synced since Open
	Bytes    int64 // bytes replayed by Open and appended since
	Segments int   // segments kept
}

// Stats returns the journal's counters.
func (j *Journal) Stats() Stats {
	j.mu.Lock()
	defer j.mu.Unlock()
	return Stats{Syncs: j.syncs, Bytes: j.bytes, Segments: len(j.segments)}
}

// Advanced returns a channel that is closed once a record behind LSN after is durable, or the journal is closed or has
// failed.
func (j *Journal) Advanced(after int64) <-chan struct{} {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.synced > after || j.closed || j.err != nil {
		ready := make(chan struct{})
		close(ready)
		return ready
	}
	if j.advanced == nil {
		j.advanced = make(chan struct{})
	}
	return j.advanced
}

// Close makes everything staged durable, records a clean stop and closes the files. After a failure it only closes
// them.
func (j *Journal) Close(ctx context.Context) error {
	j.mu.Lock()
	if j.closing {
		j.mu.Unlock()
		return nil
	}
	// From here on Stage refuses, so that last covers everything that was acknowledged.
	j.closing = true
	last := j.next - 1
	j.mu.Unlock()
	waitErr := j.WaitDurable(ctx, last)

	j.mu.Lock()
	j.closed = true
	j.notifyLocked()
	failed := j.err
	synced := j.synced
	j.mu.Unlock()
	j.background.Wait()

	var markErr error
	if failed == nil && waitErr == nil {
		// The mark turns a shorter journal at the next start from a torn write into damage.
		markErr = writeCleanStop(j.fs, synced)
	}
	return errors.Join(waitErr, markErr, j.closeFiles())
}

// Abandon closes the files without recording a clean stop, for a caller whose own start failed after Open.
func (j *Journal) Abandon() error {
	j.mu.Lock()
	j.closing, j.closed = true, true
	j.notifyLocked()
	j.mu.Unlock()
	j.background.Wait()
	return j.closeFiles()
}

// closeFiles closes the files that are open for writing.
func (j *Journal) closeFiles() error {
	if j.highWater != nil {
		_ = j.highWater.Close() // what it says is not needed after a clean stop
	}
	return j.file.Close()
}

// notifyLocked wakes those that wait on Advanced.
func (j *Journal) notifyLocked() {
	if j.advanced != nil {
		close(j.advanced)
		j.advanced = nil
	}
}

// Stopped reports whether nothing will be appended any more, because the journal was closed or has failed.
func (j *Journal) Stopped() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.closed || j.err != nil
}
