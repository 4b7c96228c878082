// Package session keeps what agents say and do until it has been reflected: messages are durable before anything looks at
// them, and a session ends by request, by idle time, with its host's process or at the next start, whichever comes first. It
// decides when a session is reflected; what is learnt from it, and that it is learnt once, is the reflector's.
package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/memsidecar/memsidecar/internal/erase"
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
	ReasonHostExit = "host_exit" // the host said that it ends, or its process has
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
	// HostStarted is when a process was started, ok false when it does not run; nil asks the system.
	HostStarted func(pid int) (at time.Time, ok bool)
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

	hostStarted func(pid int) (time.Time, bool)
	hosts       hosts // used by Run alone

	busy     locks
	works    works
	contexts contextCache
	wake     chan struct{} // tells Run that a session may be waiting

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
	s.hosts.ended = s.nudge
	if s.hostStarted = c.HostStarted; s.hostStarted == nil {
		s.hostStarted, s.hosts.open = processStarted, openExit
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

	HostPID     int       `json:",omitempty"` // process of the host, 0 when not known
	HostStarted time.Time `json:",omitzero"`  // when that process was started

	// Context makes what the agent is told at the start. It is called only when the session has none yet; nil for none.
	Context func(ctx context.Context) (string, error) `json:"-"`

	lost bool // the session had a context that is not known any more: it was purged, or left out of an export
}

// Started is a session that was opened.
type Started struct {
	*memory.Session
	Context  string // what the agent is told, the same whenever it is asked for
	Repeated bool   // it was given before
}

func (r *StartRequest) validate() error {
	var c memory.Check
	checkSession(&c, &r.Space, r.ID, false)
	c.Text("host", r.Host, memory.MaxTitle, false)
	c.Text("cwd", r.Cwd, memory.MaxContent, false)
	if r.HostPID < 0 {
		c.Add("host_pid", "OUT_OF_RANGE", "must not be negative")
	}
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
// now on is reflected when it ends again. A context is made once and kept with the session. Durable on return.
func (s *Service) Start(ctx context.Context, req StartRequest) (Started, error) {
	if err := req.validate(); err != nil {
		return Started{}, err
	}
	request, err := json.Marshal(req) // before an id is made: a repeat of the request must look the same
	if err != nil {
		return Started{}, fmt.Errorf("encode the request: %w", err)
	}
	if req.ID == "" {
		req.ID = uuid.Must(uuid.NewV7()).String()
	}
	s.settleHost(&req)
	told, err := s.contextFor(ctx, &req)
	if err != nil {
		return Started{}, fmt.Errorf("start session: %w", err)
	}
	meta := s.meta(req.Space, req.ID, "start session")
	meta.Key, meta.Request = req.Key, request
	var out Started
	res, err := s.store.Update(ctx, meta, func(tx *store.Tx) error {
		tx.Report(journal.Outcome{ID: req.ID, Status: journal.Applied})
		out, err = req.apply(tx, told)
		return err
	})
	if err != nil {
		return Started{}, fmt.Errorf("start session: %w", err)
	}
	if req.HostPID != 0 {
		s.nudge()
	}
	if res.Replayed && len(res.Outcomes) > 0 {
		if out.Session, err = s.Get(req.Space, res.Outcomes[0].ID); err != nil {
			return Started{}, err
		}
		out.Repeated = true
	}
	if req.Context != nil && out.Repeated {
		if out.Context, out.Repeated, err = s.Context(req.Space, out.ID); err != nil {
			return Started{}, fmt.Errorf("read the session's context: %w", err)
		}
	}
	return out, nil
}

// contextFor makes the context of a session that has none, nil when there is nothing to make. That of another Start of the same session,
// made meanwhile, wins.
func (s *Service) contextFor(ctx context.Context, req *StartRequest) (*string, error) {
	if req.Context == nil {
		return nil, nil
	}
	_, kept, err := s.Context(req.Space, req.ID)
	if kept || err != nil && !errors.Is(err, memory.ErrNotFound) {
		s.contexts.hits.Add(1)
		return nil, err
	}
	s.contexts.misses.Add(1)
	header, _ := s.Get(req.Space, req.ID)
	req.lost = header != nil && header.HasContext
	text, err := req.Context(ctx)
	return &text, err
}

// apply is the transaction.
func (r *StartRequest) apply(tx *store.Tx, told *string) (Started, error) {
	known := tx.Session(r.ID)
	next := openHeader(known, r.ID, tx.Now())
	if r.Host != "" {
		next.Host = r.Host
	}
	if r.Cwd != "" {
		next.Cwd = r.Cwd
	}
	if r.HostPID != 0 {
		next.HostPID, next.HostStarted = r.HostPID, r.HostStarted
	}
	out := Started{Session: next, Repeated: next.HasContext}
	if told != nil && (!next.HasContext || r.lost) {
		next.HasContext, out.Context, out.Repeated = true, *told, false
	}
	if known == nil || *known != *next {
		tx.PutSession(next)
	}
	if told == nil || out.Repeated {
		return out, nil
	}
	return out, tx.AppendMessage(r.ID, &memory.Message{At: tx.Now(), Role: memory.RoleContext, Content: *told})
}

// Context returns what the agent was told at the start of a session, and whether it was told anything that is still known: what was
// purged is not. Error: memory.ErrNotFound.
func (s *Service) Context(space, id string) (text string, kept bool, err error) {
	header, err := s.Get(space, id)
	if err != nil || !header.HasContext {
		return "", false, err
	}
	all, err := s.store.Space(space).Messages(id, 0)
	if err != nil {
		return "", false, err
	}
	for _, m := range all {
		if m.Role == memory.RoleContext && m.Seq == 0 {
			text, kept = m.Content, m.Content != erase.Mark
		}
	}
	return text, kept, nil
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
	return s.store.Space(space).Messages(id, max(from, 1))
}
