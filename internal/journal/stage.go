package journal

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/memsidecar/memsidecar/internal/durable"
	"github.com/memsidecar/memsidecar/internal/memory"
)

// Next is the LSN that the next staged record will get. It is stable only while the caller keeps others from staging.
func (j *Journal) Next() int64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.next
}

// Ticket is a claim on a staged operation.
type Ticket struct {
	j     *Journal
	batch *batch
}

// Stage gives rec its LSN, group, op and origin and queues it for the next group. Callers stage in the order
// in which they changed their state. essential records may use the space kept in reserve for a full disk.
//
// Nothing is durable before the ticket's Wait returned nil. Errors: memory.ErrDiskFull, memory.ErrReadOnly,
// memory.ErrShuttingDown; after an error nothing has changed.
func (j *Journal) Stage(rec *Record, essential bool) (Ticket, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	switch {
	case j.err != nil:
		return Ticket{}, fmt.Errorf("%w: %w", memory.ErrReadOnly, j.err)
	case j.closing:
		return Ticket{}, memory.ErrShuttingDown
	}
	b := j.pending
	if b == nil {
		b = &batch{first: j.next, done: make(chan struct{})}
	}
	rec.LSN, rec.Group, rec.Op, rec.Origin = j.next, b.first, j.next, j.epoch
	before := len(b.buf)
	buf, parts, err := appendOperation(b.buf, rec, int(j.chunk))
	if err == nil {
		err = j.allocateLocked(int64(len(buf)), essential)
	}
	if err != nil {
		b.buf = b.buf[:before]
		return Ticket{}, err
	}
	b.buf, b.recs = buf, append(b.recs, rec)
	j.pending = b
	j.next += int64(parts)
	return Ticket{j: j, batch: b}, nil
}

// appendOperation encodes rec as one line, or as several when it is longer than limit and has several changes. It sets rec.Parts.
func appendOperation(dst []byte, rec *Record, limit int) ([]byte, int, error) {
	before := len(dst)
	dst, err := durable.AppendLine(dst, rec)
	if err != nil {
		return dst[:before], 0, fmt.Errorf("encode operation: %w", err)
	}
	if len(dst)-before <= limit || len(rec.Changes) < 2 {
		return dst, 1, nil
	}
	chunks, err := splitChanges(rec.Changes, limit)
	if err != nil || len(chunks) == 1 {
		return dst, 1, err
	}
	dst = dst[:before]
	rec.Parts = len(chunks)
	for i, changes := range chunks {
		part := *rec
		part.LSN = rec.LSN + int64(i)
		part.Changes = changes
		if i > 0 {
			part.Receipt = nil
		}
		if dst, err = durable.AppendLine(dst, &part); err != nil {
			return dst[:before], 0, fmt.Errorf("encode operation: %w", err)
		}
	}
	return dst, rec.Parts, nil
}

func splitChanges(changes []Change, limit int) ([][]Change, error) {
	var chunks [][]Change
	start, size := 0, 0
	for i := range changes {
		raw, err := json.Marshal(&changes[i])
		if err != nil {
			return nil, err
		}
		if i > start && size+len(raw) > limit {
			chunks = append(chunks, changes[start:i])
			start, size = i, 0
		}
		size += len(raw)
	}
	return append(chunks, changes[start:]), nil
}

// allocateLocked makes sure that the current segment has room for pending bytes behind what is written or being written.
func (j *Journal) allocateLocked(pending int64, essential bool) error {
	need := j.inFlightLocked() + pending
	if !essential {
		need += reserve
	}
	if need <= j.allocated {
		return nil
	}
	err := j.file.Allocate(need + j.chunk)
	if err == nil {
		j.allocated = need + j.chunk
		return nil
	}
	if durable.IsDiskFull(err) {
		if err = j.file.Allocate(need); err == nil {
			j.allocated = need
			return nil
		}
	}
	if durable.IsDiskFull(err) {
		return fmt.Errorf("journal: %w: %w", memory.ErrDiskFull, err)
	}
	j.failLocked(fmt.Errorf("allocate space in %s: %w", j.lastSegment().name, err))
	return fmt.Errorf("%w: %w", memory.ErrReadOnly, j.err)
}

