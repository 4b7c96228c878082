package store

import (
	"cmp"
	"hash/maphash"
	"maps"
	"slices"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/memory/idmap"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

// receiptTTL is how long a repeated request with the same idempotency key returns the first result.
const receiptTTL = 24 * time.Hour

// state is everything that the journal adds up to. The store has two that share all values: visible is what is durable,
// for readers; staged includes what is staged, for transactions, and has the spaces that transactions used. Only apply
// changes a state (and a purge, by applyScrub), in recovery and in normal operation alike.
type state struct {
	spaces map[string]*spaceState
	// dropped is the newest record that dropped a space, whose own newest record nothing remembers.
	dropped int64
	// bodies says that the state keeps the entries of logs and the messages of sessions. Only the visible state does.
	bodies bool
	// seed of the hashes of contents. Only the staged state indexes contents.
	seed maphash.Seed
}

// spaceState is one space of a state.
type spaceState struct {
	name string
	// slots are the memories in order of creation, nil where one was removed; holes counts the nils.
	slots []*memory.Memory
	byID  *idmap.Map // nil while the slots are few
	holes int
	// cold holds the memories of a cold space, which has no slots; nil while it is warm, and in the staged state.
	cold *coldMemories
	// equal maps the hash of category and normalised content to the newest slot with them. Only the staged state has
	// it.
	equal idmap.Table
	seed  maphash.Seed
	// removed maps the ids of removed memories to the operation that removed them.
	removed   map[string]int64
	summary   string
	forgotten map[string]time.Time
	days      map[string]*day
	archive   map[string]*memory.Archived // by id
	sessions  map[string]*session
	receipts  map[string]*receipt // shared by both states
	// revision is the newest operation that changed a memory, the summary or a forgotten value.
	revision int64
	// changed is the newest record of any kind.
	changed int64
	// archiveRevision is the newest operation that changed archive.
	archiveRevision int64
	bodies          bool
}

// day is a daily log. Only the visible state has its body.
type day struct {
	header *memory.Day
	body   body
}

// session is a session. Only the visible state has its body.
type session struct {
	header *memory.Session
	body   body
}

// receipt is the first result of an idempotency key.
type receipt struct {
	journal.Receipt
	Op int64     `json:"op"`
	At time.Time `json:"at"`
}

// fewSlots is how many memories are looked through for an id: of tens of thousands of small spaces, most of the memory
// would be maps of ids.
const fewSlots = 32

// newVisible returns an empty state for readers. It has the default space.
func newVisible() *state {
	st := &state{spaces: map[string]*spaceState{}, bodies: true}
	st.spaces[memory.DefaultSpace] = st.newSpace(memory.DefaultSpace)
	return st
}

// newStaged returns the state for transactions, without spaces.
func newStaged() *state { return &state{spaces: map[string]*spaceState{}, seed: maphash.MakeSeed()} }

// newSpace returns an empty space that is not part of the state. Its maps are made when something is put into them.
func (st *state) newSpace(name string) *spaceState {
	return &spaceState{name: name, bodies: st.bodies, seed: st.seed}
}

// put adds to a map, which it makes when it is nil.
func put[K comparable, V any](m *map[K]V, key K, value V) {
	if *m == nil {
		*m = map[K]V{}
	}
	(*m)[key] = value
}

// space returns a space. An unknown one is empty and not yet part of the state.
func (st *state) space(name string) *spaceState {
	if sp, ok := st.spaces[name]; ok {
		return sp
	}
	return st.newSpace(name)
}

// apply brings the state from just before rec to just after it.
func (st *state) apply(rec *journal.Record) {
	if isDrop(rec) {
		st.drop(rec)
		return
	}
	sp := st.space(rec.Space)
	st.spaces[rec.Space] = sp
	sp.changed = rec.Last()
	for i := range rec.Changes {
		sp.applyChange(rec, &rec.Changes[i])
	}
	if r := rec.Receipt; r != nil {
		sp.pruneReceipts(rec.At)
		put(&sp.receipts, r.Key, &receipt{Receipt: *r, Op: opOf(rec), At: rec.At})
	}
}

// opOf is the operation's number in replies: 0 when it changed nothing.
func opOf(rec *journal.Record) int64 {
	if len(rec.Changes) == 0 {
		return 0
	}
	return rec.Op
}

// applyChange applies one change of rec.
func (sp *spaceState) applyChange(rec *journal.Record, c *journal.Change) {
	switch {
	case c.Memory != nil:
		sp.setMemory(c.Memory.ID, c.Memory.After, rec.Op)
		sp.revision = rec.Op
	case c.Access != nil:
		sp.warm()
		if slot, ok := sp.slotOf(c.Access.ID); ok {
			sp.slots[slot] = c.Access.Apply(sp.slots[slot])
		}
	case c.Summary != nil:
		sp.summary = c.Summary.After
		sp.revision = rec.Op
	case c.Forgotten != nil:
		if c.Forgotten.After.IsZero() {
			delete(sp.forgotten, c.Forgotten.Hash)
		} else {
			put(&sp.forgotten, c.Forgotten.Hash, c.Forgotten.After)
		}
		sp.revision = rec.Op
	case c.Entry != nil || c.Day != nil:
		sp.applyLog(rec, c)
	case c.Archive != nil:
		sp.setArchived(c.Archive, rec.Op)
	case c.Session != nil:
		sp.setSession(c.Session)
	case c.Message != nil:
		if s := sp.sessions[c.Message.Session]; s != nil && sp.bodies {
			s.body.tail = append(s.body.tail, *c)
		}
	}
}

// setMemory creates, replaces or (after is nil) removes a memory; op is the operation that does.
func (sp *spaceState) setMemory(id string, after *memory.Memory, op int64) {
	sp.warm()
	if after == nil {
		sp.removeMemory(id, op)
		return
	}
	slot, known := sp.slotFor(id)
	if known {
		sp.unindexEqual(slot)
		sp.slots[slot] = after
	} else {
		sp.slots = append(sp.slots, after)
		if sp.byID == nil {
			sp.indexIDs()
		}
		delete(sp.removed, id)
	}
	sp.indexEqual(slot)
}

// removeMemory removes a memory, if there is one.
func (sp *spaceState) removeMemory(id string, op int64) {
	slot, known := sp.slotOf(id)
	if !known {
		return
	}
	sp.unindexEqual(slot)
	if sp.byID != nil {
		sp.byID.Remove(id, sp.slots)
	}
	sp.slots[slot] = nil
	sp.holes++
	put(&sp.removed, id, op)
	sp.compact()
}

// indexIDs makes the map of ids, unless the slots are few.
func (sp *spaceState) indexIDs() {
	if len(sp.slots) <= fewSlots {
		return
	}
	sp.byID = idmap.New(len(sp.slots))
	for i, m := range sp.slots {
		if m != nil {
			sp.byID.Add(m.ID, uint32(i))
		}
	}
}

// slotOf returns where a memory of a warm space is.
func (sp *spaceState) slotOf(id string) (slot int32, known bool) {
	if sp.byID != nil {
		at, known := sp.byID.Find(id, sp.slots)
		return int32(at), known
	}
	for i, m := range sp.slots {
		if m != nil && m.ID == id {
			return int32(i), true
		}
	}
	return 0, false
}

// slotFor is slotOf, for a memory that becomes the last one if there is none.
func (sp *spaceState) slotFor(id string) (slot int32, known bool) {
	last := len(sp.slots)
	if sp.byID != nil {
		at, known := sp.byID.FindOrAdd(id, uint32(last), sp.slots)
		return int32(at), known
	}
	if slot, known = sp.slotOf(id); !known {
		slot = int32(last)
	}
	return slot, known
}

// indexEqual adds the content of a slot to the index of the staged state, instead of another slot with the same.
func (sp *spaceState) indexEqual(slot int32) {
	m := sp.slots[slot]
	if sp.bodies || m == nil || !m.IsActive() {
		return
	}
	hash := sp.hash(m.Category, m.Content)
	sp.equal.Put(hash, uint32(slot), func(other uint32) bool { return isEqual(sp.slots[other], m) })
}

// isEqual reports whether two memories have the same category and normalised content.
func isEqual(a, b *memory.Memory) bool {
	return a.Category == b.Category && memory.Normalize(a.Content) == memory.Normalize(b.Content)
}

// unindexEqual removes the content of a slot from the index, unless another memory has the same content.
func (sp *spaceState) unindexEqual(slot int32) {
	if m := sp.slots[slot]; !sp.bodies && m != nil {
		sp.equal.Remove(sp.hash(m.Category, m.Content), func(at uint32) bool { return at == uint32(slot) })
	}
}

// compact renumbers the slots once half of them are empty. It copies them, because frozen views may share the array.
func (sp *spaceState) compact() {
	if sp.holes < 64 || sp.holes < len(sp.slots)/2 {
		return
	}
	sp.slots = slices.DeleteFunc(slices.Clone(sp.slots), func(m *memory.Memory) bool { return m == nil })
	sp.holes = 0
	sp.equal = idmap.Table{}
	sp.byID = nil
	sp.indexIDs()
	for i := range sp.slots {
		sp.indexEqual(int32(i))
	}
}

// hash is the key of a memory in equal.
func (sp *spaceState) hash(category, content string) uint32 {
	var room [512]byte
	return uint32(maphash.Bytes(sp.seed, memory.AppendNormalized(append(append(room[:0], category...), 0), content)) >> 32)
}

// memory returns a memory in any status, nil when there is none. Those of a cold space are decoded.
func (sp *spaceState) memory(id string) *memory.Memory {
	if sp.cold != nil {
		sp = sp.filled(sp.cold.memories())
	}
	if slot, ok := sp.slotOf(id); ok {
		return sp.slots[slot]
	}
	return nil
}

// applyLog applies a change of an entry or a day. The header of a day counts its entries.
func (sp *spaceState) applyLog(rec *journal.Record, c *journal.Change) {
	if c.Day != nil && c.Day.After == nil {
		delete(sp.days, c.Day.Date)
		return
	}
	date := ""
	if c.Day != nil {
		date = c.Day.Date
	} else {
		date = c.Entry.Date
	}
	d := sp.days[date]
	if d == nil {
		d = &day{header: &memory.Day{Date: date}}
		put(&sp.days, date, d)
	}
	// Readers may hold the old header, so it is replaced and never changed.
	header := *d.header
	header.Revision = rec.Op
	if c.Day != nil {
		header.Summary, header.Archived, header.Extra = c.Day.After.Summary, c.Day.After.Archived, c.Day.After.Extra
	} else {
		if c.Entry.Before == nil {
			header.Entries++
		}
		if c.Entry.After == nil {
			header.Entries--
		}
		if sp.bodies {
			d.body.tail = append(d.body.tail, *c)
		}
	}
	d.header = &header
}

// setSession replaces the header of a session, or removes the session with its body.
func (sp *spaceState) setSession(c *journal.SessionChange) {
	s := sp.sessions[c.ID]
	if c.After == nil {
		delete(sp.sessions, c.ID)
		return
	}
	if s == nil {
		s = &session{}
		put(&sp.sessions, c.ID, s)
	}
	s.header = c.After
}

// receipt returns the first result of a key that has not expired.
func (sp *spaceState) receipt(key string, now time.Time) (receipt, bool) {
	r := sp.receipts[key]
	if key == "" || r == nil || now.Sub(r.At) >= receiptTTL {
		return receipt{}, false
	}
	return *r, true
}

// pruneReceipts removes expired receipts whenever their number reaches a power of two from 1024 on. So the map stays
// within twice its live size, at constant cost per operation.
func (sp *spaceState) pruneReceipts(now time.Time) {
	if n := len(sp.receipts); n < 1024 || n&(n-1) != 0 {
		return
	}
	maps.DeleteFunc(sp.receipts, func(_ string, r *receipt) bool { return now.Sub(r.At) >= receiptTTL })
}

// count of memories in any status.
func (sp *spaceState) count() int {
	if sp.cold != nil {
		return int(sp.cold.count)
	}
	return len(sp.slots) - sp.holes
}

// memories returns the memories in order of creation. Those of a cold space are decoded.
func (sp *spaceState) memories() []*memory.Memory {
	if sp.cold != nil {
		return sp.cold.memories()
	}
	out := make([]*memory.Memory, 0, sp.count())
	for _, m := range sp.slots {
		if m != nil {
			out = append(out, m)
		}
	}
	return out
}

// expiring reports whether a memory has a time at which it expires. It decodes nothing.
func (sp *spaceState) expiring() bool {
	if sp.cold != nil {
		return sp.cold.expiring
	}
	return slices.ContainsFunc(sp.slots, hasExpiry)
}

func hasExpiry(m *memory.Memory) bool { return m != nil && !m.ExpiresAt().IsZero() }

// dayHeaders returns the headers of the daily logs by date.
func (sp *spaceState) dayHeaders() []*memory.Day {
	out := make([]*memory.Day, 0, len(sp.days))
	for _, d := range sp.days {
		out = append(out, d.header)
	}
	slices.SortFunc(out, func(a, b *memory.Day) int { return cmp.Compare(a.Date, b.Date) })
	return out
}

// sessionHeaders returns the headers of the sessions by the time they started.
func (sp *spaceState) sessionHeaders() []*memory.Session {
	out := make([]*memory.Session, 0, len(sp.sessions))
	for _, s := range sp.sessions {
		out = append(out, s.header)
	}
	slices.SortFunc(out, func(a, b *memory.Session) int {
		return cmp.Or(a.StartedAt.Compare(b.StartedAt), cmp.Compare(a.ID, b.ID))
	})
	return out
}
