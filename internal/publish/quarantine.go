package publish

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"time"

	"github.com/memsidecar/memsidecar/internal/durable"
)

const quarantineDir = "quarantine"

// quarantineLocked copies a file that is about to be replaced or removed.
func (f *Files) quarantineLocked(name string, old present) error {
	reason := fmt.Sprintf("%s was changed by another program or by hand, not by memsidecar.\n"+
		"Found: %s. Last changed: %s. Size: %d bytes. SHA-256: %s.\n\n"+
		"memsidecar was about to publish its own state under that name, so the file was copied here first, unchanged.\n"+
		"Its changes are not in the store. To bring them in, compare it with the published file and make the changes again\n"+
		"through memsidecar. When nothing in it is needed any more, delete both files; memsidecar never does.\n",
		name, f.now().Format(time.RFC3339), old.info.ModTime().Format(time.RFC3339), old.info.Size(), old.hash)
	dest, kept, err := Keep(f.fsys, name, old.hash, reason)
	if err != nil {
		return err
	}
	if kept {
		f.logger.Warn("a published file was changed by somebody else; it was kept aside", "file", name, "copy", dest)
	}
	return nil
}

// Keep copies the file name, whose SHA-256 is hash, to quarantine/, beside a text that says why. The place follows from name and
// hash: what is there already is not copied again, and kept is false. Durable on return.
//
// Errors: those of the file system; ErrBusyFile when the file has another hash by now.
func Keep(fsys durable.FS, name, hash, reason string) (dest string, kept bool, err error) {
	base, ext := strings.ReplaceAll(name, "/", "_"), ""
	if i := strings.IndexByte(base, '.'); i > 0 {
		base, ext = base[:i], base[i:]
	}
	dest = path.Join(quarantineDir, base+"-"+hash[:12]+ext)
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

// copyFile makes dest a copy of name, and fails when its hash is not the one that is expected; "" expects none.
func copyFile(fsys durable.FS, name, dest, hash string) error {
	file, err := fsys.OpenFile(name, os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer file.Close()
	return durable.WriteFile(fsys, dest, func(w io.Writer) error {
		sum := &counting{hash: sha256.New()}
		if _, err := io.Copy(io.MultiWriter(w, sum), file); err != nil {
			return err
		}
		if hash != "" && sum.hex() != hash {
			return fmt.Errorf("%s %w", name, ErrBusyFile)
		}
		return nil
	})
}

// makeDir makes a directory and its parents durably.
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
