package publish

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
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
	ErrForeign    = errors.New("was changed by somebody else")
)

// ForeignError says that a file is not what was published, and not what was claimed. It is an ErrForeign.
type ForeignError struct {
	Name string
	Hash string // SHA-256 of what is there
}

func (e *ForeignError) Error() string { return fmt.Sprintf("%s %v", e.Name, ErrForeign) }

// Is makes it an ErrForeign.
func (e *ForeignError) Is(target error) bool { return target == ErrForeign }

const (
	// What is under name.next is about to be published, or was published and has just been replaced. A file that is not whole
	// yet has the name of a temporary file.
	nextSuffix   = ".next"
	backupSuffix = ".bak"
)

// patience is how long a file that is open for writing is waited for.
const patience = time.Minute

// Files replaces files and remembers what it wrote, also across restarts, so that it knows when somebody else changed one.
// Such a file is not replaced before its bytes were claimed. What somebody wrote in the moment of the replacement is kept in
// quarantine/ with a record (Edit). It is safe for concurrent use.
//
// What it remembers is derived and may be lost: then every file counts as changed by somebody else.
type Files struct {
	// Displaced, when not nil, is told of every edit that turned up where nothing but a published file was expected, once its
	// bytes and its record are durable. It is called by the goroutine that found it, and may use the Files. Set it before the first use.
	Displaced func(Edit)

	fsys   durable.FS
	ledger string // where it is remembered
	now    func() time.Time
	logger *slog.Logger

	mu         sync.Mutex
	known      map[string]Known     // by file name, nil until it was read; guarded by mu, and so is all below
	seen       map[string]present   // what was hashed last of the files that are not as published, by name
	busySince  map[string]time.Time // of the files that were open for writing, when that was seen first
	writing    []Edit               // whose copies were open for writing
	found      []Edit               // to be announced when mu is free
	noExchange bool                 // the file system has none
}

// NewFiles returns Files that remember in ledger, which must be named index/published….json: by that Clean finds it. It is read at
// the first use.
func NewFiles(fsys durable.FS, ledger string, now func() time.Time, logger *slog.Logger) *Files {
	return &Files{
		fsys: fsys, ledger: ledger, now: now, logger: logger,
		seen: map[string]present{}, busySince: map[string]time.Time{},
	}
}

// SpaceDir is the directory of a space's published files: the root for the default space, spaces/NAME for others.
func SpaceDir(space string) string {
	if space == memory.DefaultSpace || space == "" {
		return "."
	}
	return path.Join("spaces", space)
}

// do runs op with what is remembered at hand, and announces what it found.
func (f *Files) do(op func() error) error {
	f.mu.Lock()
	err := f.loadLocked()
	if err == nil {
		f.recheckLocked()
		err = op()
	}
	found := f.found
	f.found = nil
	f.mu.Unlock()
	for _, e := range found {
		f.logger.Warn("what somebody else wrote into a published file was kept aside", "file", e.File, "copy", e.Copy, "edit", e.ID)
		if f.Displaced != nil {
			f.Displaced(e)
		}
	}
	return err
}

// Replace makes what write writes the content of name, and of the file from before name.bak when backup is set. There is no moment
// without a whole file under name. revision is remembered with it. Durable on return.
//
// Errors: those of the file system and of write, ErrNotRegular; *ForeignError, which is an ErrForeign, when what is there was
// neither published nor claimed; ErrBusyFile while somebody has the file open for writing, for a minute at most. The old file is
// then as it was. After an error of the file system it may be the new one, and the next call finishes what was begun.
func (f *Files) Replace(name string, revision int64, backup bool, write func(io.Writer) error) (size int64, err error) {
	err = f.do(func() error {
		size, err = f.replaceLocked(name, revision, backup, write)
		return err
	})
	return size, err
}

// turn is one publication.
type turn struct {
	name   string
	backup bool
	old    present // what is replaced
	bak    Known   // what the ledger had of the backup
	entry  Known   // what comes
}

