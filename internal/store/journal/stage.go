package journal

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/store/durable"
)

// Next is the LSN that the next staged record gets. It is stable only while the caller keeps others from staging.
func (j *Journal) Next() int64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.next
}

// Ticket stands for a staged operation. The zero value is not usable.
type Ticket struct {
	j     *Journal
	batch *batch
}

// Stage gives rec its LSN, group, op and origin, encodes it and adds it to the next group. Callers stage in the order
// in which they changed their state. An essential record may use the space that is reserved for a full disk.
//
// Nothing is durable before the ticket's WaitDurable returned nil. Errors: memory.ErrDiskFull, memory.ErrReadOnly,
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
		if spare, _ := j.buffers.Get().(*[]byte); spare != nil {
			b.buf = *spare
		}
	}
	rec.LSN, rec.Group, rec.Op, rec.Origin = j.next, b.first, j.next, j.epoch
	before := len(b.buf)
	if room := rec.about(); cap(b.buf)-before < room {
		b.buf = slices.Grow(b.buf, max(room, before)) // append alone would copy a group of megabytes ten times
	}
	buf, parts, err := appendOperation(b.buf, rec, int(j.chunk))
	if err == nil {
		err = j.allocateLocked(int64(len(buf)), essential)
	}
	if err != nil {
		// Others share the group: only this record is taken out of it.
		b.buf = b.buf[:before]
		return Ticket{}, err
	}
	for i := range rec.Changes { // it shares the memory of much more
		if c := rec.Changes[i].Memory; c != nil {
			c.Text = nil
		}
	}
	b.buf, b.recs = buf, append(b.recs, rec)
	j.pending = b
	j.next += int64(parts)
	return Ticket{j: j, batch: b}, nil
}

// about estimates how many bytes a record is encoded: enough for most.
func (r *Record) about() int {
	const head, memoryChange, otherChange = 300, 500, 200 // bytes beside the texts
	n := head
	for i := range r.Changes {
		c := r.Changes[i].Memory
		if c == nil {
			n += otherChange
			continue
		}
		for _, m := range []*memory.Memory{c.Before, c.After} {
			if m != nil {
				n += memoryChange + len(m.Content) + len(m.StructuredData())
			}
		}
	}
	return n
}

// appendOperation encodes rec as one line, or as several when one would be longer than limit bytes and rec has several
// changes. It sets rec.Parts. Only the first part carries the receipt.
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
			// A key is found once.
			part.Receipt = nil
		}
		if dst, err = durable.AppendLine(dst, &part); err != nil {
			return dst[:before], 0, fmt.Errorf("encode operation: %w", err)
		}
	}
	return dst, rec.Parts, nil
}

// splitChanges cuts changes into runs whose JSON is at most limit bytes long. A single longer change is a run by
// itself.
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

