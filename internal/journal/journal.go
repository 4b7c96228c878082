// Package journal is the write-ahead log of memsidecar: append-only segments of JSON lines, group commit,
// recovery, and reading back for history and the change feed. It keeps records; what they mean is the
// store's concern. docs/crash-safety.md describes every step and what a crash in it leaves.
//
// A segment looks like this, one line each, then zeros up to its allocated size:
//
//	{"memsidecar":"journal","version":1,"store":"5e1f…","first":1,"crc":"5a1b2c3d"}
//	{"lsn":1,"group":1,"op":1,"at":"2026-02-21T10:30:00Z","origin":"5e1f…","space":"default","actor":"client","changes":[…],"crc":"…"}
package journal

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/memsidecar/memsidecar/internal/durable"
	"github.com/memsidecar/memsidecar/internal/memory"
)

// Version of the journal's format. A higher one is refused.
const Version = 1

const (
	dir           = "journal"
	quarantineDir = "quarantine"
	markFile      = dir + "/mark.json"

	defaultSegment = 8 << 20  // a segment is followed by the next once it is this long
	maxChunk       = 1 << 20  // an operation is split when it is longer, space is allocated this far ahead; at most an eighth of a segment
	reserve        = 64 << 10 // of it kept for essential records on a full disk
	maxParts       = 1 << 12  // more than any operation within the limits of a request has
)

// Config of a journal.
type Config struct {
	FS     durable.FS
	Logger *slog.Logger
	// Origin is the identity of the store; the journal refuses segments of another one. Empty: that of the first segment, or Fresh.
	Origin string
	// Fresh is the identity given to a journal that is created.
	Fresh string
	// After is the LSN the caller's snapshot includes: replay begins behind it, and the journal must reach it.
	After int64
	// Replay is called during Open for each operation behind After, in order.
	Replay func(*Record) error
	// Failed is called once when nothing can be written any more. It must not block or call the journal.
	Failed func(error)
	// SegmentSize is the length in bytes at which a segment is followed by the next; 0 is 8 MiB. Tests use small ones.
	SegmentSize int64
	// Durable is called with each synced group, in order, one call at a time, before its writers return.
	Durable func([]*Record)
}

// Journal is safe for concurrent use.
type Journal struct {
	fs          durable.FS
	log         *slog.Logger
	origin      string
	epoch       string // of the records written from now on
	begun       time.Time
	durable     func([]*Record)
	failed      func(error)
	segmentSize int64
	chunk       int64
	// readOnly is set while a directory is only looked at.
	readOnly bool

	mu        sync.Mutex
	segments  []segment    // oldest first; guarded by mu
	file      durable.File // of the last segment; replaced by the flusher under mu
	written   int64        // bytes of it that are durable
	allocated int64        // bytes of it that are allocated
	next      int64        // LSN of the next record
	synced    int64        // newest durable LSN
	lastAt    int64        // where the last segment's last group begins, 0 when it is the first; known after replay
	syncs     int64        // number of syncs of groups
	bytes     int64        // bytes replayed by Open and appended since
	pending   *batch       // staged, not yet taken by the flusher
	flushing  bool         // somebody is the flusher
	err       error        // why nothing can be written any more
	closing   bool         // nothing more is staged
	closed    bool
	advanced  chan struct{} // closed when synced advances; nil when nobody waits
	lastGroup int           // records in the group before
	expected  int           // records that a group is likely to get; see gatherLocked

	background sync.WaitGroup // the flusher when it is not one of the writers
	upkeep     sync.Mutex     // held while old segments are removed or rewritten; taken before mu
}

// segment is one file of the journal.
type segment struct {
	name  string
	first int64 // LSN of its first record
}

// batch is one group: what is written and synced together.
type batch struct {
	first int64
	buf   []byte
	recs  []*Record
	done  chan struct{} // closed when durable or failed
	err   error
}

// CorruptError says where acknowledged data is damaged. It is a memory.ErrCorrupt.
type CorruptError struct {
	File   string
	Line   int // 1 is the segment's header; 0 when the whole file is meant
	Detail string
}

func (e *CorruptError) Error() string {
	at := e.File
	if e.Line > 0 {
		at = fmt.Sprintf("%s line %d", e.File, e.Line)
	}
	return fmt.Sprintf("%s is damaged: %s; nothing was changed; `memsidecar repair` sets the damaged part aside and keeps the rest", at, e.Detail)
}

// Is makes errors.Is(err, memory.ErrCorrupt) true.
func (e *CorruptError) Is(target error) bool { return target == memory.ErrCorrupt }

// Origin is the identity of the store that writes this journal.
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

// Figures of the journal.
type Figures struct {
	Syncs    int64 // groups synced since Open
	Bytes    int64 // bytes replayed by Open and appended since
	Segments int   // segments kept
}

// Figures returns the journal's counters.
func (j *Journal) Figures() Figures {
	j.mu.Lock()
	defer j.mu.Unlock()
	return Figures{Syncs: j.syncs, Bytes: j.bytes, Segments: len(j.segments)}
}

// Advanced returns a channel that is closed once an LSN behind after is durable, or the journal is closed or failed.
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

// Close makes everything staged durable, leaves the mark of a clean stop and closes the files. A failed journal is only closed.
func (j *Journal) Close(ctx context.Context) error {
	j.mu.Lock()
	if j.closing {
		j.mu.Unlock()
		return nil
	}
	j.closing = true
	last := j.next - 1
	j.mu.Unlock()
	waitErr := j.WaitFor(ctx, last)

	j.mu.Lock()
	j.closed = true
	j.notifyLocked()
	failed := j.err
	synced := j.synced
	j.mu.Unlock()
	j.background.Wait()

	var markErr error
	if failed == nil && waitErr == nil {
		markErr = writeMark(j.fs, synced)
	}
	return errors.Join(waitErr, markErr, j.file.Close())
}

// Abandon closes the files without the mark of a clean stop, for an Open that failed further up.
func (j *Journal) Abandon() error {
	j.mu.Lock()
	j.closing, j.closed = true, true
	j.notifyLocked()
	j.mu.Unlock()
	j.background.Wait()
	return j.file.Close()
}

func (j *Journal) notifyLocked() {
	if j.advanced != nil {
		close(j.advanced)
		j.advanced = nil
	}
}

// Stopped reports whether nothing will be appended any more.
func (j *Journal) Stopped() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.closed || j.err != nil
}
