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
	readMost  = 8 << 20  // bytes of a transcript read at an event
	readAll   = 64 << 20 // at the end of a session
	batch     = 200      // messages in one call
	sameStart = 10 * time.Second
)

// ErrGap reports a first message number that is too high: the daemon has fewer messages than were acknowledged, as
// after a restore.
var ErrGap = errors.New("the daemon expects an earlier message")

// ErrPaused reports that a person has paused the host: it gets no memories, and nothing from it is recorded.
var ErrPaused = errors.New("the host is paused")

// Start requests a session and its context.
type Start struct {
	Session, Host, Cwd string
	HostPID            int
}

// Daemon is the part of the API that hooks use. A session is created by its first message or by Start.
type Daemon interface {
	// Start returns the session's context, fenced; the same every time. Every method may return ErrPaused.
	Start(ctx context.Context, s Start) (string, error)
	// Append appends messages numbered from first on; they are durable on return. known is how many leading ones the
	// daemon already had by number and skipped. first 0 appends at the end. Error: ErrGap.
	Append(ctx context.Context, session string, first int64, messages []memory.Message) (next int64, known int,
		err error)
	// Messages returns messages from a number on, and the number of the next one; none for an unknown session.
	Messages(ctx context.Context, session string, from int64) (messages []memory.Message, next int64, err error)
	// Recall returns the fenced memories for a prompt or for a tool call that failed; often "".
	Recall(ctx context.Context, session, prompt string, failed *memory.ToolCall) (string, error)
	// Hint returns known failures for a tool call before it is made, fenced; usually "".
	Hint(ctx context.Context, session string, call *memory.ToolCall) (string, error)
	// Compacted reports that the agent lost its context: it may be shown memories again.
	Compacted(ctx context.Context, session string) error
	// End ends the session; it is reflected on in the background.
	End(ctx context.Context, session string) error
}

// Runner handles the events of one host.
type Runner struct {
	Host   *Host
	Daemon Daemon
	Dir    string     // directory of the sessions' state files; created when missing
	Home   string     // the user's home directory
	PID    func() int // of the host's process, 0 if unknown; may be nil
	Now    func() time.Time
	Nonce  func() string // nonce of a fence
	Opens  *Opens        // shared by runners of one process; nil bounds nothing
}

// Run handles an event and returns the text for the agent, which is valid even beside an error. Running the same event
// again records nothing twice.
func (r *Runner) Run(ctx context.Context, ev Event) (string, error) {
	if ev.Kind == PreTool { // the one event without a record: nothing has happened yet
		if ev.Tool == nil {
			return "", nil
		}
		return r.Daemon.Hint(ctx, ev.Session, ev.Tool)
	}
	s, err := openState(ctx.Done(), r.Dir, ev.Session)
	if errors.Is(err, errBusy) {
		return "", r.runUnlocked(ctx, ev)
	}
	if err != nil {
		return "", err
	}
	defer s.close()
	if s.Host == "" {
		s.Host = r.Host.Name
	}
	r.trackHost(s, ev)
	text := ""
	if err = r.resume(ctx, s, ev); err == nil {
		text, err = r.runLocked(ctx, s, ev)
	}
	if errors.Is(err, ErrPaused) {
		text, s.Paused = "", true
	}
	return text, errors.Join(err, s.save())
}

// resume finds out whether a host that was paused still is. When it is not, what was said meanwhile is skipped. Nothing
// else would: the transcript has it.
func (r *Runner) resume(ctx context.Context, s *state, ev Event) error {
	if !s.Paused {
		return nil
	}
	if _, err := r.Daemon.Start(ctx, Start{Session: ev.Session, Host: r.Host.Name, Cwd: ev.Cwd}); err != nil {
		return fmt.Errorf("start the session: %w", err)
	}
	s.Paused, s.Skipped, s.Offset, s.Pending = false, true, fileSize(s.Transcript), nil
	return nil
}

// trackHost notes where the transcript is. One that has moved is read from its beginning, but for what the daemon has.
func (r *Runner) trackHost(s *state, ev Event) {
	path := ev.Transcript
	if path == "" && s.Transcript == "" {
		path = r.Host.TranscriptOf(r.Home, ev.Session)
	}
	if path == "" || path == s.Transcript {
		return
	}
	switch {
	case s.Skipped: // it may hold what was said while the host was paused
		s.Paused = true
	case s.Offset > 0:
		s.Offset, s.NextSeq, s.Unsure = 0, 1, true
	}
	s.Transcript = path
}

