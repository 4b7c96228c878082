package edit

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
)

// field is one field of a thing that is merged by itself.
type field[T any] struct {
	name string
	// added says that the original format does not have the field, so that an old program drops it.
	added bool
	text  func(*T) string // equal values have equal texts; "" is that nothing is said
	copy  func(to, from *T)
}

// merge takes over into out, which is a copy of ours, what theirs changed against base. Where ours changed too and otherwise, theirs counts. Without
// a base everything that theirs says counts.
func merge[T any](fields []field[T], base, theirs, ours, out *T) (changed []string) {
	for _, f := range fields {
		t := f.text(theirs)
		if base != nil && t == f.text(base) || t == f.text(ours) {
			continue
		}
		f.copy(out, theirs)
		changed = append(changed, f.name)
	}
	return changed
}

// differing names the fields in which a and b differ.
func differing[T any](fields []field[T], a, b *T) (names []string) {
	for _, f := range fields {
		if f.text(a) != f.text(b) {
			names = append(names, f.name)
		}
	}
	return names
}

// fillIn gives theirs the fields that an old program dropped: those of from that the original format does not have.
func fillIn[T any](fields []field[T], from, theirs *T) {
	for _, f := range fields {
		if f.added && f.text(theirs) == "" {
			f.copy(theirs, from)
		}
	}
}

// likeMemory reports whether two memories are the same in every field that an edit can change. False may mean that it takes a closer look.
func likeMemory(a, b *memory.Memory) bool {
	if !a.CreatedAt.Equal(b.CreatedAt) || !a.ExpiresAt.Equal(b.ExpiresAt) {
		return false
	}
	x := *a
	x.CreatedAt, x.ExpiresAt, x.UpdatedAt, x.Revision, x.AccessCount, x.LastAccessed = b.CreatedAt, b.ExpiresAt, b.UpdatedAt, b.Revision, b.AccessCount, b.LastAccessed
	return reflect.DeepEqual(&x, b)
}

// likeEntry is likeMemory for log entries.
func likeEntry(a, b *memory.Entry) bool {
	x := *a
	x.At = b.At
	return a.At.Equal(b.At) && reflect.DeepEqual(&x, b)
}

func instant(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}

