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

	"github.com/memsidecar/memsidecar/internal/durable"
	"github.com/memsidecar/memsidecar/internal/memory"
)

// Config of a Syncer. All fields but Path are required.
type Config struct {
	Store  Store
	FS     durable.FS // the directory of the view
	Format Format
	Space  string
	Now    func() time.Time
	Logger *slog.Logger

	// Path is where FS is on the disk, so that Run notices changes at once. When it is empty they are noticed every 30 seconds.
	Path string
}

// Syncer keeps one directory in step. It is safe for concurrent use; only one Syncer may have the directory.
type Syncer struct {
	cfg    Config
	layout layout

	mu      sync.Mutex // held by a round
	state   *state     // nil until it was read
	saved   string     // hash of what was remembered last
	missing map[string]time.Time
	odd     map[string]oddFile
}

// oddFile is a file that may be half written.
type oddFile struct {
	hash  string
	since time.Time
}

// New does no I/O.
func New(cfg Config) *Syncer {
	return &Syncer{cfg: cfg, layout: layoutOf(cfg.Format), missing: map[string]time.Time{}, odd: map[string]oddFile{}}
}

// Options of one round.
type Options struct {
	DryRun  bool // only say what would be done
	Accept  bool // also take what looks like a mistake: a file that was emptied, most entries removed
	Discard bool // write such files again instead
	Patient bool // wait a moment before a file that is missing, or looks cut off, is believed

	// Progress, when not nil, is called before each file is written, with the number of those done and of all.
	Progress func(done, all int)
}

// Report says what a round did, or would do.
type Report struct {
	Operations []int64
	Taken      []Taken
	Written    []string  // files, the new ones too
	Removed    []string  // files of memories that are gone
	Waiting    []Waiting // files that are left alone until somebody does something
	Kept       []string  // copies of what is not, or not wholly, in the store
	Notes      []Waiting // what else is to be known
	Memories   int       // that the store has

	Again time.Time // when another round is needed, zero for not before something changes
}

// ErrGone says that what the view remembers was removed while it was kept in step, perhaps with the whole directory. Nothing follows from that for
// the memories. A new Syncer writes the directory anew.
var ErrGone = errors.New("the directory of the view, or what the view remembers in it, was removed")

// Taken is a change of a file that went into the store.
type Taken struct {
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
	settleTime = 2 * time.Second
	patience   = time.Minute
)

// place is where a memory stands.
type place struct{ file, category string }

// round is one round.
type round struct {
	*Syncer
	opts    Options
	report  *Report
	files   map[string]found
	blocked map[string]string // what stands there and is no file of the view, and why
	st      *state            // becomes the state when the round is over
	by      map[string]*memory.Memory
	snap    *Snapshot

	changes []Change
	adopt   map[int]string    // entry files by the change that adds them
	held    map[string]string // files that are not written over, and why
	keep    map[string]bool   // files of which a copy is kept before they are written over
	busy    bool

	stands   map[string]place // memories that stand in a list where they did not before
	newEpoch bool             // revisions in files mean nothing
}

// Sync looks at the files, takes over what was changed in them, and writes what they do not say yet. It may be repeated at any time, after a crash too.
// Errors: those of the store and of the file system, ErrOtherView and ErrGone.
func (s *Syncer) Sync(ctx context.Context, opts Options) (Report, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := &round{Syncer: s, opts: opts, report: &Report{}, adopt: map[int]string{}, held: map[string]string{}, keep: map[string]bool{}, stands: map[string]place{}}
	if err := r.begin(ctx); err != nil {
		return *r.report, err
	}
	r.readAll()
	if opts.DryRun {
		r.preview()
		return *r.report, r.write(ctx)
	}
	if err := r.take(ctx); err != nil {
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

func (r *round) begin(ctx context.Context) error {
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
			r.cfg.Logger.Warn("it is not known any more what the view wrote; what is missing does not count as removed", "file", stateFile)
		}
		if !r.opts.DryRun {
			if err := tidy(r.cfg.FS, r.dirs(), st.wrote); err != nil {
				return err
			}
		}
		r.state = st
	}
	if r.snap, err = r.cfg.Store.Snapshot(ctx, r.layout.logs()); err != nil {
		return err
	}
	r.st = r.state.clone()
	switch {
	case r.st.Store == "":
		r.st.Store, r.st.Epoch = r.snap.Store, r.snap.Epoch
	case r.st.Store != r.snap.Store:
		return fmt.Errorf("the directory %w: of another store", ErrOtherView)
	case r.st.Epoch != r.snap.Epoch: // a backup was restored: revisions mean something else now
		r.st.Epoch, r.st.Faces, r.newEpoch = r.snap.Epoch, map[string][]face{}, true
	}
	r.lookUp()
	r.files, r.blocked, err = scan(r.cfg.FS, r.dirs())
	return err
}

