package codec_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/memory/codec"
	"github.com/memsidecar/memsidecar/internal/strictjson"
)

func full() *memory.Memory {
	at := time.Date(2026, 2, 21, 18, 30, 0, 123456000, time.FixedZone("", 8*3600))
	return &memory.Memory{
		ID: "a1", Category: "facts", Content: "喜欢 \"x\" <b> \u2028\x01", Salience: 1e-9, CreatedAt: at,
		Source: "import", UpdatedAt: at, Revision: 7, Tags: []string{"a", "标签"}, Title: "T",
		Pinned: true, Confidence: .25, Status: memory.Superseded,
		More: &memory.More{LastAccessed: at, AccessCount: 3, Context: &memory.Context{Tool: "<t>", Occurrences: 2},
			ExpiresAt: at, Supersedes: []string{"o"}, SupersededBy: "n",
			Relations: []memory.Relation{{Type: "supports", Target: "b", Strength: .5}}, Evidence: []memory.Evidence{{Log: "2026-02-21"}},
			StructuredData: json.RawMessage("{ \"a\": [1] }"), Extra: map[string]json.RawMessage{"z": json.RawMessage("[1, 2]")}},
	}
}

// The journal form is on the disks of users: it must not change by a byte.
func TestJournalForm(t *testing.T) {
	for _, tt := range []struct {
		name string
		m    *memory.Memory
		want string
	}{
		{"every field", full(), `{"id":"a1","category":"facts","content":"喜欢 \"x\" <b> ` + "\u2028" + `\u0001","salience":1e-09,` +
			`"created_at":"2026-02-21T18:30:00.123456+08:00","last_accessed":"2026-02-21T18:30:00.123456+08:00","access_count":3,"source":"import",` +
			`"context":{"tool":"\u003ct\u003e","occurrences":2},"updated_at":"2026-02-21T18:30:00.123456+08:00","revision":7,"tags":["a","标签"],` +
			`"title":"T","pinned":true,"confidence":0.25,"expires_at":"2026-02-21T18:30:00.123456+08:00","status":"superseded","supersedes":["o"],` +
			`"superseded_by":"n","relations":[{"type":"supports","target":"b","strength":0.5}],"evidence":[{"log":"2026-02-21"}],` +
			`"structured_data":{"a":[1]},"extra":{"z":[1,2]}}`},
		{"none", new(memory.Memory), `{"id":"","category":"","content":"","salience":0,"created_at":"0001-01-01T00:00:00Z","access_count":0,"source":""}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := codec.AppendMemory(nil, tt.m)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, string(got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestAppendMemoryRefuses(t *testing.T) {
	for name, m := range map[string]*memory.Memory{
		"NaN":                             {Salience: math.NaN()},
		"structured data that is no JSON": {More: &memory.More{StructuredData: json.RawMessage(`{"a":`)}},
		"an extra field that is no JSON":  {More: &memory.More{Extra: map[string]json.RawMessage{"a": json.RawMessage(`{`)}}},
	} {
		if got, err := codec.AppendMemory(nil, m); err == nil {
			t.Errorf("%s: encoded as %s", name, got)
		}
	}
}

// What is published reads back the same, up to the zone of times and the white space of structured data.
func TestPublishedFormRoundTrip(t *testing.T) {
	want := full()
	for _, at := range []*time.Time{&want.CreatedAt, &want.UpdatedAt, &want.More.LastAccessed, &want.More.ExpiresAt} {
		*at = at.UTC()
	}
	want.SetStructuredData(json.RawMessage(`{"a":[1]}`))
	var b strings.Builder
	e := strictjson.NewEncoder(&b)
	codec.EncodeMemory(e, full())
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	d, err := strictjson.NewDecoder([]byte(b.String()))
	if err != nil {
		t.Fatal(err)
	}
	got, err := codec.DecodeMemory(d, nil, memory.SourceUser)
	if err != nil {
		t.Fatalf("%v\n%s", err, b.String())
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// An entry's time keeps its offset: it says when the day was, where the user was.
func TestEntryKeepsItsZone(t *testing.T) {
	const text = `{"id":"e","time":"16:20:00","at":"2026-02-21T16:20:00+08:00","content":"c","x":1}`
	d, err := strictjson.NewDecoder([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	entry, err := codec.DecodeEntry(d, time.UTC)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	e := strictjson.NewEncoder(&b)
	e.BeginInline('[')
	e.Item()
	codec.EncodeEntry(e, entry)
	e.End(']')
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	want := `[{"id": "e", "time": "16:20:00", "at": "2026-02-21T16:20:00+08:00", "type": "event", "content": "c", "x": 1}]` + "\n"
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
