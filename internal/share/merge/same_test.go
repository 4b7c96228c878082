package merge

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/memsidecar/memsidecar/internal/memory"
)

// sample has something in every field.
func sample() *memory.Memory {
	return &memory.Memory{ID: "a1", Category: "facts", Content: "喜欢 \"x\" <b> \u2028", Salience: 1e-9, CreatedAt: epoch,
		Source: "import", UpdatedAt: epoch,
		Revision: 7, Tags: []string{"a", "标签"}, Title: "T", Pinned: true,
		Confidence: .25, Status: memory.Superseded,
		More: &memory.More{LastAccessed: epoch, AccessCount: 3, Context: &memory.Context{Tool: "<t>"},
			ContentAt: epoch, Description: "D", ExpiresAt: epoch, Supersedes: []string{"o"}, SupersededBy: "n",
			Relations: []memory.Relation{{Type: "supports", Target: "b", Strength: .5}},
			Evidence:  []memory.Evidence{{Log: "2026-02-21"}}, StructuredData: json.RawMessage(`{"a":[1]}`),
			Extra: map[string]json.RawMessage{"z": json.RawMessage(`[1]`)}}}
}

// plain is a memory as most are.
func plain() *memory.Memory {
	return &memory.Memory{ID: "a1", Category: "facts", Content: "x", Salience: .5, CreatedAt: epoch, Source: "import",
		UpdatedAt: epoch, Tags: []string{"a"}, Confidence: 1, Status: memory.Active, Revision: 1}
}

// TestSame changes each field of a memory that has them all, and of one that has few.
func TestSame(t *testing.T) {
	for name, of := range map[string]func() *memory.Memory{"all": sample, "few": plain} {
		for i := range memory.Fields {
			f := &memory.Fields[i]
			a, b := of(), of()
			b.Own()
			switch p := f.Pointer(b).(type) {
			case *string:
				*p += "!"
			case *memory.Status:
				*p = memory.Retired
			case *float64:
				*p += .1
			case *int64:
				*p++
			case *bool:
				*p = !*p
			case *time.Time:
				*p = epoch.Add(time.Hour)
			case *[]string:
				*p = append(*p, "more")
			case **memory.Context:
				*p = &memory.Context{Tool: "another"}
			case *[]memory.Relation:
				*p = append(*p, memory.Relation{Type: "refines", Target: "c"})
			case *[]memory.Evidence:
				*p = append(*p, memory.Evidence{Log: "2026-02-22"})
			case *json.RawMessage:
				*p = json.RawMessage(`{"b":1}`)
			default:
				t.Fatalf("%s has a type without a case", f.Name)
			}
			if want := f.Name == "revision"; Same(a, b) != want || Same(b, a) != want {
				t.Errorf("%s: another %s: want the same %t", name, f.Name, want)
			}
		}
		a, b := of(), of()
		b.Own().Extra = map[string]json.RawMessage{"y": json.RawMessage(`1`)}
		if Same(a, b) || !Same(a, a.Clone()) || !Same(a, Shared(a)) || Same(a, nil) || !Same(nil, nil) {
			t.Errorf("%s: copies, unknown fields or nothing", name)
		}
	}
	a, b := plain(), plain()
	b.Status, b.CreatedAt, b.Tags = "", epoch.In(time.FixedZone("", 0)), append([]string{}, b.Tags...)
	if !Same(a, b) {
		t.Error("a memory without a status is active")
	}
}

// TestChangeText: the text of a change reads back as what encoding/json writes of it.
func TestChangeText(t *testing.T) {
	text := "喜欢 \"x\" <b> \u2028\x01"
	for _, c := range []Change{
		{Memory: &MemoryValue{"a1", Shared(sample())}}, {Memory: &MemoryValue{"a1", plain()}}, {Memory: &MemoryValue{ID: "a1"}},
		{Access: &AccessValue{"a1", 3, epoch}}, {Forgotten: &ForgottenValue{"h", epoch}}, {Forgotten: &ForgottenValue{Hash: "h"}},
		{Summary: &text}, {},
	} {
		ours, err := c.AppendJSON(nil)
		if err != nil {
			t.Fatal(err)
		}
		theirs, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		var got, want Change
		if err := json.Unmarshal(ours, &got); err != nil {
			t.Fatalf("%s: %v", ours, err)
		}
		if err := json.Unmarshal(theirs, &want); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s\n%s", ours, diff)
		}
	}
}

// TestMemoriesText: memories read back from a part of a snapshot, and their text is what encoding/json would write.
func TestMemoriesText(t *testing.T) {
	other := &memory.Memory{ID: "<\"2", Content: "喜欢 <b> \u2028", Revision: 3}
	rare := sample()
	rare.ID = "a3"
	for _, memories := range [][]*memory.Memory{nil, {plain()}, {plain(), other, rare}} {
		ours, err := AppendMemories([]byte("before "), memories)
		if err != nil {
			t.Fatal(err)
		}
		want := Values{Memories: map[string]*memory.Memory{}}
		for _, m := range memories {
			want.Memories[m.ID] = Shared(m)
		}
		var got Values
		text, _ := strings.CutPrefix(string(ours), "before ")
		if err := DecodeStrict(strings.NewReader(text), &got); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		for _, m := range got.Memories {
			m.Trim()
		}
		if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(Values{})); diff != "" {
			t.Errorf("%s\n%s", text, diff)
		}
		p, err := ReadPart([]byte(text))
		if err != nil || len(p.received) != len(memories) {
			t.Errorf("%s: %d memories, %v", text, len(p.received), err)
		}
	}
}
