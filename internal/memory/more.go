package memory

import (
	"encoding/json"
	"slices"
	"time"
)

// More is what few memories have. It lies behind a pointer, because a memory that has nothing of it takes 224 bytes
// less then. Memory has methods for each of its fields, which hide the fields: memories that are copies of each other
// share a More, so a setter makes another one.
type More struct {
	LastAccessed   time.Time       `json:"last_accessed,omitzero"`
	AccessCount    int64           `json:"access_count"`
	Context        *Context        `json:"context,omitempty"`
	ContentAt      time.Time       `json:"content_at,omitzero"`   // of the last change of Title or Content, see KnownAt
	Description    string          `json:"description,omitempty"` // one line on what it is about, for relevance and indexes
	ExpiresAt      time.Time       `json:"expires_at,omitzero"`
	Supersedes     []string        `json:"supersedes,omitempty"`
	SupersededBy   string          `json:"superseded_by,omitempty"`
	Relations      []Relation      `json:"relations,omitempty"`
	Evidence       []Evidence      `json:"evidence,omitempty"`
	StructuredData json.RawMessage `json:"structured_data,omitempty"` // a JSON object

	// Extra holds fields of memory.json that this version does not know, kept as they were.
	Extra map[string]json.RawMessage `json:"extra,omitempty"`
}

// noMore is what a memory without More has. It is only read.
var noMore More

// more returns what to read.
func (m *Memory) more() *More {
	if m.More == nil {
		return &noMore
	}
	return m.More
}

// Own gives m a More that no copy of m shares, and returns it to be changed until the next call of Own or of a setter.
func (m *Memory) Own() *More {
	own := *m.more()
	m.More = &own
	return m.More
}

// Trim drops a More in which nothing is. Own may leave one, and encoding/json makes one for each access_count.
func (m *Memory) Trim() {
	if x := m.More; x != nil && x.LastAccessed.IsZero() && x.AccessCount == 0 && x.Context == nil &&
		x.ContentAt.IsZero() && x.Description == "" && x.ExpiresAt.IsZero() &&
		len(x.Supersedes) == 0 && x.SupersededBy == "" && len(x.Relations) == 0 && len(x.Evidence) == 0 &&
		len(x.StructuredData) == 0 && len(x.Extra) == 0 {
		m.More = nil
	}
}

// set changes an own More.
func (m *Memory) set(change func(*More)) {
	change(m.Own())
	m.Trim()
}

// clone returns a copy that shares nothing mutable with x.
func (x *More) clone() *More {
	if x == nil {
		return nil
	}
	c := *x
	if x.Context != nil {
		c.Context = new(*x.Context)
	}
	c.Supersedes = slices.Clone(x.Supersedes)
	c.Relations = slices.Clone(x.Relations)
	c.Evidence = slices.Clone(x.Evidence)
	return &c
}

// LastAccessed is when m was used last, the zero time for never.
func (m *Memory) LastAccessed() time.Time { return m.more().LastAccessed }

// AccessCount is how often m was used.
func (m *Memory) AccessCount() int64 { return m.more().AccessCount }

// SetAccesses sets AccessCount and LastAccessed.
func (m *Memory) SetAccesses(count int64, last time.Time) {
	m.set(func(x *More) { x.AccessCount, x.LastAccessed = count, last })
}

// Context says what m was learnt from, nil for most memories. It is only read, but for that of a Clone.
func (m *Memory) Context() *Context { return m.more().Context }

// SetContext sets Context.
func (m *Memory) SetContext(from *Context) { m.set(func(x *More) { x.Context = from }) }

// ContentAt is when Title or Content changed last, the zero time for never; see KnownAt.
func (m *Memory) ContentAt() time.Time { return m.more().ContentAt }

// SetContentAt sets ContentAt.
func (m *Memory) SetContentAt(at time.Time) { m.set(func(x *More) { x.ContentAt = at }) }

// Description is one line on what m is about, for relevance and indexes.
func (m *Memory) Description() string { return m.more().Description }

// SetDescription sets Description.
func (m *Memory) SetDescription(text string) { m.set(func(x *More) { x.Description = text }) }

// ExpiresAt is when m ends to be shown, the zero time for never.
func (m *Memory) ExpiresAt() time.Time { return m.more().ExpiresAt }

// SetExpiresAt sets ExpiresAt.
func (m *Memory) SetExpiresAt(at time.Time) { m.set(func(x *More) { x.ExpiresAt = at }) }

// Supersedes are the ids of the memories that m replaced.
func (m *Memory) Supersedes() []string { return m.more().Supersedes }

// SetSupersedes sets Supersedes.
func (m *Memory) SetSupersedes(ids []string) { m.set(func(x *More) { x.Supersedes = ids }) }

// SupersededBy is the id of the memory that replaced m.
func (m *Memory) SupersededBy() string { return m.more().SupersededBy }

// SetSupersededBy sets SupersededBy.
func (m *Memory) SetSupersededBy(id string) { m.set(func(x *More) { x.SupersededBy = id }) }

// Relations are the links from m to other memories.
func (m *Memory) Relations() []Relation { return m.more().Relations }

// SetRelations sets Relations.
func (m *Memory) SetRelations(list []Relation) { m.set(func(x *More) { x.Relations = list }) }

// Evidence is where m was learnt.
func (m *Memory) Evidence() []Evidence { return m.more().Evidence }

// SetEvidence sets Evidence.
func (m *Memory) SetEvidence(list []Evidence) { m.set(func(x *More) { x.Evidence = list }) }

// StructuredData is a JSON object, or empty.
func (m *Memory) StructuredData() json.RawMessage { return m.more().StructuredData }

// SetStructuredData sets StructuredData.
func (m *Memory) SetStructuredData(object json.RawMessage) {
	m.set(func(x *More) { x.StructuredData = object })
}

// Extra holds fields of memory.json that this version does not know, kept as they were. It is only read.
func (m *Memory) Extra() map[string]json.RawMessage { return m.more().Extra }

// SetExtra sets Extra.
func (m *Memory) SetExtra(fields map[string]json.RawMessage) {
	m.set(func(x *More) { x.Extra = fields })
}
