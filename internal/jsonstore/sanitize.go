package jsonstore

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/strictjson"
)

// Sanitize brings what other programs and people write within the limits of memories, and says in notes what it
// changed. A replaced value is kept as the unknown field original_NAME. A memory without an id, or with one that an
// earlier memory has, gets an id derived from its position and content, the same every time. Content that is too
// long becomes several memories. Notes name memories by position and field, and hold no text of theirs.
func (f *File) Sanitize() (notes []string) {
	t := &sanitizer{ids: map[string]bool{}}
	for _, m := range f.Memories {
		t.ids[m.ID] = true
	}
	seen := make(map[string]bool, len(f.Memories))
	var out []*memory.Memory
	for i, m := range f.Memories {
		t.where = fmt.Sprintf("memories[%d]", i)
		if strings.TrimSpace(m.Content) == "" {
			t.notef("content", "is empty; the memory was left out")
			continue
		}
		t.id(m, i, seen[m.ID])
		seen[m.ID] = true
		t.times(m)
		if m.CreatedAt.IsZero() && memory.IsTime(f.LastUpdated) {
			m.CreatedAt = f.LastUpdated
		}
		if m.UpdatedAt.IsZero() {
			m.UpdatedAt = m.CreatedAt
		}
		t.fields(m)
		t.links(m)
		m.Trim()
		out = append(out, t.split(m)...)
	}
	f.Memories = out
	return t.notes
}

// sanitizer brings values within limits.
type sanitizer struct {
	where string
	notes []string
	ids   map[string]bool // that are taken
}

// notef records what was changed.
func (t *sanitizer) notef(field, format string, args ...any) {
	t.notes = append(t.notes, t.where+"."+field+": "+fmt.Sprintf(format, args...))
}

// keepOriginal stores the value that a field had in extra.
func keepOriginal(extra *map[string]json.RawMessage, field string, value any) {
	var raw json.RawMessage
	if s, ok := value.(string); ok {
		raw = strictjson.AppendString(nil, s)
	} else {
		raw, _ = json.Marshal(value) // plain structs and numbers: cannot fail
	}
	if *extra == nil {
		*extra = map[string]json.RawMessage{}
	}
	name := "original_" + field
	for (*extra)[name] != nil {
		name += "_"
	}
	(*extra)[name] = raw
}

// id gives a memory a valid id that no other has.
func (t *sanitizer) id(m *memory.Memory, ordinal int, taken bool) {
	var check memory.Check
	if check.ID("id", m.ID); check.Err() == nil && !taken {
		return
	}
	if m.ID != "" {
		if check.Err() != nil {
			t.notef("id", "is too long or has spaces; gave another one")
		} else {
			t.notef("id", "an earlier memory has it too; gave another one")
		}
		keepOriginal(&m.Own().Extra, "id", m.ID)
	}
	m.ID = t.newID(ordinal, m.Content)
}

// newID derives a free id.
func (t *sanitizer) newID(ordinal int, content string) string {
	for salt := 0; ; salt++ {
		sum := sha256.Sum256(fmt.Appendf(nil, "%d\x00%d\x00%s", ordinal, salt, content))
		if id := hex.EncodeToString(sum[:6]); !t.ids[id] {
			t.ids[id] = true
			return id
		}
	}
}

// fields brings the single fields of a memory within limits.
func (t *sanitizer) fields(m *memory.Memory) {
	extra := &m.Own().Extra
	t.slug(&m.Category, "category", memory.General, extra)
	t.slug(&m.Source, "source", memory.SourceImport, extra)
	t.unit(&m.Salience, "salience", extra)
	t.unit(&m.Confidence, "confidence", extra)
	limits(t, "", memory.Fields, m, extra)
	if m.AccessCount() < 0 {
		t.notef("access_count", "is negative; set to 0")
		keepOriginal(&m.Own().Extra, "access_count", m.AccessCount())
		m.SetAccesses(0, m.LastAccessed())
	}
	switch m.Status {
	case memory.Active, memory.Superseded, memory.Retired:
	default:
		t.notef("status", "is not known; set to active")
		keepOriginal(&m.Own().Extra, "status", string(m.Status))
		m.Status = memory.Active
	}
	if x := m.Context(); x != nil {
		limits(t, "context.", memory.ContextFields, x, &x.Extra)
	}
	var check memory.Check
	only := &memory.Memory{ID: "x", Category: "x", Source: "x", Content: "x",
		More: &memory.More{StructuredData: m.StructuredData()}}
	if check.Memory("", only); check.Err() != nil {
		t.notef("structured_data", "is not an object, or too large; kept as an unknown field")
		keepOriginal(&m.Own().Extra, "structured_data", m.StructuredData())
		m.SetStructuredData(nil)
	}
}

