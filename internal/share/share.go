// Package share keeps spaces equal on several machines, through a log in PostgreSQL that orders their operations.
//
// The local journal stays the truth of a daemon: writes are acknowledged as ever, and what is not sent yet is what the
// journal holds behind a position. What others appended is applied below one's own waiting operations, which are then
// expressed against the new head of the log (package merge). docs/shared.md is for people, docs/crash-safety.md lists
// the steps.
package share

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/reflector/review"
	"github.com/memsidecar/memsidecar/internal/share/pglog"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/durable"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

// Config configures Open. All fields but Poll are required.
type Config struct {
	Store  *store.Store
	FS     durable.FS
	Now    func() time.Time
	Logger *slog.Logger
	// Location decides into which daily log a conflict is written.
	Location *time.Location
	Host     string // name of this machine, for people at the others
	// Erase erases for good what was purged at another machine, or announced before a crash, and returns the texts that
	// were erased; see purge.Service.Erase. It must not call the Service.
	Erase func(ctx context.Context, req store.PurgeRequest) (texts []string, err error)
	// Mirror is what mirrors of spaces need of the rest of the program.
	Mirror MirrorSource
	// Fleet opens spaces when they are asked for; nil does not.
	Fleet *Fleet
	// Forget removes what the rest of the program keeps of a space that is dropped: its index and the files of that. It
	// must not call the Service. Only with spaces that were opened in a fleet.
	Forget func(space string) error
	// Loading is called while a space is joined, until what it returns is called: much is allocated that stays. nil
	// does nothing.
	Loading func() (done func())
	// Poll is how often the log is asked when nothing is announced; 0 is 5 s.
	Poll time.Duration
}

// defaultPoll is how often the log is asked where no announcement arrives.
const defaultPoll = 5 * time.Second

// Service shares spaces. It is a projection of the store, and is safe for concurrent use.
type Service struct {
	cfg     Config
	reviews *review.Service

	mu     sync.RWMutex
	spaces map[string]*space // by local name; guarded by mu
	logs   map[string]*space // by the identity of its log, once it is set up; guarded by mu
	links  map[string]*link  // by address; guarded by mu
	// mirrors keep the mirrors at an address. Guarded by mu.
	mirrors  map[string]*mirroring
	searches searches        // of mirrors
	run      context.Context //nolint:containedctx // links that start later end with the others; nil before Run; guarded by mu
	group    sync.WaitGroup

	fleet *fleet // nil without one

	// setup is held while a space is shared, joined or left; for reading while one is opened or dropped in a fleet.
	setup sync.RWMutex

	purgesMu sync.Mutex
	purges   []pendingPurge // that no log has yet, oldest first; guarded by purgesMu
	needless []string       // ids of purges since the start that a log did not need; guarded by purgesMu
}

// New returns a Service that shares nothing. It can be given to a store as a projection before Open.
func New() *Service {
	return &Service{spaces: map[string]*space{}, logs: map[string]*space{}, links: map[string]*link{},
		mirrors: map[string]*mirroring{}}
}

// Open reads what is shared. It is called once, before anything else writes to the store. Errors: a file of state that
// cannot be read; memory.ErrNewerVersion.
func (s *Service) Open(ctx context.Context, cfg Config) error {
	if cfg.Poll == 0 {
		cfg.Poll = defaultPoll
	}
	s.cfg, s.reviews = cfg, review.New(cfg.Store)
	states, err := loadStates(cfg.FS)
	if err != nil {
		return err
	}
	list, err := loadPurges(cfg.FS)
	if err != nil {
		return err
	}
	s.purges = list.Purges
	if states, err = s.dropLeftovers(ctx, states); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, st := range states {
		if st.Fleet && cfg.Fleet != nil {
			st.URL, st.Ack = cfg.Fleet.URL, cfg.Fleet.Ack
		}
		sp := newSpace(st.Space, st)
		s.spaces[st.Space], s.logs[st.Remote.Log] = sp, sp
	}
	resume(ctx, cfg.Store, s.spaces)
	if cfg.Fleet == nil {
		return nil
	}
	s.fleet = newFleet(s, *cfg.Fleet)
	return s.fleet.adopt()
}

