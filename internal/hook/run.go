package hook

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
)

// Bounds of one event.
const (
	readMost    = 8 << 20  // bytes of a transcript read at an event
	readAll     = 64 << 20 // at the end of a session
	batch       = 200      // messages in one call
	sameStart   = 10 * time.Second
	maxQuestion = 1000 // bytes of a failure that are looked up
)

// ErrGap is the daemon's refusal of messages whose first number is too high: it knows fewer than were acknowledged, as after a restore.
var ErrGap = errors.New("the daemon expects an earlier message")

// Start asks for a session, and for what its agent should know from the beginning.
type Start struct {
	Session, Host, Cwd string
	HostPID            int
}

// Daemon is what the hooks need of it. A session is made by its first message or by Start.
type Daemon interface {
	// Start returns the session's context, fenced; the same every time.
	Start(ctx context.Context, s Start) (string, error)
	// Append appends messages numbered from first on, all durable on return. known is how many of them, the first ones, the daemon had
	// already by their numbers and left out. first 0 is at the end, whatever there is. Error: ErrGap.
	Append(ctx context.Context, session string, first int64, messages []memory.Message) (next int64, known int, err error)
	// Messages returns messages from a number on, and the number that the next one will have; none when the session is not known.
	Messages(ctx context.Context, session string, from int64) (messages []memory.Message, next int64, err error)
	// Recall returns what fits a text, fenced; often nothing.
	Recall(ctx context.Context, session, text string, tools []string) (string, error)
	// Hint returns what is known of failures of a call that is about to be made, fenced; often nothing.
	Hint(ctx context.Context, session string, call *memory.ToolCall) (string, error)
	// Compacted notes that the agent forgets what it was told: it may be told again.
	Compacted(ctx context.Context, session string) error
	// End has the session reflected in the background.
	End(ctx context.Context, session string) error
}

// Runner carries out the events of one host.
type Runner struct {
	Host   *Host
	Daemon Daemon
	Dir    string     // of the states of sessions; made when missing
	Home   string     // of the user
	PID    func() int // of the host, 0 when not known; nil is not known
	Now    func() time.Time
	Nonce  func() string // of a fence
}

// Run does what is to be done at an event, and returns what the agent is to be told. What was told stays valid beside an error. It may be called
// again for the same event: nothing is recorded twice.
func (r *Runner) Run(ctx context.Context, ev Event) (string, error) {
	if ev.Kind == PreTool { // the one event without a record: nothing has happened yet
		if ev.Tool == nil {
			return "", nil
		}
		return r.Daemon.Hint(ctx, ev.Session, ev.Tool)
	}
	s, err := openState(ctx.Done(), r.Dir, ev.Session)
	if errors.Is(err, errBusy) {
		return "", r.unlocked(ctx, ev)
	}
	if err != nil {
		return "", err
	}
	defer s.close()
	if s.Host == "" {
		s.Host = r.Host.Name
	}
	r.follow(s, ev)
	text, err := r.locked(ctx, s, ev)
	return text, errors.Join(err, s.save())
}

// follow notes where the transcript is. One that has moved is read from its beginning, but for what the daemon has.
func (r *Runner) follow(s *state, ev Event) {
	path := ev.Transcript
	if path == "" && s.Transcript == "" {
		path = r.Host.TranscriptOf(r.Home, ev.Session)
	}
	if path == "" || path == s.Transcript {
		return
	}
	if s.Offset > 0 {
		s.Offset, s.NextSeq, s.Unsure = 0, 1, true
	}
	s.Transcript = path
}

// unlocked keeps what only the event holds, when another event of the session does not end. That its number is not known in the state is
// found out by the next one. What a transcript shows is read at the next event.
func (r *Runner) unlocked(ctx context.Context, ev Event) error {
	entries := r.carried(ev)
	shown := r.Host.parse != nil && (ev.Transcript != "" || r.Host.TranscriptOf(r.Home, ev.Session) != "")
	if len(entries) == 0 || shown {
		return errBusy
	}
	_, _, err := r.Daemon.Append(ctx, ev.Session, 0, messagesOf(entries))
	return errors.Join(errBusy, err)
}

