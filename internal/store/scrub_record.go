package store

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/store/journal"
	"github.com/memsidecar/memsidecar/internal/store/textscrub"
)

// scrubber removes what a purge erases from values, wherever they are from: a record, a file of a snapshot, the state.
// It changes nothing else and is idempotent. So the same result is reached whichever of these were scrubbed before a
// crash. Values are shared and never changed in place: it returns changed copies.
type scrubber struct {
	// op is the operation of the purge; only older values are scrubbed.
	op    int64
	space string
	// only says that other spaces keep the texts.
	only     bool
	ids      map[string]bool
	entries  map[entryRef]bool
	sessions map[string]bool
	texts    textscrub.Texts
	// names are the ids of memories, entries and sessions as they are encoded in lines of records.
	names [][]byte
}

// entryRef names a log entry of the purge's space.
type entryRef struct {
	Date string `json:"date"`
	ID   string `json:"id"`
}

// newScrubber returns the scrubber of a purge.
func newScrubber(in *purgeIntent) *scrubber {
	sc := &scrubber{
		op: in.Op, space: in.Space, only: in.Received || in.Only, ids: map[string]bool{}, entries: map[entryRef]bool{}, sessions: map[string]bool{},
		texts: textscrub.New(in.Texts),
	}
	name := func(s string) {
		raw, _ := json.Marshal(s) // a string always encodes; ids have nothing to escape
		sc.names = append(sc.names, bytes.Trim(raw, `"`))
	}
	for _, id := range in.IDs {
		sc.ids[id] = true
		name(id)
	}
	for _, e := range in.Entries {
		sc.entries[e] = true
		name(e.ID)
	}
	for _, id := range in.Sessions {
		sc.sessions[id] = true
		name(id)
	}
	return sc
}

// mayChange reports whether the line of a record may have to change. It decodes nothing.
func (sc *scrubber) mayChange(line []byte) bool {
	const maxSearched = 16 // beyond so many names, searching for each costs more than decoding the line
	return len(sc.names) > maxSearched || slices.ContainsFunc(sc.names, func(n []byte) bool {
		return bytes.Contains(line, n)
	}) || sc.texts.Match(line)
}

// record scrubs a record in place, which must not be shared, and reports whether it changed.
func (sc *scrubber) record(rec *journal.Record) bool {
	if sc.only && rec.Space != sc.space {
		return false
	}
	reason, changed := sc.texts.Replace(rec.Reason)
	rec.Reason = reason
	if receipt, did := sc.receipt(rec.Receipt); did {
		rec.Receipt, changed = receipt, true
	}
	for i := range rec.Changes {
		if c, did := sc.change(rec.Space, &rec.Changes[i]); did {
			rec.Changes[i], changed = c, true
		}
	}
	return changed
}

// receipt returns nil for a receipt whose key holds the text: a key cannot be changed.
func (sc *scrubber) receipt(r *journal.Receipt) (*journal.Receipt, bool) {
	if r == nil {
		return nil, false
	}
	if sc.texts.Match([]byte(r.Key)) {
		return nil, true
	}
	changed := false
	c := *r
	c.Outcomes = slices.Clone(r.Outcomes)
	for i := range c.Outcomes {
		sc.text(&c.Outcomes[i].Reason, &changed)
	}
	if !changed {
		return r, false
	}
	return &c, true
}

// change returns a change without the erased text. Its Purged is set when the state before cannot be restored any more.
func (sc *scrubber) change(space string, c *journal.Change) (out journal.Change, changed bool) {
	switch {
	case c.Memory != nil:
		return sc.memoryChange(space, c.Memory)
	case c.Entry != nil:
		e := *c.Entry
		var before, after bool
		e.Before, before = sc.entry(space, e.Date, e.Before)
		e.After, after = sc.entry(space, e.Date, e.After)
		e.Purged = e.Purged || before || after && sc.namesEntry(space, e.Date, e.ID)
		return journal.Change{Entry: &e}, before || after
	case c.Day != nil:
		d := *c.Day
		var before, after bool
		d.Before, before = sc.day(d.Before)
		d.After, after = sc.day(d.After)
		d.Purged = d.Purged || before
		return journal.Change{Day: &d}, before || after
	case c.Summary != nil:
		s := *c.Summary
		var before, after bool
		sc.text(&s.Before, &before)
		sc.text(&s.After, &after)
		s.Purged = s.Purged || before
		return journal.Change{Summary: &s}, before || after
	case c.Session != nil:
		s := *c.Session
		var before, after bool
		s.Before, before = sc.session(space, s.Before)
		s.After, after = sc.session(space, s.After)
		return journal.Change{Session: &s}, before || after
	case c.Message != nil:
		m, did := sc.message(space, c.Message.Session, c.Message.Message)
		return journal.Change{Message: &journal.MessageChange{Session: c.Message.Session, Message: m}}, did
	case c.Archive != nil:
		a := *c.Archive
		var before, after bool
		a.Before, before = sc.archived(a.Before)
		a.After, after = sc.archived(a.After)
		return journal.Change{Archive: &a}, before || after
	}
	return *c, false
}

// memoryChange scrubs a change of a memory. That of a named memory is always Purged, even if it held no text.
func (sc *scrubber) memoryChange(space string, c *journal.MemoryChange) (journal.Change, bool) {
	m := *c
	m.Text = nil
	var before, after bool
	m.Before, before = sc.memory(space, m.Before)
	m.After, after = sc.memory(space, m.After)
	m.Purged = m.Purged || before || space == sc.space && sc.ids[m.ID]
	return journal.Change{Memory: &m}, before || after || m.Purged != c.Purged
}