// times drops the times that the store refuses. A memory without a time of creation gets that of its adoption.
func (t *sanitizer) times(m *memory.Memory) {
	own := m.Own()
	for i := range memory.Fields {
		f := &memory.Fields[i]
		at, ok := f.Pointer(m).(*time.Time)
		if !ok || at.IsZero() || memory.IsTime(*at) {
			continue
		}
		t.notef(f.Name, "is not in the years 1970 to 9999; left out")
		keepOriginal(&own.Extra, f.Name, at.Format(time.RFC3339Nano))
		*at = time.Time{}
	}
}

// links drops tags, relations, evidence and superseded ids that are not valid or too many.
func (t *sanitizer) links(m *memory.Memory) {
	var tags []string
	for _, tag := range m.Tags {
		if strings.TrimSpace(tag) != "" && utf8.RuneCountInString(tag) <= memory.MaxTag &&
			len(tags) < memory.MaxTags {
			tags = append(tags, tag)
		}
	}
	if len(tags) != len(m.Tags) {
		t.notef("tags", "some are empty, too long or too many; left out")
		keepOriginal(&m.Own().Extra, "tags", m.Tags)
		m.Tags = tags
	}
	var relations []memory.Relation
	for _, r := range m.Relations() {
		var check memory.Check
		check.Slug("type", r.Type)
		check.ID("target", r.Target)
		check.Unit("strength", r.Strength)
		if check.Err() == nil && len(relations) < memory.MaxLinks {
			relations = append(relations, r)
		}
	}
	if len(relations) != len(m.Relations()) {
		t.notef("relations", "some are not valid or too many; left out")
		keepOriginal(&m.Own().Extra, "relations", m.Relations())
		m.SetRelations(relations)
	}
	if len(m.Evidence()) > memory.MaxLinks {
		t.notef("evidence", "has too many items; the first were kept")
		keepOriginal(&m.Own().Extra, "evidence", m.Evidence())
		m.SetEvidence(m.Evidence()[:memory.MaxLinks])
	}
	if len(m.Supersedes()) > memory.MaxLinks {
		t.notef("supersedes", "has too many items; the first were kept")
		keepOriginal(&m.Own().Extra, "supersedes", m.Supersedes())
		m.SetSupersedes(m.Supersedes()[:memory.MaxLinks])
	}
}

// split makes several memories of one whose content is too long.
func (t *sanitizer) split(m *memory.Memory) []*memory.Memory {
	parts := memory.SplitContent(m.Content)
	if len(parts) == 1 {
		return []*memory.Memory{m}
	}
	t.notef("content", "has more than %d characters; split into %d memories", memory.MaxContent, len(parts))
	list := []*memory.Memory{m}
	m.Content = parts[0]
	for i, part := range parts[1:] {
		rest := m.Clone()
		rest.ID, rest.Content = t.newID(i, m.ID+"\x00"+part), part
		rest.SetExtra(nil)
		list = append(list, rest)
	}
	return list
}

// unit moves a number into the range 0 to 1.
func (t *sanitizer) unit(v *float64, field string, extra *map[string]json.RawMessage) {
	if *v >= 0 && *v <= 1 {
		return
	}
	t.notef(field, "is not from 0 to 1; took the nearest")
	keepOriginal(extra, field, *v)
	*v = min(max(*v, 0), 1)
}

// limits cuts the texts that have a limit in their table. Content is split instead.
func limits[T any](t *sanitizer, prefix string, fields []memory.Field[T], v *T, extra *map[string]json.RawMessage) {
	for i := range fields {
		if f := &fields[i]; f.Limit > 0 && f.Name != "content" {
			t.text(f.Pointer(v).(*string), prefix+f.Name, f.Limit, extra)
		}
	}
}

// text cuts a text that is too long.
func (t *sanitizer) text(s *string, field string, limit int, extra *map[string]json.RawMessage) {
	if utf8.RuneCountInString(*s) <= limit {
		return
	}
	t.notef(field, "has more than %d characters; cut", limit)
	keepOriginal(extra, field[strings.LastIndexByte(field, '.')+1:], *s)
	*s = string([]rune(*s)[:limit])
}

// translated returns the published category that a Chinese name means, "" for none.
func translated(category string) string {
	switch category {
	case "偏好":
		return memory.Preferences
	case "事实":
		return memory.Facts
	case "任务":
		return memory.Tasks
	case "反思":
		return memory.Reflections
	case "程序":
		return memory.Procedural
	case "通用":
		return memory.General
	}
	return ""
}

// slug makes *s a slug: lower case, "_" for spaces. What cannot be one becomes other.
func (t *sanitizer) slug(s *string, field, other string, extra *map[string]json.RawMessage) {
	if memory.IsSlug(*s) && len(*s) <= memory.MaxSlug {
		return
	}
	slug := strings.Join(strings.Fields(strings.ToLower(*s)), "_")
	if name := translated(slug); name != "" && field == "category" {
		slug = name
	}
	if !memory.IsSlug(slug) || len(slug) > memory.MaxSlug {
		slug = other
	}
	if *s != "" {
		t.notef(field, "is not a lower-case name; took %q", slug)
		if !strings.EqualFold(*s, slug) {
			keepOriginal(extra, field, *s)
		}
	}
	*s = slug
}