// runUnlocked keeps what only the event holds, when another event of the session does not end. That its number is not
// known in the state is found out by the next one. What a transcript shows is read at the next event.
func (r *Runner) runUnlocked(ctx context.Context, ev Event) error {
	entries := r.eventMessages(ev)
	shown := r.Host.parse != nil && (ev.Transcript != "" || r.Host.TranscriptOf(r.Home, ev.Session) != "")
	if len(entries) == 0 || shown {
		return errBusy
	}
	_, _, err := r.Daemon.Append(ctx, ev.Session, 0, messagesOf(entries))
	return errors.Join(errBusy, err)
}

// runLocked handles an event while this process holds the session's state file. It returns the text for the agent.
func (r *Runner) runLocked(ctx context.Context, s *state, ev Event) (string, error) {
	b, ok := r.Host.Binding(ev.Kind)
	if !ok { // a failure that the host tells as any other end of a tool
		b, _ = r.Host.Binding(PostTool)
	}
	switch ev.Kind {
	case SessionStart:
		return r.startSession(ctx, s, ev)
	case Prompt:
		return r.handlePrompt(ctx, s, ev, b.PassesOn)
	case ToolFailure:
		if !b.PassesOn || ev.Stopped || ev.Tool == nil {
			return "", r.capture(ctx, s, ev, readMost)
		}
		return r.captureAndRecall(ctx, s, ev, "", ev.Tool)
	case PreCompact:
		err := errors.Join(r.capture(ctx, s, ev, readMost), r.Daemon.Compacted(ctx, ev.Session))
		s.Compacted = true
		if err != nil || !b.PassesOn {
			return "", err
		}
		s.Compacted = false
		return r.workingMemory(ctx, ev)
	case SessionEnd:
		if err := r.capture(ctx, s, ev, readAll); err != nil {
			return "", err
		}
		return "", r.Daemon.End(ctx, ev.Session)
	default:
		return "", r.capture(ctx, s, ev, readMost)
	}
}

// startSession opens the session and returns its context, after a compaction together with the working memory. A
// resumed session has the context in its conversation already, and a start that is delivered twice has it once: both
// get "".
func (r *Runner) startSession(ctx context.Context, s *state, ev Event) (string, error) {
	// Some versions of Copilot CLI start a session with each prompt.
	again := s.ToldAt != 0 && ev.Source != "compact" && (ev.Source != "clear" ||
		r.Now().Sub(time.Unix(s.ToldAt, 0)).Abs() < sameStart)
	told, err := r.openSession(ctx, s, ev)
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
	work, err := r.workingMemory(ctx, ev)
	return told + work, errors.Join(captured, err)
}

// openSession starts the session in the daemon and returns its context.
func (r *Runner) openSession(ctx context.Context, s *state, ev Event) (string, error) {
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

// handlePrompt records what the user asked and recalls what fits it, both at once. A session whose start was missed,
// because no daemon ran, is started now.
func (r *Runner) handlePrompt(ctx context.Context, s *state, ev Event, tells bool) (string, error) {
	var told, work string
	var errs []error
	if !s.Started {
		text, err := r.openSession(ctx, s, ev)
		told, errs = text, append(errs, err)
	}
	if s.Compacted && tells {
		s.Compacted = false
		text, err := r.workingMemory(ctx, ev)
		work, errs = text, append(errs, err)
	}
	if !tells || strings.TrimSpace(ev.Prompt) == "" {
		return told + work, errors.Join(append(errs, r.capture(ctx, s, ev, readMost))...)
	}
	recalled, err := r.captureAndRecall(ctx, s, ev, ev.Prompt, nil)
	return told + work + recalled, errors.Join(append(errs, err)...)
}

// captureAndRecall does both at once: neither needs the other, and the agent waits for them.
func (r *Runner) captureAndRecall(ctx context.Context, s *state, ev Event, prompt string, failed *memory.ToolCall) (
	string, error) {
	var recalled string
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		recalled, err = r.Daemon.Recall(ctx, ev.Session, prompt, failed)
	}()
	captured := r.capture(ctx, s, ev, readMost)
	<-done
	return recalled, errors.Join(captured, err)
}

// workingMemory is what the agent was doing, from the messages that the daemon has.
func (r *Runner) workingMemory(ctx context.Context, ev Event) (string, error) {
	messages, _, err := r.allMessages(ctx, ev.Session, 1)
	if err != nil {
		return "", err
	}
	return Working(ev.Cwd, messages, r.Now(), r.Nonce()), nil
}

// allMessages returns the messages of a session from a number on, and the number that the next one will have.
func (r *Runner) allMessages(ctx context.Context, session string, from int64) (out []memory.Message, next int64, err error) {
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
