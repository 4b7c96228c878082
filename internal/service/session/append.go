package session

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/memory/toolcall"
	"github.com/memsidecar/memsidecar/internal/redact"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

// MaxText is how many bytes of one text of a message are kept: its content, or one field of its tool call.
const MaxText = 64 << 10

// Roles of messages.
var roles = []string{"user", "assistant", "system", "tool"}

// AppendRequest appends messages to a session.
type AppendRequest struct {
	Space string
	ID    string // an unknown one is a new session
	// the client's number of the first message, counted from 1; 0 appends at the end and sees no repeats
	FirstSeq int64
	Messages []memory.Message

	// Summary is what the host made of the context so far when it compacted it; "" for none. What was said up to here
	// is reflected in the background while the session goes on. A repeat of the newest summary is none.
	Summary string
	Key     string // idempotency key, "" for none
}

// AppendResult says what became of the messages.
type AppendResult struct {
	NextSeq    int64 // number the next new message will have
	Appended   int
	Duplicates int   // messages that were known by their numbers
	Redacted   int   // secrets and private passages taken out of the appended ones and of the summary
	Op         int64 // the operation, 0 when nothing was new

	Outcomes []journal.Outcome  // one per message, with its number: duplicate when the number was known
	Summary  []memory.Redaction // what was taken out of the summary
	Replayed bool               // the key was used before: this is the first result
}

// validate reports every fault of the request at once, so that a client mends them in one step.
func (r *AppendRequest) validate() error {
	var c memory.Check
	checkSession(&c, &r.Space, r.ID, true)
	if r.FirstSeq < 0 {
		c.Add("first_seq", "OUT_OF_RANGE", "must not be negative")
	}
	checkMessages(&c, r.Messages)
	if r.Key != "" {
		c.ID("idempotency_key", r.Key)
	}
	return c.Err()
}

// checkMessages bounds the batch before it looks at the messages: the bound is what keeps the look short.
func checkMessages(c *memory.Check, messages []memory.Message) {
	if len(messages) > memory.MaxBatch {
		c.Add("messages", "TOO_MANY", "has %d messages; the limit is %d", len(messages), memory.MaxBatch)
		return
	}
	for i := range messages {
		if !slices.Contains(roles, messages[i].Role) {
			c.Add(fmt.Sprintf("messages[%d].role", i), "UNKNOWN_VALUE", "must be one of %s", strings.Join(roles, ", "))
		}
	}
}

// Append makes messages durable. Messages with numbers known already are left out, so a call can be repeated; a gap
// is an *memory.InvalidError that names the number expected. A session that had ended is open again. Texts are
// redacted and those longer than MaxText cut in the middle, before they reach the store.
//
// Durable on return. Errors: memory.ErrPaused, and those of the store.
func (s *Service) Append(ctx context.Context, req AppendRequest) (AppendResult, error) {
	if err := req.validate(); err != nil {
		return AppendResult{}, err
	}
	if s.paused() {
		return AppendResult{}, memory.ErrPaused
	}
	c := &capture{space: req.Space, id: req.ID, first: req.FirstSeq, messages: s.prepare(req.Messages), key: req.Key}
	if req.Key != "" {
		var err error
		if c.request, err = json.Marshal(req); err != nil {
			return AppendResult{}, fmt.Errorf("encode the request: %w", err)
		}
	}
	if err := s.prepareSummary(c, req.Summary); err != nil {
		return AppendResult{}, fmt.Errorf("append to session: %w", err)
	}
	if _, err := s.capture(ctx, c); err != nil {
		return AppendResult{}, fmt.Errorf("append to session: %w", err)
	}
	if c.summary != nil {
		// Run works out again when the session is due.
		s.wakeRun()
	}
	return c.result, nil
}

// redactedMessage is a message as it may be stored.
type redactedMessage struct {
	*memory.Message
	taken []memory.Redaction
}

// prepare copies the messages, fills in times, makes their texts valid UTF-8, redacts, and cuts them to
// length. The caller's messages stay as they are.
func (s *Service) prepare(messages []memory.Message) []redactedMessage {
	out := make([]redactedMessage, len(messages))
	for i := range messages {
		m := messages[i]
		if m.Tool != nil {
			t := *m.Tool
			t.Failed = t.Failed || t.Error == "" && toolcall.ExitFailed(t.Name, t.Result) // agents may not say so
			m.Tool = &t
		}
		if m.At.IsZero() {
			m.At = s.now().In(s.loc)
		}
		eachText(&m, func(text *string, _ int) { *text = strings.ToValidUTF8(*text, "\uFFFD") })
		clean, taken := redact.Message(&m)
		// Cut only what is clean: a secret cut in two would not be recognised any more.
		eachText(clean, func(text *string, limit int) { *text = cut(*text, limit) })
		out[i] = redactedMessage{clean, taken}
	}
	return out
}

// eachText calls f with every text of m and the bytes it may have.
func eachText(m *memory.Message, f func(text *string, limit int)) {
	f(&m.Content, MaxText)
	if t := m.Tool; t != nil {
		f(&t.Name, memory.MaxTitle)
		f(&t.Arguments, MaxText)
		f(&t.Result, MaxText)
		f(&t.Error, MaxText)
	}
}

// cut leaves out the middle of a text longer than limit bytes and says how much it left out. What was asked stands at
// the beginning of a text and how it ended at its end.
func cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	const note = "\n[… %d bytes left out …]\n"
	room := limit - len(note) - 20
	head, tail := room/2, len(s)-(room-room/2)
	for head > 0 && !utf8.RuneStart(s[head]) {
		head--
	}
	for tail < len(s) && !utf8.RuneStart(s[tail]) {
		tail++
	}
	return s[:head] + fmt.Sprintf(note, tail-head) + s[tail:]
}

