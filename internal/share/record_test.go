package share

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/share/merge"
	"github.com/memsidecar/memsidecar/internal/share/pglog"
)

// TestRecordText: a record reads back as it was, and as encoding/json writes it.
func TestRecordText(t *testing.T) {
	entries := []entryValue{{"2026-02-21", "e1", &memory.Entry{Type: "event", Content: "<x>"}}, {Date: "2026-02-21", ID: "e2"}}
	summary := "a summary"
	for _, o := range []operation{
		{op: 1, actor: "client"},
		{op: 2, actor: "client", reason: "because of \"it\""},
		{op: 3, actor: "client", entries: entries},
	} {
		changes := []merge.Change{{Summary: &summary}, {Memory: &merge.MemoryValue{ID: "m1"}}}
		rec := recordOf(&o, changes)
		text, err := rec.appendJSON(nil)
		if err != nil {
			t.Fatal(err)
		}
		got, err := decodeRecord(&pglog.Row{Seq: 1, Record: string(text)})
		if err != nil {
			t.Fatal(err)
		}
		raw, err := json.Marshal(rec)
		if err != nil {
			t.Fatal(err)
		}
		want, err := decodeRecord(&pglog.Row{Seq: 1, Record: string(raw)})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s\n%s", text, diff)
		}
	}
}

// TestRecordRefused: what is not understood is refused, by its cause.
func TestRecordRefused(t *testing.T) {
	for text, want := range map[string]error{
		`{"v":4,"actor":"client","changes":[]}`:            memory.ErrNewerVersion,
		`{"v":4,"actor":7,"new":[],"changes":{}}`:          memory.ErrNewerVersion,
		`{"v":1,"actor":"client","new":1,"changes":[]}`:    errRecord,
		`{"v":1,"actor":"client","changes":[]} {}`:         errRecord,
		`{"v":1,"actor":"client","changes":[]`:             errRecord,
		`{"v":1,"actor":"client","changes":[{"moved":1}]}`: errRecord,
		``: errRecord,
	} {
		if _, err := decodeRecord(&pglog.Row{Seq: 1, Record: text}); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", text, err, want)
		}
	}
}

// TestRecordsReadFast: a record that is read fast is one that encoding/json reads, as the same, also when it is
// damaged.
func TestRecordsReadFast(t *testing.T) {
	at := time.Date(2026, 2, 21, 10, 30, 0, 0, time.UTC)
	m := &memory.Memory{ID: "<m1>", Category: "facts", Content: "喜欢 \"x\" <b>\n", Salience: .5, CreatedAt: at, Source: "import",
		UpdatedAt: at, Tags: []string{"a", "标签"}, Confidence: 1, Status: memory.Active}
	other := *m
	other.ID, other.Content = "m2", "plain"
	of := func(reason string, memories ...*memory.Memory) []byte {
		rec := record{Version: recordVersion, Actor: "client", Reason: reason}
		for _, m := range memories {
			rec.Changes = append(rec.Changes, merge.Change{Memory: &merge.MemoryValue{ID: m.ID, Value: m}})
		}
		raw, err := rec.appendJSON(nil)
		if err != nil {
			t.Fatal(err)
		}
		return raw
	}
	var r recordReader
	check := func(text []byte) (fast bool) {
		got, fast := r.read(string(text))
		var want record
		if err := merge.DecodeStrict(bytes.NewReader(text), &want); fast && err != nil {
			t.Fatalf("%q is accepted: %v", text, err)
		}
		want.trim()
		if diff := cmp.Diff(want, got); fast && diff != "" {
			t.Fatalf("%q\n%s", text, diff)
		}
		return fast
	}
	for _, text := range [][]byte{of("", m), of("because of \"it\"", m, &other)} {
		if !check(text) {
			t.Errorf("%s is not read fast", text)
		}
		for i := range text {
			check(slices.Delete(slices.Clone(text), i, i+1))
			check(text[:i])
			for _, c := range []byte("\"\\{}[],:1 \x01\xff") {
				damaged := slices.Clone(text)
				damaged[i] = c
				check(damaged)
				check(slices.Insert(slices.Clone(text), i, c))
			}
		}
	}
}
