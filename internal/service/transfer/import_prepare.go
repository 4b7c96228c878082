package transfer

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/redact"
	"github.com/memsidecar/memsidecar/internal/service/memorysvc"
)

// prepare redacts the texts of an item, validates it, and returns what is wrong with it, "" for nothing.
func (im *importing) prepare(it *item) string {
	var check memory.Check
	taken := redact.Cleaner{Keep: im.opts.Keep}
	defer func() { im.taken(it, taken.Found) }()
	check.Slug("space", it.space)
	switch it.kind {
	case Memory:
		im.clamp(it)
		im.prepareMemory(&check, &taken, it.memory)
	case Day:
		check.Date("date", it.date)
		memorysvc.CleanDay(&taken, it.day)
	case Entry:
		check.Date("date", it.date)
		im.prepareEntry(&check, &taken, it)
	case Archived:
		check.Date("date", it.date)
		im.prepareArchived(&check, &taken, it.archived)
	case Session:
		im.prepareSession(&check, &taken, it.session)
	case Summary:
		it.text = taken.Text(Summary, it.text)
		check.Text(Summary, it.text, memory.MaxSummary, true)
	case Forgotten:
		check.ID("hash", it.forgotten.Hash)
		if it.forgotten.At.IsZero() {
			check.Add("at", "REQUIRED", "must not be empty")
		}
	}
	return violations(&check)
}

// taken reports what was taken out of an item.
func (im *importing) taken(it *item, list []memory.Redaction) {
	if len(list) == 0 {
		return
	}
	if im.report.RedactedCount++; len(im.report.Redacted) < maxSkipped {
		im.report.Redacted = append(im.report.Redacted, Taken{it.line, it.kind, it.id, list})
	}
}

// violations lists the violations of a check in one line.
func violations(check *memory.Check) string {
	invalid, ok := errors.AsType[*memory.InvalidError](check.Err())
	if !ok {
		return ""
	}
	parts := make([]string, len(invalid.Violations))
	for i, v := range invalid.Violations {
		parts[i] = v.Field + " " + v.Detail
	}
	return strings.Join(parts, "; ")
}

// clamp brings what a memory weighs into its range and reports it: another program may count otherwise.
func (im *importing) clamp(it *item) {
	for _, f := range []struct {
		name  string
		value *float64
	}{{"salience", &it.memory.Salience}, {"confidence", &it.memory.Confidence}} {
		if v := min(max(*f.value, 0), 1); v != *f.value {
			*f.value = v
			im.adjusted(Adjusted{it.line, it.id, f.name + ": is not from 0 to 1; took the nearest"})
		}
	}
}

// prepareMemory redacts and validates a memory. The clock of another system is no reason to refuse a memory: a time
// in the future becomes the time of the import.
func (im *importing) prepareMemory(check *memory.Check, taken *redact.Cleaner, m *memory.Memory) {
	full := m.Content != ""
	memorysvc.Clean(taken, m)
	if full && m.Content == "" {
		check.Add("content", "NOTHING_LEFT", "holds nothing but what must not be stored")
		m.Content = "-" // said already
	}
	check.Memory("", m)
	switch m.Status {
	case memory.Active, memory.Superseded, memory.Retired:
	case "":
		m.Status = memory.Active
	default:
		check.Add("status", "UNKNOWN_VALUE", "is not a status")
	}
	for _, at := range []*time.Time{&m.CreatedAt, &m.UpdatedAt, &m.Own().ContentAt} {
		if im.external && at.After(im.latest) {
			*at = time.Time{} // another system's clock is no reason to refuse its memory: it came now
		}
	}
	m.Trim()
	if m.CreatedAt.After(im.latest) {
		check.Add("created_at", "IN_FUTURE", "is more than 24 hours ahead of the daemon's clock")
	}
	m.Revision = 0
}

// prepareEntry redacts and validates a log entry.
func (im *importing) prepareEntry(check *memory.Check, taken *redact.Cleaner, it *item) {
	e := it.entry
	full := e.Content != ""
	memorysvc.CleanEntry(taken, e)
	if full && e.Content == "" {
		check.Add("content", "NOTHING_LEFT", "holds nothing but what must not be stored")
		e.Content = "-" // said already
	}
	if e.At.IsZero() {
		check.Add("at", "REQUIRED", "must not be empty")
	}
	if e.Time == "" {
		e.Time = e.At.Format(time.TimeOnly)
	}
	if e.At.After(im.latest) {
		check.Add("at", "IN_FUTURE", "is more than 24 hours ahead of the daemon's clock")
	}
	check.Entry("", e)
}

