package journal

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"

	"github.com/memsidecar/memsidecar/internal/store/compressed"
	"github.com/memsidecar/memsidecar/internal/store/durable"
)

// segmentFile is an open segment, read as if it were not compressed. It is not safe for concurrent use.
type segmentFile struct {
	io.ReaderAt
	size       int64 // when it was opened; the current segment grows
	compressed bool  // then bytes is the length of the file
	bytes      int64
	close      func()
}

// openSegment opens a segment for reading.
func openSegment(fsys durable.FS, name string) (*segmentFile, error) {
	f, err := fsys.OpenFile(name, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	var head [2]byte
	n, err := f.ReadAt(head[:], 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, errors.Join(err, f.Close())
	}
	info, err := f.Stat()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if !compressed.Is(head[:n]) {
		return &segmentFile{ReaderAt: f, size: info.Size(), close: func() { _ = f.Close() }}, nil
	}
	data := make([]byte, info.Size()) // a compressed file never changes
	_, err = io.ReadFull(io.NewSectionReader(f, 0, math.MaxInt64), data)
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	lines := compressed.Open(data)
	return &segmentFile{
		ReaderAt:   lines,
		size:       lines.Size(),
		compressed: true,
		bytes:      info.Size(),
		close:      func() {},
	}, nil
}

// Compress compresses the oldest segment that is not compressed, and reports whether there was one. Only segments that
// are not appended to any more, with records up to lsn, which a snapshot must include, are. One with damage stays as it
// is. A segment is replaced as Rewrite does, so readers see the old file or the new one, which hold the same. Durable
// on return.
//
// Errors: memory.ErrDiskFull, after which everything is as before; after a failed rename or directory sync the journal
// is read-only.
func (j *Journal) Compress(lsn int64) (bool, error) {
	j.filesMu.Lock()
	defer j.filesMu.Unlock()
	j.mu.Lock()
	segments := append([]segment(nil), j.segments...)
	j.mu.Unlock()
	for i := range len(segments) - 1 {
		s, next := segments[i], segments[i+1].first
		if next-1 > lsn {
			break
		}
		if s.settled {
			continue
		}
		did, err := j.compressSegment(s, next)
		if err == nil {
			j.settle(s)
		}
		if did || err != nil {
			return did, err
		}
	}
	return false, nil
}

// compressSegment compresses a segment, unless it is compressed or damaged. next is the LSN at which the next one
// begins.
func (j *Journal) compressSegment(s segment, next int64) (bool, error) {
	data, isCompressed, err := readSegmentFile(j.fs, s.name)
	if err != nil || isCompressed {
		return false, err
	}
	at, _, err := parseHeader(s, data)
	if _, damaged := errors.AsType[*CorruptError](err); err != nil && !damaged {
		return false, err
	}
	for lsn := s.first; err == nil && lsn < next; lsn++ {
		line, good := nextRecordLine(data[at:], lsn)
		if !good {
			err = &CorruptError{File: s.name, Detail: fmt.Sprintf("record %d is not whole", lsn)}
		}
		at += len(line) + 1
	}
	if err == nil && !allZero(data[at:]) {
		err = &CorruptError{File: s.name, Detail: "something else follows its records"}
	}
	if err != nil {
		j.log.Warn("a segment of the journal is not compressed", "error", err)
		return false, nil
	}
	out, err := compressed.Compress(data[:at])
	if err != nil {
		return false, err
	}
	return true, j.replaceSegment(s, out)
}

// settle remembers that a segment need not be looked at by Compress again.
func (j *Journal) settle(s segment) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for i := range j.segments {
		if j.segments[i].first == s.first {
			j.segments[i].settled = true
		}
	}
}

// decompress writes a compressed segment anew, for one that is appended to because the one behind it, which had no
// records, is gone. Durable on return.
func (j *Journal) decompress(s segment) error {
	f, err := openSegment(j.fs, s.name)
	if err != nil {
		return err
	}
	f.close()
	if !f.compressed {
		return nil
	}
	lines, _, err := readSegmentFile(j.fs, s.name)
	if err != nil {
		return err
	}
	return writeFile(j.fs, s.name, lines)
}
