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
	// End has the session reflected in the background.
	End(ctx context.Context, session string) error
}

// Runner carries out the events of one host.
type Runner struct {
	Host   *Host
	Daemon Daemon
	Dir    string // of the states of sessions; made when missing
	Home   string // of the user
	PID    int    // of the host, 0 when not known
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
// found out by the next one.
func (r *Runner) unlocked(ctx context.Context, ev Event) error {
	entries := r.carried(ev)
	if len(entries) == 0 {
		return errBusy // the transcript is read at the next event
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
		err := r.capture(ctx, s, ev, readMost)
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
		s.Ended = true
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
	told, err := r.Daemon.Start(ctx, Start{Session: ev.Session, Host: r.Host.Name, Cwd: ev.Cwd, HostPID: r.PID})
	if err != nil {
		return "", fmt.Errorf("start the session: %w", err)
	}
	s.Started, s.Ended, s.ToldAt = true, false, r.Now().Unix()
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

// carried is what an event itself holds of the conversation.
func (r *Runner) carried(ev Event) []entry {
	var out []entry
	if ev.Kind == Prompt && strings.TrimSpace(ev.Prompt) != "" {
		out = append(out, turn("user", ev.Prompt, r.Now(), 0))
	}
	// A call without an id could not be known again in a transcript, which shows it too.
	if (ev.Kind == ToolFailure || ev.Kind == PostTool && r.Host.parse == nil) && ev.Tool != nil && !ev.Stopped && ev.ToolID != "" {
		out = append(out, entry{memory.Message{At: r.Now(), Role: "tool", Tool: ev.Tool}, toolKey(ev.ToolID), 0})
	}
	if strings.TrimSpace(ev.Reply) != "" && (r.Host.parse == nil || ev.Transcript == "") {
		out = append(out, turn("assistant", ev.Reply, r.Now(), 0))
	}
	return out
}

// capture appends what the transcript shows since the last event, at most about limit bytes of it, and what the event itself holds. When that
// fails, the state is as if it had not been tried, and what the daemon has of it all the same is left out the next time.
func (r *Runner) capture(ctx context.Context, s *state, ev Event, limit int64) error {
	acknowledged := s.known()
	err := r.append(ctx, s, ev, limit, &acknowledged)
	if err != nil {
		s.restore(acknowledged)
		s.Unsure = true
	}
	return err
}

func (r *Runner) append(ctx context.Context, s *state, ev Event, limit int64, acknowledged *known) error {
	if s.Unsure {
		limit = readAll // what is there is compared with all of it
	}
	entries, end, readErr := r.read(s, limit)
	carried := r.carried(ev)
	if len(entries) > 0 && len(carried) > 0 && entries[len(entries)-1].key == carried[0].key {
		carried = carried[1:] // the host wrote it down before it told of it
	}
	if r.Host.parse == nil && len(carried) > 0 && carried[0].Tool == nil {
		// Nothing will show again what was said before: what waits for a transcript is of the turn before.
		s.Pending = keep(s.Pending, carried)
	}
	entries = append(entries, carried...)
	if s.Unsure && r.Host.parse != nil {
		return errors.Join(readErr, r.appendUnknown(ctx, s, ev.Session, entries, end))
	}
	for len(entries) > 0 {
		n := wholeLines(entries, batch)
		if err := r.send(ctx, s, ev.Session, s.fresher(entries[:n])); err != nil {
			return errors.Join(readErr, err)
		}
		s.Offset = max(s.Offset, entries[n-1].end)
		*acknowledged = s.known()
		entries = entries[n:]
	}
	s.Offset = max(s.Offset, end)
	*acknowledged = s.known()
	return readErr
}

// appendUnknown is append when the daemon may have messages that the state does not account for, of the stretch that was read among others.
func (r *Runner) appendUnknown(ctx context.Context, s *state, session string, entries []entry, end int64) error {
	if len(entries) == 0 {
		return nil
	}
	there, next, err := r.all(ctx, session, s.NextSeq)
	if err != nil {
		return err
	}
	s.NextSeq, s.fresh = max(next, 1), false
	for entries := without(s.fresher(entries), there); len(entries) > 0; {
		n := min(len(entries), batch)
		if err := r.send(ctx, s, session, entries[:n]); err != nil {
			return err
		}
		entries = entries[n:]
	}
	s.Offset, s.Unsure = max(s.Offset, end), false
	return nil
}

// read reads the transcript, from its beginning when it was written anew.
func (r *Runner) read(s *state, limit int64) ([]entry, int64, error) {
	if r.Host.parse == nil || s.Transcript == "" {
		return nil, s.Offset, nil
	}
	entries, end, err := readTranscript(r.Host, s.Transcript, s.Offset, limit)
	if errors.Is(err, errShrunk) {
		s.Unsure, s.Offset, s.NextSeq = true, 0, 1
		return readTranscript(r.Host, s.Transcript, 0, readAll)
	}
	return entries, end, err
}

// without takes out of entries those that are among known, each as often as it is there.
func without(entries []entry, known []memory.Message) []entry {
	have := map[string]int{}
	for i := range known {
		have[contentKey(&known[i])]++
	}
	var out []entry
	for _, e := range entries {
		if k := contentKey(&e.Message); have[k] > 0 {
			have[k]--
			continue
		}
		out = append(out, e)
	}
	return out
}

// keep returns the pending keys that are those of entries, so that an event delivered twice is known.
func keep(pending []string, entries []entry) []string {
	var out []string
	for _, k := range pending {
		for _, e := range entries {
			if e.key == k {
				out = append(out, k)
			}
		}
	}
	return out
}

// wholeLines is how many of entries make a batch that does not end within a line of the transcript.
func wholeLines(entries []entry, most int) int {
	if len(entries) <= most {
		return len(entries)
	}
	n := most
	for n > 1 && entries[n].end == entries[n-1].end && entries[n].end > 0 {
		n--
	}
	if n == 1 { // one line with more messages than a batch
		n = most
		for n < len(entries) && entries[n].end == entries[n-1].end {
			n++
		}
	}
	return n
}

// send appends one batch. When the daemon has messages that the state does not know of, because a hook was killed between the acknowledgement
// and the note of it, what of the batch was taken for them is sent again.
func (r *Runner) send(ctx context.Context, s *state, session string, entries []entry) error {
	if len(entries) == 0 {
		return nil
	}
	if s.fresh {
		if err := r.askNext(ctx, s, session); err != nil {
			return err
		}
	}
	next, known, err := r.Daemon.Append(ctx, session, s.NextSeq, messagesOf(entries))
	if errors.Is(err, ErrGap) {
		if err = r.askNext(ctx, s, session); err == nil {
			next, known, err = r.Daemon.Append(ctx, session, s.NextSeq, messagesOf(entries))
		}
	}
	if err != nil {
		return fmt.Errorf("append to the session: %w", err)
	}
	if known > 0 {
		if next, err = r.reconcile(ctx, s, session, entries, entries[:known], next); err != nil {
			return err
		}
	}
	s.NextSeq = next
	for _, e := range entries {
		s.told(e)
	}
	return nil
}

// askNext asks the daemon which number comes next.
func (r *Runner) askNext(ctx context.Context, s *state, session string) error {
	_, next, err := r.Daemon.Messages(ctx, session, 1<<40)
	if err != nil {
		return fmt.Errorf("read the session: %w", err)
	}
	s.NextSeq, s.fresh = max(next, 1), false
	return nil
}

func (r *Runner) reconcile(ctx context.Context, s *state, session string, sent, taken []entry, next int64) (int64, error) {
	there, _, err := r.all(ctx, session, s.NextSeq)
	if err != nil {
		return 0, err
	}
	// What nobody here knows of was told by an event that could not note it; the transcript will show it again.
	ours := map[string]bool{}
	for _, e := range sent {
		ours[contentKey(&e.Message)] = true
	}
	for i := range there {
		if m := &there[i]; m.Tool == nil && !ours[contentKey(m)] {
			s.Pending = append(s.Pending, textKey(m.Role, m.Content))
		}
	}
	lost := without(taken, there)
	if len(lost) == 0 {
		return next, nil
	}
	next, _, err = r.Daemon.Append(ctx, session, next, messagesOf(lost))
	if err != nil {
		return 0, fmt.Errorf("append to the session: %w", err)
	}
	return next, nil
}

func messagesOf(entries []entry) []memory.Message {
	out := make([]memory.Message, len(entries))
	for i, e := range entries {
		out[i] = e.Message
	}
	return out
}
