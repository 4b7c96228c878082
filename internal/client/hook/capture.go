package hook

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/memsidecar/memsidecar/internal/memory"
)

// eventMessages is what an event itself holds of the conversation.
func (r *Runner) eventMessages(ev Event) []entry {
	var out []entry
	if ev.Kind == Prompt && strings.TrimSpace(ev.Prompt) != "" {
		out = append(out, textEntry("user", ev.Prompt, r.Now(), 0))
	}
	// A call without an id could not be known again in a transcript, which shows it too.
	if (ev.Kind == ToolFailure || ev.Kind == PostTool && r.Host.parse == nil) && ev.Tool != nil && !ev.Stopped &&
		ev.ToolID != "" {
		out = append(out, entry{memory.Message{At: r.Now(), Role: "tool", Tool: ev.Tool}, toolKey(ev.ToolID), 0})
	}
	if strings.TrimSpace(ev.Reply) != "" && (r.Host.parse == nil || ev.Transcript == "") {
		out = append(out, textEntry("assistant", ev.Reply, r.Now(), 0))
	}
	return out
}

// capture appends what the transcript shows since the last event, at most about limit bytes of it, and what the event
// itself holds. When that fails, the state is as if it had not been tried, and what the daemon has of it all the same
// is left out the next time.
func (r *Runner) capture(ctx context.Context, s *state, ev Event, limit int64) error {
	acknowledged := s.progress()
	err := r.appendMessages(ctx, s, ev, limit, &acknowledged)
	if err != nil {
		s.restoreProgress(acknowledged)
		s.Unsure = true
	}
	return err
}

// appendMessages sends what is new in the transcript and in the event, in numbered batches, and records the progress
// after each acknowledgement. After a lost acknowledgement it compares what the daemon has with what was sent. limit
// bounds what is read of the transcript, in bytes.
func (r *Runner) appendMessages(ctx context.Context, s *state, ev Event, limit int64, acknowledged *progress) error {
	if s.Unsure {
		limit = readAll // what is there is compared with all of it
	}
	entries, end, readErr := r.readNew(s, limit)
	carried := r.eventMessages(ev)
	if len(entries) > 0 && len(carried) > 0 && entries[len(entries)-1].key == carried[0].key {
		carried = carried[1:] // the host wrote it down before it told of it
	}
	if r.Host.parse == nil && len(carried) > 0 && carried[0].Tool == nil {
		// Nothing will show again what was said before: what waits for a transcript is of the turn before.
		s.Pending = withPending(s.Pending, carried)
	}
	entries = append(entries, carried...)
	if s.Unsure && r.Host.parse != nil {
		return errors.Join(readErr, r.appendMissing(ctx, s, ev.Session, entries, end))
	}
	for len(entries) > 0 {
		n := wholeMessages(entries, batch)
		if err := r.sendBatch(ctx, s, ev.Session, s.dropSeen(entries[:n])); err != nil {
			return errors.Join(readErr, err)
		}
		s.Offset = max(s.Offset, entries[n-1].end)
		*acknowledged = s.progress()
		entries = entries[n:]
	}
	s.Offset = max(s.Offset, end)
	*acknowledged = s.progress()
	return readErr
}

// appendMissing is append when the daemon may have messages that the state does not account for, of the stretch that
// was read among others.
func (r *Runner) appendMissing(ctx context.Context, s *state, session string, entries []entry, end int64) error {
	if len(entries) == 0 {
		return nil
	}
	there, next, err := r.allMessages(ctx, session, s.NextSeq)
	if err != nil {
		return err
	}
	s.NextSeq, s.fresh = max(next, 1), false
	for entries := withoutKnown(s.dropSeen(entries), there); len(entries) > 0; {
		n := min(len(entries), batch)
		if err := r.sendBatch(ctx, s, session, entries[:n]); err != nil {
			return err
		}
		entries = entries[n:]
	}
	s.Offset, s.Unsure = max(s.Offset, end), false
	return nil
}

// readNew reads the transcript, from its beginning when it was written anew.
func (r *Runner) readNew(s *state, limit int64) ([]entry, int64, error) {
	if r.Host.parse == nil || s.Transcript == "" {
		return nil, s.Offset, nil
	}
	entries, end, err := readTranscript(r.Opens, r.Host, s.Transcript, s.Offset, limit)
	if errors.Is(err, errTranscriptShrunk) && s.Skipped {
		return nil, fileSize(s.Transcript), nil // what it holds of the pause cannot be told from the rest
	}
	if errors.Is(err, errTranscriptShrunk) {
		s.Unsure, s.Offset, s.NextSeq = true, 0, 1
		return readTranscript(r.Opens, r.Host, s.Transcript, 0, readAll)
	}
	return entries, end, err
}

// withoutKnown takes out of entries those that are among known, each as often as it is there.
func withoutKnown(entries []entry, known []memory.Message) []entry {
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

// withPending returns the pending keys that are those of entries, so that an event delivered twice is known.
func withPending(pending []string, entries []entry) []string {
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

// wholeMessages is how many of entries make a batch that does not end within a line of the transcript.
func wholeMessages(entries []entry, most int) int {
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

// sendBatch appends one batch. When the daemon has messages that the state does not know of, because a hook was killed
// between the acknowledgement and the note of it, what of the batch was taken for them is sent again.
func (r *Runner) sendBatch(ctx context.Context, s *state, session string, entries []entry) error {
	if len(entries) == 0 {
		return nil
	}
	if s.fresh {
		if err := r.askNextSeq(ctx, s, session); err != nil {
			return err
		}
	}
	next, known, err := r.Daemon.Append(ctx, session, s.NextSeq, messagesOf(entries))
	if errors.Is(err, ErrGap) {
		if err = r.askNextSeq(ctx, s, session); err == nil {
			next, known, err = r.Daemon.Append(ctx, session, s.NextSeq, messagesOf(entries))
		}
	}
	if err != nil {
		return fmt.Errorf("append to the session: %w", err)
	}
	if known > 0 {
		if next, err = r.reconcileSent(ctx, s, session, entries, entries[:known], next); err != nil {
			return err
		}
	}
	s.NextSeq = next
	for _, e := range entries {
		s.markDelivered(e)
	}
	return nil
}

// askNextSeq asks the daemon which number comes next.
func (r *Runner) askNextSeq(ctx context.Context, s *state, session string) error {
	_, next, err := r.Daemon.Messages(ctx, session, 1<<40)
	if err != nil {
		return fmt.Errorf("read the session: %w", err)
	}
	s.NextSeq, s.fresh = max(next, 1), false
	return nil
}

// reconcileSent compares the daemon's newest messages with those that were sent, and appends what the daemon took for
// others. It returns the next message number.
func (r *Runner) reconcileSent(ctx context.Context, s *state, session string, sent, taken []entry, next int64) (int64,
	error) {
	there, _, err := r.allMessages(ctx, session, s.NextSeq)
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
	lost := withoutKnown(taken, there)
	if len(lost) == 0 {
		return next, nil
	}
	next, _, err = r.Daemon.Append(ctx, session, next, messagesOf(lost))
	if err != nil {
		return 0, fmt.Errorf("append to the session: %w", err)
	}
	return next, nil
}

// messagesOf returns the messages of entries.
func messagesOf(entries []entry) []memory.Message {
	out := make([]memory.Message, len(entries))
	for i, e := range entries {
		out[i] = e.Message
	}
	return out
}
