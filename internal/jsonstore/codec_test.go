package jsonstore_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/memsidecar/memsidecar/internal/jsonstore"
	"github.com/memsidecar/memsidecar/internal/memory"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func encode(t testing.TB, f *jsonstore.File) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := jsonstore.Encode(&b, f); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func decode(t testing.TB, data []byte) *jsonstore.File {
	t.Helper()
	f, err := jsonstore.Decode(data, time.UTC)
	if err != nil {
		t.Fatal(err)
	}
	return f
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

func full() *jsonstore.File {
	at := time.Date(2026, 2, 21, 10, 30, 0, 0, time.UTC)
	return &jsonstore.File{
		Version: 2, LastUpdated: at.Add(time.Hour), Revision: 1841, RollingSummary: "Writes Go. 喜欢简洁 <b>&</b>",
		Memories: []*memory.Memory{{
			ID: "a1b2c3d4", Category: "preferences", Content: "喜欢东航 \"早班机\" \\ \u2028 \x01", Salience: .85, CreatedAt: at,
			Source:    "user_explicit",
			UpdatedAt: at.Add(time.Second), Revision: 7, Tags: []string{"a", "标签"}, Title: "T", Pinned: true, Confidence: .25,
			Status: memory.Superseded,
			More: &memory.More{LastAccessed: at.Add(time.Minute + 250*time.Microsecond), AccessCount: 3,
				Context:   &memory.Context{Tool: "fetch_url", ErrorType: "x", LearnedFrom: "session_1", Signature: "s", Occurrences: 2, Extra: map[string]json.RawMessage{"z": json.RawMessage("[1,  2]")}},
				ExpiresAt: at.AddDate(1, 0, 0), Supersedes: []string{"o"}, SupersededBy: "n",
				Relations:      []memory.Relation{{Type: "supports", Target: "b", Strength: .5}, {Type: "refines", Target: "c", Strength: 1e-9}},
				Evidence:       []memory.Evidence{{Log: "2026-02-21", Entry: "e1", Session: "s1"}, {Session: "s2"}},
				StructuredData: json.RawMessage(`{"a":[1,{"b":null}]}`),
				Extra:          map[string]json.RawMessage{"b": json.RawMessage(`"<&>"`), "a": json.RawMessage("{\n \"k\": 1.50 }")},
			},
		}, {
			ID: "m2", Category: "general", Content: "plain", Salience: .5, CreatedAt: at, Source: "import", Confidence: 1, Status: memory.Active,
		}},
		Forgotten: []jsonstore.Forgotten{{Hash: "salt:01", At: at}},
		Extra:     map[string]json.RawMessage{"app": json.RawMessage(`{"v":1}`)},
	}
}

func TestGolden(t *testing.T) {
	t.Run("every field", func(t *testing.T) {
		f := full()
		data := encode(t, f)
		golden(t, "full.golden.json", data)
		if !json.Valid(data) {
			t.Error("not valid JSON")
		}
		if diff := cmp.Diff(f, decode(t, data)); diff != "" {
			t.Errorf("read back (-want +got):\n%s", diff)
		}
	})
	t.Run("file of another program", func(t *testing.T) {
		in, err := os.ReadFile("testdata/v2.json")
		if err != nil {
			t.Fatal(err)
		}
		shanghai := time.FixedZone("CST", 8*3600)
		f, err := jsonstore.Decode(append([]byte("\xef\xbb\xbf"), in...), shanghai)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := f.Memories[0].LastAccessed(), time.Date(2026, 2, 21, 6, 0, 0, 250e6, time.UTC); !got.Equal(want) {
			t.Errorf("time without a zone: got %v, want %v", got, want)
		}
		bare := f.Memories[2]
		want := &memory.Memory{Category: "general", Content: "bare", Salience: .5, Confidence: 1, Source: "user_explicit", Status: memory.Active}
		if diff := cmp.Diff(want, bare); diff != "" {
			t.Errorf("defaults (-want +got):\n%s", diff)
		}
		if !f.Memories[1].LastAccessed().IsZero() {
			t.Error("a memory with no accesses was accessed")
		}
		golden(t, "v2.golden.json", encode(t, f))
	})
	t.Run("empty", func(t *testing.T) { golden(t, "empty.golden.json", encode(t, &jsonstore.File{})) })
}

// The original format's reader must still find what it needs in every memory that we write.
func TestPublishedFieldsAreAlwaysThere(t *testing.T) {
	var file struct{ Memories []map[string]any }
	if err := json.Unmarshal(encode(t, full()), &file); err != nil {
		t.Fatal(err)
	}
	for _, m := range file.Memories {
		for _, name := range []string{"id", "category", "content", "salience", "created_at", "last_accessed", "access_count", "source"} {
			if m[name] == nil {
				t.Errorf("memory %v has no %s", m["id"], name)
			}
		}
	}
}

func TestDecodeRefuses(t *testing.T) {
	file := func(memories string) string { return `{"version":2,"memories":[` + memories + `]}` }
	for _, tt := range []struct{ name, in, want string }{
		{"empty", "", "line 1, column 1: must be an object, found the end of the document"},
		{"array", "[]", "must be an object, found an array"},
		{"cut off", `{"version":2,"memories":[{"content":"a"}`, "expected ',' or ']', found the end of the document"},
		{"trailing data", file("") + "\n{}", "line 2, column 1: something follows the end"},
		{"trailing comma", file(`{"content":"a",}`), "memories[0]: a comma with nothing behind it"},
		{"not UTF-8", "{\"version\":2,\n \"x\xff\"", "line 2, column 4: is not valid UTF-8"},
		{"duplicate name", file(`{"content":"a","content":"b"}`), `the name "content" occurs twice`},
		{"duplicate name by escape", file(`{"content":"a","c\u006fntent":"b"}`), `occurs twice`},
		{"duplicate name in an unknown field", `{"version":2,"x":{"a":{"b":1,"b":2}},"memories":[]}`, `x.a: the name "b" occurs twice`},
		{"another letter case", `{"Version":2,"memories":[]}`, "has no version"},
		{"no memories", `{"version":2}`, "has no memories"},
		{"memories null", `{"version":2,"memories":null}`, "memories: must be an array, found null"},
		{"no content", file(`{"id":"x"}`), `memories[0] (id "x"): has no content`},
		{"content null", file(`{"content":null}`), "memories[0].content: must be a string, found null"},
		{"wrong type, id known", file("{\"content\":\"a\",\"id\":\"a1\"},\n  {\"content\":\"喜\",\"salience\":\"high\",\"id\":\"b2\"}"),
			`line 2, column 29: memories[1].salience (id "b2"): must be a number, found a string`},
		{"wrong type deep", file(`{"id":"r","content":"a","relations":[{"type":"x"},{"strength":true}]}`),
			`memories[0].relations[1].strength (id "r"): must be a number, found true or false`},
		{"unknown field in a relation", file(`{"content":"a","relations":[{"kind":"x"}]}`), "relations[0].kind: is not a field that is known here"},
		{"bad time", file(`{"content":"a","created_at":"yesterday"}`), "created_at: must be a time such as"},
		{"fraction of an access", file(`{"content":"a","access_count":1.5}`), "access_count: must be a whole number"},
		{"huge number", file(`{"content":"a","salience":1e999}`), "a number too large"},
		{"number in another form", file(`{"content":"a","salience":01}`), "not a number in JSON's form"},
		{"half a surrogate pair", file(`{"content":"\ud83d"}`), "half a surrogate pair"},
		{"raw newline", file("{\"content\":\"a\n\"}"), "a control character"},
		{"old version", `{"version":1,"memories":[]}`, "version 1 is not a version"},
		{"too deep", `{"version":2,"memories":[],"x":` + strings.Repeat("[", 10000), "nested more than"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f, err := jsonstore.Decode([]byte(tt.in), nil)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("got %+v, %v; want an error with %q", f, err, tt.want)
			}
		})
	}
}