func number(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// list is the text of a list, "" for an empty one.
func list[T any](items []T) string {
	if len(items) == 0 {
		return ""
	}
	raw, err := json.Marshal(items)
	if err != nil {
		return "?" // strings and numbers: cannot be
	}
	return string(raw)
}

// value is the text of a JSON value. The order of members, white space and the way in which characters are escaped do not count.
func value(raw json.RawMessage) string {
	if len(raw) == 0 {
		return ""
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var v any
	if decoder.Decode(&v) != nil {
		return string(raw)
	}
	text, err := json.Marshal(v)
	if err != nil {
		return string(raw)
	}
	return string(text)
}

// unknown returns a field for each unknown field that one of the things has.
func unknown[T any](prefix string, get func(*T) map[string]json.RawMessage, set func(*T, map[string]json.RawMessage), things ...*T) []field[T] {
	var names []string
	for _, t := range things {
		if t != nil {
			names = slices.AppendSeq(names, maps.Keys(get(t)))
		}
	}
	slices.Sort(names)
	var fields []field[T]
	for _, name := range slices.Compact(names) {
		fields = append(fields, field[T]{
			name: prefix + name, added: true,
			text: func(t *T) string { return value(get(t)[name]) },
			copy: func(to, from *T) {
				extra := maps.Clone(get(to)) // it is shared with other copies
				if v, ok := get(from)[name]; !ok {
					delete(extra, name)
				} else if extra == nil {
					extra = map[string]json.RawMessage{name: v}
				} else {
					extra[name] = v
				}
				if len(extra) == 0 {
					extra = nil
				}
				set(to, extra)
			},
		})
	}
	return fields
}

// plain is a field that holds a text.
func plain[T any](name string, added bool, at func(*T) *string) field[T] {
	return field[T]{name, added, func(t *T) string { return *at(t) }, func(to, from *T) { *at(to) = *at(from) }}
}

// memoryFields lists the fields of some memories, nil ones left out, in which an edit can differ. Accesses, revision and updated_at are the daemon's.
func memoryFields(memories ...*memory.Memory) []field[memory.Memory] {
	type m = memory.Memory
	fields := slices.Concat([]field[m]{
		plain("category", false, func(m *m) *string { return &m.Category }),
		plain("content", false, func(m *m) *string { return &m.Content }),
		{"salience", false, func(m *m) string { return number(m.Salience) }, func(to, from *m) { to.Salience = from.Salience }},
		{"created_at", false, func(m *m) string { return instant(m.CreatedAt) }, func(to, from *m) { to.CreatedAt = from.CreatedAt }},
		plain("source", false, func(m *m) *string { return &m.Source }),
		{"tags", true, func(m *m) string { return list(m.Tags) }, func(to, from *m) { to.Tags = from.Tags }},
		plain("title", true, func(m *m) *string { return &m.Title }),
		{"pinned", true, func(m *m) string { return yes(m.Pinned) }, func(to, from *m) { to.Pinned = from.Pinned }},
		{"confidence", true, confidence, func(to, from *m) { to.Confidence = from.Confidence }},
		{"expires_at", true, func(m *m) string { return instant(m.ExpiresAt) }, func(to, from *m) { to.ExpiresAt = from.ExpiresAt }},
		{"status", true, status, func(to, from *m) { to.Status = from.Status }},
		{"supersedes", true, func(m *m) string { return list(m.Supersedes) }, func(to, from *m) { to.Supersedes = from.Supersedes }},
		plain("superseded_by", true, func(m *m) *string { return &m.SupersededBy }),
		{"relations", true, func(m *m) string { return list(m.Relations) }, func(to, from *m) { to.Relations = from.Relations }},
		{"evidence", true, func(m *m) string { return list(m.Evidence) }, func(to, from *m) { to.Evidence = from.Evidence }},
		{"structured_data", true, func(m *m) string { return value(m.StructuredData) }, func(to, from *m) { to.StructuredData = from.StructuredData }},
	}, contextFields(memories))
	return append(fields, unknown("", func(m *m) map[string]json.RawMessage { return m.Extra },
		func(m *m, extra map[string]json.RawMessage) { m.Extra = extra }, memories...)...)
}

func yes(b bool) string {
	if b {
		return "true"
	}
	return ""
}

// confidence is 1 unless something else is said.
func confidence(m *memory.Memory) string {
	if m.Confidence == 1 {
		return ""
	}
	return number(m.Confidence)
}

func status(m *memory.Memory) string {
	if m.IsActive() {
		return ""
	}
	return string(m.Status)
}

// contextFields lists what is inside the contexts of memories.
func contextFields(memories []*memory.Memory) []field[memory.Memory] {
	type m = memory.Memory
	in := func(name string, added bool, at func(*memory.Context) *string) field[m] {
		return field[m]{
			"context." + name, added,
			func(m *m) string { return *at(contextOf(m)) },
			func(to, from *m) { setContext(to, func(c *memory.Context) { *at(c) = *at(contextOf(from)) }) },
		}
	}
	fields := []field[m]{
		in("tool", false, func(c *memory.Context) *string { return &c.Tool }),
		in("error_type", false, func(c *memory.Context) *string { return &c.ErrorType }),
		in("learned_from", false, func(c *memory.Context) *string { return &c.LearnedFrom }),
		in("signature", true, func(c *memory.Context) *string { return &c.Signature }),
		{
			"context.occurrences", true,
			func(m *m) string {
				if n := contextOf(m).Occurrences; n != 0 {
					return strconv.FormatInt(n, 10)
				}
				return ""
			},
			func(to, from *m) {
				setContext(to, func(c *memory.Context) { c.Occurrences = contextOf(from).Occurrences })
			},
		},
	}
	return append(fields, unknown("context.", func(m *m) map[string]json.RawMessage { return contextOf(m).Extra },
		func(m *m, extra map[string]json.RawMessage) {
			setContext(m, func(c *memory.Context) { c.Extra = extra })
		}, memories...)...)
}

func contextOf(m *memory.Memory) *memory.Context {
	if m.Context == nil {
		return &memory.Context{}
	}
	return m.Context
}

// setContext changes a copy of the context, which may be shared. One that says nothing is none.
func setContext(m *memory.Memory, set func(*memory.Context)) {
	c := *contextOf(m)
	set(&c)
	m.Context = &c
	if reflect.ValueOf(c).IsZero() {
		m.Context = nil
	}
}

// entryFields lists the fields of some log entries, nil ones left out.
func entryFields(entries ...*memory.Entry) []field[memory.Entry] {
	type e = memory.Entry
	fields := []field[e]{
		plain("time", false, func(e *e) *string { return &e.Time }),
		{"at", true, func(e *e) string { return instant(e.At) }, func(to, from *e) { to.At = from.At }},
		plain("type", false, func(e *e) *string { return &e.Type }),
		plain("content", false, func(e *e) *string { return &e.Content }),
		plain("category", false, func(e *e) *string { return &e.Category }),
		plain("tool", false, func(e *e) *string { return &e.Tool }),
		plain("error", false, func(e *e) *string { return &e.Error }),
		plain("session", true, func(e *e) *string { return &e.Session }),
	}
	return append(fields, unknown("", func(e *e) map[string]json.RawMessage { return e.Extra },
		func(e *e, extra map[string]json.RawMessage) { e.Extra = extra }, entries...)...)
}

// dayFields lists what daily logs say of themselves.
func dayFields(days ...*memory.Day) []field[memory.Day] {
	type d = memory.Day
	fields := []field[d]{
		plain("summary", false, func(d *d) *string { return &d.Summary }),
		{"archived", false, func(d *d) string { return yes(d.Archived) }, func(to, from *d) { to.Archived = from.Archived }},
	}
	return append(fields, unknown("", func(d *d) map[string]json.RawMessage { return d.Extra },
		func(d *d, extra map[string]json.RawMessage) { d.Extra = extra }, days...)...)
}
