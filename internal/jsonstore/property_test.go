package jsonstore_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/memsidecar/memsidecar/internal/jsonstore"
	"github.com/memsidecar/memsidecar/internal/memory"
)

func times(t *rapid.T, label string) time.Time {
	return time.UnixMicro(rapid.Int64Range(0, 4e15).Draw(t, label)).UTC()
}

func extras(t *rapid.T, label string) map[string]json.RawMessage {
	n := rapid.IntRange(0, 3).Draw(t, label)
	if n == 0 {
		return nil
	}
	extra := map[string]json.RawMessage{}
	for range n {
		extra["x_"+rapid.String().Draw(t, label)] = json.RawMessage(rapid.SampledFrom([]string{
			`1`, `-0.50e+3`, `null`, `"<é>"`, `"\u00e9\ud83d\ude00"`, "[ 1,\n\t2 ]", `{"b" : {}, "a":[{}]}`, `""`,
		}).Draw(t, label))
	}
	return extra
}

func memories(t *rapid.T) *memory.Memory {
	text := rapid.String()
	m := &memory.Memory{
		ID: text.Draw(t, "id"), Category: text.Draw(t, "category"), Content: text.Draw(t, "content"), Source: text.Draw(t, "source"),
		Salience: rapid.Float64().Draw(t, "salience"), Confidence: rapid.Float64().Draw(t, "confidence"),
		CreatedAt: times(t, "created"), Revision: rapid.Int64().Draw(t, "revision"),
		Title: text.Draw(t, "title"), Pinned: rapid.Bool().Draw(t, "pinned"),
		Status: rapid.SampledFrom([]memory.Status{memory.Active, memory.Retired, "odd"}).Draw(t, "status"),
		More:   &memory.More{AccessCount: rapid.Int64().Draw(t, "count")},
	}
	m.SetSupersededBy(text.Draw(t, "by"))
	m.SetExtra(extras(t, "extra"))
	if rapid.Bool().Draw(t, "accessed") && m.AccessCount() != 0 {
		m.SetAccesses(m.AccessCount(), times(t, "last"))
		m.UpdatedAt = times(t, "updated")
		m.SetExpiresAt(times(t, "expires"))
	} else {
		m.SetAccesses(0, m.LastAccessed())
	}
	if rapid.Bool().Draw(t, "linked") {
		m.SetContext(&memory.Context{Tool: text.Draw(t, "tool"), Occurrences: rapid.Int64().Draw(t, "n"),
			Extra: extras(t, "context extra")})
		m.Tags = rapid.SliceOfN(text, 1, 3).Draw(t, "tags")
		m.SetSupersedes(rapid.SliceOfN(text, 1, 3).Draw(t, "supersedes"))
		m.SetRelations([]memory.Relation{{Type: text.Draw(t, "type"), Target: text.Draw(t, "target"), Strength: rapid.Float64().Draw(t, "strength")}})
		m.SetEvidence([]memory.Evidence{{Log: text.Draw(t, "log"), Session: text.Draw(t, "session")}})
		m.SetStructuredData(json.RawMessage(`{"a":[1,"<"]}`))
	}
	return m
}

func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := &jsonstore.File{
			Version: 2, LastUpdated: times(t, "at"), Revision: rapid.Int64().Draw(t, "revision"),
			RollingSummary: rapid.String().Draw(t, "summary"), Extra: extras(t, "file extra"),
		}
		for range rapid.IntRange(0, 3).Draw(t, "memories") {
			want.Memories = append(want.Memories, memories(t))
		}
		for range rapid.IntRange(0, 2).Draw(t, "forgotten") {
			want.Forgotten = append(want.Forgotten, jsonstore.Forgotten{Hash: rapid.String().Draw(t, "hash"), At: times(t, "at")})
		}
		var b bytes.Buffer
		if err := jsonstore.Encode(&b, want); err != nil {
			t.Fatal(err)
		}
		if !json.Valid(b.Bytes()) {
			t.Fatalf("not valid JSON:\n%s", b.Bytes())
		}
		got, err := jsonstore.Decode(b.Bytes(), nil)
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
	for _, s := range []string{
		``, `{}`, `{"version":2,"memories":[]}`, `{"version":3}`, `{"version":2,"memories":[{"content":"a","id":null}]} x`,
		`{"version":2.0,"memories":[{"content":"\ud83d\ude00\u0000","a":{"b":[1e5,-0]}}],"forgotten":[{"hash":"h"}]}`,
		`{"version":2,"memories":[{"content":"a","created_at":"2026-02-21 10:00:00.5"}]}`,
		`{"version":2,"memories":[{"content":"a","created_at":"9999-12-31T23:59:59-10:00"}]}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		first, err := jsonstore.Decode(data, time.UTC)
		if err != nil {
			return
		}
		if !json.Valid(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))) {
			t.Fatal("accepted what is not JSON")
		}
		var b bytes.Buffer
		if err := jsonstore.Encode(&b, first); err != nil {
			t.Fatalf("cannot be written: %v", err)
		}
		second, err := jsonstore.Decode(b.Bytes(), time.UTC)
		if err != nil {
			t.Fatalf("%v\n%s", err, b.Bytes())
		}
		if diff := cmp.Diff(first, second); diff != "" {
			t.Fatalf("(-first +second):\n%s", diff)
		}
	})
}

func many(n int) *jsonstore.File {
	f := &jsonstore.File{Version: 2, RollingSummary: "summary"}
	at := time.Date(2026, 2, 21, 10, 30, 0, 123456000, time.UTC)
	for i := range n {
		f.Memories = append(f.Memories, &memory.Memory{
			ID: fmt.Sprintf("%032x", i), Category: "facts", Content: strings.Repeat("用户喜欢 plain words ", 5) + fmt.Sprint(i), Salience: .75,
			CreatedAt: at, UpdatedAt: at, Source: "user_explicit", Confidence: 1, Status: memory.Active, Revision: int64(i),
			More: &memory.More{LastAccessed: at.Add(time.Hour), AccessCount: 3},
		})
	}
	return f
}

func BenchmarkEncode100k(b *testing.B) {
	f := many(100_000)
	b.SetBytes(int64(len(encode(b, f))))
	b.ReportAllocs()
	for b.Loop() {
		if err := jsonstore.Encode(discard{}, f); err != nil {
			b.Fatal(err)
		}
	}
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }

func BenchmarkDecode10k(b *testing.B) {
	data := encode(b, many(10_000))
	b.Run("strict", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		b.ReportAllocs()
		for b.Loop() {
			if _, err := jsonstore.Decode(data, nil); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("encoding_json", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		b.ReportAllocs()
		for b.Loop() {
			var f struct{ Memories []*memory.Memory }
			if err := json.Unmarshal(data, &f); err != nil {
				b.Fatal(err)
			}
		}
	})
}
