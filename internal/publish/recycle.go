package publish

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/memsidecar/memsidecar/internal/store/durable"
)

const (
	// recycleFrom is the size of a backup in bytes from which it is worth two more syncs to write only what differs.
	recycleFrom = 64 << 10
	// recycleBlock is what is compared and written at once: a page of the kernel's cache, which is written whole
	// anyway.
	recycleBlock = 4 << 10
	// recycleBuffer is how much of a file is compared in one go. It is a multiple of recycleBlock.
	recycleBuffer = 64 << 10
)

// writeTempLocked writes a new version into a temporary file, durably, and returns its name and how many bytes were
// written. A large backup that is about to be replaced anyway becomes that file, and only the blocks that differ are
// written: memory.json grows at its end, so that few do, and a steady stream of additions does not write the whole file
// each time.
//
// The entry of t gets the hash and the size.
func (f *Files) writeTempLocked(t *replacement, write func(io.Writer) error) (temp string, written int64, err error) {
	sum := newHashCounter()
	hashed := func(w io.Writer) error { return write(f.AtLeisure(io.MultiWriter(w, sum))) }
	defer func() { t.entry.Hash, t.entry.Size = sum.hex(), sum.size }()
	if temp, err = f.takeBackupLocked(t); err != nil {
		return "", 0, err
	}
	if temp == "" {
		temp, err = durable.WriteTemp(f.fsys, t.name, hashed)
		return temp, sum.size, err
	}
	if written, err = f.overwrite(temp, hashed); err != nil {
		_ = f.fsys.Remove(temp) // the first error counts; memory.json is whole
		return "", 0, fmt.Errorf("write %s: %w", t.name, err)
	}
	return temp, written, nil
}

// takeBackupLocked renames the backup to a temporary file, durably, and returns its name; "" when it cannot be
// overwritten: it is small, not exactly what was published, or somebody may see it in another way than by its name. The
// rename is durable before the first byte changes: after a crash there is the whole backup, or a temporary file that
// the start removes.
func (f *Files) takeBackupLocked(t *replacement) (string, error) {
	bak := t.name + backupSuffix
	ours := func(name string) (p fileState, ok bool, err error) {
		if p, err = f.lstatLocked(name); err != nil || !p.exists || p.writing || p.racy || !t.bak.sameStat(p.info) {
			return p, false, err
		}
		ok, err = f.fsys.Unshared(name)
		return p, ok, err
	}
	if !t.backup || t.bak.Hash == "" || t.bak.Size < f.recycleFrom || f.noExchange {
		return "", nil
	}
	if _, ok, err := ours(bak); err != nil || !ok {
		return "", nil // what is wrong with it is seen when it is replaced
	}
	temp := t.name + ".tmp-" + rand.Text() // named so that durable.CleanTemp finds it
	if err := f.fsys.Rename(bak, temp); err != nil {
		return "", fmt.Errorf("reuse %s: %w", bak, err)
	}
	// Now that nobody can open it by its name, nobody who has it open may have come in between.
	p, ok, err := ours(temp)
	if err == nil && ok {
		if err = f.syncDirOf(t.name); err == nil {
			return temp, nil
		}
	}
	if err == nil {
		if err = f.fsys.Link(temp, bak); err == nil {
			return "", f.fsys.Remove(temp)
		}
		if p.hash, err = hashOf(f.fsys, temp); err == nil {
			return "", f.quarantineDisplacedLocked(temp, t.name, p) // somebody made another backup meanwhile
		}
	}
	return "", errors.Join(err, f.fsys.Link(temp, bak))
}

// overwrite makes what write writes the content of an existing file, by writing the blocks that differ. It returns how
// many bytes that were. Durable on return; after an error the content is undefined.
func (f *Files) overwrite(name string, write func(io.Writer) error) (written int64, err error) {
	file, err := f.fsys.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	w := &blockWriter{file: file, buf: make([]byte, 0, recycleBuffer), old: make([]byte, recycleBuffer)}
	if err := write(w); err != nil {
		return 0, err
	}
	if err := w.flush(); err != nil {
		return 0, err
	}
	if err := file.Truncate(w.at); err != nil {
		return 0, err
	}
	return w.written, file.Sync()
}

// blockWriter writes a file anew from its beginning and leaves out the blocks that are there already.
type blockWriter struct {
	file    durable.File
	buf     []byte // what is to come at offset at
	old     []byte // scratch: what is there now
	at      int64
	written int64
}

func (w *blockWriter) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 {
		k := min(len(p), cap(w.buf)-len(w.buf))
		w.buf, p = append(w.buf, p[:k]...), p[k:]
		if len(w.buf) == cap(w.buf) {
			if err := w.flush(); err != nil {
				return 0, err
			}
		}
	}
	return n, nil
}

// flush compares the buffer with the file and writes each run of blocks that differ.
func (w *blockWriter) flush() error {
	n, err := w.file.ReadAt(w.old[:len(w.buf)], w.at)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	old, from := w.old[:n], -1
	for at := 0; at <= len(w.buf); at += recycleBlock {
		end := min(at+recycleBlock, len(w.buf))
		same := at == len(w.buf) || end <= len(old) && bytes.Equal(w.buf[at:end], old[at:end])
		switch {
		case same && from >= 0:
			if _, err := w.file.WriteAt(w.buf[from:at], w.at+int64(from)); err != nil {
				return err
			}
			w.written += int64(at - from)
			from = -1
		case !same && from < 0:
			from = at
		}
	}
	if from >= 0 { // up to the end, in a buffer that is no whole number of blocks
		if _, err := w.file.WriteAt(w.buf[from:], w.at+int64(from)); err != nil {
			return err
		}
		w.written += int64(len(w.buf) - from)
	}
	w.at += int64(len(w.buf))
	w.buf = w.buf[:0]
	return nil
}