// capture is one change of a session: messages, its end, or both.
type capture struct {
	space, id      string
	host, cwd      string
	first          int64 // number of the first message, 0 for the end
	messages       []redactedMessage
	end            string           // when set, the session ends for this reason
	mustExist      bool             // the session must exist
	summary        *redactedMessage // of the context; nil for none
	unchangedSince *memory.Session  // when set, the session ends only if it is still as it was here
	key            string
	request        []byte

	result AppendResult
	added  []*memory.Message // what was appended, the summary too
}

// capture carries c out as one operation and returns the header it leaves.
func (s *Service) capture(ctx context.Context, c *capture) (*memory.Session, error) {
	meta := s.meta(c.space, c.id, c.reason())
	meta.Key, meta.Request = c.key, c.request
	// the mark of an end is small, and without it the session is not reflected
	meta.Essential = c.end != "" && len(c.messages) == 0
	var header *memory.Session
	res, err := s.store.Update(ctx, meta, func(tx *store.Tx) (err error) {
		if header, err = c.apply(tx); err != nil {
			return err
		}
		for _, o := range c.result.Outcomes {
			tx.Report(o)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if res.Replayed {
		if header, err = s.Get(c.space, c.id); err != nil {
			return nil, err
		}
		c.result = AppendResult{
			NextSeq: header.NextSeq, Duplicates: len(c.messages), Outcomes: res.Outcomes, Replayed: true,
		}
	}
	c.result.Op = res.Op
	if len(c.added) > 0 && !res.Replayed {
		s.workingCache.extend(key{c.space, c.id}, header, c.added)
	}
	return header, nil
}

// reason is the operation's reason, as "memsidecar ops" shows it.
func (c *capture) reason() string {
	if c.end != "" {
		return "end session: " + c.end
	}
	return "append to session"
}

// apply is the transaction. It writes the header once, before the messages.
func (c *capture) apply(tx *store.Tx) (*memory.Session, error) {
	before := tx.Session(c.id)
	switch {
	case before == nil && c.mustExist:
		return nil, &memory.NotFoundError{Kind: "session", Name: c.id}
	case c.unchangedSince != nil && (before.State != c.unchangedSince.State || !before.LastAt.Equal(c.unchangedSince.LastAt)):
		return before, nil // it has come to life
	}
	fresh, err := c.fresh(before)
	if err != nil {
		return nil, err
	}
	next := c.header(before, fresh, tx.Now())
	if before == nil || *before != *next {
		tx.PutSession(next)
	}
	seq := next.NextSeq - int64(len(fresh))
	c.added = nil
	for i, m := range fresh {
		m.Seq = seq + int64(i)
		if err := tx.AppendMessage(c.id, m.Message); err != nil {
			return nil, err
		}
		c.added = append(c.added, m.Message)
		c.result.Redacted += redact.CountSecrets(m.taken)
	}
	if c.summary != nil {
		if err := tx.AppendMessage(c.id, c.summary.Message); err != nil {
			return nil, err
		}
		c.added = append(c.added, c.summary.Message)
		c.result.Summary = c.summary.taken
		c.result.Redacted += redact.CountSecrets(c.summary.taken)
	}
	c.result.NextSeq, c.result.Appended, c.result.Duplicates = next.NextSeq, len(fresh), len(c.messages)-len(fresh)
	c.result.Outcomes = c.outcomes()
	return next, nil
}

// outcomes says what became of each message. Those known already are always the first ones.
func (c *capture) outcomes() []journal.Outcome {
	if len(c.messages) == 0 {
		return nil
	}
	out := make([]journal.Outcome, len(c.messages))
	for i := range out {
		out[i].Status = journal.Applied
		if i < c.result.Duplicates {
			out[i].Status = journal.Duplicate
		} else {
			out[i].ID = strconv.FormatInt(c.result.NextSeq-int64(len(out)-i), 10)
			out[i].Redactions = c.messages[i].taken
		}
	}
	return out
}

// fresh returns the messages that the session does not have yet.
func (c *capture) fresh(before *memory.Session) ([]redactedMessage, error) {
	expected := int64(1)
	if before != nil {
		expected = before.NextSeq
	}
	if c.first == 0 {
		return c.messages, nil
	}
	if c.first > expected {
		var check memory.Check
		check.Add("first_seq", "GAP", "is %d; the next number expected is %d", c.first, expected)
		return nil, check.Err()
	}
	return c.messages[min(expected-c.first, int64(len(c.messages))):], nil
}

// header is what the session's header becomes.
func (c *capture) header(before *memory.Session, fresh []redactedMessage, now time.Time) *memory.Session {
	next := openHeader(before, c.id, now)
	if before != nil && len(fresh) == 0 && c.summary == nil {
		*next = *before // nothing new does not open a session again
	}
	if c.host != "" {
		next.Host, _ = redact.Text(c.host)
	}
	if c.cwd != "" {
		next.Cwd, _ = redact.Text(c.cwd) // a directory can be named after a token, or a URL stand in its place
	}
	if n := int64(len(fresh)); n > 0 {
		next.Messages += n
		next.NextSeq += n
		next.LastAt = now // of the arrival: a host may hand in messages of an hour ago while the session goes on
	}
	if c.summary != nil {
		next.Summaries++
		next.LastAt = now
	}
	if c.end != "" && next.State == memory.SessionOpen {
		next.State, next.EndedAt, next.EndReason = memory.SessionEnded, now, c.end
		// nobody said anything: there is nothing to reflect
		if next.NextSeq <= max(next.ReflectedSeq, 1) && next.Summaries <= next.ReflectedSummaries {
			next.State, next.ReflectedSeq = memory.SessionReflected, next.NextSeq
		}
	}
	return next
}
