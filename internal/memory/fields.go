package memory

import (
	"encoding/json"
	"iter"
	"strconv"
	"time"
)

// Presence says when an encoder writes a field whose value is the zero value.
type Presence uint8

// The presences of a field.
const (
	Optional  Presence = iota // left out
	Published                 // left out of journal records, always written to published files
	Required                  // always written
)

// Field describes one field of T to everything that handles fields one by one: the encoders and decoders of the
// journal, of published files and of exports, the three-way merge of hand edits, validation, redaction and scrubbing.
// A new field needs one entry in a table below and none of their code.
type Field[T any] struct {
	Name string // the JSON member, the same in every format

	// Pointer returns a pointer to the field: *string, *Status, *float64, *int64, *bool, *time.Time, *[]string,
	// **Context, *[]Relation, *[]Evidence or *json.RawMessage. An encoder may call it on a shared value and only read.
	// Who writes what is in the More of a memory calls Memory.Own before.
	Pointer func(*T) any

	Presence Presence
	Added    bool // the original format of memory.json lacks the field, so older programs drop it
	Managed  bool // set by the daemon alone: a hand edit of the field is ignored
	FreeText bool // holds text of a user, an agent or a tool: redacted, scrubbed by a purge
	Zoned    bool // a time that keeps its UTC offset; other times are written in UTC
	Limit    int  // characters of a text; 0 is unlimited, or limited elsewhere

	// Fallback points to the value that published files show instead of the zero value. nil shows the zero value.
	Fallback func(*T) any

	// Default reports whether the field says nothing beyond its default. nil compares with the zero value.
	Default func(*T) bool
}

// IsDefault reports whether v's field has its default, the value that an absent field of a published file stands for.
func (f *Field[T]) IsDefault(v *T) bool {
	if f.Default != nil {
		return f.Default(v)
	}
	return IsZero(f.Pointer(v))
}

// Copy sets the field of to from that of from. Lists and raw JSON are shared.
func (f *Field[T]) Copy(to, from *T) {
	if m, ok := any(to).(*Memory); ok {
		m.Own()
		defer m.Trim()
	}
	switch p := f.Pointer(to).(type) {
	case *string:
		*p = *f.Pointer(from).(*string)
	case *Status:
		*p = *f.Pointer(from).(*Status)
	case *float64:
		*p = *f.Pointer(from).(*float64)
	case *int64:
		*p = *f.Pointer(from).(*int64)
	case *bool:
		*p = *f.Pointer(from).(*bool)
	case *time.Time:
		*p = *f.Pointer(from).(*time.Time)
	case *[]string:
		*p = *f.Pointer(from).(*[]string)
	case **Context:
		*p = *f.Pointer(from).(**Context)
	case *[]Relation:
		*p = *f.Pointer(from).(*[]Relation)
	case *[]Evidence:
		*p = *f.Pointer(from).(*[]Evidence)
	case *json.RawMessage:
		*p = *f.Pointer(from).(*json.RawMessage)
	default:
		panic("memory: field " + f.Name + " has a type without a case")
	}
}

// IsZero reports whether what pointer, a result of Field.Pointer, points to is empty or zero.
func IsZero(pointer any) bool {
	switch p := pointer.(type) {
	case *string:
		return *p == ""
	case *Status:
		return *p == ""
	case *float64:
		return *p == 0
	case *int64:
		return *p == 0
	case *bool:
		return !*p
	case *time.Time:
		return p.IsZero()
	case *[]string:
		return len(*p) == 0
	case **Context:
		return *p == nil
	case *[]Relation:
		return len(*p) == 0
	case *[]Evidence:
		return len(*p) == 0
	case *json.RawMessage:
		return len(*p) == 0
	}
	panic("memory: a field has a type without a case")
}

// Fields lists the fields of a memory in the order in which every format writes them. Extra is not among them.
var Fields = []Field[Memory]{
	{Name: "id", Pointer: func(m *Memory) any { return &m.ID }, Presence: Required, Managed: true},
	{Name: "category", Pointer: func(m *Memory) any { return &m.Category }, Presence: Required},
	{
		Name:     "content",
		Pointer:  func(m *Memory) any { return &m.Content },
		Presence: Required,
		FreeText: true,
		Limit:    MaxContent,
	},
	{Name: "salience", Pointer: func(m *Memory) any { return &m.Salience }, Presence: Required},
	{Name: "created_at", Pointer: func(m *Memory) any { return &m.CreatedAt }, Presence: Required},
	{
		Name: "last_accessed", Pointer: func(m *Memory) any { return &m.more().LastAccessed },
		Presence: Published, Managed: true,
		// Programs that know only the original format compute an age from last_accessed.
		Fallback: func(m *Memory) any { return &m.CreatedAt },
	},
	{
		Name: "access_count", Pointer: func(m *Memory) any { return &m.more().AccessCount },
		Presence: Required, Managed: true,
	},
	{Name: "source", Pointer: func(m *Memory) any { return &m.Source }, Presence: Required},
	{Name: "context", Pointer: func(m *Memory) any { return &m.more().Context }},
	{Name: "updated_at", Pointer: func(m *Memory) any { return &m.UpdatedAt }, Added: true, Managed: true},
	{
		Name: "content_at", Pointer: func(m *Memory) any { return &m.more().ContentAt }, Added: true, Managed: true,
		Default: func(m *Memory) bool { return m.KnownAt().Equal(m.CreatedAt) },
	},
	{Name: "revision", Pointer: func(m *Memory) any { return &m.Revision }, Added: true, Managed: true},
	{Name: "tags", Pointer: func(m *Memory) any { return &m.Tags }, Added: true, FreeText: true},
	{Name: "title", Pointer: func(m *Memory) any { return &m.Title }, Added: true, FreeText: true, Limit: MaxTitle},
	{
		Name: "description", Pointer: func(m *Memory) any { return &m.more().Description }, Added: true, FreeText: true,
		Limit: MaxDescription,
	},
	{Name: "pinned", Pointer: func(m *Memory) any { return &m.Pinned }, Added: true},
	{
		Name: "confidence", Pointer: func(m *Memory) any { return &m.Confidence }, Added: true,
		Default: func(m *Memory) bool { return m.Confidence == 1 },
	},
	{Name: "expires_at", Pointer: func(m *Memory) any { return &m.more().ExpiresAt }, Added: true},
	{Name: "status", Pointer: func(m *Memory) any { return &m.Status }, Added: true, Default: (*Memory).IsActive},
	{Name: "supersedes", Pointer: func(m *Memory) any { return &m.more().Supersedes }, Added: true},
	{Name: "superseded_by", Pointer: func(m *Memory) any { return &m.more().SupersededBy }, Added: true},
	{Name: "relations", Pointer: func(m *Memory) any { return &m.more().Relations }, Added: true},
	{Name: "evidence", Pointer: func(m *Memory) any { return &m.more().Evidence }, Added: true},
	{Name: "structured_data", Pointer: func(m *Memory) any { return &m.more().StructuredData }, Added: true},
}

