package journal

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/memsidecar/memsidecar/internal/durable"
	"github.com/memsidecar/memsidecar/internal/memory"
)

// Idle waits until everything staged is durable and nobody writes. It holds only while the caller keeps others from staging.
func (j *Journal) Idle(ctx context.Context) error {
	if err := j.WaitFor(ctx, j.Next()-1); err != nil {
		return err
	}
	for j.busy() {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(50 * time.Microsecond): // a writer that has its group is about to leave
		}
	}
	return j.Err()
}

func (j *Journal) busy() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.err == nil && (j.flushing || j.pending != nil)
}

// Roll continues in a new segment, so that nothing is appended any more to those there are. The journal must be Idle and stay so. A current segment
// without records stays.
//
// Errors: memory.ErrDiskFull, after which everything is as before; memory.ErrReadOnly.
func (j *Journal) Roll() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.err == nil && j.lastSegment().first == j.synced+1 {
		return nil
	}
	if j.err == nil {
		j.flushing = true
		err := j.rollLocked()
		j.flushing = false
		if errors.Is(err, errNoSpace) {
			return fmt.Errorf("journal: %w: %w", memory.ErrDiskFull, err)
		}
	}
	if j.err != nil {
		return fmt.Errorf("%w: %w", memory.ErrReadOnly, j.err)
	}
	return nil
}

// Fail turns the journal read-only, because the caller does not know any more what the disk holds.
func (j *Journal) Fail(err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.failLocked(err)
}

// Rewriting says how records are changed after the fact.
type Rewriting struct {
	Before int64 // records with this LSN and later ones stay as they are
	// Concerns reports whether a line may have to change; it need not be exact.
	Concerns func(line []byte) bool
	// Change changes a record, or a part of a long one, and reports whether it did. It must do nothing the second time.
	Change func(*Record) bool
	DryRun bool // only count
	// All writes every segment anew, whether something in it changes or not: after a crash it is not known which of them are durable.
	All bool
}

// Rewritten counts what a rewriting changed.
type Rewritten struct{ Segments, Records int }

// Rewrite changes records in place: same LSN, group and operation, another line. Each segment is replaced at once by a rename, so that readers see the old
// lines or the new ones. Segments that hold only records from Before on are left alone; but for a dry run the current one must be among them. Durable on return.
//
// Errors: *CorruptError; memory.ErrDiskFull, after which another call goes on; after a failed rename or sync of the directory the journal is read-only.
func (j *Journal) Rewrite(ctx context.Context, r Rewriting) (total Rewritten, err error) {
	j.upkeep.Lock()
	defer j.upkeep.Unlock()
	j.mu.Lock()
	segments, current, synced := append([]segment(nil), j.segments...), j.lastSegment(), j.synced
	j.mu.Unlock()
	r.Before = min(r.Before, synced+1)
	for _, s := range segments {
		if s.first >= r.Before {
			break
		}
		if s == current && !r.DryRun {
			return total, fmt.Errorf("rewrite %s: it is the current segment", s.name)
		}
		if err := ctx.Err(); err != nil {
			return total, err
		}
		n, err := j.rewriteSegment(s, r)
		total.Records += n
		if n > 0 {
			total.Segments++
		}
		if err != nil {
			return total, err
		}
	}
	return total, nil
}

func (j *Journal) rewriteSegment(s segment, r Rewriting) (changed int, err error) {
	data, at, _, err := readSegment(j.fs, s)
	if err != nil {
		return 0, err
	}
	out := append(make([]byte, 0, len(data)), data[:at]...)
	for next := s.first; ; next++ {
		raw, good := nextGood(data[at:], next)
		if !good {
			if next < r.Before && !allZero(data[at:]) {
				return changed, &CorruptError{File: s.name, Detail: fmt.Sprintf("record %d is not whole", next)}
			}
			break
		}
		at += len(raw) + 1
		line, did, err := r.line(raw, next)
		if err != nil {
			return changed, &CorruptError{File: s.name, Detail: fmt.Sprintf("record %d: %v", next, err)}
		}
		if did {
			changed++
		}
		out = append(append(out, line...), '\n')
	}
	if r.DryRun || changed == 0 && !r.All {
		return changed, nil
	}
	return changed, j.replaceSegment(s, out)
}

// line returns the line of a record as it is to be.
func (r *Rewriting) line(raw []byte, lsn int64) (_ []byte, changed bool, err error) {
	if lsn >= r.Before || !r.Concerns(raw) {
		return raw, false, nil
	}
	rec, err := decodeLine(raw)
	if err != nil {
		return nil, false, err
	}
	if !r.Change(rec) {
		return raw, false, nil
	}
	line, err := durable.AppendLine(nil, rec)
	return bytes.TrimSuffix(line, []byte("\n")), true, err
}

// replaceSegment puts a synced file in the place of a segment that nobody writes.
func (j *Journal) replaceSegment(s segment, data []byte) error {
	temp := s.name + ".tmp-" + rand.Text() // named so that durable.CleanTemp finds it
	f, err := j.fs.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err == nil {
		_, err = f.Write(data)
		if err == nil {
			err = f.Sync()
		}
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		// Nobody knows the file yet: whatever became of it, the segment is as it was.
		_ = j.fs.Remove(temp)
		if durable.IsDiskFull(err) {
			err = fmt.Errorf("%w: %w", memory.ErrDiskFull, err)
		}
		return fmt.Errorf("rewrite %s: %w", s.name, err)
	}
	if err = j.fs.Rename(temp, s.name); err == nil {
		err = j.fs.SyncDir(dir)
	}
	if err != nil {
		err = fmt.Errorf("rewrite %s: %w", s.name, err)
		j.Fail(err)
		return fmt.Errorf("%w: %w", memory.ErrReadOnly, err)
	}
	return nil
}
