package publish

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/memsidecar/memsidecar/internal/store/durable"
)

const quarantineDir = "quarantine"

// quarantineName is the name of a file with that content in quarantine/, in two parts. The hash in it makes a
// repetition find its own copy.
func quarantineName(name, hash string) (base, ext string) {
	base = strings.ReplaceAll(name, "/", "_")
	if i := strings.IndexByte(base, '.'); i > 0 {
		base, ext = base[:i], base[i:]
	}
	return base + "-" + hash[:min(12, len(hash))], ext
}

// Quarantine copies the file name, whose SHA-256 is hash, to quarantine/, beside a text with the reason. The path
// follows from name and hash: an existing copy is not made again, and kept is false. Durable on return.
//
// Errors: those of the file system; ErrBusyFile when the file has another hash by now.
func Quarantine(fsys durable.FS, name, hash, reason string) (dest string, kept bool, err error) {
	base, ext := quarantineName(name, hash)
	dest = path.Join(quarantineDir, base+ext)
	if err := makeDir(fsys, quarantineDir); err != nil {
		return dest, false, err
	}
	// WriteFile leaves a whole file or none, so one that is there is complete.
	if _, err := fsys.Lstat(dest); errors.Is(err, fs.ErrNotExist) {
		if err := copyFile(fsys, name, dest, hash); err != nil {
			return dest, false, fmt.Errorf("keep %s aside: %w", name, err)
		}
		kept = true
	} else if err != nil {
		return dest, false, fmt.Errorf("look at %s: %w", dest, err)
	}
	why := dest + ".reason.txt"
	if _, err := fsys.Lstat(why); !errors.Is(err, fs.ErrNotExist) {
		return dest, kept, err
	}
	err = durable.WriteFile(fsys, why, func(w io.Writer) error {
		_, err := io.WriteString(w, reason)
		return err
	})
	return dest, kept, err
}

// copyFile makes dest a copy of name. It fails when the hash is not the expected one; "" expects none.
func copyFile(fsys durable.FS, name, dest, hash string) error {
	file, err := fsys.OpenFile(name, os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer file.Close()
	return durable.WriteFile(fsys, dest, func(w io.Writer) error {
		sum := newHashCounter()
		if _, err := io.Copy(io.MultiWriter(w, sum), file); err != nil {
			return err
		}
		if hash != "" && sum.hex() != hash {
			return fmt.Errorf("%s %w", name, ErrBusyFile)
		}
		return nil
	})
}

// syncFile makes the bytes of a file durable, no matter who wrote them.
func syncFile(fsys durable.FS, name string) error {
	file, err := fsys.OpenFile(name, os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer file.Close()
	if err := file.Sync(); err != nil {
		return fmt.Errorf("sync %s: %w", name, err)
	}
	return nil
}

// hashOf returns the SHA-256 of a file in hexadecimal.
func hashOf(fsys durable.FS, name string) (string, error) {
	file, err := fsys.OpenFile(name, os.O_RDONLY, 0)
	if err != nil {
		return "", err
	}
	defer file.Close()
	sum := newHashCounter()
	if _, err := io.Copy(sum, file); err != nil {
		return "", fmt.Errorf("read %s: %w", name, err)
	}
	return sum.hex(), nil
}

// hashCounter hashes and counts the bytes written to it.
type hashCounter struct {
	hash hash.Hash
	size int64
}

// newHashCounter starts with no bytes.
func newHashCounter() *hashCounter { return &hashCounter{hash: sha256.New()} }

// Write never fails.
func (c *hashCounter) Write(p []byte) (int, error) {
	c.size += int64(len(p))
	return c.hash.Write(p)
}

// hex is the SHA-256 in hexadecimal.
func (c *hashCounter) hex() string { return hex.EncodeToString(c.hash.Sum(nil)) }

// makeDir creates a directory and its parents. Durable on return.
func makeDir(fsys durable.FS, dir string) error {
	if _, err := fsys.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := fsys.MkdirAll(dir); err != nil {
		return fmt.Errorf("make directory %s: %w", dir, err)
	}
	for parent := dir; parent != "."; {
		parent = path.Dir(parent)
		if err := fsys.SyncDir(parent); err != nil {
			return fmt.Errorf("sync directory %s: %w", parent, err)
		}
	}
	return nil
}
