// Package fieldmerge is the three-way merge of memories, log entries and headers of daily logs, field by
// field. Hand edits of published files and shared spaces use it. It does no I/O.
package fieldmerge

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

// Field is one field that is merged by itself.
type Field[T any] struct {
	Name string
	// Added says that the original format does not have the field, so that an old program drops it.
	Added bool
	// Text is the same for equal values, and "" when nothing is said.
	Text func(*T) string
	Copy func(to, from *T)
}

// Merge copies into out, a copy of ours, each field that theirs changed against base. When ours changed it too,
// theirs wins: the operation keeps the value that lost. Without a base every field of theirs counts as changed.
func Merge[T any](fields []Field[T], base, theirs, ours, out *T) (changed []string) {
	for _, f := range fields {
		t := f.Text(theirs)
		if base != nil && t == f.Text(base) || t == f.Text(ours) {
			continue
		}
		f.Copy(out, theirs)
		changed = append(changed, f.Name)
	}
	return changed
}

// Differing names the fields in which a and b differ.
func Differing[T any](fields []Field[T], a, b *T) (names []string) {
	for _, f := range fields {
		if f.Text(a) != f.Text(b) {
			names = append(names, f.Name)
		}
	}
	return names
}

// FillIn gives theirs the fields that an old program dropped: those of from that the original format lacks.
func FillIn[T any](fields []Field[T], from, theirs *T) {
	for _, f := range fields {
		if f.Added && f.Text(theirs) == "" {
			f.Copy(theirs, from)
		}
	}
}

// SameMemory reports whether two memories agree in every field that an edit can change. It is a cheap test for the
// common case; false means that the fields must be compared.
func SameMemory(a, b *memory.Memory) bool {
	if !a.CreatedAt.Equal(b.CreatedAt) || !a.ExpiresAt().Equal(b.ExpiresAt()) {
		return false
	}
	x := *a
	x.CreatedAt = b.CreatedAt // equal instants, perhaps in two zones
	if !b.ExpiresAt().IsZero() {
		x.SetExpiresAt(b.ExpiresAt())
	}
	if x.ContentAt() != b.ContentAt() {
		x.SetContentAt(b.ContentAt())
	}
	x.UpdatedAt, x.Revision = b.UpdatedAt, b.Revision
	if x.AccessCount() != b.AccessCount() || x.LastAccessed() != b.LastAccessed() {
		x.SetAccesses(b.AccessCount(), b.LastAccessed())
	}
	return reflect.DeepEqual(&x, b)
}

// SameEntry is SameMemory for log entries.
func SameEntry(a, b *memory.Entry) bool {
	x := *a
	x.At = b.At
	return a.At.Equal(b.At) && reflect.DeepEqual(&x, b)
}