// Run sends and receives until ctx ends.
func (s *Service) Run(ctx context.Context) error {
	s.mu.Lock()
	s.run = ctx
	for _, sp := range s.spaces {
		s.attach(sp)
	}
	if s.fleet != nil {
		s.group.Go(func() { s.fleet.run(ctx) })
	}
	s.mu.Unlock()
	<-ctx.Done()
	s.mu.Lock()
	s.run, s.links, s.mirrors = nil, map[string]*link{}, map[string]*mirroring{}
	for _, sp := range s.spaces {
		sp.end(true)
	}
	s.mu.Unlock()
	s.searches.end()
	s.group.Wait()
	return nil
}

// attach gives a space to the link of its address. The caller holds mu.
func (s *Service) attach(sp *space) {
	if s.run == nil {
		return
	}
	l := s.links[sp.state.URL]
	if l == nil {
		l = newLink(s, sp.state.URL)
		s.links[sp.state.URL] = l
		ctx, cancel := context.WithCancel(s.run)
		l.end = cancel
		s.group.Go(func() { defer cancel(); l.run(ctx) })
	}
	l.add(sp)
	s.attachMirror(sp)
}

// detach takes a space from its link, and ends a link that has no other.
func (s *Service) detach(l *link, sp *space) {
	s.detachMirror(sp)
	l.remove(sp)
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(l.members()) == 0 && s.links[l.address] == l && (s.fleet == nil || s.fleet.cfg.URL != l.address) {
		delete(s.links, l.address)
		l.end()
	}
}

// Apply notes an operation of a shared space. The store calls it; see store.Projection.
func (s *Service) Apply(rec *journal.Record) {
	s.mu.RLock()
	sp := s.spaces[rec.Space]
	s.mu.RUnlock()
	if sp == nil {
		return
	}
	sp.note(rec)
	if s.fleet != nil && sp.state.Fleet {
		s.fleet.grow(rec)
	}
}

// Needed is the oldest local operation that is not in a log yet, or may not be: math.MaxInt64 when nothing waits. It is
// for store.Config.
func (s *Service) Needed() int64 {
	s.mu.RLock()
	defer s.mu.RUnlock()
	oldest := int64(math.MaxInt64)
	for _, sp := range s.spaces {
		oldest = min(oldest, sp.saved.Load()+1)
	}
	return oldest
}

// ReadOnly reports whether a space is one that this machine only receives. It is for store.Config.
func (s *Service) ReadOnly(name string) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	sp := s.spaces[name]
	return sp != nil && sp.readOnly
}

// Shared reports whether a space is shared.
func (s *Service) Shared(name string) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.spaces[name] != nil
}

// Names lists the shared spaces, sorted.
func (s *Service) Names() []string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return slices.Sorted(maps.Keys(s.spaces))
}

// Status is how the sharing of one space goes.
type Status struct {
	Space    string    // local name
	Remote   string    // name in the database
	Database string    // user, host and database, without a password
	Position int64     // newest row that is applied here
	Waiting  int       // operations that are acknowledged here and not in the log
	Oldest   time.Time // of the oldest of them that was looked at; zero when there is none
	Contact  time.Time
	Error    string // of the last attempt, "" when it succeeded
	Stopped  bool   // Error does not go away by itself
	ReadOnly bool   // the space is received and never written to
	Fleet    bool   // a request opened it
	Unlisted bool   // the user may not put this machine on the list of those that a purge waits for
	Ack      Ack    // what replies to writes wait for
	Logs     bool   // daily logs are sent and received
	// Purges are the newest ones, newest first.
	Purges []Purge
	// Mirror is nil when this machine keeps no mirror of the space.
	Mirror *MirrorStatus
}

