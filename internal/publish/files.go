package publish

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"path"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/memsidecar/memsidecar/internal/process/background"
	"github.com/memsidecar/memsidecar/internal/store/durable"
)

// Errors of Replace and Remove that an error of the file system does not explain.
var (
	ErrNotRegular = errors.New("is not a regular file; it was left alone")
	ErrBusyFile   = errors.New("is being changed by another program at this moment")
	ErrEdited     = errors.New("was changed by somebody else")
)

// EditedError says that a file is neither what was published nor what was claimed. It is an ErrEdited.
type EditedError struct {
	Name string
	Hash string // SHA-256 of what is there
}

func (e *EditedError) Error() string { return fmt.Sprintf("%s %v", e.Name, ErrEdited) }

// Is makes it an ErrEdited.
func (e *EditedError) Is(target error) bool { return target == ErrEdited }

const (
	// What is under name.next is about to be published, or was published and has just been replaced. A file that is
	// not whole yet has the name of a temporary file.
	nextSuffix   = ".next"
	backupSuffix = ".bak"
)

// busyTimeout is how long a file that is open for writing blocks its replacement. A program that holds it open for
// longer is not believed to be in the middle of a write.
const busyTimeout = time.Minute

// Files replaces files and remembers what it wrote, across restarts, so that it knows when somebody else changed
// one. Such a file is not replaced before its bytes are claimed. What somebody writes at the moment of the
// replacement is kept in quarantine/ with a record (Edit). It is safe for concurrent use.
//
// A replacement exchanges two names (renameat2 with RENAME_EXCHANGE, see renameat2(2); renamex_np with RENAME_SWAP
// on macOS), so the old file is still there afterwards, under name.next, and can be hashed when no writer can reach
// it by name. rename(2) alone would destroy a file that somebody put there since the last look.
//
// The manifest is derived and may be lost: then every file counts as changed by somebody else.
type Files struct {
	// OnDisplaced, when not nil, is called for every edit that turned up where nothing but a published file was
	// expected, once its bytes and its record are durable. It is called by the goroutine that found it, and may use
	// the Files. Set it before the first use.
	OnDisplaced func(Edit)
	// Busy reports whether requests are answered at the moment, for which writing a large file steps aside; nil is
	// never. Set it before the first use.
	Busy func() bool

	waiting  background.Waiters // for what is written
	rested   atomic.Int64       // how long what was written let others have the processor, in nanoseconds
	fsys     durable.FS
	manifest string // where it is remembered
	now      func() time.Time
	logger   *slog.Logger

	mu         sync.Mutex
	entries    map[string]ManifestEntry // by file name, nil until it was read; guarded by mu, and so is all below
	state      manifestState
	cleaned    map[string]bool      // directories of spaces without leftovers of a crash
	hashes     map[string]fileState // what was hashed last of the files that are not as published, by name
	busySince  map[string]time.Time // of the files that were open for writing, when that was seen first
	writing    []Edit               // whose copies were open for writing
	displaced  []Edit               // to be announced when mu is free
	noExchange bool                 // the file system has none

	recycleFrom int64 // see takeBackupLocked
}

// NewFiles returns Files that keep their manifest in a file that must be named index/published….json: Recover finds
// it by that name. The manifest is read at the first use.
func NewFiles(fsys durable.FS, manifest string, now func() time.Time, logger *slog.Logger) *Files {
	return &Files{
		fsys: fsys, manifest: manifest, now: now, logger: logger,
		hashes: map[string]fileState{}, busySince: map[string]time.Time{},
		state: manifestState{maxLog: minLogBytes}, recycleFrom: recycleFrom, cleaned: map[string]bool{},
	}
}

// do runs op with the manifest loaded, and announces the edits that op found once the lock is free.
func (f *Files) do(op func() error) error {
	done := f.waiting.Wait()
	f.mu.Lock()
	done()
	err := f.loadLocked()
	if err == nil {
		f.recheckWritersLocked()
		err = op()
	}
	found := f.displaced
	f.displaced = nil
	f.mu.Unlock()
	for _, e := range found {
		f.logger.Warn(
			"what somebody else wrote into a published file was kept aside",
			"file",
			e.File,
			"copy",
			e.Copy,
			"edit",
			e.ID,
		)
		if f.OnDisplaced != nil {
			f.OnDisplaced(e)
		}
	}
	return err
}

// Replace makes what write writes the content of name, and the previous file name.bak when backup is set. There is
// always a whole file under name. The manifest remembers revision with it. Durable on return.
//
// Errors: those of the file system and of write; ErrNotRegular; *EditedError, which is an ErrEdited, when the
// present file was neither published nor claimed; ErrBusyFile while somebody has the file open for writing, for a
// minute at most. The old file is then as it was. After an error of the file system it may be the new one, and the
// next call completes what was begun.
func (f *Files) Replace(
	name string,
	revision int64,
	backup bool,
	write func(io.Writer) error,
) (done Written, err error) {
	err = f.do(func() error {
		before := f.rested.Load()
		done, err = f.replaceLocked(name, revision, backup, write)
		done.Rested = time.Duration(f.rested.Load() - before)
		return err
	})
	return done, err
}

