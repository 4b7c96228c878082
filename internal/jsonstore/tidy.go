package jsonstore

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/strictjson"
)

// Tidy brings what other programs and people write within the limits of a memory, and says in notes what it changed. A value that
// had to give way is kept beside it, as the unknown field original_NAME. A memory without an id gets one made from its
// place and content, the same every time; so does one whose id another has already. Content that is too long becomes
// several memories. Notes name memories by ordinal and field, and hold no text of them.
func (f *File) Tidy() (notes []string) {
	t := &tidier{ids: map[string]bool{}}
	for _, m := range f.Memories {
		t.ids[m.ID] = true
	}
	seen := make(map[string]bool, len(f.Memories))
	var out []*memory.Memory
	for i, m := range f.Memories {
		t.where = fmt.Sprintf("memories[%d]", i)
		if strings.TrimSpace(m.Content) == "" {
			t.note("content", "is empty; the memory was left out")
			continue
		}
		t.id(m, i, seen[m.ID])
		seen[m.ID] = true
		if m.CreatedAt.IsZero() {
			m.CreatedAt = f.LastUpdated
		}
		if m.UpdatedAt.IsZero() {
			m.UpdatedAt = m.CreatedAt
		}
		t.fields(m)
		t.links(m)
		out = append(out, t.split(m)...)
	}
	f.Memories = out
	return t.notes
}

// tidier brings values within limits.
type tidier struct {
	where string
	notes []string
	ids   map[string]bool // that are taken
}

func (t *tidier) note(field, format string, args ...any) {
	t.notes = append(t.notes, t.where+"."+field+": "+fmt.Sprintf(format, args...))
}

// keep puts the value that a field had into extra.
func keep(extra *map[string]json.RawMessage, field string, value any) {
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

func (t *tidier) id(m *memory.Memory, ordinal int, taken bool) {
	var check memory.Check
	if check.ID("id", m.ID); check.Err() == nil && !taken {
		return
	}
	if m.ID != "" {
		if check.Err() != nil {
			t.note("id", "is too long or has spaces; gave another one")
		} else {
			t.note("id", "an earlier memory has it too; gave another one")
		}
		keep(&m.Extra, "id", m.ID)
	}
	m.ID = t.newID(ordinal, m.Content)
}

func (t *tidier) newID(ordinal int, content string) string {
	for salt := 0; ; salt++ {
		sum := sha256.Sum256(fmt.Appendf(nil, "%d\x00%d\x00%s", ordinal, salt, content))
		if id := hex.EncodeToString(sum[:6]); !t.ids[id] {
			t.ids[id] = true
			return id
		}
	}
}

func (t *tidier) fields(m *memory.Memory) {
	t.slug(&m.Category, "category", memory.General, &m.Extra)
	t.slug(&m.Source, "source", memory.SourceImport, &m.Extra)
	t.unit(&m.Salience, "salience", &m.Extra)
	t.unit(&m.Confidence, "confidence", &m.Extra)
	t.text(&m.Title, "title", memory.MaxTitle, &m.Extra)
	if m.AccessCount < 0 {
		t.note("access_count", "is negative; set to 0")
		keep(&m.Extra, "access_count", m.AccessCount)
		m.AccessCount = 0
	}
	switch m.Status {
	case memory.Active, memory.Superseded, memory.Retired:
	default:
		t.note("status", "is not known; set to active")
		keep(&m.Extra, "status", string(m.Status))
		m.Status = memory.Active
	}
	if x := m.Context; x != nil {
		t.text(&x.Tool, "context.tool", memory.MaxTitle, &x.Extra)
		t.text(&x.ErrorType, "context.error_type", memory.MaxTitle, &x.Extra)
		t.text(&x.LearnedFrom, "context.learned_from", memory.MaxTitle, &x.Extra)
	}
	var check memory.Check
	if check.Memory("", &memory.Memory{ID: "x", Category: "x", Source: "x", Content: "x", StructuredData: m.StructuredData}); check.Err() != nil {
		t.note("structured_data", "is not an object, or too large; kept as an unknown field")
		keep(&m.Extra, "structured_data", m.StructuredData)
		m.StructuredData = nil
	}
}

func (t *tidier) links(m *memory.Memory) {
	var tags []string
	for _, tag := range m.Tags {
		if strings.TrimSpace(tag) != "" && utf8.RuneCountInString(tag) <= memory.MaxTag && len(tags) < memory.MaxTags {
			tags = append(tags, tag)
		}
	}
	if len(tags) != len(m.Tags) {
		t.note("tags", "some are empty, too long or too many; left out")
		keep(&m.Extra, "tags", m.Tags)
		m.Tags = tags
	}
	var relations []memory.Relation
	for _, r := range m.Relations {
		var check memory.Check
		check.Slug("type", r.Type)
		check.ID("target", r.Target)
		check.Unit("strength", r.Strength)
		if check.Err() == nil && len(relations) < memory.MaxLinks {
			relations = append(relations, r)
		}
	}
	if len(relations) != len(m.Relations) {
		t.note("relations", "some are not valid or too many; left out")
		keep(&m.Extra, "relations", m.Relations)
		m.Relations = relations
	}
	if len(m.Evidence) > memory.MaxLinks {
		t.note("evidence", "has too many items; the first were kept")
		keep(&m.Extra, "evidence", m.Evidence)
		m.Evidence = m.Evidence[:memory.MaxLinks]
	}
	if len(m.Supersedes) > memory.MaxLinks {
		t.note("supersedes", "has too many items; the first were kept")
		keep(&m.Extra, "supersedes", m.Supersedes)
		m.Supersedes = m.Supersedes[:memory.MaxLinks]
	}
}

// split makes several memories of one whose content is too long.
func (t *tidier) split(m *memory.Memory) []*memory.Memory {
	parts := memory.Split(m.Content)
	if len(parts) == 1 {
		return []*memory.Memory{m}
	}
	t.note("content", "has more than %d characters; split into %d memories", memory.MaxContent, len(parts))
	list := []*memory.Memory{m}
	m.Content = parts[0]
	for i, part := range parts[1:] {
		rest := m.Clone()
		rest.ID, rest.Content, rest.Extra = t.newID(i, m.ID+"\x00"+part), part, nil
		list = append(list, rest)
	}
	return list
}

func (t *tidier) unit(v *float64, field string, extra *map[string]json.RawMessage) {
	if *v >= 0 && *v <= 1 {
		return
	}
	t.note(field, "is not from 0 to 1; took the nearest")
	keep(extra, field, *v)
	*v = min(max(*v, 0), 1)
}

func (t *tidier) text(s *string, field string, limit int, extra *map[string]json.RawMessage) {
	if utf8.RuneCountInString(*s) <= limit {
		return
	}
	t.note(field, "has more than %d characters; cut", limit)
	keep(extra, field[strings.LastIndexByte(field, '.')+1:], *s)
	*s = string([]rune(*s)[:limit])
}

// translated returns the published category that a name in Chinese stands for, "" when it stands for none.
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

// slug makes *s a slug: in lower case, with "_" for spaces. What cannot be one becomes other.
func (t *tidier) slug(s *string, field, other string, extra *map[string]json.RawMessage) {
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
		t.note(field, "is not a lower-case name; took %q", slug)
		if !strings.EqualFold(*s, slug) {
			keep(extra, field, *s)
		}
	}
	*s = slug
}
