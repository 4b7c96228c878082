package publish

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path"
	"sync"
	"time"

	"github.com/memsidecar/memsidecar/internal/durable"
	"github.com/memsidecar/memsidecar/internal/memory"
)

// Errors of Replace and Remove that an error of the file system does not explain.
var (
	ErrNotRegular = errors.New("is not a regular file; it was left alone")
	ErrBusyFile   = errors.New("is being changed by another program at this moment")
)

const (
	nextSuffix   = ".next" // the new file, complete and synced, before it takes the name
	backupSuffix = ".bak"
)

// Files replaces files and remembers what it wrote, also across restarts, so that it knows when somebody else changed one.
// A file that it does not recognise is copied to quarantine/ before it is replaced. It is safe for concurrent use.
//
// What it remembers is derived and may be lost: then every file counts as changed by somebody else until it was replaced once.
type Files struct {
	fsys   durable.FS
	ledger string // where it is remembered
	now    func() time.Time
	logger *slog.Logger

	mu    sync.Mutex
	known map[string]Known // by file name, nil until it was read; guarded by mu
}

// Replace makes what write writes the content of name, and of the file from before name.bak when backup is set. There is no moment
// without a whole file under name. revision is remembered with it. Durable on return.
//
// Errors: those of the file system and of write, ErrNotRegular, ErrBusyFile. The old file is then as it was.
func (f *Files) Replace(name string, revision int64, backup bool, write func(io.Writer) error) (size int64, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.loadLocked(); err != nil {
		return 0, err
	}
	if err := makeDir(f.fsys, path.Dir(name)); err != nil {
		return 0, err
	}
	// The new file, whole and synced, under another name.
	sum := &counting{hash: sha256.New()}
	next := name + nextSuffix
	err = durable.WriteFile(f.fsys, next, func(w io.Writer) error {
		return write(io.MultiWriter(w, sum))
	})
	if err != nil {
		return 0, err
	}
	defer func() {
		if err != nil {
			_ = f.fsys.Remove(next) // the first error counts
		}
	}()
	info, err := f.fsys.Lstat(next)
	if err != nil {
		return 0, fmt.Errorf("look at %s: %w", next, err)
	}
	entry := Known{Hash: sum.hex(), Size: sum.size, ModTime: info.ModTime(), Revision: revision}

	// A change between the look at the old file and the rename starts over: the window is a few system calls wide.
	for range 3 {
		old, err := f.prepareLocked(name, entry, backup)
		if err != nil {
			return 0, err
		}
		if same, err := f.unchanged(name, old); err != nil {
			return 0, err
		} else if same {
			return entry.Size, f.commitLocked(next, name, entry)
		}
	}
	return 0, fmt.Errorf("%s %w", name, ErrBusyFile)
}

// prepareLocked puts aside what must not be lost, makes the ledger know what is about to be there, and links the backup.
func (f *Files) prepareLocked(name string, entry Known, backup bool) (present, error) {
	old, err := f.inspect(name, entry.Hash)
	if err != nil {
		return old, err
	}
	noted := map[string]Known{}
	if old.foreign {
		if err := f.quarantineLocked(name, old); err != nil {
			return old, err
		}
	} else {
		entry.Previous = old.hash
	}
	noted[name] = entry
	backup = backup && old.exists && !old.foreign
	if backup {
		former, err := f.inspect(name+backupSuffix, old.hash)
		if err != nil {
			return old, err
		}
		kept := Known{Hash: old.hash, Size: old.info.Size(), ModTime: old.info.ModTime(), Revision: f.known[name].Revision}
		if former.foreign {
			if err := f.quarantineLocked(name+backupSuffix, former); err != nil {
				return old, err
			}
		} else {
			kept.Previous = former.hash
		}
		noted[name+backupSuffix] = kept
	}
	if err := f.noteLocked(noted); err != nil {
		return old, err
	}
	if backup {
		return old, f.backupLocked(name)
	}
	return old, nil
}

// backupLocked makes name.bak another name of the file under name.
func (f *Files) backupLocked(name string) error {
	bak := name + backupSuffix
	temp := bak + nextSuffix
	if err := f.fsys.Remove(temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove %s: %w", temp, err)
	}
	if err := f.fsys.Link(name, temp); err != nil {
		// Some file systems have no links: a copy does as well.
		return copyFile(f.fsys, name, bak, "")
	}
	if err := f.fsys.Rename(temp, bak); err != nil {
		return fmt.Errorf("replace %s: %w", bak, err)
	}
	// A rename between two names of one file leaves both.
	if err := f.fsys.Remove(temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove %s: %w", temp, err)
	}
	return nil
}