// cleanDirLocked removes what a crash left of files that were never published from the directory of a space, once. Only
// Files write temporary files there, and only one at a time. Recover does it for the other directories.
func (f *Files) cleanDirLocked(dir string) error {
	if !strings.HasPrefix(dir, spacesDir+"/") || f.cleaned[dir] {
		return nil
	}
	if _, err := durable.CleanTemp(f.fsys, dir); err != nil {
		return err
	}
	f.cleaned[dir] = true
	return nil
}

// replacement is one publication of a file.
//
// Steps: record in the manifest what is about to be published (pending), exchange the names, sync the directory
// (the commit point), dispose of the old file, record that it is complete. A crash between any two leaves either
// version whole under name, and Recover completes the rest.
type replacement struct {
	name   string
	backup bool
	old    fileState     // what is replaced
	bak    ManifestEntry // what the manifest had of the backup
	entry  ManifestEntry // what comes
}

// replaceLocked is Replace with the lock held.
func (f *Files) replaceLocked(name string, revision int64, backup bool, write func(io.Writer) error) (Written, error) {
	if err := makeDir(f.fsys, path.Dir(name)); err != nil {
		return Written{}, err
	}
	if err := f.cleanDirLocked(path.Dir(name)); err != nil {
		return Written{}, err
	}
	// What a publication that failed left must be out of the way.
	if err := f.completeLocked(name); err != nil {
		return Written{}, err
	}
	old, err := f.requirePublishedLocked(name)
	if err != nil {
		return Written{}, err
	}
	t := &replacement{name: name, backup: backup && old.exists, old: old, bak: f.entries[name+backupSuffix]}
	if t.backup {
		if err := f.adoptBackupLocked(t); err != nil {
			return Written{}, err
		}
	}
	temp, changed, err := f.writeTempLocked(t, write)
	if err != nil {
		return Written{}, err
	}
	defer func() { _ = f.fsys.Remove(temp) }() // when it is there still, and when it is another name of what was published
	info, err := f.fsys.Lstat(temp)
	if err != nil {
		return Written{}, fmt.Errorf("look at %s: %w", temp, err)
	}
	t.entry.ModTime, t.entry.Revision = info.ModTime(), revision
	if err := f.recordPendingLocked(t); err != nil {
		return Written{}, err
	}
	if err := f.exchangeLocked(t, temp); err != nil {
		return Written{}, err
	}
	return Written{Revision: revision, Bytes: t.entry.Size, Changed: changed}, f.completeReplacementLocked(t)
}

// requirePublishedLocked inspects what is about to be replaced or removed. It must be known, and not open for
// writing.
func (f *Files) requirePublishedLocked(name string) (fileState, error) {
	p, err := f.inspectLocked(name)
	if err != nil {
		return p, err
	}
	if !p.writing {
		delete(f.busySince, name)
	} else if since, again := f.busySince[name]; !again {
		f.busySince[name] = f.now()
		return p, fmt.Errorf("%s %w", name, ErrBusyFile)
	} else if f.now().Sub(since) < busyTimeout {
		return p, fmt.Errorf("%s %w", name, ErrBusyFile)
	}
	if p.exists && !f.entries[name].matches(p.hash) {
		return p, &EditedError{Name: name, Hash: p.hash}
	}
	return p, nil
}

// Remove removes name when it holds what was published or claimed. A missing file is no error. Durable on return.
// Errors as of Replace.
func (f *Files) Remove(name string) error {
	return f.do(func() error {
		if err := f.completeLocked(name); err != nil {
			return err
		}
		old, err := f.requirePublishedLocked(name)
		if err != nil {
			return err
		}
		if old.exists {
			// Recover looks for the other name where a record is pending.
			k := f.entries[name]
			k.Pending = true
			if err := f.recordLocked(manifestChange{name: &k}, synced); err != nil {
				return err
			}
			// What is under the other name can be looked at without anybody changing the name meanwhile.
			if err := f.fsys.Rename(name, name+nextSuffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("remove %s: %w", name, err)
			}
			if err := f.syncDirOf(name); err != nil {
				return err
			}
			if _, err := f.disposeOldLocked(&replacement{name: name, old: old}); err != nil {
				return err
			}
		}
		return f.dropLocked(name)
	})
}

// Quarantine copies what somebody else wrote into name to quarantine/, as a pending Edit, and claims it: the file
// may then be replaced although nobody adopted the edit. Durable on return.
func (f *Files) Quarantine(name string) error {
	return f.do(func() error {
		p, err := f.inspectLocked(name)
		if err != nil || !p.exists || f.entries[name].matches(p.hash) {
			return err
		}
		e, err := QuarantineEdit(f.fsys, name, Edit{File: name, Hash: p.hash, Kind: Pending, At: f.now()})
		if err != nil {
			return err
		}
		f.displaced = append(f.displaced, e)
		return f.claimLocked(name, p.hash)
	})
}

// syncDirOf makes the names in the file's directory durable.
func (f *Files) syncDirOf(name string) error {
	if err := f.fsys.SyncDir(path.Dir(name)); err != nil {
		return fmt.Errorf("sync directory of %s: %w", name, err)
	}
	return nil
}