func (f *Files) replaceLocked(name string, revision int64, backup bool, write func(io.Writer) error) (int64, error) {
	if err := makeDir(f.fsys, path.Dir(name)); err != nil {
		return 0, err
	}
	// What a publication that failed left must be out of the way.
	if err := f.settleLocked(name); err != nil {
		return 0, err
	}
	old, err := f.expectLocked(name)
	if err != nil {
		return 0, err
	}
	t := &turn{name: name, backup: backup && old.exists, old: old, bak: f.known[name+backupSuffix]}
	if t.backup {
		if err := f.knowBackupLocked(t); err != nil {
			return 0, err
		}
	}
	sum := newCounting()
	temp, err := durable.WriteTemp(f.fsys, name, func(w io.Writer) error { return write(io.MultiWriter(w, sum)) })
	if err != nil {
		return 0, err
	}
	defer func() { _ = f.fsys.Remove(temp) }() // when it is there still, and when it is another name of what was published
	info, err := f.fsys.Lstat(temp)
	if err != nil {
		return 0, fmt.Errorf("look at %s: %w", temp, err)
	}
	t.entry = Known{Hash: sum.hex(), Size: sum.size, ModTime: info.ModTime(), Revision: revision}
	if err := f.beginLocked(t); err != nil {
		return 0, err
	}
	if err := f.swapLocked(t, temp); err != nil {
		return 0, err
	}
	return t.entry.Size, f.finishLocked(t)
}

// expectLocked looks at what is to be replaced or removed, and insists that it is known and in nobody's hands.
func (f *Files) expectLocked(name string) (present, error) {
	p, err := f.inspectLocked(name)
	if err != nil {
		return p, err
	}
	if !p.writing {
		delete(f.busySince, name)
	} else if since, again := f.busySince[name]; !again {
		f.busySince[name] = f.now()
		return p, fmt.Errorf("%s %w", name, ErrBusyFile)
	} else if f.now().Sub(since) < patience {
		return p, fmt.Errorf("%s %w", name, ErrBusyFile)
	}
	if p.exists && !f.known[name].is(p.hash) {
		return p, &ForeignError{Name: name, Hash: p.hash}
	}
	return p, nil
}

// Remove removes name when it is what was published or claimed. A file that is not there is no error. Durable on return. Errors
// are those of Replace.
func (f *Files) Remove(name string) error {
	return f.do(func() error {
		if err := f.settleLocked(name); err != nil {
			return err
		}
		old, err := f.expectLocked(name)
		if err != nil {
			return err
		}
		if old.exists {
			// What is under the other name can be looked at without anybody changing the name meanwhile.
			if err := f.fsys.Rename(name, name+nextSuffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("remove %s: %w", name, err)
			}
			if err := f.syncDirOf(name); err != nil {
				return err
			}
			if _, err := f.resolveLocked(&turn{name: name, old: old}); err != nil {
				return err
			}
		}
		delete(f.known, name)
		return f.saveLocked()
	})
}

// SetAside keeps what somebody else wrote into name in quarantine/, as an Edit that is pending, and claims it, so that it may be
// replaced although it was not taken over. Durable on return.
func (f *Files) SetAside(name string) error {
	return f.do(func() error {
		p, err := f.inspectLocked(name)
		if err != nil || !p.exists || f.known[name].is(p.hash) {
			return err
		}
		e, err := KeepEdit(f.fsys, name, Edit{File: name, Hash: p.hash, Kind: Pending, At: f.now()})
		if err != nil {
			return err
		}
		f.found = append(f.found, e)
		return f.claimLocked(name, p.hash)
	})
}

// Yield calls op, a Replace or Remove of name. When that finds what somebody else wrote, foreign is called with the name, and the
// error is an ErrHeld; without a foreign the file is set aside and op is called again.
func (f *Files) Yield(name string, foreign func(name string), op func() error) error {
	for range 3 { // somebody may write again and again
		err := op()
		if !errors.Is(err, ErrForeign) {
			return err
		}
		if foreign != nil {
			foreign(name)
			return fmt.Errorf("%s %w", name, ErrHeld)
		}
		if err := f.SetAside(name); err != nil {
			return err
		}
	}
	return fmt.Errorf("%s %w", name, ErrBusyFile)
}

func (f *Files) syncDirOf(name string) error {
	if err := f.fsys.SyncDir(path.Dir(name)); err != nil {
		return fmt.Errorf("sync directory of %s: %w", name, err)
	}
	return nil
}