func (s *state) wrote(hash string) bool {
	for _, k := range s.Files {
		if k.is(hash) {
			return true
		}
	}
	return false
}

func (r *round) lookUp() {
	r.report.Memories = len(r.snap.Memories)
	r.by = make(map[string]*memory.Memory, len(r.snap.Memories))
	for _, m := range r.snap.Memories {
		r.by[m.ID] = m
	}
}

// hold leaves a file alone, or when it is to be discarded has it kept aside and written again.
func (r *round) hold(name, why string) {
	if f := r.files[name]; r.opts.Discard && f.exists() && !f.writing {
		k := r.st.Files[name]
		k.Hash, k.Next = f.hash, ""
		r.st.Files[name], r.keep[name] = k, true
		return
	}
	r.held[name] = why
	r.report.Waiting = append(r.report.Waiting, Waiting{name, why})
}

func (r *round) later(d time.Duration) {
	if at := r.cfg.Now().Add(d); r.report.Again.IsZero() || at.Before(r.report.Again) {
		r.report.Again = at
	}
}

// young holds a file back for a moment, while it may be half written.
func (r *round) young(name string, f found) bool {
	if !r.opts.Patient && !f.writing {
		return false
	}
	now := r.cfg.Now()
	odd := r.odd[name]
	if odd.since.IsZero() {
		odd.since = now
	}
	if odd.hash != f.hash {
		odd.hash = f.hash
	}
	r.odd[name] = odd
	age := now.Sub(f.mod)
	if !f.writing && (age < 0 || age >= settleTime) || now.Sub(odd.since) >= patience {
		return false
	}
	r.held[name] = "is being written"
	if !r.opts.Patient {
		r.report.Waiting = append(r.report.Waiting, Waiting{name, "is being written at this moment"})
	}
	r.later(settleTime)
	return true
}

// away reports whether a file that is missing is to be believed missing.
func (r *round) away(name string) bool {
	if !r.opts.Patient {
		return true
	}
	since, waiting := r.missing[name]
	if !waiting {
		since = r.cfg.Now()
		r.missing[name] = since
	}
	if r.cfg.Now().Sub(since) >= settleTime {
		return true
	}
	r.held[name] = "is missing"
	r.later(settleTime)
	return false
}

func (r *round) readAll() {
	for name := range r.missing {
		if r.files[name].exists() {
			delete(r.missing, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.files)) {
		f := r.files[name]
		if k := r.st.Files[name]; k.is(f.hash) {
			k.Hash, k.Next = f.hash, ""
			r.st.Files[name] = k
			delete(r.odd, name)
		} else if f.writing && r.young(name, f) {
			continue
		}
	}
	for name, why := range r.blocked {
		if _, ours := r.st.Files[name]; ours || name == r.layout.index || slices.ContainsFunc(r.layout.lists, func(l listFile) bool { return l.name == name }) || r.logFiles()[name] != nil {
			r.hold(name, why)
		}
	}
	if r.layout.index != "" {
		r.readEntries()
		r.readIndex()
	}
	for _, l := range r.layout.lists {
		r.readList(l)
	}
	r.reunite()
}

// Reasons of outcomes that are known here.
const (
	ReasonStale = "STALE_REVISION" // it has another revision by now
	ReasonEqual = "EQUAL_EXISTS"   // another memory says the same; the outcome's id names it
)