// ContextFields lists the fields of a memory's context, Extra aside.
var ContextFields = []Field[Context]{
	{Name: "tool", Pointer: func(c *Context) any { return &c.Tool }, FreeText: true, Limit: MaxTitle},
	{Name: "error_type", Pointer: func(c *Context) any { return &c.ErrorType }, FreeText: true, Limit: MaxTitle},
	{Name: "learned_from", Pointer: func(c *Context) any { return &c.LearnedFrom }, FreeText: true, Limit: MaxTitle},
	{Name: "signature", Pointer: func(c *Context) any { return &c.Signature }, Added: true, FreeText: true},
	{Name: "occurrences", Pointer: func(c *Context) any { return &c.Occurrences }, Added: true},
}

// RelationFields lists the fields of a relation.
var RelationFields = []Field[Relation]{
	{Name: "type", Pointer: func(r *Relation) any { return &r.Type }, Presence: Required},
	{Name: "target", Pointer: func(r *Relation) any { return &r.Target }, Presence: Required},
	{Name: "strength", Pointer: func(r *Relation) any { return &r.Strength }, Presence: Required},
}

// EvidenceFields lists the fields of a piece of evidence.
var EvidenceFields = []Field[Evidence]{
	{Name: "log", Pointer: func(e *Evidence) any { return &e.Log }},
	{Name: "entry", Pointer: func(e *Evidence) any { return &e.Entry }},
	{Name: "session", Pointer: func(e *Evidence) any { return &e.Session }},
}

// EntryFields lists the fields of a log entry, Extra aside.
var EntryFields = []Field[Entry]{
	{Name: "id", Pointer: func(e *Entry) any { return &e.ID }, Managed: true},
	{Name: "time", Pointer: func(e *Entry) any { return &e.Time }, Presence: Required},
	{Name: "at", Pointer: func(e *Entry) any { return &e.At }, Added: true, Zoned: true},
	{Name: "type", Pointer: func(e *Entry) any { return &e.Type }, Presence: Required},
	{
		Name:     "content",
		Pointer:  func(e *Entry) any { return &e.Content },
		Presence: Required,
		FreeText: true,
		Limit:    MaxContent,
	},
	{Name: "category", Pointer: func(e *Entry) any { return &e.Category }},
	{Name: "tool", Pointer: func(e *Entry) any { return &e.Tool }, FreeText: true, Limit: MaxTitle},
	{Name: "error", Pointer: func(e *Entry) any { return &e.Error }, FreeText: true, Limit: MaxContent},
	{Name: "session", Pointer: func(e *Entry) any { return &e.Session }, Added: true},
}

// Texts yields every free text of m that is not empty, for redaction and scrubbing, structured data and Extra aside.
// The caller may change the texts of a Clone.
func (m *Memory) Texts() iter.Seq[*string] {
	return func(yield func(*string) bool) {
		for _, s := range m.NamedTexts() {
			if !yield(s) {
				return
			}
		}
	}
}

// NamedTexts yields the same texts, each with the name of its field: "content", "tags[2]", "context.tool".
func (m *Memory) NamedTexts() iter.Seq2[string, *string] {
	return func(yield func(string, *string) bool) {
		if !freeTexts("", Fields, m, yield) {
			return
		}
		if m.Context() != nil {
			freeTexts("context.", ContextFields, m.Context(), yield)
		}
	}
}

// freeTexts yields the free texts of v with their names and reports whether to go on.
func freeTexts[T any](prefix string, fields []Field[T], v *T, yield func(string, *string) bool) bool {
	for i := range fields {
		if !fields[i].FreeText {
			continue
		}
		switch p := fields[i].Pointer(v).(type) {
		case *string:
			// An empty one may be that of a More that all memories without one share.
			if *p != "" && !yield(prefix+fields[i].Name, p) {
				return false
			}
		case *[]string:
			for j := range *p {
				if !yield(prefix+fields[i].Name+"["+strconv.Itoa(j)+"]", &(*p)[j]) {
					return false
				}
			}
		}
	}
	return true
}
