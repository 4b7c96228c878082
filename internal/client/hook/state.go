package hook

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/process/filelock"
)

// Bounds of what is remembered of a session.
const (
	maxPending = 64
	maxSeen    = 128
	lockWait   = 30 * time.Millisecond
)

// state is what is known of a session between two events: how far its transcript was read and how many messages the
// daemon has. It is written after the daemon has acknowledged; when that did not happen, or the file is lost, the
// daemon's answer to the next message tells. It holds no text.
type state struct {
	Host       string `json:"host"`
	Transcript string `json:"transcript,omitempty"`
	Offset     int64  `json:"offset"`   // of the transcript, read and acknowledged
	NextSeq    int64  `json:"next_seq"` // of the next message
	// keys of messages that came by an event and that the transcript does not show yet
	Pending []string `json:"pending,omitempty"`
	Seen    []string `json:"seen,omitempty"` // keys of the newest tool calls
	// the daemon knows the session, and the agent its context if the host passes it on
	Started   bool  `json:"started,omitempty"`
	ToldAt    int64 `json:"told_at,omitempty"` // when the context was given, in seconds
	Compacted bool  `json:"compacted,omitempty"`
	Unsure    bool  `json:"unsure,omitempty"` // what the transcript shows may be known to the daemon already

	Paused  bool `json:"paused,omitempty"`  // the host was paused at the last event
	Skipped bool `json:"skipped,omitempty"` // the transcript holds what was said while the host was paused

	file  *os.File
	fresh bool // nothing was known
}

// openState locks and reads what is known of a session. It waits a moment for another hook of the same session; the
// error is errBusy when that takes longer. The caller closes it.
func openState(ctxDone <-chan struct{}, dir, session string) (*state, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the directory of hooks: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(dir, session+".json"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the state of the session: %w", err)
	}
	if err := lock(ctxDone, f); err != nil {
		f.Close() //nolint:errcheck // nothing was written
		return nil, err
	}
	s := &state{file: f}
	data, err := io.ReadAll(f)
	if err != nil || json.Unmarshal(data, s) != nil || s.NextSeq < 1 {
		*s = state{file: f, NextSeq: 1, Unsure: true, fresh: true}
	}
	return s, nil
}

var errBusy = errors.New("another hook for this session is running")

// lock takes the lock of a state file. It waits up to lockWait, because another hook of the session may run, and
// returns errBusy after that.
func lock(done <-chan struct{}, f *os.File) error {
	for waited := time.Duration(0); ; waited += time.Millisecond {
		err := filelock.TryFile(f)
		if err == nil {
			return nil
		}
		if !errors.Is(err, filelock.ErrHeld) || waited >= lockWait {
			return errBusy
		}
		select {
		case <-done:
			return errBusy
		case <-time.After(time.Millisecond):
		}
	}
}

// save writes the state; it is not synced, because what is lost can be found out again.
func (s *state) save() error {
	s.Pending = lastN(s.Pending, maxPending)
	s.Seen = lastN(s.Seen, maxSeen)
	data, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("encode the state of the session: %w", err)
	}
	// One write, so that a process that is killed leaves the old or the new one; what is behind it is cut off after.
	if _, err := s.file.WriteAt(append(data, '\n'), 0); err != nil {
		return fmt.Errorf("write the state of the session: %w", err)
	}
	if err := s.file.Truncate(int64(len(data)) + 1); err != nil {
		return fmt.Errorf("write the state of the session: %w", err)
	}
	return nil
}

// lastN returns the last n elements.
func lastN(s []string, n int) []string { return s[max(0, len(s)-n):] }

// close releases the lock.
func (s *state) close() { _ = s.file.Close() }

// progress is the part of a state that says what the daemon has.
type progress struct {
	offset, next  int64
	pending, seen []string
	unsure        bool
}

// progress returns a copy of what a failed call must not change.
func (s *state) progress() progress {
	return progress{s.Offset, s.NextSeq, slices.Clone(s.Pending), slices.Clone(s.Seen), s.Unsure}
}

// restoreProgress goes back to an earlier progress.
func (s *state) restoreProgress(k progress) {
	s.Offset, s.NextSeq, s.Pending, s.Seen, s.Unsure = k.offset, k.next, k.pending, k.seen, k.unsure
}

// dropSeen takes out of entries what came before in another way: by an event and then by the transcript, or twice by
// an event.
func (s *state) dropSeen(entries []entry) []entry {
	var out []entry
	calls := map[string]bool{}
	for _, e := range entries {
		i := slices.Index(s.Pending, e.key)
		isCall := strings.HasPrefix(e.key, callKey)
		switch {
		case isCall && (calls[e.key] || slices.Contains(s.Seen, e.key)): // a call is known by its id
			continue
		case e.end == 0 && i >= 0: // an event delivered twice
			continue
		case e.end > 0 && i >= 0: // the transcript shows what an event has told
			s.Pending = slices.Delete(s.Pending, i, i+1)
			continue
		}
		calls[e.key] = isCall
		out = append(out, e)
	}
	return out
}

// markDelivered remembers what may come again in the other way: calls, and turns that came by an event.
func (s *state) markDelivered(e entry) {
	switch {
	case strings.HasPrefix(e.key, callKey):
		s.Seen = append(s.Seen, e.key)
	case e.end == 0:
		s.Pending = append(s.Pending, e.key)
	}
}

// callKey begins the keys of calls.
const callKey = "t:"

// textKey identifies a text by role and content, ignoring white space, so that an event and the transcript agree on
// it.
func textKey(role, text string) string {
	return role[:1] + ":" + hashOf(strings.Join(strings.Fields(truncate(text, maxText)), " "))
}

// toolKey is that of a call with an id of the host's.
func toolKey(id string) string { return callKey + hashOf(id) }

// contentKey knows a message by what it holds, as the daemon keeps it; of a tool call by how it ended, because hosts
// write what it was asked in more than one way.
func contentKey(m *memory.Message) string {
	var b bytes.Buffer
	b.WriteString(m.Role + "\x00" + strings.Join(strings.Fields(m.Content), " "))
	if t := m.Tool; t != nil {
		for _, s := range []string{t.Name, t.Result, t.Error} {
			b.WriteString("\x00" + s)
		}
	}
	return hashOf(b.String())
}

// hashOf returns 64 bits of a SHA-256 in hexadecimal: enough to recognise a text within one session.
func hashOf(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:8])
}