// Status lists the shared spaces by name.
func (s *Service) Status() (out []Status) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, name := range slices.Sorted(maps.Keys(s.spaces)) {
		st := s.spaces[name].status()
		for _, p := range s.purgesOf(name) {
			pending := !slices.ContainsFunc(st.Purges, func(q Purge) bool { return q.ID == p.ID })
			if pending {
				st.Purges = append([]Purge{{ID: p.ID, At: p.At}}, st.Purges...)
			}
		}
		out = append(out, st)
	}
	return out
}

// Leave ends the sharing of a space. Its memories stay, here and at the others. Without force, an *UnsentError when
// operations wait; they stay here alone. Durable on return. Error: *memory.InvalidError for a space of a fleet.
func (s *Service) Leave(ctx context.Context, name string, force bool) error {
	s.setup.Lock()
	defer s.setup.Unlock()
	s.mu.RLock()
	sp := s.spaces[name]
	s.mu.RUnlock()
	if sp == nil {
		return &memory.NotFoundError{Kind: "shared space", Name: name}
	}
	if s.fleet != nil && sp.state.Fleet {
		var check memory.Check
		check.Add("space", "FLEET_SPACE", "is a space of the fleet, which leaves the node by itself when nobody uses it")
		return check.Err()
	}
	status := sp.status()
	if n := status.Waiting + len(s.purgesOf(name)); n > 0 && !force {
		return &UnsentError{name, n, status.Stopped}
	}
	s.mu.Lock()
	delete(s.spaces, name)
	if log := sp.state.Remote.Log; s.logs[log] == sp {
		delete(s.logs, log)
	}
	l := s.links[sp.state.URL]
	s.mu.Unlock()
	if l != nil {
		s.detach(l, sp)
	}
	sp.leave()
	if err := errors.Join(removeState(s.cfg.FS, name), s.changePurges(without(s.purgesOf(name)))); err != nil {
		return err
	}
	s.forgetMember(ctx, sp)
	return nil
}

// forgetMember removes this machine from the list of the space. That is only for people, so a failure is logged.
func (s *Service) forgetMember(ctx context.Context, sp *space) {
	log, err := pglog.Connect(ctx, sp.state.URL)
	if err == nil {
		err = errors.Join(log.RemoveMember(ctx, sp.state.Remote.ID, s.cfg.Store.Origin(), sp.state.Line), log.Close())
	}
	if err != nil {
		s.cfg.Logger.Info("the list of machines of the shared space still names this one", "space", sp.name, "err", err)
	}
}

// UnsentError says that operations would stay on this machine alone.
type UnsentError struct {
	Space   string
	Count   int
	Stopped bool // the exchange does not go on by itself, so waiting does not help
}

// Error says what to do.
func (e *UnsentError) Error() string {
	what := fmt.Sprintf("%d operations of space %q are", e.Count, e.Space)
	if e.Count == 1 {
		what = fmt.Sprintf("1 operation of space %q is", e.Space)
	}
	if e.Stopped {
		return what + " not sent, and the exchange has stopped: see `memsidecar share status`; with --force what is not " +
			"sent stays on this machine, and joining again sends what only this machine holds"
	}
	return what + " not sent yet; wait until `memsidecar share status` shows none, or use --force: what is not sent " +
		"stays on this machine"
}

// Is makes errors.Is(err, memory.ErrUnsent) true.
func (e *UnsentError) Is(target error) bool { return target == memory.ErrUnsent }

// DatabaseError is an error of the database while a space is shared or joined, with what a person can do. It matches
// memory.ErrDatabase.
type DatabaseError struct{ err error }

// Error is the error with the advice.
func (e *DatabaseError) Error() string { return describe(e.err) }

// Unwrap is the error of the database.
func (e *DatabaseError) Unwrap() error { return e.err }

// Is makes errors.Is(err, memory.ErrDatabase) true.
func (e *DatabaseError) Is(target error) bool { return target == memory.ErrDatabase }
