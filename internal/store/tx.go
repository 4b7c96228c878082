package store

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/memsidecar/memsidecar/internal/journal"
	"github.com/memsidecar/memsidecar/internal/memory"
)

// Tx is one transaction. It is valid only inside the function given to Update. Its reads see its own writes.
type Tx struct {
	space    *spaceState
	now      time.Time
	lsn      int64
	salt     string
	interned *interner
	salts    []string // of all forgotten values, once somebody asked
	changes  []journal.Change
	outcomes []journal.Outcome

	// What the transaction changed itself; nil maps until then.
	memories map[string]*memory.Memory // nil: removed
	equal    map[string]string         // id by category and normalised content
	days     map[string]*memory.Day    // nil: removed
	archive  map[string]*memory.Archived
	sessions map[string]*memory.Session
	forgot   map[string]time.Time // zero: taken back
	summary  *string
}

// NewID returns a fresh id that sorts by time.
func NewID() string { return uuid.Must(uuid.NewV7()).String() }

// Now is the time of the operation.
func (tx *Tx) Now() time.Time { return tx.now }

// LSN is the number the operation will have.
func (tx *Tx) LSN() int64 { return tx.lsn }

// Memory returns the newest state of a memory, nil when there is none. It must not be changed: Clone it.
func (tx *Tx) Memory(id string) *memory.Memory {
	if m, ok := tx.memories[id]; ok {
		return m
	}
	return tx.space.memory(id)
}

// Equal returns an active memory with the same category and the same content after memory.Normalize, nil when there is none.
func (tx *Tx) Equal(category, content string) *memory.Memory {
	want := memory.Normalize(content)
	same := func(m *memory.Memory) bool {
		return m != nil && m.IsActive() && m.Category == category && memory.Normalize(m.Content) == want
	}
	if m := tx.memories[tx.equal[category+"\x00"+want]]; same(m) {
		return m
	}
	if slot, ok := tx.space.equal[tx.space.hash(category, content)]; ok {
		m := tx.space.slots[slot]
		if _, changed := tx.memories[m.ID]; !changed && same(m) {
			return m
		}
	}
	return nil
}

// Put creates or replaces a memory. It sets UpdatedAt (unless it creates and UpdatedAt is set) and Revision. m belongs to the store from here on.
// Returns an *memory.InvalidError when m does not hold to the limits.
func (tx *Tx) Put(m *memory.Memory) error {
	var check memory.Check
	check.Memory("", m)
	if err := check.Err(); err != nil {
		return err
	}
	before := tx.Memory(m.ID)
	if before != nil || m.UpdatedAt.IsZero() {
		m.UpdatedAt = tx.now
	}
	if m.CreatedAt.IsZero() {
		m.CreatedAt = tx.now
	}
	if m.Status == "" {
		m.Status = memory.Active
	}
	m.Revision = tx.lsn
	tx.interned.memory(m)
	change := &journal.MemoryChange{ID: m.ID, Before: before, After: m}
	if before == nil {
		change.Prior = tx.space.removed[m.ID]
	}
	tx.changes = append(tx.changes, journal.Change{Memory: change})
	if tx.memories == nil {
		tx.memories, tx.equal = map[string]*memory.Memory{}, map[string]string{}
	}
	tx.memories[m.ID] = m
	tx.equal[m.Category+"\x00"+memory.Normalize(m.Content)] = m.ID
	return nil
}

// Remove takes a memory out of the state altogether; users' deletes set Retired by Put instead.
func (tx *Tx) Remove(id string) {
	before := tx.Memory(id)
	if before == nil {
		return
	}
	tx.changes = append(tx.changes, journal.Change{Memory: &journal.MemoryChange{ID: id, Before: before}})
	if tx.memories == nil {
		tx.memories, tx.equal = map[string]*memory.Memory{}, map[string]string{}
	}
	tx.memories[id] = nil
}