// canonicalJSON is the text of a JSON value. Values that differ in the order of members, white space or escaping
// have the same.
func canonicalJSON(raw json.RawMessage) string {
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

// unknown returns a field for each unknown member that one of the things has.
func unknown[T any](
	prefix string,
	get func(*T) map[string]json.RawMessage,
	set func(*T, map[string]json.RawMessage),
	things ...*T,
) []Field[T] {
	var names []string
	for _, t := range things {
		if t != nil {
			names = slices.AppendSeq(names, maps.Keys(get(t)))
		}
	}
	slices.Sort(names)
	var fields []Field[T]
	for _, name := range slices.Compact(names) {
		fields = append(fields, Field[T]{
			Name: prefix + name, Added: true,
			Text: func(t *T) string { return canonicalJSON(get(t)[name]) },
			Copy: func(to, from *T) {
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

// fromTable returns the fields of a table in which a hand edit can differ.
func fromTable[T any](table []memory.Field[T]) []Field[T] {
	var fields []Field[T]
	for i := range table {
		f := &table[i]
		if f.Managed {
			continue
		}
		fields = append(fields, Field[T]{
			Name: f.Name, Added: f.Added, Copy: f.Copy,
			Text: func(v *T) string {
				if f.IsDefault(v) {
					return ""
				}
				return canonical(f.Pointer(v))
			},
		})
	}
	return fields
}

// canonical is the text of what a result of memory.Field.Pointer points to.
func canonical(pointer any) string {
	switch p := pointer.(type) {
	case *string:
		return *p
	case *memory.Status:
		return string(*p)
	case *float64:
		return strconv.FormatFloat(*p, 'g', -1, 64)
	case *int64:
		return strconv.FormatInt(*p, 10)
	case *bool:
		return strconv.FormatBool(*p)
	case *time.Time:
		return p.UTC().Format(time.RFC3339Nano)
	case *json.RawMessage:
		return canonicalJSON(*p)
	default: // lists of strings and numbers
		raw, err := json.Marshal(p)
		if err != nil {
			return "?" // unreachable: NaN cannot be read from a file
		}
		return string(raw)
	}
}

// Memory lists the fields of some memories, nil ones left out, in which a hand edit can differ. The context is
// compared member by member.
func Memory(memories ...*memory.Memory) []Field[memory.Memory] {
	fields := slices.DeleteFunc(
		fromTable(memory.Fields),
		func(f Field[memory.Memory]) bool { return f.Name == "context" },
	)
	fields = append(fields, contextFields(memories)...)
	return append(fields, unknown("", func(m *memory.Memory) map[string]json.RawMessage { return m.Extra() },
		func(m *memory.Memory, extra map[string]json.RawMessage) { m.SetExtra(extra) }, memories...)...)
}

// contextFields lists the fields inside the contexts of memories.
func contextFields(memories []*memory.Memory) []Field[memory.Memory] {
	var fields []Field[memory.Memory]
	for _, f := range fromTable(memory.ContextFields) {
		fields = append(fields, Field[memory.Memory]{
			Name: "context." + f.Name, Added: f.Added,
			Text: func(m *memory.Memory) string { return f.Text(contextOf(m)) },
			Copy: func(to, from *memory.Memory) {
				setContext(to, func(c *memory.Context) { f.Copy(c, contextOf(from)) })
			},
		})
	}
	return append(
		fields,
		unknown("context.", func(m *memory.Memory) map[string]json.RawMessage { return contextOf(m).Extra },
			func(m *memory.Memory, extra map[string]json.RawMessage) {
				setContext(m, func(c *memory.Context) { c.Extra = extra })
			}, memories...)...)
}

// contextOf returns the context of m, an empty one when there is none.
func contextOf(m *memory.Memory) *memory.Context {
	if m.Context() == nil {
		return &memory.Context{}
	}
	return m.Context()
}

// setContext changes a copy of the context, which may be shared. An empty context becomes none.
func setContext(m *memory.Memory, set func(*memory.Context)) {
	c := *contextOf(m)
	set(&c)
	if reflect.ValueOf(c).IsZero() {
		m.SetContext(nil)
	} else {
		m.SetContext(&c)
	}
}

// Entry lists the fields of some log entries, nil ones left out, in which a hand edit can differ.
func Entry(entries ...*memory.Entry) []Field[memory.Entry] {
	return append(
		fromTable(memory.EntryFields),
		unknown("", func(e *memory.Entry) map[string]json.RawMessage { return e.Extra },
			func(e *memory.Entry, extra map[string]json.RawMessage) { e.Extra = extra }, entries...)...)
}

// dayTable lists the fields of a daily log's header that a hand edit can change.
var dayTable = []memory.Field[memory.Day]{
	{Name: "summary", Pointer: func(d *memory.Day) any { return &d.Summary }},
	{Name: "archived", Pointer: func(d *memory.Day) any { return &d.Archived }},
}

// Day lists the fields of some headers of daily logs, nil ones left out, in which a hand edit can differ.
func Day(days ...*memory.Day) []Field[memory.Day] {
	return append(fromTable(dayTable), unknown("", func(d *memory.Day) map[string]json.RawMessage { return d.Extra },
		func(d *memory.Day, extra map[string]json.RawMessage) { d.Extra = extra }, days...)...)
}
