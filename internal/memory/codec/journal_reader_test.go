package codec_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/memory/codec"
	"github.com/memsidecar/memsidecar/internal/strictjson"
)

// read has both readers read an object of memories. Where the fast one reads it, both must say the same.
func read(t interface {
	Helper()
	Fatalf(string, ...any)
}, text string) (fast bool,
) {
	t.Helper()
	got := map[string]*memory.Memory{}
	var r codec.JournalReader
	rest, ok := r.Members([]byte(text), func(id string, m *memory.Memory, text json.RawMessage) {
		got[id] = m
		checkText(t, m, text)
	})
	if !ok {
		return false
	}
	want := map[string]*memory.Memory{}
	if err := json.Unmarshal([]byte(text)[:len(text)-len(rest)], &want); err != nil {
		t.Fatalf("accepted %s: %v", text, err)
	}
	for _, m := range want {
		if m != nil {
			m.Trim()
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("%s\n(-encoding/json +ours):\n%s", text, diff)
	}
	return true
}

// checkText checks that a text, if there is one, has the strings that AppendMemory writes.
func checkText(t interface {
	Helper()
	Fatalf(string, ...any)
}, m *memory.Memory, text json.RawMessage,
) {
	t.Helper()
	ours, err := codec.AppendMemory(nil, m)
	if err != nil {
		t.Fatalf("%v", err)
	}
	for _, s := range append([]string{m.ID, m.Content, m.Title}, m.Tags...) {
		quoted := string(strictjson.AppendString(nil, s))
		if text != nil && s != "" && !strings.Contains(string(text), quoted) {
			t.Fatalf("%s does not have %s of %s", text, quoted, ours)
		}
	}
}

func TestJournalReader(t *testing.T) {
	at := `"created_at":"2026-02-21T18:30:00.123456+08:00"`
	for _, tt := range []struct {
		name, text string
		fast       bool
	}{
		{"none", `{}`, true},
		{"what most have", `{"a":{"id":"a","category":"facts","content":"喜欢 x","salience":0.5,` + at + `,"access_count":3,` +
			`"source":"user","tags":["a","b"],"pinned":true,"confidence":1,"status":"active"}}`, true},
		{"something follows", `{"a":{"id":"a"}},"forgotten":{}`, true},
		{"escapes", `{"a":{"content":"\"\\\/\b\f\n\r\t\u003c\u00e9 and more"}}`, true},
		{"fields in another order", `{"a":{"status":"active","id":"a","title":"T"}}`, true},
		{"a time in More", `{"a":{"expires_at":"2026-02-21T18:30:00Z"},"b":{"id":"b"}}`, true},
		{"accesses", `{"a":{"last_accessed":"2026-02-21T18:30:00Z","access_count":3},"b":{"access_count":0},` +
			`"c":{"access_count":0,"title":"T","description":"D"}}`, true},
		{"lists in More", `{"a":{"supersedes":["x"],"superseded_by":"y"},"b":{"id":"b"}}`, true},
		{"lists written alike", `{"a":{"tags":["x","y"]},"b":{"tags":["x","y"]},"c":{"tags":["x","y","z"]},"d":{"tags":["x]"]},` +
			`"e":{"tags":["x]"]}}`, true},
		{"lists with escapes", `{"a":{"tags":["\u003c"]},"b":{"tags":["\u003c"]}}`, true},
		{"the same memory twice", `{"a":{"id":"1"},"a":{"id":"2"}}`, true},
		{"white space", `{"a": {}}`, false},
		{"a field twice", `{"a":{"id":"1","id":"2"}}`, false},
		{"an unknown field", `{"a":{"new":1}}`, false},
		{"a field in another letter case", `{"a":{"ID":"1"}}`, false},
		{"null", `{"a":{"id":null}}`, false},
		{"a memory that does not exist", `{"a":null}`, false},
		{"structured data", `{"a":{"structured_data":{"a":1}}}`, false},
		{"an empty list", `{"a":{"tags":[]}}`, false},
		{"a number with an exponent", `{"a":{"salience":1e-9}}`, false},
		{"a number that is none", `{"a":{"salience":01}}`, false},
		{"a whole number with a fraction", `{"a":{"access_count":1.5}}`, false},
		{"half a surrogate pair", `{"a":{"content":"\ud800"}}`, false},
		{"a pair", `{"a":{"content":"\ud83d\ude00"}}`, false},
		{"a control character", "{\"a\":{\"content\":\"x\ty\"}}", false},
		{"one behind an escape", "{\"a\":{\"content\":\"\\n\ty\"}}", false},
		{"no UTF-8", "{\"a\":{\"content\":\"\xff\"}}", false},
		{"no time", `{"a":{"created_at":"yesterday"}}`, false},
		{"false", `{"a":{"pinned":false}}`, false},
		{"a comma with nothing behind it", `{"a":{"id":"1",}}`, false},
		{"nothing", ``, false},
		{"no end", `{"a":{"id":"1"}`, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if fast := read(t, tt.text); fast != tt.fast {
				t.Errorf("read: %v, want %v", fast, tt.fast)
			}
			for n := range len(tt.text) { // whatever a text is cut to
				read(t, tt.text[:n])
			}
		})
	}
}

