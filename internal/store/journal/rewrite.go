package journal

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/store/compressed"
	"github.com/memsidecar/memsidecar/internal/store/durable"
)

// WaitIdle waits until everything staged is durable and no flusher runs. The result holds only while the caller keeps
// others from staging.
func (j *Journal) WaitIdle(ctx context.Context) error {
	if err := j.WaitDurable(ctx, j.Next()-1); err != nil {
		return err
	}
	for j.busy() {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(50 * time.Microsecond): // the flusher is about to return
		}
	}
	return j.Err()
}

// busy reports whether anything is staged or being written.
func (j *Journal) busy() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.err == nil && (j.flushing || j.pending != nil)
}

// Roll continues in a new segment, so that the present ones are not appended to any more. The journal must be idle
// (WaitIdle) and stay so. A current segment without records stays the current one.
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

// Fail turns the journal read-only. The caller uses it when an error of its own leaves unknown what the disk holds.
func (j *Journal) Fail(err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.failLocked(err)
}

// RewriteOptions says how Rewrite changes records that are already durable. Change is required unless MayChange is
// always false.
type RewriteOptions struct {
	Before int64 // records with this LSN and later ones stay as they are
	// MayChange reports whether a line may have to change. False positives only cost the decoding of the line.
	MayChange func(line []byte) bool
	// Change changes a record, or a part of a long one, and reports whether it did. It must be idempotent: after a
	// crash it runs again on records that it has changed.
	Change func(*Record) bool
	DryRun bool // only count
	// All rewrites every segment, whether or not something in it changes: after a crash it is unknown which of them are
	// durable.
	All bool
}

// RewriteCounts says how many segments and records Rewrite changed.
type RewriteCounts struct{ Segments, Records int }

// Rewrite changes records in place: a record keeps its LSN, group and operation and gets another line. Each segment is
// replaced by a rename, so readers see either the old file or the new one. Segments that hold only records from
// opts.Before on are left alone; unless it is a dry run, the current segment must be one of them. Durable on return.
//
// Errors: *CorruptError; memory.ErrDiskFull, after which another call continues; after a failed rename or directory
// sync the journal is read-only.
func (j *Journal) Rewrite(ctx context.Context, r RewriteOptions) (total RewriteCounts, err error) {
	// Trimming removes segments under the same lock.
	j.filesMu.Lock()
	defer j.filesMu.Unlock()
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

// rewriteSegment rewrites one segment and returns how many records it changed.
func (j *Journal) rewriteSegment(s segment, r RewriteOptions) (changed int, err error) {
	data, wasCompressed, err := readSegmentFile(j.fs, s.name)
	if err != nil {
		return 0, err
	}
	at, _, err := parseHeader(s, data)
	if err != nil {
		return 0, err
	}
	out := append(make([]byte, 0, len(data)), data[:at]...)
	for next := s.first; ; next++ {
		raw, good := nextRecordLine(data[at:], next)
		if !good {
			// What is not whole before r.Before was durable, so it is damage and not a torn write.
			if next < r.Before && !allZero(data[at:]) {
				return changed, &CorruptError{File: s.name,
					Detail: fmt.Sprintf("record %d is incomplete or damaged", next)}
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
	if wasCompressed {
		if out, err = compressed.Compress(out); err != nil {
			return changed, err
		}
	}
	return changed, j.replaceSegment(s, out)
}

// line returns the new line of a record, without newline, and whether it differs from raw.
func (r *RewriteOptions) line(raw []byte, lsn int64) (_ []byte, changed bool, err error) {
	if lsn >= r.Before || !r.MayChange(raw) {
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

// replaceSegment replaces a segment that nobody appends to: temporary file, sync, rename, sync of the directory. The
// directory sync is the commit point.
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
		// Nothing refers to the temporary file: whatever it holds, the segment is as before.
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
