package dailylog_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/memsidecar/memsidecar/internal/dailylog"
	"github.com/memsidecar/memsidecar/internal/memory"
)

var (
	update   = flag.Bool("update", false, "rewrite the golden files")
	shanghai = time.FixedZone("", 8*3600)
)

func encode(t testing.TB, f *dailylog.File) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := dailylog.Encode(&b, f); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	name = filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(name, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

func full() *dailylog.File {
	at := time.Date(2026, 2, 21, 16, 20, 0, 0, shanghai)
	return &dailylog.File{
		Day: memory.Day{Date: "2026-02-21", Summary: "wrote <docs> 写文档", Archived: true, Revision: 9, Entries: 2, Extra: map[string]json.RawMessage{"mood": json.RawMessage(`"ok"`)}},
		Entries: []*memory.Entry{
			{ID: "e1", Time: "16:20:00", At: at, Type: "reflection", Content: "页面 & pages", Category: "procedural", Tool: "fetch_url", Error: "empty", Session: "s", Extra: map[string]json.RawMessage{"x": json.RawMessage(`{"a": 1}`)}},
			{ID: "e2", Time: "16:21:00", At: at.Add(time.Minute), Type: "event", Content: "plain"},
		},
	}
}

func TestGolden(t *testing.T) {
	t.Run("every field", func(t *testing.T) {
		data := encode(t, full())
		golden(t, "full.golden.json", data)
		got, err := dailylog.Decode(data, nil)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(full(), got); diff != "" {
			t.Errorf("read back (-want +got):\n%s", diff)
		}
	})
	t.Run("file of another program", func(t *testing.T) {
		in, err := os.ReadFile("testdata/v2.json")
		if err != nil {
			t.Fatal(err)
		}
		f, err := dailylog.Decode(in, shanghai)
		if err != nil {
			t.Fatal(err)
		}
		again, err := dailylog.Decode(in, shanghai)
		if err != nil {
			t.Fatal(err)
		}
		if notes := append(f.Complete(shanghai), again.Complete(shanghai)...); len(notes) > 0 {
			t.Errorf("notes: %q", notes)
		}
		if diff := cmp.Diff(f, again); diff != "" {
			t.Errorf("completed differently the second time:\n%s", diff)
		}
		golden(t, "v2.golden.json", encode(t, f))
	})
	t.Run("empty", func(t *testing.T) {
		golden(t, "empty.golden.json", encode(t, &dailylog.File{Day: memory.Day{Date: "2026-02-21"}}))
	})
}

func TestComplete(t *testing.T) {
	f := &dailylog.File{Day: memory.Day{Date: "2026-02-21"}, Entries: []*memory.Entry{
		{ID: "a", Time: "14:30:00", Content: "one"}, {ID: "a", Time: "teatime", Content: "two"}, {Content: "two"}, {Content: "two"},
	}}
	notes := f.Complete(shanghai)
	if len(notes) != 2 || !strings.Contains(notes[0], "entries[1]") || !strings.Contains(notes[1], "time is not understood") {
		t.Errorf("notes: %q", notes)
	}
	ids := map[string]bool{}
	for _, e := range f.Entries {
		ids[e.ID] = true
		if e.At.Format(time.DateOnly) != "2026-02-21" {
			t.Errorf("entry %+v", e)
		}
	}
	if len(ids) != 4 || ids[""] || f.Entries[0].ID != "a" {
		t.Errorf("ids: %v", ids)
	}
	if got := f.Entries[0].At.Format(time.RFC3339); got != "2026-02-21T14:30:00+08:00" {
		t.Errorf("at: %s", got)
	}
}

func TestDecodeRefuses(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"no date", `{"entries":[]}`, "has no date"},
		{"no entries", `{"date":"2026-02-21"}`, "has no entries"},
		{"entries null", `{"date":"2026-02-21","entries":null}`, "entries: must be an array, found null"},
		{"no content", `{"date":"d","entries":[{"content":"a"},{"time":"x"}]}`, "entries[1]: has no content"},
		{"wrong type", "{\"date\":\"d\",\n\"archived\":\"no\"}", "line 2, column 12: archived: must be true or false, found a string"},
		{"duplicate name", `{"date":"d","date":"d","entries":[]}`, `the name "date" occurs twice`},
		{"trailing data", `{"date":"d","entries":[]}]`, "something follows the end"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if f, err := dailylog.Decode([]byte(tt.in), nil); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %+v, %v; want an error with %q", f, err, tt.want)
			}
		})
	}
}

func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String()
		want := &dailylog.File{Day: memory.Day{
			Date: text.Draw(t, "date"), Summary: text.Draw(t, "summary"), Archived: rapid.Bool().Draw(t, "archived"), Revision: rapid.Int64().Draw(t, "revision"),
		}}
		if rapid.Bool().Draw(t, "unknown") {
			want.Day.Extra = map[string]json.RawMessage{"x_" + text.Draw(t, "name"): json.RawMessage(`[ 1, {"a":"<"} ]`)}
		}
		for range rapid.IntRange(0, 3).Draw(t, "entries") {
			want.Entries = append(want.Entries, &memory.Entry{
				ID: text.Draw(t, "id"), Time: text.Draw(t, "time"), Type: text.Draw(t, "type"), Content: text.Draw(t, "content"), Category: text.Draw(t, "category"),
				Tool: text.Draw(t, "tool"), Error: text.Draw(t, "error"), Session: text.Draw(t, "session"),
				At: time.UnixMilli(rapid.Int64Range(0, 4e12).Draw(t, "at")).In(shanghai), Extra: want.Day.Extra,
			})
		}
		want.Day.Entries = len(want.Entries)
		var b bytes.Buffer
		if err := dailylog.Encode(&b, want); err != nil {
			t.Fatal(err)
		}
		got, err := dailylog.Decode(b.Bytes(), nil)
		if err != nil {
			t.Fatalf("%v\n%s", err, b.Bytes())
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
	})
}

// Whatever is accepted is accepted by encoding/json too, and what is written of it reads back the same.
func FuzzDecode(f *testing.F) {
	v2, err := os.ReadFile("testdata/v2.json")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(v2)
	f.Add(encode(f, full()))
	for _, s := range []string{``, `{}`, `{"date":"2026-02-21","entries":[]}`, `{"date":"","entries":[{"content":"\u0000","at":""}],"summary":""}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		first, err := dailylog.Decode(data, shanghai)
		if err != nil {
			return
		}
		if !json.Valid(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))) {
			t.Fatal("accepted what is not JSON")
		}
		var b bytes.Buffer
		if err := dailylog.Encode(&b, first); err != nil {
			t.Fatalf("cannot be written: %v", err)
		}
		second, err := dailylog.Decode(b.Bytes(), shanghai)
		if err != nil {
			t.Fatalf("%v\n%s", err, b.Bytes())
		}
		if diff := cmp.Diff(first, second); diff != "" {
			t.Fatalf("(-first +second):\n%s", diff)
		}
		first.Complete(shanghai)
		ids := map[string]bool{"": true}
		for _, e := range first.Entries {
			if ids[e.ID] {
				t.Fatalf("id %q is empty or not unique", e.ID)
			}
			ids[e.ID] = true
		}
	})
}

func TestDateOf(t *testing.T) {
	for base, want := range map[string]bool{"2026-02-21.json": true, "2026-02-30.json": false, "2026-02-21.json.bak": false, "notes.json": false, "2026-2-1.json": false} {
		if _, ok := dailylog.DateOf(base); ok != want {
			t.Errorf("%s: %v", base, ok)
		}
	}
}