// Wait returns when the operation is durable and applied. When ctx ends first, the operation may still become durable.
func (t Ticket) Wait(ctx context.Context) error {
	j, b := t.j, t.batch
	j.mu.Lock()
	if j.pending == b && !j.flushing {
		j.flushing = true
		j.flushLocked()
		// Others may have staged meanwhile. Their reply must not wait for a writer that has its own.
		if j.pending != nil && j.err == nil {
			j.background.Go(j.drain)
		} else {
			j.flushing = false
		}
	}
	j.mu.Unlock()
	select {
	case <-b.done:
		return b.err
	default:
	}
	select {
	case <-b.done:
		return b.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// WaitFor returns when everything up to lsn is durable and applied.
func (j *Journal) WaitFor(ctx context.Context, lsn int64) error {
	j.mu.Lock()
	if j.synced >= lsn || j.err != nil {
		defer j.mu.Unlock()
		if j.synced >= lsn {
			return nil
		}
		return fmt.Errorf("%w: %w", memory.ErrReadOnly, j.err)
	}
	if b := j.pending; b != nil && b.first <= lsn {
		j.mu.Unlock()
		return Ticket{j: j, batch: b}.Wait(ctx)
	}
	j.mu.Unlock()
	// It is in the group that is being written.
	for j.Synced() < lsn && j.Err() == nil {
		select {
		case <-j.Advanced(lsn - 1):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if j.Synced() < lsn {
		return fmt.Errorf("%w: %w", memory.ErrReadOnly, j.Err())
	}
	return nil
}

// drain flushes group after group until nothing is pending.
func (j *Journal) drain() {
	j.mu.Lock()
	defer j.mu.Unlock()
	for j.pending != nil && j.err == nil {
		j.gatherLocked()
		j.flushLocked()
	}
	j.flushing = false
}

// gatherLocked lets a group grow while other writers are arriving: with many writers one sync then serves many, and as long as they
// arrive the processor has better things to do. It ends when as many are there as came lately, when nobody has arrived for a while, and after
// maxGather at most. A lone writer never waits.
func (j *Journal) gatherLocked() {
	const (
		maxGather = 3 * time.Millisecond
		poll      = 40 * time.Microsecond
		enough    = 3 // polls without an arrival
	)
	if j.lastGroup < 2 {
		return
	}
	expected := j.expected
	if j.syncs%16 == 0 {
		expected = math.MaxInt // look how many there are now
	}
	start := time.Now() //nolint:forbidigo // it bounds a wait; nothing recorded depends on it
	for quiet := 0; quiet < enough && len(j.pending.recs) < expected && time.Since(start) < maxGather; quiet++ {
		before := len(j.pending.recs)
		j.mu.Unlock()
		time.Sleep(poll)
		j.mu.Lock()
		if len(j.pending.recs) > before {
			quiet = -1
		}
	}
	if expected == math.MaxInt {
		j.expected = 0
	}
	j.expected = max(j.expected, len(j.pending.recs))
}

// flushLocked writes and syncs the pending group, applies it and wakes its writers. The caller is the flusher; the lock is released meanwhile.
func (j *Journal) flushLocked() {
	b := j.pending
	j.pending = nil
	file, at := j.file, j.written
	j.written += int64(len(b.buf)) // claimed, so that staging allocates behind it
	j.mu.Unlock()

	_, err := file.WriteAt(b.buf, at)
	if err == nil {
		err = file.Datasync() // the commit point
	}
	if err == nil && j.durable != nil {
		j.durable(b.recs)
	}

	j.mu.Lock()
	if err != nil {
		j.written = at
		j.failLocked(fmt.Errorf("write to %s: %w", j.lastSegment().name, err))
		b.err = fmt.Errorf("%w: %w", memory.ErrReadOnly, j.err)
	} else {
		last := b.recs[len(b.recs)-1]
		j.synced = last.Last()
		j.syncs++
		j.bytes += int64(len(b.buf))
		j.lastGroup = len(b.recs)
		j.notifyLocked()
	}
	close(b.done)
	if err == nil && j.written >= j.segmentSize {
		_ = j.rollLocked() // without space the present segment goes on; any other failure is kept in j.err
	}
	if j.err != nil && j.pending != nil {
		j.pending.err = fmt.Errorf("%w: %w", memory.ErrReadOnly, j.err)
		close(j.pending.done)
		j.pending = nil
	}
}

// inFlightLocked is the end of what is written or being written in the current segment.
func (j *Journal) inFlightLocked() int64 { return j.written }

// failLocked stops all writing for good. What was staged and not synced is not acknowledged.
func (j *Journal) failLocked(err error) {
	if j.err == nil {
		j.err = err
		j.log.Error("journal cannot be written; the store is read-only until the daemon is restarted", "err", err)
		if j.failed != nil {
			j.failed(err)
		}
	}
	j.notifyLocked()
}

func (j *Journal) lastSegment() segment { return j.segments[len(j.segments)-1] }

// mark is the one line of mark.json.
type mark struct {
	Version int   `json:"version"`
	LSN     int64 `json:"lsn"`
}

// writeMark records that the journal had reached lsn at a clean stop.
func writeMark(fsys durable.FS, lsn int64) error {
	raw, err := durable.AppendLine(nil, mark{Version: Version, LSN: lsn})
	if err != nil {
		return err
	}
	return writeWhole(fsys, markFile, raw)
}

// readMark returns 0 when there is no mark.
func readMark(fsys durable.FS) (int64, error) {
	raw, err := durable.ReadFile(fsys, markFile)
	if errors.Is(err, errNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("read %s: %w", markFile, err)
	}
	var m mark
	if line := bytes.TrimSuffix(raw, []byte("\n")); !durable.LineGood(line) || json.Unmarshal(line, &m) != nil {
		return 0, &CorruptError{File: markFile, Line: 1, Detail: "its checksum does not match"}
	}
	if m.Version > Version {
		return 0, fmt.Errorf("%s has format %d, this memsidecar knows %d: %w", markFile, m.Version, Version, memory.ErrNewerVersion)
	}
	return m.LSN, nil
}