// forgottenHash is how a forgotten value is remembered: salted, so that the file does not give away what it was.
func forgottenHash(salt, content string) string {
	sum := sha256.Sum256([]byte(salt + "\x00" + memory.Normalize(content)))
	return salt + ":" + hex.EncodeToString(sum[:16])
}

// Forget records, or with remove takes back, the hash of a value that must not be learnt again.
func (tx *Tx) Forget(content string, remove bool) {
	for _, hash := range tx.forgottenAs(content) {
		before, _ := tx.forgottenAt(hash)
		if !remove {
			return
		}
		tx.setForgotten(journal.ForgottenChange{Hash: hash, Before: before})
	}
	if !remove {
		tx.setForgotten(journal.ForgottenChange{Hash: forgottenHash(tx.salt, content), After: tx.now})
	}
}

// PutForgotten adds a forgotten value's hash as it was found in a file.
func (tx *Tx) PutForgotten(hash string, at time.Time) {
	if _, known := tx.forgottenAt(hash); !known && !at.IsZero() {
		tx.setForgotten(journal.ForgottenChange{Hash: hash, After: at})
	}
}

func (tx *Tx) setForgotten(c journal.ForgottenChange) {
	tx.changes = append(tx.changes, journal.Change{Forgotten: &c})
	if tx.forgot == nil {
		tx.forgot = map[string]time.Time{}
	}
	tx.forgot[c.Hash] = c.After
}

// IsForgotten reports whether the value was forgotten by the user.
func (tx *Tx) IsForgotten(content string) bool { return len(tx.forgottenAs(content)) > 0 }

// forgottenAs returns the hashes under which content is forgotten. Hashes adopted from another store carry its salt.
func (tx *Tx) forgottenAs(content string) []string {
	if tx.salts == nil {
		tx.salts = []string{tx.salt}
		for hash := range tx.space.forgotten {
			if salt, _, ok := strings.Cut(hash, ":"); ok && !slices.Contains(tx.salts, salt) {
				tx.salts = append(tx.salts, salt)
			}
		}
	}
	var out []string
	for _, salt := range tx.salts {
		hash := forgottenHash(salt, content)
		if _, ok := tx.forgottenAt(hash); ok {
			out = append(out, hash)
		}
	}
	return out
}

func (tx *Tx) forgottenAt(hash string) (time.Time, bool) {
	if at, ok := tx.forgot[hash]; ok {
		return at, !at.IsZero()
	}
	at, ok := tx.space.forgotten[hash]
	return at, ok
}

// Summary is the newest rolling summary.
func (tx *Tx) Summary() string {
	if tx.summary != nil {
		return *tx.summary
	}
	return tx.space.summary
}

// SetSummary replaces the rolling summary. The same text changes nothing.
func (tx *Tx) SetSummary(text string) {
	if before := tx.Summary(); before != text {
		tx.changes = append(tx.changes, journal.Change{Summary: &journal.SummaryChange{Before: before, After: text}})
		tx.summary = &text
	}
}

// Day returns the newest header of a daily log, nil when there is none.
func (tx *Tx) Day(date string) *memory.Day {
	if d, ok := tx.days[date]; ok {
		return d
	}
	if d := tx.space.days[date]; d != nil {
		return d.header
	}
	return nil
}

func (tx *Tx) setDay(date string, d *memory.Day) {
	if tx.days == nil {
		tx.days = map[string]*memory.Day{}
	}
	tx.days[date] = d
}

// AppendEntry appends to the daily log of date, creating it when needed. An empty ID is filled in.
// Returns an *memory.InvalidError when e does not hold to the limits.
func (tx *Tx) AppendEntry(date string, e *memory.Entry) error {
	if e.ID == "" {
		e.ID = NewID()
	}
	var check memory.Check
	check.Date("date", date)
	check.Entry("", e)
	if err := check.Err(); err != nil {
		return err
	}
	tx.putEntry(date, nil, e)
	return nil
}