// prepareArchived redacts and validates the record of an archived log.
func (im *importing) prepareArchived(check *memory.Check, taken *redact.Cleaner, r *memory.Archived) {
	check.ID("id", r.ID)
	r.Summary = taken.Text("summary", r.Summary)
	check.Text("summary", r.Summary, memory.MaxSummary, false)
	for i, id := range r.Promoted {
		check.ID(fmt.Sprintf("promoted[%d]", i), id)
	}
	if r.Entries < 0 {
		check.Add("entries", "OUT_OF_RANGE", "must not be negative")
	}
	check.Time("archived_at", r.At)
	check.Time("deleted_at", r.DeletedAt)
	if r.At.IsZero() || r.At.After(im.latest) {
		check.Add("archived_at", "OUT_OF_RANGE", "must be a time in the past")
	}
	if r.DeletedAt.After(im.latest) {
		check.Add("deleted_at", "OUT_OF_RANGE", "must be a time in the past")
	}
}

// prepareSession redacts and validates a session. Numbers of operations belong to the store that it came from and
// go.
func (im *importing) prepareSession(check *memory.Check, taken *redact.Cleaner, s *memory.Session) {
	check.ID("id", s.ID)
	if !slices.Contains(
		[]memory.SessionState{memory.SessionOpen, memory.SessionEnded, memory.SessionReflected},
		s.State,
	) {
		check.Add("state", "UNKNOWN_VALUE", "is not a state")
	}
	check.Time("started_at", s.StartedAt)
	check.Time("last_at", s.LastAt)
	check.Time("ended_at", s.EndedAt)
	if s.StartedAt.IsZero() || s.StartedAt.After(im.latest) {
		check.Add("started_at", "OUT_OF_RANGE", "must be a time in the past")
	}
	if s.NextSeq < 0 || s.ReflectedSeq < 0 {
		check.Add("next_seq", "OUT_OF_RANGE", "must not be negative")
	}
	s.Summary, s.Cwd = taken.Text("summary", s.Summary), taken.Text("cwd", s.Cwd)
	s.Host, s.EndReason = taken.Text("host", s.Host), taken.Text("end_reason", s.EndReason)
	s.ReflectedOp = 0                  // a number of the store that it comes from
	s.ReflectedSummaries = s.Summaries // contexts and summaries of them are not exported
	s.LastAt = cmp.Or(s.LastAt, s.StartedAt)
}

// prepareMessage redacts and validates a message of the open session.
func (im *importing) prepareMessage(open, it *item) string {
	var check memory.Check
	clean, taken := redact.Message(it.message)
	it.message = clean
	im.taken(it, taken)
	m := it.message
	if !slices.Contains([]string{"user", "assistant", "system", "tool"}, m.Role) {
		check.Add("role", "UNKNOWN_VALUE", "is not a role")
	}
	check.Time("at", m.At)
	after := int64(0)
	if n := len(open.messages); n > 0 {
		after = open.messages[n-1].Seq
	}
	if m.Seq <= after {
		check.Add("seq", "OUT_OF_RANGE", "must be larger than the one before")
	}
	if m.Seq >= open.session.NextSeq {
		check.Add("seq", "OUT_OF_RANGE", "must be smaller than next_seq of the session")
	}
	return violations(&check)
}

// size is about how many bytes an item takes in the journal.
func (it *item) size() int {
	n := 512 + len(it.text)
	switch {
	case it.memory != nil:
		n += len(it.memory.Content) + len(it.memory.StructuredData())
	case it.entry != nil:
		n += len(it.entry.Content) + len(it.entry.Error)
	case it.archived != nil:
		n += len(it.archived.Summary)
	case it.day != nil:
		n += len(it.day.Summary)
	}
	for _, m := range it.messages {
		n += 128 + len(m.Content)
		if m.Tool != nil {
			n += len(m.Tool.Arguments) + len(m.Tool.Result) + len(m.Tool.Error)
		}
	}
	return n
}

// encoded is a value in the form in which values are compared.
func encoded(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	return string(raw)
}