// TestJournalReaderForgets: what was read before something that encoding/json has to read is in no later memory.
func TestJournalReaderForgets(t *testing.T) {
	var r codec.JournalReader
	for _, text := range []string{
		`{"description":"D","title":null}`, `{"access_count":99999999999999999999}`,
		`{"access_count":0,"expires_at":"never"}`,
	} {
		if _, _, ok := r.Memory([]byte(text)); ok {
			t.Errorf("%s is read", text)
		}
		m, _, ok := r.Memory([]byte(`{"id":"a","superseded_by":"b"}`))
		if diff := cmp.Diff(&memory.Memory{ID: "a", More: &memory.More{SupersededBy: "b"}}, m); !ok || diff != "" {
			t.Errorf("after %s: %t\n%s", text, ok, diff)
		}
	}
}

// TestJournalReaderFindsTheEnd: whatever ends a string, or is not allowed in one, is found behind any number of bytes.
func TestJournalReaderFindsTheEnd(t *testing.T) {
	for n := range 20 {
		for m := range 20 {
			before, behind := strings.Repeat("x", n), strings.Repeat("é", m)
			for text, fast := range map[string]bool{``: true, `\"`: true, `\n`: true, "\x7f": true, "\x1f": false, "\x00": false} {
				object := fmt.Sprintf(`{"a":{"id":"a","content":"%s%s%s"}}`, before, text, behind)
				if got := read(t, object); got != fast {
					t.Errorf("%q is read: %v, want %v", object, got, fast)
				}
			}
		}
	}
}

// What is written in the journal form, by us or by encoding/json, reads as what it was.
func TestJournalReaderReadsWhatIsWritten(t *testing.T) {
	text := rapid.String()
	rapid.Check(t, func(t *rapid.T) {
		m := &memory.Memory{
			ID: text.Draw(t, "id"), Category: text.Draw(t, "category"), Content: text.Draw(t, "content"), Title: text.Draw(t, "title"),
			Tags: rapid.SliceOf(text).Draw(t, "tags"), Salience: rapid.Float64Range(0, 1).Draw(t, "salience"),
			CreatedAt: time.Unix(rapid.Int64Range(0, 1<<32).Draw(t, "at"), 0).UTC(),
			Pinned:    rapid.Bool().Draw(t, "pinned"), Status: memory.Active,
			More: &memory.More{AccessCount: rapid.Int64Min(0).Draw(t, "count")},
		}
		ours, err := codec.AppendMemory(nil, m)
		if err != nil {
			t.Fatal(err)
		}
		theirs, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		read(t, fmt.Sprintf(`{"a":%s,"b":%s}`, ours, theirs))
	})
}

// BenchmarkJournalReader reads 500 memories of ordinary size.
func BenchmarkJournalReader(b *testing.B) {
	var text strings.Builder
	for i := range 500 {
		m := &memory.Memory{ID: fmt.Sprintf("0197f0e4-5a3c-7e51-9b1d-%012d", i), Category: memory.Facts,
			Content: strings.Repeat("plain words of somebody ", 6), Salience: .5, Source: memory.SourceUser, Confidence: 1,
			CreatedAt: time.Now().UTC(), UpdatedAt: time.Now().UTC(), Tags: []string{"go", "test"}, Status: memory.Active}
		raw, err := json.Marshal(m)
		if err != nil {
			b.Fatal(err)
		}
		fmt.Fprintf(&text, `,"%s":%s`, m.ID, raw)
	}
	data := []byte("{" + text.String()[1:] + "}")
	b.ReportAllocs()
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		var r codec.JournalReader
		if _, ok := r.Members(data, func(string, *memory.Memory, json.RawMessage) {}); !ok {
			b.Fatal("not read")
		}
	}
}
