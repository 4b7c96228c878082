package memory_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
)

// names lists the JSON members of a struct, Extra aside.
func names[T any]() (all []string) {
	for _, field := range reflect.VisibleFields(reflect.TypeFor[T]()) {
		if field.Anonymous { // More, whose fields are members like all others
			continue
		}
		if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); name != "extra" {
			all = append(all, name)
		}
	}
	slices.Sort(all)
	return all
}

// checkTable fails for a field of T that the table lacks, and for a Pointer that returns another field's.
func checkTable[T any](t *testing.T, table []memory.Field[T]) {
	t.Helper()
	var listed []string
	seen := map[any]string{}
	v := new(T)
	for _, f := range table {
		listed = append(listed, f.Name)
		if before := seen[f.Pointer(v)]; before != "" {
			t.Errorf("%s and %s point to the same field", before, f.Name)
		}
		seen[f.Pointer(v)] = f.Name
		if !memory.IsZero(f.Pointer(v)) {
			t.Errorf("%s is not zero in a zero value", f.Name)
		}
		f.Copy(v, new(T))
	}
	slices.Sort(listed)
	if want := names[T](); !slices.Equal(listed, want) {
		t.Errorf("table has %q, the struct has %q", listed, want)
	}
}

func TestTablesListEveryField(t *testing.T) {
	checkTable(t, memory.Fields)
	checkTable(t, memory.ContextFields)
	checkTable(t, memory.RelationFields)
	checkTable(t, memory.EvidenceFields)
	checkTable(t, memory.EntryFields)
}

// fill sets what a pointer of a field points to, to a value that n decides.
func fill(t *testing.T, pointer any, n int) {
	t.Helper()
	text := strconv.Itoa(n)
	switch p := pointer.(type) {
	case *string:
		*p = text
	case *memory.Status:
		*p = memory.Status(text)
	case *float64:
		*p = float64(n)
	case *int64:
		*p = int64(n)
	case *bool:
		*p = true
	case *time.Time:
		*p = time.Unix(int64(n), 0)
	case *[]string:
		*p = []string{text}
	case **memory.Context:
		*p = &memory.Context{Tool: text}
	case *[]memory.Relation:
		*p = []memory.Relation{{Type: text}}
	case *[]memory.Evidence:
		*p = []memory.Evidence{{Log: text}}
	case *json.RawMessage:
		*p = json.RawMessage(text)
	default:
		t.Fatalf("no way to fill a %T", p)
	}
}

func TestCopyCopiesEachField(t *testing.T) {
	from := &memory.Memory{More: new(memory.More)}
	for i, f := range memory.Fields {
		fill(t, f.Pointer(from), i+1)
	}
	to := new(memory.Memory)
	for _, f := range memory.Fields {
		if memory.IsZero(f.Pointer(from)) {
			t.Errorf("%s is not set", f.Name)
		}
		f.Copy(to, from)
	}
	if !reflect.DeepEqual(from, to) {
		t.Errorf("copied %+v\nto %+v", from, to)
	}
}

func TestTextsAreThoseOfTheUser(t *testing.T) {
	m := &memory.Memory{
		ID: "id", Category: "facts", Content: "content", Title: "title", Tags: []string{"t1", "t2"}, Source: "import",
		More: &memory.More{Context: &memory.Context{Tool: "tool", ErrorType: "type", LearnedFrom: "from", Signature: "sign"}},
	}
	var got []string
	for s := range m.Texts() {
		got = append(got, *s)
	}
	if want := []string{"content", "t1", "t2", "title", "tool", "type", "from", "sign"}; !slices.Equal(got, want) {
		t.Errorf("texts %q, want %q", got, want)
	}
}

// TestTextsAreOfOneMemory: who changes the texts of one memory changes no other, also where neither has a More.
func TestTextsAreOfOneMemory(t *testing.T) {
	for text := range (&memory.Memory{Content: "a"}).Texts() {
		*text = "changed"
	}
	if got := (&memory.Memory{}).Description(); got != "" {
		t.Errorf("another memory has the description %q", got)
	}
	first := &memory.Memory{Content: "a", More: &memory.More{Description: "b"}}
	for text := range first.Clone().Texts() {
		*text = "changed"
	}
	if first.Content != "a" || first.Description() != "b" {
		t.Errorf("the first one has %q and %q", first.Content, first.Description())
	}
}
