package reconcile

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

// field is one field that is merged by itself.
type field[T any] struct {
	name string
	// added says that the original format does not have the field, so that an old program drops it.
	added bool
	text  func(*T) string // equal values have equal texts; "" is that nothing is said
	copy  func(to, from *T)
}

// merge copies into out, a copy of ours, each field that theirs changed against base. When ours changed it too,
// theirs wins: the operation keeps the value that lost. Without a base every field of theirs counts as changed.
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

// fillIn gives theirs the fields that an old program dropped: those of from that the original format lacks.
func fillIn[T any](fields []field[T], from, theirs *T) {
	for _, f := range fields {
		if f.added && f.text(theirs) == "" {
			f.copy(theirs, from)
		}
	}
}

// sameMemory reports whether two memories agree in every field that an edit can change. It is a cheap test for the
// common case; false means that the fields must be compared.
func sameMemory(a, b *memory.Memory) bool {
	if !a.CreatedAt.Equal(b.CreatedAt) || !a.ExpiresAt.Equal(b.ExpiresAt) {
		return false
	}
	x := *a
	x.CreatedAt, x.ExpiresAt = b.CreatedAt, b.ExpiresAt // equal instants, perhaps in two zones
	x.UpdatedAt, x.ContentAt, x.Revision = b.UpdatedAt, b.ContentAt, b.Revision
	x.AccessCount, x.LastAccessed = b.AccessCount, b.LastAccessed
	return reflect.DeepEqual(&x, b)
}

// sameEntry is sameMemory for log entries.
func sameEntry(a, b *memory.Entry) bool {
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
) []field[T] {
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
			text: func(t *T) string { return canonicalJSON(get(t)[name]) },
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

// fromTable returns the fields of a table in which a hand edit can differ.
func fromTable[T any](table []memory.Field[T]) []field[T] {
	var fields []field[T]
	for i := range table {
		f := &table[i]
		if f.Managed {
			continue
		}
		fields = append(fields, field[T]{
			name: f.Name, added: f.Added, copy: f.Copy,
			text: func(v *T) string {
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

// memoryFields lists the fields of some memories, nil ones left out, in which a hand edit can differ. The context is
// compared member by member.
func memoryFields(memories ...*memory.Memory) []field[memory.Memory] {
	fields := slices.DeleteFunc(
		fromTable(memory.Fields),
		func(f field[memory.Memory]) bool { return f.name == "context" },
	)
	fields = append(fields, contextFields(memories)...)
	return append(fields, unknown("", func(m *memory.Memory) map[string]json.RawMessage { return m.Extra },
		func(m *memory.Memory, extra map[string]json.RawMessage) { m.Extra = extra }, memories...)...)
}

// contextFields lists the fields inside the contexts of memories.
func contextFields(memories []*memory.Memory) []field[memory.Memory] {
	var fields []field[memory.Memory]
	for _, f := range fromTable(memory.ContextFields) {
		fields = append(fields, field[memory.Memory]{
			name: "context." + f.name, added: f.added,
			text: func(m *memory.Memory) string { return f.text(contextOf(m)) },
			copy: func(to, from *memory.Memory) {
				setContext(to, func(c *memory.Context) { f.copy(c, contextOf(from)) })
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
	if m.Context == nil {
		return &memory.Context{}
	}
	return m.Context
}

// setContext changes a copy of the context, which may be shared. An empty context becomes none.
func setContext(m *memory.Memory, set func(*memory.Context)) {
	c := *contextOf(m)
	set(&c)
	m.Context = &c
	if reflect.ValueOf(c).IsZero() {
		m.Context = nil
	}
}

// entryFields lists the fields of some log entries, nil ones left out, in which a hand edit can differ.
func entryFields(entries ...*memory.Entry) []field[memory.Entry] {
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

// dayFields lists the fields of some headers of daily logs, nil ones left out, in which a hand edit can differ.
func dayFields(days ...*memory.Day) []field[memory.Day] {
	return append(fromTable(dayTable), unknown("", func(d *memory.Day) map[string]json.RawMessage { return d.Extra },
		func(d *memory.Day, extra map[string]json.RawMessage) { d.Extra = extra }, days...)...)
}
