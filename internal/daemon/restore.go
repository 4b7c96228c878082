package daemon

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/memsidecar/memsidecar/internal/backup"
	"github.com/memsidecar/memsidecar/internal/durable"
)

// Restore makes the data directory data of an archive, and checks that it holds what was backed up. No daemon may use the directory, and it must be
// empty or absent. archiveName is for the command that an interrupted restore tells people to run again. Durable on return.
//
// Errors: those of backup.Restore, memory.ErrLocked, memory.ErrUnsupportedFS.
func Restore(ctx context.Context, data string, archive io.Reader, archiveName string, now time.Time) (info backup.Info, err error) {
	made, err := looksEmpty(data)
	if err != nil {
		return info, err
	}
	root, release, err := openData(data)
	if err != nil {
		return info, err
	}
	defer func() {
		err = errors.Join(err, root.Close())
		if err != nil && made { // nothing is left of a directory that was not there; it is not removed when there is anything in it
			if os.Remove(filepath.Join(data, lockName)) == nil {
				_ = os.Remove(data)
			}
		}
		err = errors.Join(err, release())
	}()
	if err := syncParent(data); err != nil {
		return info, err
	}
	fsys := durable.Dir(root)
	remedy := fmt.Sprintf("run `memsidecar restore %s --data %s` again", archiveName, data)
	info, err = backup.Restore(ctx, fsys, archive, backup.Options{Fresh: strings.ToLower(rand.Text()[:12]), Now: now, Remedy: remedy})
	if err != nil {
		return info, err
	}
	return info, backup.CheckState(fsys, info)
}

// looksEmpty refuses a directory that a restore must not touch before anything is done to it, and reports whether there is none yet.
func looksEmpty(data string) (absent bool, err error) {
	root, err := os.OpenRoot(data)
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("open data directory: %w", err)
	}
	return false, errors.Join(backup.CheckEmpty(durable.Dir(root)), root.Close())
}

func syncParent(dir string) error {
	f, err := os.Open(filepath.Dir(dir))
	if err != nil {
		return fmt.Errorf("sync the directory above %s: %w", dir, err)
	}
	return errors.Join(f.Sync(), f.Close())
}