// allocateLocked makes sure that the current segment has room for pending bytes behind appendEnd. Space is allocated
// before a record is staged, so that a full disk is an error of Stage, before anything has changed, and never of a
// write that others wait for. Records that are not essential leave reservedBytes free.
//
// An error other than a full disk fails the journal: what the file system did is unknown.
func (j *Journal) allocateLocked(pending int64, essential bool) error {
	need := j.appendEnd + pending
	if !essential {
		need += reservedBytes
	}
	if need <= j.allocated {
		return nil
	}
	// A whole chunk ahead, so that most calls allocate nothing.
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

// WaitDurable returns when the operation is durable and applied. The first waiter of a group becomes its flusher, so a
// lone writer needs no other goroutine, and a group for which nobody waits is not written. When ctx ends first, the
// operation may still become durable.
func (t Ticket) WaitDurable(ctx context.Context) error {
	j, b := t.j, t.batch
	j.mu.Lock()
	switch {
	case j.pending != b:
	case j.flushing:
		b.awaited = true
	default:
		j.flushing = true
		j.flushLocked()
		// Others may wait meanwhile. A goroutine flushes for them, so that this writer can return. What was staged and
		// nobody waits for yet is left to the one who will: a sync of its own would only delay the next writer.
		if j.pending != nil && j.pending.awaited && j.err == nil {
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

// WaitDurable returns when everything up to lsn is durable and applied. Errors: memory.ErrReadOnly, those of ctx.
func (j *Journal) WaitDurable(ctx context.Context, lsn int64) error {
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
		return Ticket{j: j, batch: b}.WaitDurable(ctx)
	}
	j.mu.Unlock()
	// lsn is in the group that is being written.
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

// CheckAttached returns nil while the current segment is where the next start looks for it. If it is not, the journal
// is read-only from then on. It is for an acknowledgement that writes nothing: a flush does the same for its group.
// Error: memory.ErrReadOnly.
func (j *Journal) CheckAttached() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.err == nil {
		name := j.lastSegment().name
		if err := j.fs.CheckAttached(name, j.fileInfo); err != nil {
			j.failLocked(fmt.Errorf("look at %s: %w", name, err))
		}
	}
	if j.err != nil {
		return fmt.Errorf("%w: %w", memory.ErrReadOnly, j.err)
	}
	return nil
}

// drain flushes groups until nobody waits for the pending one.
func (j *Journal) drain() {
	j.mu.Lock()
	defer j.mu.Unlock()
	for j.pending != nil && j.pending.awaited && j.err == nil {
		j.waitForWritersLocked()
		j.flushLocked()
	}
	j.flushing = false
}

// waitForWritersLocked lets a group grow while more writers arrive, as PostgreSQL's commit_delay does: with many
// writers one sync serves many. It ends when as many records are staged as groups had lately, when nobody has arrived
// for three polls, and after maxGather at most. Every sixteenth group waits for silence instead, to learn the present
// number of writers. A lone writer never waits.
func (j *Journal) waitForWritersLocked() {
	const (
		maxGather = 3 * time.Millisecond
		poll      = 40 * time.Microsecond
		enough    = 3 // polls without an arrival
	)
	if j.lastGroupSize < 2 {
		return
	}
	expected := j.expectedGroupSize
	if j.syncs%16 == 0 {
		expected = math.MaxInt // measure the number of writers again
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
		j.expectedGroupSize = 0
	}
	j.expectedGroupSize = max(j.expectedGroupSize, len(j.pending.recs))
}

// flushLocked writes and syncs the pending group, applies it and wakes its writers. The caller is the flusher. mu is
// released during the I/O.
//
// A failed write or sync is never retried: the kernel may have marked the dirty pages clean (Rebello et al. 2020), so a
// second sync could succeed without the data. Only a restart reads what the disk holds.
func (j *Journal) flushLocked() {
	b := j.pending
	j.pending = nil
	file, info, name, at := j.file, j.fileInfo, j.lastSegment().name, j.appendEnd
	j.appendEnd += int64(len(b.buf)) // before the write, so that Stage allocates space behind this group
	j.mu.Unlock()

	_, err := file.WriteAt(b.buf, at)
	if err == nil {
		err = file.Datasync() // the commit point
	}
	if err == nil {
		// A sync of a file that was deleted or moved succeeds, and the group is gone all the same.
		err = j.fs.CheckAttached(name, info)
	}
	if err == nil && j.durable != nil {
		j.durable(b.recs)
	}
	if err == nil {
		j.advanceHighWater(b.recs[len(b.recs)-1].Last()) // before a writer is acknowledged
	}

	j.mu.Lock()
	if err != nil {
		j.appendEnd = at
		j.failLocked(fmt.Errorf("write to %s: %w", j.lastSegment().name, err))
		b.err = fmt.Errorf("%w: %w", memory.ErrReadOnly, j.err)
	} else {
		last := b.recs[len(b.recs)-1]
		j.synced = last.Last()
		j.syncs++
		j.bytes += int64(len(b.buf))
		j.lastGroupSize = len(b.recs)
		j.notifyLocked()
		spare := b.buf[:0]
		b.buf = nil
		j.buffers.Put(&spare)
	}
	close(b.done)
	if err == nil && j.appendEnd >= j.segmentSize {
		_ = j.rollLocked() // on a full disk this segment just grows; any other failure is in j.err
	}
	if j.err != nil && j.pending != nil {
		j.pending.err = fmt.Errorf("%w: %w", memory.ErrReadOnly, j.err)
		close(j.pending.done)
		j.pending = nil
	}
}

// failLocked turns the journal read-only for good. What was staged and not synced is not acknowledged.
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

// cleanStop is the one line of mark.json: the LSN that the journal had reached when it was closed. Recovery requires
// that the journal reaches it again, so a lost last segment is noticed.
type cleanStop struct {
	Format
	LSN int64 `json:"lsn"`
}

// writeCleanStop records that the journal had reached lsn when it was closed. Durable on return.
func writeCleanStop(fsys durable.FS, lsn int64) error {
	raw, err := durable.AppendLine(nil, cleanStop{Format: CurrentFormat(), LSN: lsn})
	if err != nil {
		return err
	}
	return writeFile(fsys, cleanStopFile, raw)
}

// readCleanStop returns the LSN of the last clean stop, 0 when there was none.
func readCleanStop(fsys durable.FS) (int64, error) {
	raw, err := durable.ReadFile(fsys, cleanStopFile)
	if errors.Is(err, errNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("read %s: %w", cleanStopFile, err)
	}
	var m cleanStop
	if line := bytes.TrimSuffix(raw, []byte("\n")); !durable.ValidLine(line) || json.Unmarshal(line, &m) != nil {
		return 0, &CorruptError{File: cleanStopFile, Line: 1, Detail: "its checksum does not match"}
	}
	return m.LSN, knownLine(cleanStopFile, bytes.TrimSuffix(raw, []byte("\n")), m.Format, new(cleanStop))
}
