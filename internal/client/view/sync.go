package view

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/store/durable"
)

// Config of a Syncer. All fields but Path are required.
type Config struct {
	Store  Store
	FS     durable.FS // the directory of the view
	Format Format
	Space  string
	Now    func() time.Time
	Logger *slog.Logger

	// Path is where FS is on the disk, so that Run notices changes at once. When it is empty they are noticed every
	// 30 seconds.
	Path string
}

// Syncer keeps one directory in step. It is safe for concurrent use; only one Syncer may have the directory.
type Syncer struct {
	cfg    Config
	layout layout

	mu         sync.Mutex // held by a pass
	state      *state     // nil until it was read
	saved      string     // hash of what was remembered last
	missing    map[string]time.Time
	incomplete map[string]incompleteFile
}

// incompleteFile is a file that may be half written.
type incompleteFile struct {
	hash  string
	since time.Time
}

// New does no I/O.
func New(cfg Config) *Syncer {
	return &Syncer{cfg: cfg, layout: layoutOf(cfg.Format), missing: map[string]time.Time{}, incomplete: map[string]incompleteFile{}}
}

// Options of one pass.
type Options struct {
	DryRun         bool // only say what would be done
	Accept         bool // also take what looks like a mistake: a file that was emptied, most entries removed
	Reject         bool // write such files again instead
	WaitForWriters bool // wait a moment before a file that is missing, or looks cut off, is believed

	// Progress, when not nil, is called before each file is written, with the number of those done and of all.
	Progress func(done, all int)
}

// Report says what a pass did, or would do.
type Report struct {
	Operations []string
	Adopted    []Adopted
	Written    []string  // files, the new ones too
	Removed    []string  // files of memories that are gone
	Waiting    []Waiting // files that are left alone until somebody does something
	Kept       []string  // copies of what is not, or not wholly, in the store
	Notes      []Waiting // what else is to be known
	Memories   int       // that the store has

	Again time.Time // when another pass is needed, zero for not before something changes
}

// ErrGone says that the state of the view was removed while it was kept in step, perhaps with the whole directory.
// Nothing follows from that for the memories. A new Syncer writes the directory anew.
var ErrGone = errors.New("the directory of the view, or what the view remembers in it, was removed")

// Adopted is a change of a file that went into the store.
type Adopted struct {
	File   string
	Kind   Kind
	ID     string // of the memory or log entry; "" in a dry run for one that is added
	Text   string // the beginning of what it says, for people
	Reason string // why it was refused, "" when it was not
	Both   bool   // the memory was changed on both sides: this one was added beside it
	Log    bool   // an entry of a daily log
}

// Waiting is a file with something to say about it.
type Waiting struct{ File, Why string }

const (
	quietTime = 2 * time.Second
	maxWait   = time.Minute
)

// listPosition is where a memory stands.
type listPosition struct{ file, category string }

// pass is one pass.
type pass struct {
	*Syncer
	opts       Options
	report     *Report
	files      map[string]fileState
	blocked    map[string]string // what stands there and is no file of the view, and why
	newState   *state            // becomes the state when the pass is over
	memoryByID map[string]*memory.Memory
	snapshot   *Snapshot

	changes     []Change
	filesOfAdds map[int]string    // entry files by the change that adds them
	skipped     map[string]string // files that are not written over, and why
	copyBefore  map[string]bool   // files of which a copy is kept before they are written over
	busy        bool

	alreadyListed map[string]listPosition // memories that stand in a list where they did not before
	newEpoch      bool                    // revisions in files mean nothing
}

// Sync looks at the files, adopts what was changed in them, and writes what they do not say yet. It may be
// repeated at any time, after a crash too. Errors: those of the store and of the file system, ErrOtherView and
// ErrGone.
func (s *Syncer) Sync(ctx context.Context, opts Options) (Report, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := &pass{Syncer: s, opts: opts, report: &Report{}, filesOfAdds: map[int]string{}, skipped: map[string]string{},
		copyBefore: map[string]bool{}, alreadyListed: map[string]listPosition{}}
	if err := r.load(ctx); err != nil {
		return *r.report, err
	}
	r.readAll()
	if opts.DryRun {
		r.previewChanges()
		return *r.report, r.write(ctx)
	}
	if err := r.applyChanges(ctx); err != nil {
		return *r.report, err
	}
	err := r.write(ctx)
	return *r.report, err
}

// dirs lists the directories with files of the view.
func (s *Syncer) dirs() []string {
	if s.layout.daily != "" {
		return []string{".", s.layout.daily}
	}
	return []string{"."}
}