// commitLocked gives the new file its name. Commit point: the sync of the directory.
func (f *Files) commitLocked(next, name string, entry Known) error {
	if err := f.fsys.Rename(next, name); err != nil {
		return fmt.Errorf("replace %s: %w", name, err)
	}
	if err := f.fsys.SyncDir(path.Dir(name)); err != nil {
		return fmt.Errorf("sync directory of %s: %w", name, err)
	}
	entry.Previous = "" // from here on the old content under this name is somebody's doing
	f.known[name] = entry
	return nil
}

// Remove removes name when it is what was published; otherwise it is moved to quarantine/. A file that is not there is no error.
func (f *Files) Remove(name string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.loadLocked(); err != nil {
		return err
	}
	old, err := f.inspect(name, "")
	if err != nil {
		return err
	}
	if old.exists {
		if old.foreign {
			if err := f.quarantineLocked(name, old); err != nil {
				return err
			}
		}
		if same, err := f.unchanged(name, old); err != nil {
			return err
		} else if !same {
			return fmt.Errorf("%s %w", name, ErrBusyFile)
		}
		if err := f.fsys.Remove(name); err != nil {
			return fmt.Errorf("remove %s: %w", name, err)
		}
		if err := f.fsys.SyncDir(path.Dir(name)); err != nil {
			return fmt.Errorf("sync directory of %s: %w", name, err)
		}
	}
	delete(f.known, name)
	return f.saveLocked()
}

// present is what is found under a name.
type present struct {
	exists  bool
	foreign bool // not what was published
	hash    string
	info    fs.FileInfo
}

// SpaceDir is the directory of a space's published files: the root for the default space, spaces/NAME for others.
func SpaceDir(space string) string {
	if space == memory.DefaultSpace || space == "" {
		return "."
	}
	return path.Join("spaces", space)
}

// inspect looks at the file under name. ours is a hash that is recognised beside those remembered.
func (f *Files) inspect(name, ours string) (present, error) {
	info, err := f.fsys.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return present{}, nil
	}
	if err != nil {
		return present{}, fmt.Errorf("look at %s: %w", name, err)
	}
	if !info.Mode().IsRegular() {
		return present{}, fmt.Errorf("%s %w", name, ErrNotRegular)
	}
	p := present{exists: true, info: info}
	k, known := f.known[name]
	if known && !k.ModTime.IsZero() && k.Size == info.Size() && k.ModTime.Equal(info.ModTime()) {
		p.hash = k.Hash
		return p, nil
	}
	if p.hash, err = f.hashOf(name); err != nil {
		return present{}, err
	}
	p.foreign = p.hash != ours && (!known || p.hash != k.Hash && p.hash != k.Previous)
	return p, nil
}

// unchanged reports whether name is still the file that inspect saw.
func (f *Files) unchanged(name string, old present) (bool, error) {
	info, err := f.fsys.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return !old.exists, nil
	}
	if err != nil {
		return false, fmt.Errorf("look at %s: %w", name, err)
	}
	return old.exists && info.Size() == old.info.Size() && info.ModTime().Equal(old.info.ModTime()) &&
		info.Mode() == old.info.Mode(), nil
}

func (f *Files) hashOf(name string) (string, error) {
	file, err := f.fsys.OpenFile(name, os.O_RDONLY, 0)
	if err != nil {
		return "", err
	}
	defer file.Close()
	sum := &counting{hash: sha256.New()}
	if _, err := io.Copy(sum, file); err != nil {
		return "", fmt.Errorf("read %s: %w", name, err)
	}
	return sum.hex(), nil
}

// counting hashes and counts what is written to it.
type counting struct {
	hash hash.Hash
	size int64
}

func (c *counting) Write(p []byte) (int, error) {
	c.size += int64(len(p))
	return c.hash.Write(p)
}

func (c *counting) hex() string { return hex.EncodeToString(c.hash.Sum(nil)) }

// Clean removes what a crash may have left of files being written, in every directory that holds published files, what is
// remembered of them, or what was kept aside. It must come before anything writes there.
func Clean(fsys durable.FS) error {
	dirs := []string{".", "logs", "index", quarantineDir}
	spaces, err := fsys.ReadDir("spaces")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("look for temporary files: %w", err)
	}
	for _, e := range spaces {
		if e.IsDir() {
			dirs = append(dirs, path.Join("spaces", e.Name()), path.Join("spaces", e.Name(), "logs"))
		}
	}
	for _, dir := range dirs {
		if _, err := durable.CleanTemp(fsys, dir); err != nil {
			return err
		}
	}
	return nil
}
