package session

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/google/uuid"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/reflector"
)

// Ended is a session that has ended.
type Ended struct {
	*memory.Session
	Op int64 // the operation that ended it, 0 when it had ended before
}

// End ends a session without waiting for its reflection. One that ended already is left as it is. reason is a slug; ""
// is ReasonHostExit. Durable on return. Error: memory.ErrNotFound.
func (s *Service) End(ctx context.Context, space, id, reason string) (Ended, error) {
	if reason == "" {
		reason = ReasonHostExit
	}
	var check memory.Check
	checkSession(&check, &space, id, true)
	check.Slug("end_reason", reason)
	if err := check.Err(); err != nil {
		return Ended{}, err
	}
	c := &capture{space: space, id: id, end: reason, mustExist: true}
	header, err := s.capture(ctx, c)
	if err != nil {
		return Ended{}, fmt.Errorf("end session: %w", err)
	}
	s.wakeRun()
	return Ended{Session: header, Op: c.result.Op}, nil
}

// ReflectRequest asks for the end of a session and its reflection.
type ReflectRequest struct {
	Space string
	ID    string // may be empty when Messages are given: a new session
	// all messages of the session, numbered from 1; those known by their numbers are not kept again
	Messages []memory.Message
	Host     string
	Cwd      string
	DryRun   bool   // say what the reflection of a stored session would do; nothing is changed or ended
	Wait     bool   // reflect before returning; else in the background
	Key      string // idempotency key, "" for none
}

// validate reports every fault of the request at once. A dry run writes nothing, so it cannot take messages
// along.
func (r *ReflectRequest) validate() error {
	var c memory.Check
	checkSession(&c, &r.Space, r.ID, len(r.Messages) == 0)
	c.Text("host", r.Host, memory.MaxTitle, false)
	c.Text("cwd", r.Cwd, memory.MaxContent, false)
	checkMessages(&c, r.Messages)
	if r.Key != "" {
		c.ID("idempotency_key", r.Key)
	}
	if r.DryRun && len(r.Messages) > 0 {
		c.Add("dry_run", "NOT_STORED", "needs a stored session; append the messages to one first")
	}
	return c.Err()
}

// Result of Reflect.
type Result struct {
	Session    *memory.Session // as it is on return
	Append     AppendResult    // what became of the messages of the request
	Queued     bool            // the reflection is left to the background
	Waits      string          // why it is, when that was not asked for
	Reflection reflector.Result
}

// Reflect ends a session, durably, and has it reflected: before returning with Wait, else in the background. When the
// reflection fails, the session stays ended and is tried again later; the error comes with Queued set. That the model
// cannot be asked now is no error: Queued and Waits say it. A reflection that has begun goes on when ctx ends. A
// repeat of a request does nothing new.
//
// Errors: memory.ErrNotFound, memory.ErrPaused (not for a dry run), those of the store and of the reflector.
func (s *Service) Reflect(ctx context.Context, req ReflectRequest) (Result, error) {
	if err := req.validate(); err != nil {
		return Result{}, err
	}
	if req.DryRun && s.disabled {
		header, err := s.Get(req.Space, req.ID)
		return Result{Session: header, Waits: "reflection is switched off by memory_session_reflect_enabled"}, err
	}
	if req.DryRun {
		return s.dryRun(ctx, req)
	}
	if s.paused() {
		return Result{}, memory.ErrPaused
	}
	c, err := s.captureOf(&req)
	if err != nil {
		return Result{}, err
	}
	header, err := s.capture(ctx, c)
	if err != nil {
		return Result{}, fmt.Errorf("end session: %w", err)
	}
	out := Result{Session: header, Append: c.result}
	if header.State == memory.SessionOpen { // an old request came again after the session had gone on: it is done
		return out, nil
	}
	if s.disabled {
		out.Waits = "reflection is switched off by memory_session_reflect_enabled; the messages are kept"
		return out, nil
	}
	if !req.Wait {
		out.Queued = header.State == memory.SessionEnded
		s.wakeRun()
		return out, nil
	}
	k := key{req.Space, req.ID}
	if out.Reflection, err = s.reflect(ctx, k, reflector.Options{}, true); err != nil {
		out.Queued = true
		s.wakeRun()
		if waits, ok := errors.AsType[*reflector.WaitError](err); ok {
			out.Waits = waits.Error()
			return out, nil
		}
		return out, fmt.Errorf("reflect session: %w", err)
	}
	out.Session, err = s.Get(req.Space, req.ID)
	return out, err
}

