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
// repeat. Durable on return. After an error everything is as it was before.
//
// Errors: those of backup.Restore, memory.ErrLocked, memory.ErrUnsupportedFS.
func Restore(ctx context.Context, data string, archive io.Reader, archiveName string, now time.Time) (info backup.Info,
	err error) {
	if err := checkEmpty(data); err != nil {
		return info, err
	}
	before, err := namesIn(data)
	if err != nil {
		return info, err
	}
	created := missingDirs(data)
	root, release, err := openData(data)
	if err != nil {
		return info, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, removeNew(root, before))
		}
		err = errors.Join(err, root.Close())
		for _, dir := range created { // fails for one that is not empty
			if err == nil || os.Remove(dir) != nil {
				break
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

// checkEmpty rejects a directory that is not empty before anything is changed.
func checkEmpty(data string) error {
	root, err := os.OpenRoot(data)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("open data directory: %w", err)
	}
	return errors.Join(backup.CheckEmpty(durable.Dir(root), PublishedFiles()), root.Close())
}

// syncParent makes the entry of dir in its parent directory durable.
func syncParent(dir string) error {
	if err := durable.SyncDir(filepath.Dir(dir)); err != nil {
		return fmt.Errorf("sync the directory above %s: %w", dir, err)
	}
	return nil
}

// missingDirs returns the directories that opening data creates: it and those above it that do not exist, innermost
// first.
func missingDirs(data string) (dirs []string) {
	for dir := filepath.Clean(data); ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) || dir == filepath.Dir(dir) {
			return dirs
		}
		dirs = append(dirs, dir)
	}
}

// namesIn returns what a directory holds, nothing when there is none.
func namesIn(dir string) (map[string]bool, error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("look into %s: %w", dir, err)
	}
	names := map[string]bool{}
	for _, e := range entries {
		names[e.Name()] = true
	}
	return names, nil
}

// removeNew removes what root holds and before does not: a restore that failed leaves nothing behind, not even a state
// that was written whole and turned out to be another one than the archive says.
func removeNew(root *os.Root, before map[string]bool) error {
	now, err := namesIn(root.Name())
	for name := range now {
		if !before[name] {
			err = errors.Join(err, root.RemoveAll(name))
		}
	}
	return err
}