func (r *Runner) locked(ctx context.Context, s *state, ev Event) (string, error) {
	b, ok := r.Host.Binding(ev.Kind)
	if !ok { // a failure that the host tells as any other end of a tool
		b, _ = r.Host.Binding(PostTool)
	}
	switch ev.Kind {
	case SessionStart:
		return r.start(ctx, s, ev)
	case Prompt:
		return r.prompt(ctx, s, ev, b.Tells)
	case ToolFailure:
		if !b.Tells || ev.Stopped || ev.Tool == nil {
			return "", r.capture(ctx, s, ev, readMost)
		}
		return r.captureAndRecall(ctx, s, ev, clip(ev.Tool.Name+" "+ev.Tool.Error, maxQuestion), []string{ev.Tool.Name})
	case PreCompact:
		err := errors.Join(r.capture(ctx, s, ev, readMost), r.Daemon.Compacted(ctx, ev.Session))
		s.Compacted = true
		if err != nil || !b.Tells {
			return "", err
		}
		s.Compacted = false
		return r.working(ctx, ev)
	case SessionEnd:
		if err := r.capture(ctx, s, ev, readAll); err != nil {
			return "", err
		}
		return "", r.Daemon.End(ctx, ev.Session)
	default:
		return "", r.capture(ctx, s, ev, readMost)
	}
}

// start opens the session. What the agent is told at the start is told again after a compaction, with what it was working on; but not when a
// session is taken up again, because then it stands in the conversation already, and not when the same start is told twice.
func (r *Runner) start(ctx context.Context, s *state, ev Event) (string, error) {
	again := s.ToldAt != 0 && (ev.Source == "resume" || r.Now().Sub(time.Unix(s.ToldAt, 0)).Abs() < sameStart && ev.Source != "compact")
	told, err := r.open(ctx, s, ev)
	if err != nil {
		return "", err
	}
	captured := r.capture(ctx, s, ev, readMost)
	if again {
		return "", captured
	}
	if ev.Source != "compact" && !s.Compacted {
		return told, captured
	}
	s.Compacted = false
	work, err := r.working(ctx, ev)
	return told + work, errors.Join(captured, err)
}

func (r *Runner) open(ctx context.Context, s *state, ev Event) (string, error) {
	start := Start{Session: ev.Session, Host: r.Host.Name, Cwd: ev.Cwd}
	if r.PID != nil {
		start.HostPID = r.PID()
	}
	told, err := r.Daemon.Start(ctx, start)
	if err != nil {
		return "", fmt.Errorf("start the session: %w", err)
	}
	s.Started, s.ToldAt = true, r.Now().Unix()
	return told, nil
}

// prompt records what the user asked and recalls what fits it, both at once. A session whose start was missed, because no daemon ran, is
// started now.
func (r *Runner) prompt(ctx context.Context, s *state, ev Event, tells bool) (string, error) {
	var told, work string
	var errs []error
	if !s.Started {
		text, err := r.open(ctx, s, ev)
		told, errs = text, append(errs, err)
	}
	if s.Compacted && tells {
		s.Compacted = false
		text, err := r.working(ctx, ev)
		work, errs = text, append(errs, err)
	}
	if !tells || strings.TrimSpace(ev.Prompt) == "" {
		return told + work, errors.Join(append(errs, r.capture(ctx, s, ev, readMost))...)
	}
	recalled, err := r.captureAndRecall(ctx, s, ev, ev.Prompt, nil)
	return told + work + recalled, errors.Join(append(errs, err)...)
}

// captureAndRecall does both at once: neither needs the other, and the agent waits for them.
func (r *Runner) captureAndRecall(ctx context.Context, s *state, ev Event, question string, tools []string) (string, error) {
	var recalled string
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		recalled, err = r.Daemon.Recall(ctx, ev.Session, question, tools)
	}()
	captured := r.capture(ctx, s, ev, readMost)
	<-done
	return recalled, errors.Join(captured, err)
}

// working is what the agent was doing, from the messages that the daemon has.
func (r *Runner) working(ctx context.Context, ev Event) (string, error) {
	messages, _, err := r.all(ctx, ev.Session, 1)
	if err != nil {
		return "", err
	}
	return Working(ev.Cwd, messages, r.Nonce()), nil
}

// all returns the messages of a session from a number on, and the number that the next one will have.
func (r *Runner) all(ctx context.Context, session string, from int64) (out []memory.Message, next int64, err error) {
	for {
		part, next, err := r.Daemon.Messages(ctx, session, from)
		if err != nil {
			return nil, 0, fmt.Errorf("read the session: %w", err)
		}
		out = append(out, part...)
		if from += int64(len(part)); len(part) == 0 || from >= next {
			return out, next, nil
		}
	}
}