// putEntry creates (before nil), replaces or removes (after nil) an entry.
func (tx *Tx) putEntry(date string, before, after *memory.Entry) {
	id := ""
	if after != nil {
		id = after.ID
	} else {
		id = before.ID
	}
	tx.changes = append(tx.changes, journal.Change{Entry: &journal.EntryChange{Date: date, ID: id, Before: before, After: after}})
	header := memory.Day{Date: date}
	if d := tx.Day(date); d != nil {
		header = *d
	}
	header.Revision = tx.lsn
	if before == nil {
		header.Entries++
	}
	if after == nil {
		header.Entries--
	}
	tx.setDay(date, &header)
}

// SetDay replaces a day's summary, archived mark and extra fields; the other fields of d are ignored.
func (tx *Tx) SetDay(d *memory.Day) {
	before := tx.Day(d.Date)
	after := *d
	after.Revision, after.Entries = tx.lsn, 0
	if before != nil {
		after.Entries = before.Entries
	}
	tx.changes = append(tx.changes, journal.Change{Day: &journal.DayChange{Date: d.Date, Before: before, After: &after}})
	tx.setDay(d.Date, &after)
}

// RemoveDay removes a day and its entries, which the caller read at d.Revision; a *memory.StaleError when it changed since.
func (tx *Tx) RemoveDay(d *memory.Day, entries []*memory.Entry) error {
	if err := tx.sameDay(d.Date, d.Revision); err != nil {
		return err
	}
	before := tx.Day(d.Date)
	for _, e := range entries {
		tx.putEntry(d.Date, e, nil)
	}
	tx.changes = append(tx.changes, journal.Change{Day: &journal.DayChange{Date: d.Date, Before: before}})
	tx.setDay(d.Date, nil)
	return nil
}

// sameDay returns a *memory.StaleError unless the day is at revision; 0 means that there is no such day.
func (tx *Tx) sameDay(date string, revision int64) error {
	current := int64(0)
	if d := tx.Day(date); d != nil {
		current = d.Revision
	}
	if current != revision {
		return &memory.StaleError{Kind: "log", Name: date, Expected: revision, Current: current}
	}
	return nil
}

// Session returns the newest header of a session, nil when there is none.
func (tx *Tx) Session(id string) *memory.Session {
	if s, ok := tx.sessions[id]; ok {
		return s
	}
	if s := tx.space.sessions[id]; s != nil {
		return s.header
	}
	return nil
}

// PutSession creates or replaces a session's header.
func (tx *Tx) PutSession(s *memory.Session) {
	tx.changes = append(tx.changes, journal.Change{Session: &journal.SessionChange{ID: s.ID, Before: tx.Session(s.ID), After: s}})
	if tx.sessions == nil {
		tx.sessions = map[string]*memory.Session{}
	}
	tx.sessions[s.ID] = s
}

// removeSession takes a session out of the state, with its messages.
func (tx *Tx) removeSession(id string) {
	tx.changes = append(tx.changes, journal.Change{Session: &journal.SessionChange{ID: id, Before: tx.Session(id)}})
	if tx.sessions == nil {
		tx.sessions = map[string]*memory.Session{}
	}
	tx.sessions[id] = nil
}

// AppendMessage appends a message to a session that PutSession made, in this transaction or before. The header's counters are the caller's
// to set. Error: memory.ErrNotFound.
func (tx *Tx) AppendMessage(session string, m *memory.Message) error {
	if tx.Session(session) == nil {
		return &memory.NotFoundError{Kind: "session", Name: session}
	}
	tx.changes = append(tx.changes, journal.Change{Message: &journal.MessageChange{Session: session, Message: m}})
	return nil
}

// Report adds to Result.Outcomes, and so to the receipt of the request's key.
func (tx *Tx) Report(o journal.Outcome) { tx.outcomes = append(tx.outcomes, o) }