func TestDecodeRefusesNewerVersion(t *testing.T) {
	_, err := jsonstore.Decode([]byte(`{"memories":{"in":"another shape"},"version":3}`), nil)
	if !errors.Is(err, memory.ErrNewerVersion) {
		t.Fatalf("got %v", err)
	}
}

func TestEncodeRefuses(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(*jsonstore.File)
	}{
		{"not a number", func(f *jsonstore.File) { f.Memories[0].Salience = nan() }},
		{"year without four digits", func(f *jsonstore.File) { f.Memories[0].CreatedAt = time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC) }},
		{"extra that is not JSON", func(f *jsonstore.File) { f.Memories[0].Extra()["a"] = json.RawMessage(`{"a":`) }},
		{"extra that our reader refuses", func(f *jsonstore.File) { f.Extra["app"] = json.RawMessage(`{"a":1,"a":2}`) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := full()
			tt.change(f)
			if err := jsonstore.Encode(&bytes.Buffer{}, f); err == nil {
				t.Error("no error")
			}
		})
	}
}

func nan() float64 { zero := 0.0; return zero / zero }

// An unknown field never overrides one that has since become known.
func TestExtraDoesNotOverride(t *testing.T) {
	f := full()
	f.Memories[0].Extra()["content"] = json.RawMessage(`"other"`)
	if got := decode(t, encode(t, f)).Memories[0].Content; got != full().Memories[0].Content {
		t.Errorf("content is %q", got)
	}
}
