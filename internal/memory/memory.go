// Package memory holds the domain types of memsidecar: memories, daily log entries, sessions,
// their validation and the errors every layer speaks in. It does no I/O and imports only the
// standard library.
package memory

import (
	"encoding/binary"
	"encoding/json"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Status says whether a memory takes part in search and context.
type Status string

// The states of a memory. Only an active memory is published, searched by default and recalled.
const (
	Active     Status = "active"     // current
	Superseded Status = "superseded" // replaced by the memory named in SupersededBy
	Retired    Status = "retired"    // forgotten by a user or a rule; restorable
)

// The published categories. Any other lower-case slug is accepted as a custom category.
const (
	Preferences = "preferences"
	Facts       = "facts"
	Tasks       = "tasks"
	Reflections = "reflections"
	Procedural  = "procedural"
	General     = "general"
)

// Sources name the path a memory came by. Other values are kept as they are.
const (
	SourceUser           = "user_explicit"
	SourceReflection     = "auto_reflection"
	SourceUserCorrection = "user_correction"
	SourceArchive        = "archive"     // promoted from a daily log
	SourceCompression    = "compression" // of old memories
	SourceSkill          = "skill"       // recorded by an agent
	SourceEdit           = "edit"        // written into a published file by hand
	SourceImport         = "import"
	SourceMigration      = "migration" // of a file of the first layout
	// SourceConsolidation is what agents saved before that counted as user_explicit.
	SourceConsolidation = "consolidation"
)

// IsUsersOwn reports whether a memory of this source was saved on purpose, by its user or the user's agent. Learning
// does not take it away by itself.
func IsUsersOwn(source string) bool {
	switch source {
	case SourceUser, SourceUserCorrection, SourceSkill, SourceEdit, SourceConsolidation:
		return true
	}
	return false
}

// DefaultSalience is given to a memory that names none.
const DefaultSalience = 0.5

// DefaultSpace is the space used when none is named; its files stand at the root of the data directory.
const DefaultSpace = "default"

// Memory is one long-term memory. Values in the store are immutable: change a Clone.
//
// The struct tags are the JSON form of the journal and of snapshots; package codec writes it and the form of
// memory.json, where the members of Extra are beside the known fields. A new field also needs an entry in Fields, and
// one in MarshalJSON.
type Memory struct {
	ID        string    `json:"id"`
	Category  string    `json:"category"`
	Content   string    `json:"content"`
	Salience  float64   `json:"salience"` // importance, 0 to 1
	CreatedAt time.Time `json:"created_at"`
	Source    string    `json:"source"`

	UpdatedAt  time.Time `json:"updated_at,omitzero"` // of the last change that was not an access
	Revision   int64     `json:"revision,omitempty"`  // LSN of the last change that was not an access
	Tags       []string  `json:"tags,omitempty"`
	Title      string    `json:"title,omitempty"`
	Pinned     bool      `json:"pinned,omitempty"`     // never expires, is never compressed
	Confidence float64   `json:"confidence,omitempty"` // 0 to 1; stores give 1 to a memory that names none
	Status     Status    `json:"status,omitempty"`

	*More // nil for most memories; read it and set it by the methods of Memory that are named after its fields
}

// MarshalJSON writes every member that the journal form has: encoding/json would leave out the access_count of a memory
// without More. Digests of backups are made of this text, so the order of its members stays what it is.
func (m Memory) MarshalJSON() ([]byte, error) {
	return json.Marshal(&struct { // its fields hide those of More with the same names
		ID           string    `json:"id"`
		Category     string    `json:"category"`
		Content      string    `json:"content"`
		Salience     float64   `json:"salience"`
		CreatedAt    time.Time `json:"created_at"`
		LastAccessed time.Time `json:"last_accessed,omitzero"`
		AccessCount  int64     `json:"access_count"`
		Source       string    `json:"source"`
		Context      *Context  `json:"context,omitempty"`
		UpdatedAt    time.Time `json:"updated_at,omitzero"`
		Revision     int64     `json:"revision,omitempty"`
		Tags         []string  `json:"tags,omitempty"`
		Title        string    `json:"title,omitempty"`
		Pinned       bool      `json:"pinned,omitempty"`
		Confidence   float64   `json:"confidence,omitempty"`
		Status       Status    `json:"status,omitempty"`
		*More
	}{
		m.ID, m.Category, m.Content, m.Salience, m.CreatedAt, m.LastAccessed(), m.AccessCount(), m.Source, m.Context(),
		m.UpdatedAt, m.Revision, m.Tags, m.Title, m.Pinned, m.Confidence, m.Status, m.More,
	})
}

// Context says what a procedural memory was learnt from.
type Context struct {
	Tool        string `json:"tool,omitempty"`
	ErrorType   string `json:"error_type,omitempty"`
	LearnedFrom string `json:"learned_from,omitempty"` // "session_" and a session id
	Signature   string `json:"signature,omitempty"`    // of the failure: tool, normalised arguments, error class
	Occurrences int64  `json:"occurrences,omitempty"`  // how often that failure was seen

	Extra map[string]json.RawMessage `json:"extra,omitempty"`
}

// Relation is a directed, typed link to another memory of the same space.
type Relation struct {
	Type     string  `json:"type"` // supports, contradicts, refines, supersedes
	Target   string  `json:"target"`
	Strength float64 `json:"strength"` // 0 to 1
}

// Evidence names where a memory was learnt: a log entry, a session, or both.
type Evidence struct {
	Log     string `json:"log,omitempty"` // date of the daily log
	Entry   string `json:"entry,omitempty"`
	Session string `json:"session,omitempty"`
}

// KnownAt is since when m says what it says: the later of its creation and of the last change of its text. The age of a
// memory counts from here, so that a use, another category, another salience or a migration makes nothing younger.
func (m *Memory) KnownAt() time.Time {
	if at := m.ContentAt(); at.After(m.CreatedAt) {
		return at
	}
	return m.CreatedAt
}

// Clone returns a copy that shares nothing mutable with m.
func (m *Memory) Clone() *Memory {
	c := *m
	c.Tags = slices.Clone(m.Tags)
	c.More = m.More.clone()
	return &c
}

// IsActive reports whether m is current. Expiry is a matter of time and is asked with Expired.
func (m *Memory) IsActive() bool { return m.Status == Active || m.Status == "" }

// Expired reports whether m had expired at now. A pinned memory never expires.
func (m *Memory) Expired(now time.Time) bool {
	return !m.Pinned && !m.ExpiresAt().IsZero() && !now.Before(m.ExpiresAt())
}

// Normalize reduces content to what decides whether two memories are the same: letter case, runs of white
// space and closing punctuation do not.
func Normalize(content string) string {
	return string(AppendNormalized(make([]byte, 0, len(content)), content))
}

// Between these are Chinese and Japanese characters: none is a space or has a letter case, for which a search takes as
// long as all the rest.
const firstPlain, endOfPlain = '\u3000', '\ua640'

// AppendNormalized appends what Normalize returns to dst.
func AppendNormalized(dst []byte, content string) []byte {
	from, gap := len(dst), false
	for i := 0; i < len(content); {
		if lower, ok := plainEight(content[i:]); ok {
			if gap {
				dst = append(dst, ' ')
			}
			dst = binary.LittleEndian.AppendUint64(dst, lower)
			if gap = dst[len(dst)-1] == ' '; gap { // more may follow, or nothing
				dst = dst[:len(dst)-1]
			}
			i += 8
			continue
		}
		c := content[i]
		if c == ' ' {
			gap = len(dst) > from
			i++
			continue
		}
		if c > ' ' && c < utf8.RuneSelf { // nearly all are
			if gap {
				dst, gap = append(dst, ' '), false
			}
			if c >= 'A' && c <= 'Z' {
				c += 'a' - 'A'
			}
			dst = append(dst, c)
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(content[i:])
		i += size
		plain := r > firstPlain && r < endOfPlain
		if !plain && unicode.IsSpace(r) {
			gap = len(dst) > from
			continue
		}
		if gap {
			dst, gap = append(dst, ' '), false
		}
		if !plain {
			r = unicode.ToLower(r)
		}
		dst = utf8.AppendRune(dst, r)
	}
	for len(dst) > from { // closing punctuation
		r, size := utf8.DecodeLastRune(dst[from:])
		if !strings.ContainsRune(".!。！", r) {
			break
		}
		dst = dst[:len(dst)-size]
	}
	return dst
}

// plainEight returns the first eight bytes of a text in lower case if all are of ASCII, none is a control character,
// the first is not a space, and no space follows another: all that Normalize does to such bytes, those at the end
// aside. Bytes below 128 are compared by additions that do not carry into the next one.
func plainEight(text string) (lower uint64, ok bool) {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	if len(text) < 8 {
		return 0, false
	}
	x := uint64(text[0]) | uint64(text[1])<<8 | uint64(text[2])<<16 | uint64(text[3])<<24 |
		uint64(text[4])<<32 | uint64(text[5])<<40 | uint64(text[6])<<48 | uint64(text[7])<<56
	const notControl, notSpace = highs - ones*' ', highs - ones*('!')
	if x&highs != 0 || (x+notControl)&highs != highs {
		return 0, false
	}
	spaces := ^(x + notSpace) & highs // those from ' ' on that are not above it
	if spaces&(spaces<<8|1<<7) != 0 {
		return 0, false
	}
	const fromA, aboveZ = highs - ones*'A', highs - ones*('Z'+1)
	upper := (x + fromA) &^ (x + aboveZ) & highs
	return x | upper>>2, true // 'a' - 'A' is a quarter of 128
}
