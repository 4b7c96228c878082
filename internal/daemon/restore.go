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

	"github.com/memsidecar/memsidecar/internal/store/backup"
	"github.com/memsidecar/memsidecar/internal/store/durable"
)

// Restore creates the data directory data from a backup archive and verifies it. The directory must be empty or
// missing, and in use by no daemon. archiveName appears in the command that an interrupted restore tells people to
// repeat. Durable on return.
//
// Errors: those of backup.Restore, memory.ErrLocked, memory.ErrUnsupportedFS.
func Restore(ctx context.Context, data string, archive io.Reader, archiveName string, now time.Time) (info backup.Info,
	err error) {
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
		// removes a directory created here; fails if it is not empty
		if err != nil && made {
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
	info, err = backup.Restore(ctx, fsys, archive, backup.Options{
		Published: PublishedFiles(), EpochSuffix: strings.ToLower(rand.Text()[:12]), Now: now, Remedy: remedy,
	})
	if err != nil {
		return info, err
	}
	return info, backup.CheckState(fsys, info)
}

// looksEmpty rejects a directory that is not empty before anything is changed, and reports whether it is missing.
func looksEmpty(data string) (absent bool, err error) {
	root, err := os.OpenRoot(data)
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("open data directory: %w", err)
	}
	return false, errors.Join(backup.CheckEmpty(durable.Dir(root), PublishedFiles()), root.Close())
}

// syncParent makes the entry of dir in its parent directory durable.
func syncParent(dir string) error {
	f, err := os.Open(filepath.Dir(dir))
	if err != nil {
		return fmt.Errorf("sync the directory above %s: %w", dir, err)
	}
	return errors.Join(f.Sync(), f.Close())
}