// load reads the state, the store and the files. Errors: ErrGone, ErrOtherView, and those of the store and the file
// system.
func (r *pass) load(ctx context.Context) error {
	_, err := r.cfg.FS.Lstat(stateFile)
	if r.saved != "" && errors.Is(err, fs.ErrNotExist) {
		return ErrGone
	}
	if r.state == nil {
		st, damaged, err := loadState(r.cfg.FS, r.cfg.Format, r.cfg.Space)
		if err != nil {
			return err
		}
		if damaged {
			r.cfg.Logger.Warn("it is not known any more what the view wrote; what is missing does not count as removed",
				"file", stateFile)
		}
		if !r.opts.DryRun {
			if err := cleanUp(r.cfg.FS, r.dirs(), st.knowsHash); err != nil {
				return err
			}
		}
		r.state = st
	}
	if r.snapshot, err = r.cfg.Store.Snapshot(ctx, r.layout.logs()); err != nil {
		return err
	}
	r.newState = r.state.clone()
	switch {
	case r.newState.Store == "":
		r.newState.Store, r.newState.Epoch = r.snapshot.Store, r.snapshot.Epoch
	case r.newState.Store != r.snapshot.Store:
		return fmt.Errorf("the directory %w: of another store", ErrOtherView)
	case r.newState.Epoch != r.snapshot.Epoch: // a backup was restored: revisions mean something else now
		r.newState.Epoch, r.newState.Renderings, r.newEpoch = r.snapshot.Epoch, map[string][]rendering{}, true
	}
	r.indexMemories()
	r.files, r.blocked, err = scan(r.cfg.FS, r.dirs())
	return err
}

// knowsHash reports whether the view wrote or adopted a file with this hash.
func (s *state) knowsHash(hash string) bool {
	for _, k := range s.Files {
		if k.matches(hash) {
			return true
		}
	}
	return false
}

// indexMemories makes the memories of the snapshot available by id.
func (r *pass) indexMemories() {
	r.report.Memories = len(r.snapshot.Memories)
	r.memoryByID = make(map[string]*memory.Memory, len(r.snapshot.Memories))
	for _, m := range r.snapshot.Memories {
		r.memoryByID[m.ID] = m
	}
}

// holdBack leaves a file alone, or when it is to be discarded has it kept aside and written again.
func (r *pass) holdBack(name, why string) {
	if f := r.files[name]; r.opts.Reject && f.exists() && !f.writing {
		k := r.newState.Files[name]
		k.Hash, k.Next = f.hash, ""
		r.newState.Files[name], r.copyBefore[name] = k, true
		return
	}
	r.skipped[name] = why
	r.report.Waiting = append(r.report.Waiting, Waiting{name, why})
}

// runAgainIn asks for another pass after d at the latest.
func (r *pass) runAgainIn(d time.Duration) {
	if at := r.cfg.Now().Add(d); r.report.Again.IsZero() || at.Before(r.report.Again) {
		r.report.Again = at
	}
}

// waitForWriter holds a file back for a moment, while it may be half written.
func (r *pass) waitForWriter(name string, f fileState) bool {
	if !r.opts.WaitForWriters && !f.writing {
		return false
	}
	now := r.cfg.Now()
	odd := r.incomplete[name]
	if odd.since.IsZero() {
		odd.since = now
	}
	if odd.hash != f.hash {
		odd.hash = f.hash
	}
	r.incomplete[name] = odd
	age := now.Sub(f.mod)
	// A program that keeps a file open for ever must not stop its memories from being adopted.
	if !f.writing && (age < 0 || age >= quietTime) || now.Sub(odd.since) >= maxWait {
		return false
	}
	r.skipped[name] = "is being written"
	if !r.opts.WaitForWriters {
		r.report.Waiting = append(r.report.Waiting, Waiting{name, "is being written at this moment"})
	}
	r.runAgainIn(quietTime)
	return true
}

// confirmMissing reports whether a file that is missing is to be believed missing.
func (r *pass) confirmMissing(name string) bool {
	if !r.opts.WaitForWriters {
		return true
	}
	since, waiting := r.missing[name]
	if !waiting {
		since = r.cfg.Now()
		r.missing[name] = since
	}
	if r.cfg.Now().Sub(since) >= quietTime {
		return true
	}
	r.skipped[name] = "is missing"
	r.runAgainIn(quietTime)
	return false
}

// readAll compares every file with the state and plans the changes.
func (r *pass) readAll() {
	for name := range r.missing {
		if r.files[name].exists() {
			delete(r.missing, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.files)) {
		f := r.files[name]
		if k := r.newState.Files[name]; k.matches(f.hash) {
			k.Hash, k.Next = f.hash, ""
			r.newState.Files[name] = k
			delete(r.incomplete, name)
		} else if f.writing && r.waitForWriter(name, f) {
			continue
		}
	}
	for name, why := range r.blocked {
		// A directory or a link that bears another name than ours is nobody's business.
		if _, ours := r.newState.Files[name]; ours || name == r.layout.index ||
			slices.ContainsFunc(r.layout.lists, func(l listFile) bool { return l.name == name }) ||
			r.logFiles()[name] != nil {
			r.holdBack(name, why)
		}
	}
	if r.layout.index != "" {
		r.readEntries()
		r.readIndex()
	}
	for _, l := range r.layout.lists {
		r.readList(l)
	}
	r.detectMoves()
}

// Reasons of outcomes that are known here.
const (
	ReasonStale = "STALE_REVISION"  // it has another revision by now
	ReasonEqual = "EXACT_DUPLICATE" // another memory says the same; the outcome's id names it
)