// captureOf turns a request into the one operation that keeps its messages and ends the session. It names the session.
func (s *Service) captureOf(req *ReflectRequest) (*capture, error) {
	c := &capture{
		space: req.Space, host: req.Host, cwd: req.Cwd, messages: s.prepare(req.Messages), end: ReasonReflect,
		mustExist: len(req.Messages) == 0, key: req.Key,
	}
	if req.Key != "" {
		var err error
		if c.request, err = json.Marshal(req); err != nil {
			return nil, fmt.Errorf("encode the request: %w", err)
		}
	}
	switch {
	case req.ID != "":
	case req.Key != "": // of the key, so that a repeat names the same session
		req.ID = uuid.NewSHA1(uuid.NameSpaceURL, []byte("memsidecar:session:"+req.Space+":"+req.Key)).String()
	default: // of the transcript: the same one sent again is the session that it was before, and costs no second call
		name := "memsidecar:transcript:" + req.Space + ":" + transcriptHash(c.messages)
		req.ID = uuid.NewSHA1(uuid.NameSpaceURL, []byte(name)).String()
	}
	c.id = req.ID
	if len(req.Messages) > 0 {
		c.first = 1
	}
	return c, s.sameAsStored(c)
}

// transcriptHash identifies messages by who said what; times differ between two readings of one transcript.
func transcriptHash(messages []redactedMessage) string {
	h := sha256.New()
	for i := range messages {
		m := &messages[i]
		fmt.Fprintf(h, "%q %q", m.Role, m.Content)
		if t := m.Tool; t != nil {
			fmt.Fprintf(h, " %q %q %q %q", t.Name, t.Arguments, t.Result, t.Error)
		}
		h.Write([]byte{'\n'})
	}
	return hex.EncodeToString(h.Sum(nil))
}

// sameAsStored refuses messages that differ from those kept under the same numbers: a host that uses one id for
// several sessions must not lose the second one without a word.
func (s *Service) sameAsStored(c *capture) error {
	if len(c.messages) == 0 {
		return nil
	}
	stored, err := s.Messages(c.space, c.id, 1)
	if errors.Is(err, memory.ErrNotFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the messages of the session: %w", err)
	}
	for _, m := range stored {
		i := m.Seq - 1
		if i < 0 || i >= int64(len(c.messages)) {
			continue
		}
		// Times and tool results may differ between two readings of one transcript; role and text do not.
		if got := c.messages[i]; got.Role != m.Role || got.Content != m.Content {
			var check memory.Check
			check.Add(fmt.Sprintf("messages[%d]", i), "CONFLICT",
				"differs from message %d of session %q; use another id for another session", m.Seq, c.id)
			return check.Err()
		}
	}
	return nil
}

// dryRun plans a reflection and returns it without applying anything. The session stays open.
func (s *Service) dryRun(ctx context.Context, req ReflectRequest) (Result, error) {
	header, err := s.Get(req.Space, req.ID)
	if err != nil {
		return Result{}, err
	}
	res, err := s.reflect(ctx, key{req.Space, req.ID}, reflector.Options{DryRun: true}, false)
	if err != nil {
		return Result{}, fmt.Errorf("reflect session: %w", err)
	}
	return Result{Session: header, Append: AppendResult{NextSeq: header.NextSeq}, Reflection: res}, nil
}

// detach is ctx without its end, but for that of the daemon. end releases what it holds.
func (s *Service) detach(ctx context.Context) (kept context.Context, end func()) {
	kept, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var watch sync.WaitGroup
	watch.Go(func() {
		select {
		case <-s.stopping:
			cancel()
		case <-kept.Done():
		}
	})
	return kept, func() {
		cancel()
		watch.Wait()
	}
}

// errNotMarked is a reflector that reports success and leaves the session waiting.
var errNotMarked = errors.New("the session was not marked as reflected")

// reflect has one session reflected, never twice at a time, and remembers failures for Run. With keep it goes on when
// ctx ends: a model that was asked for the caller is not asked again for nothing.
func (s *Service) reflect(ctx context.Context, k key, opts reflector.Options, keep bool) (reflector.Result, error) {
	unlock, err := s.reflecting.lock(ctx, k)
	if err != nil {
		return reflector.Result{}, err
	}
	defer unlock()
	if keep {
		var end func()
		ctx, end = s.detach(ctx)
		defer end()
	}
	before, err := s.Get(k.space, k.id)
	if err != nil {
		return reflector.Result{}, err
	}
	res, err := s.reflector.Reflect(ctx, k.space, k.id, opts)
	if opts.DryRun {
		return res, err
	}
	if after, _ := s.Get(k.space, k.id); err == nil && after != nil && needsReflection(after) && after.State == before.State &&
		after.NextSeq == before.NextSeq && after.Summaries == before.Summaries {
		err = errNotMarked // taken for a success, it would be tried again at once, for ever
	}
	switch {
	case err == nil:
		s.clearRetry(k)
	case ctx.Err() == nil: // a caller that went away is no failure
		s.recordFailure(k)
	}
	return res, err
}