// namesEntry reports whether the purge erases this log entry as a whole.
func (sc *scrubber) namesEntry(space, date, id string) bool {
	return space == sc.space && sc.entries[entryRef{date, id}]
}

// text scrubs one string. It sets changed if it did.
func (sc *scrubber) text(s *string, changed *bool) {
	if clean, did := sc.texts.Replace(*s); did {
		*s, *changed = clean, true
	}
}

// extra scrubs fields that this version does not know. It sets changed if it did.
func (sc *scrubber) extra(extra *map[string]json.RawMessage, changed *bool) {
	if clean, did := sc.texts.Fields(*extra); did {
		*extra, *changed = clean, true
	}
}

// memory scrubs a memory. Of a memory that the purge names, only ids, numbers and dates are left. A memory whose
// content is nothing but placeholders is retired.
func (sc *scrubber) memory(space string, m *memory.Memory) (*memory.Memory, bool) {
	if m == nil {
		return nil, false
	}
	if space == sc.space && sc.ids[m.ID] {
		outline := &memory.Memory{
			ID: m.ID, Category: m.Category, Content: textscrub.Placeholder, Salience: m.Salience,
			CreatedAt: m.CreatedAt, Source: m.Source, UpdatedAt: m.UpdatedAt, Revision: m.Revision,
			Pinned: m.Pinned, Confidence: m.Confidence, Status: m.Status,
			More: &memory.More{LastAccessed: m.LastAccessed(), AccessCount: m.AccessCount(), ExpiresAt: m.ExpiresAt(),
				Supersedes: m.Supersedes(), SupersededBy: m.SupersededBy()},
		}
		outline.Trim()
		return outline, !equalJSON(m, outline)
	}
	if sc.texts.Len() == 0 {
		return m, false
	}
	changed := false
	c := m.Clone()
	for text := range c.Texts() {
		sc.text(text, &changed)
	}
	for i := range c.Relations() {
		sc.text(&c.Relations()[i].Type, &changed)
	}
	if c.Context() != nil {
		sc.extra(&c.Context().Extra, &changed)
	}
	if clean, did := sc.texts.JSON(c.StructuredData()); did {
		c.SetStructuredData(clean)
		changed = true
	}
	sc.extra(&c.Own().Extra, &changed)
	if !changed {
		return m, false
	}
	c.Trim()
	if c.IsActive() && textscrub.OnlyPlaceholders(c.Content) {
		c.Status = memory.Retired // there is nothing left to find
	}
	return c, true
}

// entry scrubs a log entry. A named entry, and the summary of a session whose messages are erased, lose all text.
func (sc *scrubber) entry(space, date string, e *memory.Entry) (*memory.Entry, bool) {
	if e == nil {
		return nil, false
	}
	if sc.namesEntry(space, date, e.ID) || space == sc.space && e.Type == memory.EntrySessionSummary &&
		sc.sessions[e.Session] {
		outline := &memory.Entry{ID: e.ID, Time: e.Time, At: e.At, Type: e.Type, Content: textscrub.Placeholder,
			Session: e.Session}
		return outline, !equalJSON(e, outline)
	}
	changed := false
	c := *e
	for _, s := range []*string{&c.Content, &c.Tool, &c.Error} {
		sc.text(s, &changed)
	}
	sc.extra(&c.Extra, &changed)
	if !changed {
		return e, false
	}
	return &c, true
}

// day scrubs the header of a daily log.
func (sc *scrubber) day(d *memory.Day) (*memory.Day, bool) {
	if d == nil {
		return nil, false
	}
	changed := false
	c := *d
	sc.text(&c.Summary, &changed)
	sc.extra(&c.Extra, &changed)
	if !changed {
		return d, false
	}
	return &c, true
}

// archived scrubs the record of an archived log. Only its summary is text.
func (sc *scrubber) archived(r *memory.Archived) (*memory.Archived, bool) {
	if r == nil {
		return nil, false
	}
	changed := false
	c := *r
	sc.text(&c.Summary, &changed)
	if !changed {
		return r, false
	}
	return &c, true
}

// session scrubs the header of a session. One whose messages are erased loses its summary.
func (sc *scrubber) session(space string, s *memory.Session) (*memory.Session, bool) {
	if s == nil {
		return nil, false
	}
	changed := false
	c := *s
	if space == sc.space && sc.sessions[s.ID] && s.Summary != "" {
		c.Summary, changed = "", true
	}
	for _, text := range []*string{&c.Host, &c.Cwd, &c.EndReason, &c.Summary} {
		sc.text(text, &changed)
	}
	if !changed {
		return s, false
	}
	return &c, true
}

// message scrubs a message. Messages of erased sessions keep number, role and time.
func (sc *scrubber) message(space, session string, m *memory.Message) (*memory.Message, bool) {
	if m == nil {
		return nil, false
	}
	if space == sc.space && sc.sessions[session] {
		outline := &memory.Message{Seq: m.Seq, At: m.At, Role: m.Role, Content: textscrub.Placeholder}
		return outline, !equalJSON(m, outline)
	}
	if m.Role == memory.RoleContext && m.Seq == 0 {
		// A session's context quotes memories in shortened form, in which texts cannot be found. It is erased as a
		// whole; the next request computes a new one.
		gone := &memory.Message{At: m.At, Role: m.Role, Content: textscrub.Placeholder}
		return gone, !equalJSON(m, gone)
	}
	changed := false
	c := *m
	sc.text(&c.Content, &changed)
	if m.Tool != nil {
		tool := *m.Tool
		for _, s := range []*string{&tool.Name, &tool.Arguments, &tool.Result, &tool.Error} {
			sc.text(s, &changed)
		}
		c.Tool = &tool
	}
	if !changed {
		return m, false
	}
	return &c, true
}
