// Package session records the sessions of agents: messages, tool calls and working memory. Messages are durable
// before they are used. A session ends by request, after idle time, or with its host's process, and is then
// reflected. This package decides when; package reflector decides what is learnt.
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

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/redact"
	"github.com/memsidecar/memsidecar/internal/reflector"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/journal"
	"github.com/memsidecar/memsidecar/internal/store/textscrub"
)

// DefaultIdleAfter is the time without messages after which a session ends.
const DefaultIdleAfter = 30 * time.Minute

// Reasons why a session ended. Callers of End may give others.
const (
	ReasonReflect  = "reflect"   // a reflection was requested
	ReasonIdle     = "idle"      // no message for Config.IdleAfter, possibly since an earlier process
	ReasonHostExit = "host_exit" // the host ended the session, or its process ended
)

// Reflector learns from a session. It marks the session as reflected in the same operation as the learnt memories.
type Reflector interface {
	Reflect(ctx context.Context, space, sessionID string, opts reflector.Options) (reflector.Result, error)
}

// Config of a Service. Store, Reflector, Now and Logger are required.
type Config struct {
	Store     *store.Store
	Reflector Reflector
	Now       func() time.Time
	Logger    *slog.Logger
	Location  *time.Location  // time zone of messages without a time; nil means UTC
	IdleAfter time.Duration   // 0 means DefaultIdleAfter
	Stopping  <-chan struct{} // closed when reflections must abort; nil means never
	// reports whether capture is paused, so that nothing is appended or reflected; nil means never
	Paused func() bool
	// ReflectDisabled keeps what sessions say and learns nothing from it: no memories, and no question to a model.
	ReflectDisabled bool
	// HostStarted returns the start time of a process; ok is false if it does not run. Nil asks the operating system.
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
	disabled  bool // no reflections
	stopping  <-chan struct{}

	hostStarted func(pid int) (time.Time, bool)
	hosts       hostWatcher // used by Run only

	reflecting   locks
	workingCache workingCache
	contexts     contextCache
	wake         chan struct{} // wakes Run when a session may need work

	mu      sync.Mutex
	retries map[key]retry // sessions whose reflection failed; guarded by mu
}

// key identifies a session.
type key struct{ space, id string }

// New returns a Service. It starts nothing: Run ends idle sessions and processes queued reflections.
func New(c Config) *Service {
	s := &Service{
		store: c.Store, reflector: c.Reflector, now: c.Now, logger: c.Logger, loc: c.Location,
		idleAfter: c.IdleAfter, paused: c.Paused, disabled: c.ReflectDisabled, stopping: c.Stopping,
		wake: make(chan struct{}, 1), retries: map[key]retry{},
	}
	s.hosts.ended = s.wakeRun
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

// StartRequest opens a session.
type StartRequest struct {
	Space string // "" is memory.DefaultSpace
	ID    string // the host's own id; "" makes one
	Host  string // agent or host program, at most memory.MaxTitle characters
	Cwd   string // run directory
	Key   string // idempotency key, "" for none

	HostPID     int       `json:",omitempty"` // process id of the host, 0 if unknown
	HostStarted time.Time `json:",omitzero"`  // start time of that process

	// Context builds the context that the agent gets at the start. It is called only if the session has none yet; nil
	// means no context.
	Context func(ctx context.Context) (string, error) `json:"-"`

	contextLost bool // the session's context is lost: it was purged, or not exported
}

// Started is an opened session.
type Started struct {
	*memory.Session
	Context  string // the context of the session, the same at every call
	Repeated bool   // the context was returned before

	// Result has one outcome, with the session's id: duplicate when the session was open already and nothing changed.
	Result store.Result
}

// validate reports every fault of the request at once; an empty id is allowed, the service then makes one.
func (r *StartRequest) validate() error {
	var c memory.Check
	checkSession(&c, &r.Space, r.ID, false)
	c.Text("host", r.Host, memory.MaxTitle, false)
	c.Text("cwd", r.Cwd, memory.MaxContent, false)
	if r.HostPID < 0 {
		c.Add("host_pid", "OUT_OF_RANGE", "must not be negative")
	}
	if r.Key != "" {
		c.ID("idempotency_key", r.Key)
	}
	return c.Err()
}

// checkSession validates the identification of a session and sets the default space.
func checkSession(c *memory.Check, space *string, id string, required bool) {
	if *space == "" {
		*space = memory.DefaultSpace
	}
	c.Slug("space", *space)
	if required || id != "" {
		c.ID("session_id", id)
	}
}

// Start opens a session. An open session with this id is returned unchanged; an ended one is reopened, and later
// messages are reflected when it ends again. The context is built once and stored with the session. Durable on
// return.
func (s *Service) Start(ctx context.Context, req StartRequest) (Started, error) {
	if err := req.validate(); err != nil {
		return Started{}, err
	}
	request, err := json.Marshal(req) // before an id is generated, so that a repeated request is identical
	if err != nil {
		return Started{}, fmt.Errorf("encode the request: %w", err)
	}
	if req.ID == "" {
		req.ID = uuid.Must(uuid.NewV7()).String()
	}
	s.verifyHost(&req)
	told, err := s.contextFor(ctx, &req)
	if err != nil {
		return Started{}, fmt.Errorf("start session: %w", err)
	}
	meta := s.meta(req.Space, req.ID, "start session")
	meta.Key, meta.Request = req.Key, request
	var out Started
	res, err := s.store.Update(ctx, meta, func(tx *store.Tx) error {
		before := tx.Session(req.ID)
		if out, err = req.apply(tx, told); err != nil {
			return err
		}
		outcome := journal.Outcome{ID: req.ID, Status: journal.Applied}
		if before != nil && before.State == memory.SessionOpen && *before == *out.Session {
			outcome.Status = journal.Duplicate
		}
		tx.Report(outcome)
		return nil
	})
	if err != nil {
		return Started{}, fmt.Errorf("start session: %w", err)
	}
	out.Result = res
	if req.HostPID != 0 {
		s.wakeRun()
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

// contextFor builds the context of a session that has none; nil if none is needed. The context of a concurrent Start
// of the same session wins.
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
	req.contextLost = header != nil && header.HasContext
	text, err := req.Context(ctx)
	return &text, err
}

// apply runs in the transaction of Start.
func (r *StartRequest) apply(tx *store.Tx, told *string) (Started, error) {
	known := tx.Session(r.ID)
	next := openHeader(known, r.ID, tx.Now())
	if r.Host != "" {
		next.Host, _ = redact.Text(r.Host)
	}
	if r.Cwd != "" {
		next.Cwd, _ = redact.Text(r.Cwd)
	}
	if r.HostPID != 0 {
		next.HostPID, next.HostStarted = r.HostPID, r.HostStarted
	}
	out := Started{Session: next, Repeated: next.HasContext}
	if told != nil && (!next.HasContext || r.contextLost) {
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

// Context returns the context that a session got at its start. kept is false if it got none, or it was purged. Error:
// memory.ErrNotFound.
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
		if m.Role == memory.RoleContext && m.Seq == 0 && m.Content != textscrub.Placeholder {
			text, kept = m.Content, true
		}
	}
	return text, kept, nil
}

// openHeader returns the header of an open session: a new one, or known, reopened. Idle time counts from now unless
// the session was open.
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

// meta describes an operation on a session's own records.
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

// Messages returns the messages of a session from sequence number from on, as stored: redacted and cut. Error:
// memory.ErrNotFound.
func (s *Service) Messages(space, id string, from int64) ([]*memory.Message, error) {
	return s.store.Space(space).Messages(id, max(from, 1))
}
