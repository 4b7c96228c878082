// Package session keeps what agents say and do until it has been reflected: messages are durable before anything looks at
// them, and a session ends by request, by idle time or at the next start, whichever comes first. It decides when a session is
// reflected; what is learnt from it, and that it is learnt once, is the reflector's.
package session

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/memsidecar/memsidecar/internal/journal"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/reflector"
	"github.com/memsidecar/memsidecar/internal/store"
)

// DefaultIdleAfter is how long a session may be silent before it counts as ended.
const DefaultIdleAfter = 30 * time.Minute

// Reasons why a session ended. Callers of End may give others.
const (
	ReasonReflect  = "reflect"   // a reflection was asked for
	ReasonIdle     = "idle"      // nothing came for a while, perhaps since an earlier run of the daemon
	ReasonHostExit = "host_exit" // the host said that it ends
)

// Reflector learns from a session. It marks the session reflected in the same operation as what it learnt.
type Reflector interface {
	Reflect(ctx context.Context, space, sessionID string, opts reflector.Options) (reflector.Result, error)
}

// Config of a Service. Store, Reflector, Now and Logger are required.
type Config struct {
	Store     *store.Store
	Reflector Reflector
	Now       func() time.Time
	Logger    *slog.Logger
	Location  *time.Location  // zone of the time given to messages that come without one; nil is UTC
	IdleAfter time.Duration   // 0 is DefaultIdleAfter
	Stopping  <-chan struct{} // closed when reflections are to end unfinished; nil is never
	Paused    func() bool     // capture is paused: nothing is appended or reflected; nil is never
}

// Service is safe for concurrent use.
type Service struct {
	store     *store.Store
	reflector Reflector
	now       func() time.Time
	logger    *slog.Logger
	loc       *time.Location
	idleAfter time.Duration
	paused    func() bool
	stopping  <-chan struct{}

	busy locks
	wake chan struct{} // tells Run that a session may be waiting

	mu      sync.Mutex
	retries map[key]retry // sessions whose reflection failed; guarded by mu
}

// key names a session.
type key struct{ space, id string }

// New returns a Service. Sessions end by idle time, and queued reflections happen, while Run runs.
func New(c Config) *Service {
	s := &Service{
		store: c.Store, reflector: c.Reflector, now: c.Now, logger: c.Logger, loc: c.Location,
		idleAfter: c.IdleAfter, paused: c.Paused, stopping: c.Stopping,
		wake: make(chan struct{}, 1), retries: map[key]retry{},
	}
	if s.loc == nil {
		s.loc = time.UTC
	}
	if s.idleAfter <= 0 {
		s.idleAfter = DefaultIdleAfter
	}
	if s.paused == nil {
		s.paused = func() bool { return false }
	}
	return s
}

// StartRequest asks for a session.
type StartRequest struct {
	Space string // "" is memory.DefaultSpace
	ID    string // the host's own id; "" makes one
	Host  string // agent or host program, at most memory.MaxTitle characters
	Cwd   string // run directory
	Key   string // idempotency key, "" for none
}

func (r *StartRequest) validate() error {
	var c memory.Check
	checkSession(&c, &r.Space, r.ID, false)
	c.Text("host", r.Host, memory.MaxTitle, false)
	c.Text("cwd", r.Cwd, memory.MaxContent, false)
	if r.Key != "" {
		c.ID("key", r.Key)
	}
	return c.Err()
}

// checkSession checks what names a session and fills in the default space.
func checkSession(c *memory.Check, space *string, id string, required bool) {
	if *space == "" {
		*space = memory.DefaultSpace
	}
	c.Slug("space", *space)
	if required || id != "" {
		c.ID("id", id)
	}
}

// Start opens a session. An open one of the same id is returned as it is; one that ended is opened again, and what comes from
// now on is reflected when it ends again. Durable on return.
func (s *Service) Start(ctx context.Context, req StartRequest) (*memory.Session, error) {
	if err := req.validate(); err != nil {
		return nil, err
	}
	request, err := json.Marshal(req) // before an id is made: a repeat of the request must look the same
	if err != nil {
		return nil, fmt.Errorf("encode the request: %w", err)
	}
	if req.ID == "" {
		req.ID = uuid.Must(uuid.NewV7()).String()
	}
	var header *memory.Session
	meta := s.meta(req.Space, req.ID, "start session")
	meta.Key, meta.Request = req.Key, request
	res, err := s.store.Update(ctx, meta, func(tx *store.Tx) error {
		header = tx.Session(req.ID)
		tx.Report(journal.Outcome{ID: req.ID, Status: journal.Applied})
		next := openHeader(header, req.ID, tx.Now())
		if req.Host != "" {
			next.Host = req.Host
		}
		if req.Cwd != "" {
			next.Cwd = req.Cwd
		}
		if header == nil || *header != *next {
			tx.PutSession(next)
			header = next
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("start session: %w", err)
	}
	if res.Replayed && len(res.Outcomes) > 0 {
		return s.Get(req.Space, res.Outcomes[0].ID)
	}
	return header, nil
}

// openHeader is the header of a session that is open from now on: a new one, or known itself re-opened. Its age counts from
// now unless it was open already.
func openHeader(known *memory.Session, id string, now time.Time) *memory.Session {
	if known == nil {
		return &memory.Session{ID: id, State: memory.SessionOpen, StartedAt: now, LastAt: now, NextSeq: 1}
	}
	next := *known
	if next.State != memory.SessionOpen {
		next.State, next.EndedAt, next.EndReason, next.LastAt = memory.SessionOpen, time.Time{}, "", now
	}
	return &next
}

func (s *Service) meta(space, id, reason string) store.Meta {
	return store.Meta{Space: space, Actor: journal.ActorSession, Reason: reason, Session: id}
}

// Get returns a session. Error: memory.ErrNotFound.
func (s *Service) Get(space, id string) (*memory.Session, error) {
	return s.store.Space(space).Session(id)
}

// List returns the sessions of a space in a state, newest first; all when state is "". The slice is the caller's.
func (s *Service) List(space string, state memory.SessionState) []*memory.Session {
	out := slices.DeleteFunc(s.store.Space(space).Sessions(), func(h *memory.Session) bool {
		return state != "" && h.State != state
	})
	slices.Reverse(out)
	return out
}

// Messages returns the messages of a session from sequence number from on, as they are kept: redacted and cut to size.
// Error: memory.ErrNotFound.
func (s *Service) Messages(space, id string, from int64) ([]*memory.Message, error) {
	return s.store.Space(space).Messages(id, from)
}
