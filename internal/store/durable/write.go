package durable

import (
	"bufio"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"
)

// A temporary file is named like the file it is to replace, followed by tempMark and tempRandom characters of
// the base 32 alphabet.
const (
	tempMark   = ".tmp-"
	tempRandom = 26
	base32     = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
)

// WriteFile replaces name by what write writes: a temporary file in the same directory (name + ".tmp-" + random),
// sync, rename, sync of the directory. Readers see the whole old or the whole new file, also after a crash.
// The mode is 0600. Writing is buffered.
//
// Durable on return. On error the old file is as it was and the temporary file is removed, with one exception: when
// only the last step, the sync of the directory, fails, the new file is in place and may not survive a crash.
// A crash may leave the temporary file; see CleanTemp.
func WriteFile(fsys FS, name string, write func(io.Writer) error) error {
	temp, err := WriteTemp(fsys, name, write)
	if err != nil {
		return err
	}
	// The rename is atomic; the sync of the directory is the commit point.
	if err := fsys.Rename(temp, name); err != nil {
		_ = fsys.Remove(temp) // the first error is the one that counts
		return fmt.Errorf("replace %s: %w", name, err)
	}
	if err := fsys.SyncDir(path.Dir(name)); err != nil {
		return fmt.Errorf("sync directory of %s: %w", name, err)
	}
	return nil
}

// WriteTemp is the first half of WriteFile: it writes and syncs the temporary file and returns its name, for a caller
// that has its own way of giving it the name. The contents are durable on return, the name of the temporary file is
// not.
func WriteTemp(fsys FS, name string, write func(io.Writer) error) (string, error) {
	temp := name + tempMark + rand.Text()
	f, err := fsys.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, fileMode)
	if err != nil {
		return "", fmt.Errorf("create temporary file: %w", err)
	}
	whole := false
	defer func() {
		// Also when write panics. The first error is the one that counts.
		if !whole {
			_ = f.Close()
			_ = fsys.Remove(temp)
		}
	}()
	w := bufio.NewWriterSize(f, 64<<10)
	if err := write(w); err != nil {
		return "", fmt.Errorf("write %s: %w", name, err)
	}
	if err := w.Flush(); err != nil {
		return "", fmt.Errorf("write %s: %w", name, err)
	}
	if err := f.Sync(); err != nil {
		return "", fmt.Errorf("sync %s: %w", name, err)
	}
	if err := f.Close(); err != nil {
		return "", fmt.Errorf("close %s: %w", name, err)
	}
	whole = true
	return temp, nil
}

// ReadFile reads a whole file.
func ReadFile(fsys FS, name string) ([]byte, error) {
	f, err := fsys.OpenFile(name, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	// One byte more lets the end be seen without growing the buffer.
	buf := make([]byte, 0, min(info.Size(), 1<<30)+1)
	for {
		n, err := f.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		if errors.Is(err, io.EOF) {
			return buf, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", name, err)
		}
		if len(buf) == cap(buf) {
			buf = append(buf, 0)[:len(buf)]
		}
	}
}

// CleanTemp removes from directory name the temporary files that a crash during WriteFile left, and returns their
// names, sorted, relative to the root of fsys. It touches nothing that is not named exactly as WriteFile does, and
// nothing in subdirectories. Call it before the first WriteFile in that directory. A missing directory has none.
func CleanTemp(fsys FS, name string) (removed []string, err error) {
	entries, err := fsys.ReadDir(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look for temporary files: %w", err)
	}
	for _, e := range entries {
		if !e.Type().IsRegular() || !isTemp(e.Name()) {
			continue
		}
		full := path.Join(name, e.Name())
		if err := fsys.Remove(full); err != nil {
			return removed, fmt.Errorf("remove temporary file: %w", err)
		}
		removed = append(removed, full)
	}
	return removed, nil
}

// isTemp reports whether base is a name that WriteTemp makes.
func isTemp(base string) bool {
	mark := strings.LastIndex(base, tempMark)
	if mark < 1 {
		return false
	}
	random := base[mark+len(tempMark):]
	return len(random) == tempRandom && strings.Trim(random, base32) == ""
}

// IsDiskFull reports whether err says that there is no space or quota left.
func IsDiskFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}
