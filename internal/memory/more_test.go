package memory_test

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"
	"time"
	"unsafe"

	"github.com/memsidecar/memsidecar/internal/memory"
)

// TestSize: Go gives a memory a block of the next size class, so a few bytes more cost 16 for each of a million
// memories. What few memories have belongs into More.
func TestSize(t *testing.T) {
	const sizeClass = 208
	if size := unsafe.Sizeof(memory.Memory{}); size > sizeClass {
		t.Errorf("a memory has %d bytes, more than the size class of %d", size, sizeClass)
	}
}

// TestMarshalJSON: encoding/json writes access_count of every memory, and the members in an order that does not change.
func TestMarshalJSON(t *testing.T) {
	at := time.Date(2026, 2, 21, 18, 30, 0, 0, time.UTC)
	few := memory.Memory{ID: "a", Category: "facts", Content: "<b>", Salience: .5, CreatedAt: at, Source: "import"}
	rare := few
	rare.Status = memory.Active
	rare.SetDescription("D")
	used := rare
	used.SetAccesses(3, at)
	used.SetContext(&memory.Context{Tool: "t"})
	begin := `{"id":"a","category":"facts","content":"\u003cb\u003e","salience":0.5,"created_at":"2026-02-21T18:30:00Z",`
	for _, tt := range []struct {
		m    memory.Memory
		want string
	}{
		{few, begin + `"access_count":0,"source":"import"}`},
		{rare, begin + `"access_count":0,"source":"import","status":"active","description":"D"}`},
		{used, begin + `"last_accessed":"2026-02-21T18:30:00Z","access_count":3,"source":"import","context":{"tool":"t"},` +
			`"status":"active","description":"D"}`},
	} {
		for _, v := range []any{tt.m, &tt.m} {
			if got, err := json.Marshal(v); err != nil || string(got) != tt.want {
				t.Errorf("%s, %v\nwant %s", got, err, tt.want)
			}
		}
	}
	full := &memory.Memory{More: new(memory.More)}
	for i, f := range memory.Fields {
		fill(t, f.Pointer(full), i+1)
	}
	text, err := json.Marshal(full)
	var members map[string]json.RawMessage
	if err != nil || json.Unmarshal(text, &members) != nil {
		t.Fatalf("%s, %v", text, err)
	}
	if got, want := slices.Sorted(maps.Keys(members)), names[memory.Memory](); !slices.Equal(got, want) {
		t.Errorf("members %q, the struct has %q", got, want)
	}
}

// TestCopiesShareNothingThatChanges: memories that are copies of each other share a More until a setter is called, and
// a Clone has its own context.
func TestCopiesShareNothingThatChanges(t *testing.T) {
	at := time.Unix(1, 0)
	first := &memory.Memory{ID: "a", More: &memory.More{AccessCount: 3, LastAccessed: at, Context: &memory.Context{Tool: "t"}}}
	second := *first
	second.SetAccesses(5, at.Add(time.Hour))
	second.SetContext(nil)
	third := first.Clone()
	third.Context().Occurrences++
	if first.AccessCount() != 3 || !first.LastAccessed().Equal(at) || first.Context() == nil ||
		first.Context().Occurrences != 0 {
		t.Errorf("%d accesses, last %v, %+v", first.AccessCount(), first.LastAccessed(), first.Context())
	}
	if second.SetAccesses(0, time.Time{}); second.More != nil {
		t.Errorf("nothing is left, but %+v", second.More)
	}
}
