package journal_test

import (
	"encoding/json"
	"math"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

// fillAll sets every field it can reach, so that a field the encoder does not know is missed by the comparison.
func fillAll(v reflect.Value, depth int) {
	switch {
	case v.Type() == reflect.TypeFor[time.Time]():
		v.Set(reflect.ValueOf(time.Date(2026, 2, 21, 10, 30, 0, 123456000, time.UTC)))
		return
	case v.Type() == reflect.TypeFor[json.RawMessage]():
		v.SetBytes([]byte(`{"a":1}`))
		return
	case depth > 12:
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString("x \"q\" \\ \n 中文 <&> \u2028")
	case reflect.Int, reflect.Int64:
		v.SetInt(3)
	case reflect.Float64:
		v.SetFloat(0.25)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fillAll(v.Elem(), depth+1)
	case reflect.Struct:
		for _, field := range v.Fields() {
			fillAll(field, depth+1)
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fillAll(v.Index(0), depth+1)
		fillAll(v.Index(1), depth+1)
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		elem := reflect.New(v.Type().Elem()).Elem()
		fillAll(elem, depth+1)
		v.SetMapIndex(reflect.ValueOf("k"), elem)
	default:
		panic("no way to fill a " + v.Type().String())
	}
}

func decode[T any](t testing.TB, raw []byte) *T {
	t.Helper()
	v := new(T)
	if err := json.Unmarshal(raw, v); err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return v
}

func TestEncodingHoldsEveryField(t *testing.T) {
	for _, rec := range []*journal.Record{new(journal.Record),
		{Changes: []journal.Change{{Memory: &journal.MemoryChange{}}}}, {}} {
		if rec.Changes == nil && rec != nil {
			fillAll(reflect.ValueOf(rec).Elem(), 0)
			rec.Changes[0] = journal.Change{Memory: rec.Changes[0].Memory} // exactly one member is set
			rec.Changes[1].Memory = nil
			rec.Changes[0].Memory.Text = nil // see TestEncodingOfText
		}
		raw, err := rec.AppendJSON(nil)
		if err != nil {
			t.Fatal(err)
		}
		want, err := json.Marshal(rec)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(decode[journal.Record](t, want), decode[journal.Record](t, raw)); diff != "" {
			t.Errorf("against encoding/json (-want +got):\n%s", diff)
		}
	}
}

func TestEncodingAgreesWithEncodingJSON(t *testing.T) {
	text := rapid.String()
	rapid.Check(t, func(t *rapid.T) {
		m := &memory.Memory{
			ID: text.Draw(t, "id"), Content: text.Draw(t, "content"), Title: text.Draw(t, "title"),
			Tags:       rapid.SliceOf(text).Draw(t, "tags"),
			Salience:   rapid.Float64Range(0, 1).Draw(t, "salience"),
			Confidence: rapid.Float64Range(0, 1e-9).Draw(t, "confidence"),
			CreatedAt:  time.Unix(0, rapid.Int64().Draw(t, "at")).UTC(),
			Pinned:     rapid.Bool().Draw(t, "pinned"),
			More: &memory.More{AccessCount: rapid.Int64().Draw(t, "count"),
				StructuredData: json.RawMessage("{\n \"a\": [1, \"\\n\"]}")},
		}
		raw, err := journal.MemoryLine{Memory: m}.AppendJSON([]byte("before"))
		if err != nil {
			t.Fatal(err)
		}
		want, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		var a, b memory.Memory
		if err := json.Unmarshal(want, &a); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(raw[len("before"):], &b); err != nil {
			t.Fatalf("%s: %v", raw, err)
		}
		if diff := cmp.Diff(a, b); diff != "" {
			t.Fatalf("(-encoding/json +ours):\n%s", diff)
		}
	})
}

func TestEncodingRefusesWhatIsNoNumber(t *testing.T) {
	m := &memory.Memory{Salience: math.NaN()}
	if raw, err := (journal.MemoryLine{Memory: m}).AppendJSON(nil); err == nil {
		t.Errorf("encoded NaN as %s", raw)
	}
}

// TestEncodingOfText: a memory that somebody else has encoded is in the record as it is, with its revision, and Stage
// drops the text.
func TestEncodingOfText(t *testing.T) {
	m := &memory.Memory{ID: "m", Category: memory.Facts, Content: "a \"quoted\" text", Status: memory.Active}
	text, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	m.Revision = 7
	raw, err := (&journal.Record{Op: 7, Changes: []journal.Change{{Memory: &journal.MemoryChange{ID: "m", After: m, Text: text}}}}).
		AppendJSON(nil)
	if err != nil {
		t.Fatal(err)
	}
	got := decode[journal.Record](t, raw).Changes[0].Memory.After
	got.Trim()
	if diff := cmp.Diff(m, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", raw, diff)
	}
}
