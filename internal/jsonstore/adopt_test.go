package jsonstore_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/memsidecar/memsidecar/internal/dailylog"
	"github.com/memsidecar/memsidecar/internal/jsonstore"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/memtest"
	"github.com/memsidecar/memsidecar/internal/publish"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/durable"
	"github.com/memsidecar/memsidecar/internal/store/durable/crashfs"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

const dayFile = `{"date":"2026-02-20","entries":[{"time":"14:30:00","type":"event","content":"写文档"},{"time":"15:00:00","content":"two"}],"summary":null,"archived":false,"mood":1}`

// original fills fsys with a directory in the original layout.
func original(t testing.TB, fsys durable.FS) {
	t.Helper()
	v2, err := os.ReadFile("testdata/v2.json")
	if err != nil {
		t.Fatal(err)
	}
	write(t, fsys, "memory.json", strings.Replace(string(v2), `"category": "procedural"`, `"category": "程序"`, 1))
	write(t, fsys, "memory.json.bak", `{"version":2,"memories":[]}`)
	write(t, fsys, "logs/2026-02-20.json", dayFile)
	write(t, fsys, "logs/2026-02-19.json", `{"date":"2026-02-19","entries":[],"summary":"quiet","archived":true}`)
	write(t, fsys, "logs/notes.txt", "mine")
	write(t, fsys, "spaces/work/memory.json", `{"version":2,"memories":[{"id":"w1","content":"works"}],"forgotten":[{"hash":"salt:aa","at":"2026-01-01T00:00:00Z"}]}`)
	write(t, fsys, "MEMORY.md", "# old")
}

func adopt(t testing.TB, st *store.Store, fsys durable.FS) jsonstore.Report {
	t.Helper()
	report, err := jsonstore.Adopt(t.Context(), st, fsys, time.UTC)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// digest describes what was adopted, apart from when.
func digest(t testing.TB, st *store.Store) string {
	t.Helper()
	var b strings.Builder
	for _, space := range st.Spaces() {
		v := st.Space(space)
		fmt.Fprintf(&b, "%s: %q, %d forgotten;", space, v.Summary(), len(v.Forgotten()))
		for _, m := range v.Memories() {
			fmt.Fprintf(&b, " %s %s %d,", m.ID, m.Category, m.AccessCount())
		}
		for _, d := range v.Days() {
			_, entries, err := v.Log(d.Date)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&b, "; %s %q %v %d:", d.Date, d.Summary, d.Archived, len(d.Extra))
			for _, e := range entries {
				fmt.Fprintf(&b, " %s %s", e.ID, e.At.Format(time.RFC3339))
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}

const adopted = `default: "用户是一名 Python 开发者，偏好简洁代码风格…", 0 forgotten; a1b2c3d4 preferences 3, e5f6g7h8 procedural 0, 6b5d5222d5a8 general 0,; 2026-02-19 "quiet" true 0:; 2026-02-20 "" false 1: 77a261225050 2026-02-20T14:30:00Z 7e242fcfeb49 2026-02-20T15:00:00Z
work: "", 1 forgotten; w1 general 0,
`

func TestAdopt(t *testing.T) {
	onBoth(t, func(t *testing.T, fsys durable.FS) {
		original(t, fsys)
		st, p := open(t, fsys)
		report := adopt(t, st, fsys)
		want := jsonstore.Report{
			Spaces: []string{"default", "work"}, Memories: 4, Days: 2, Entries: 2,
			Notes: []jsonstore.Note{
				{File: "memory.json", Detail: `memories[1].category: is not a lower-case name; took "procedural"`},
				{File: "MEMORY.md", Line: 1, Detail: "the heading has nothing below it; it was skipped"},
			},
			Ignored: []string{"logs/notes.txt"}, Migrated: []jsonstore.Migrated{{From: "MEMORY.md", To: "MEMORY.md.migrated"}},
		}
		want.Quarantined = report.Quarantined
		if diff := cmp.Diff(want, report); diff != "" || len(report.Quarantined) != 1 {
			t.Errorf("report (-want +got):\n%s%v", diff, report.Quarantined)
		}
		if diff := cmp.Diff(adopted, digest(t, st)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		for op, err := range st.Operations(t.Context(), 1, st.LSN()) {
			if err != nil || op.Actor != journal.ActorAdopt {
				t.Errorf("operation %+v, %v", op, err)
			}
		}
		if st.LSN() != 2 {
			t.Errorf("%d operations for two spaces", st.LSN())
		}
		adopt(t, st, fsys) // without MEMORY.md it is another adoption, but of nothing new
		if diff := cmp.Diff(adopted, digest(t, st)); diff != "" {
			t.Errorf("adopted twice (-want +got):\n%s", diff)
		}

		original, err := durable.ReadFile(fsys, "memory.json")
		if err != nil {
			t.Fatal(err)
		}
		publishAll(t, p)
		f := read(t, fsys, "memory.json")
		if ids(f) != "a1b2c3d4 e5f6g7h8 6b5d5222d5a8" || string(f.Extra["app"]) == "" || f.Memories[0].Extra()["embedding_model"] == nil ||
			f.Memories[1].Context().Extra["retries"] == nil || string(f.Memories[1].Extra()["original_category"]) != `"程序"` {
			t.Errorf("published %s, %v", ids(f), f.Extra)
		}
		if bak, err := durable.ReadFile(fsys, "memory.json.bak"); err != nil || string(bak) != string(original) {
			t.Errorf("the backup is not the file that was adopted: %v", err)
		}
		if kept, err := durable.ReadFile(fsys, "memory.json.orig"); err != nil || string(kept) != string(original) {
			t.Errorf("memory.json.orig is not the file that was adopted: %v", err)
		}
		var former []string // the backup that was there before, and the file with a note
		for _, name := range quarantine(t, fsys) {
			data, _ := durable.ReadFile(fsys, name)
			former = append(former, fmt.Sprint(len(data)))
		}
		slices.Sort(former)
		if diff := cmp.Diff([]string{fmt.Sprint(len(original)), "27"}, former); diff != "" {
			t.Errorf("kept aside (-want +got):\n%s", diff)
		}
	})
}

func TestAdoptEmptyDirectory(t *testing.T) {
	fsys := crashfs.New()
	st, _ := open(t, fsys)
	if diff := cmp.Diff(jsonstore.Report{}, adopt(t, st, fsys)); diff != "" || st.LSN() != 0 {
		t.Errorf("LSN %d, report:\n%s", st.LSN(), diff)
	}
}

func TestAdoptRefusesByName(t *testing.T) {
	for _, tt := range []struct {
		name  string
		files map[string]string
		want  []string
	}{
		{"memory.json and a log", map[string]string{"memory.json": `{"version":2,`, "logs/2026-02-20.json": "[]"},
			[]string{"memory.json: line 1, column 14", "logs/2026-02-20.json: line 1, column 1"}},
		{"damaged with a good backup", map[string]string{"memory.json": "", "memory.json.bak": `{"version":2,"memories":[{"content":"a"}]}`},
			[]string{"memory.json.bak is whole, with 1 memories", "rename memory.json.bak to it"}},
		{"only a backup", map[string]string{"memory.json.bak": "{"}, []string{"memory.json is missing", "is damaged too"}},
		{"newer", map[string]string{"spaces/w/memory.json": `{"version":9}`}, []string{"spaces/w/memory.json: written by a newer version"}},
		{"log of another day", map[string]string{"logs/2026-02-20.json": `{"date":"2026-02-21","entries":[]}`}, []string{`says that it is the log of "2026-02-21"`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			fsys := crashfs.New()
			for name, text := range tt.files {
				write(t, fsys, name, text)
			}
			st, _ := open(t, fsys)
			_, err := jsonstore.Adopt(t.Context(), st, fsys, time.UTC)
			for _, part := range tt.want {
				if err == nil || !strings.Contains(err.Error(), part) {
					t.Errorf("error lacks %q: %v", part, err)
				}
			}
			if st.LSN() != 0 {
				t.Error("something was journaled")
			}
			for name, text := range tt.files {
				if data, err := durable.ReadFile(fsys, name); err != nil || string(data) != text {
					t.Errorf("%s was changed", name)
				}
			}
		})
	}
}

// A crash anywhere leaves an adoption that goes on at the next start, and ends with everything taken once.
func TestAdoptCrashAtEveryOperation(t *testing.T) {
	base := crashfs.New()
	original(t, base)
	open(t, base)
	base = base.Crash(crashfs.Kept, nil)
	found, err := durable.ReadFile(base, "memory.json")
	if err != nil {
		t.Fatal(err)
	}
	probe := base.Clone()
	st, _ := open(t, probe)
	start := probe.Ops()
	adopt(t, st, probe)
	for n := start + 1; n <= probe.Ops(); n++ {
		if memtest.SkipSample(n, 5) {
			continue
		}
		for i, variant := range []crashfs.CrashMode{crashfs.Lost, crashfs.Kept, crashfs.Torn} {
			fsys := base.Clone()
			st, _ := open(t, fsys)
			fsys.CrashAt(n)
			_, _ = jsonstore.Adopt(t.Context(), st, fsys, time.UTC)
			after := fsys.Crash(variant, rand.New(rand.NewPCG(uint64(n), uint64(i))))

			if err := publish.Recover(after); err != nil {
				t.Fatal(err)
			}
			st, p := open(t, after)
			unfinished, err := jsonstore.Unfinished(after)
			if err != nil {
				t.Fatal(err)
			}
			if unfinished || st.LSN() == 0 {
				adopt(t, st, after)
			}
			if diff := cmp.Diff(adopted, digest(t, st)); diff != "" {
				t.Fatalf("crash at operation %d, %v (-want +got):\n%s", n, variant, diff)
			}
			publishAll(t, p)
			if kept, err := durable.ReadFile(after, "memory.json.orig"); err != nil || !bytes.Equal(kept, found) {
				t.Fatalf("crash at operation %d, %v: memory.json.orig: %v", n, variant, err)
			}
			if _, err := after.Lstat("memory.json.orig.2"); err == nil {
				t.Fatalf("crash at operation %d, %v: the original was kept twice", n, variant)
			}
			if names := quarantine(t, after); len(names) != 2 {
				t.Fatalf("crash at operation %d, %v: kept aside %v", n, variant, names)
			}
		}
	}
}

func TestAdoptLarge(t *testing.T) {
	fsys := crashfs.New()
	write(t, fsys, "memory.json", string(encode(t, many(4500))))
	st, _ := open(t, fsys)
	if report := adopt(t, st, fsys); report.Memories != 4500 || st.Space("default").Count() != 4500 {
		t.Errorf("report %+v", report)
	}
	n := 0
	for _, err := range st.Operations(t.Context(), 1, st.LSN()) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	if n != 3 {
		t.Errorf("%d operations", n)
	}
}

func TestTidy(t *testing.T) {
	long := strings.Repeat("喜欢 ", 3000)
	f := decode(t, []byte(`{"version":2,"last_updated":"2026-02-21T00:00:00Z","memories":[
		{"id":"has space","category":"My Category","content":"a","salience":7,"status":"odd","source":"某处","tags":["`+strings.Repeat("x", 65)+`","ok"],"structured_data":[1]},
		{"id":"b","category":"Facts","content":"`+long+`","title":"`+strings.Repeat("题", 201)+`"},
		{"id":"b","content":"c","relations":[{"type":"X","target":"b"},{"type":"supports","target":"b"}]},
		{"content":" "},
		{"content":"same"},{"content":"same"}]}`))
	notes := f.Sanitize()
	var check memory.Check
	seen := map[string]bool{}
	var text strings.Builder
	for _, m := range f.Memories {
		check.Memory("", m)
		if seen[m.ID] || m.CreatedAt.IsZero() || m.UpdatedAt.IsZero() {
			t.Errorf("memory %+v", m)
		}
		seen[m.ID] = true
		if m.Category == "facts" {
			text.WriteString(m.Content)
		}
	}
	if err := check.Err(); err != nil {
		t.Error(err)
	}
	if text.String() != long || len(f.Memories) != 6 {
		t.Errorf("%d memories; the long text is whole: %v", len(f.Memories), text.String() == long)
	}
	first := f.Memories[0]
	if first.Category != "my_category" || first.Salience != 1 || first.Status != memory.Active || first.Source != memory.SourceImport || len(first.Tags) != 1 {
		t.Errorf("first: %+v", first)
	}
	for field, want := range map[string]string{"id": `"has space"`, "salience": "7", "status": `"odd"`, "source": `"某处"`, "structured_data": "[1]", "category": `"My Category"`} {
		if got := string(first.Extra()["original_"+field]); got != want {
			t.Errorf("original_%s is %s, want %s", field, got, want)
		}
	}
	want := []string{
		"memories[0].id", "memories[0].category", "memories[0].source", "memories[0].salience", "memories[0].status", "memories[0].structured_data", "memories[0].tags",
		"memories[1].category", "memories[1].title", "memories[1].content", "memories[2].id", "memories[2].relations", "memories[3].content",
	}
	var got []string
	for _, n := range notes {
		field, _, _ := strings.Cut(n, ":")
		got = append(got, field)
		if strings.Contains(n, "喜欢") {
			t.Errorf("a note holds text: %s", n)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
	if again := f.Sanitize(); len(again) > 0 {
		t.Errorf("tidied twice: %v", again)
	}
}

func TestAdoptedLogIsTidied(t *testing.T) {
	fsys := crashfs.New()
	write(t, fsys, "logs/2026-02-20.json", `{"date":"2026-02-20","entries":[{"type":"Tool Failure","content":"`+strings.Repeat("x", 8001)+`"},{"content":""},{"id":"a b","type":"事件","content":"c"}]}`)
	st, _ := open(t, fsys)
	report := adopt(t, st, fsys)
	if report.Entries != 3 || len(report.Notes) != 5 || len(report.Quarantined) != 1 {
		t.Errorf("report %+v", report)
	}
	_, entries, err := st.Space("default").Log("2026-02-20")
	if err != nil || len(entries) != 3 {
		t.Fatalf("%d entries, %v", len(entries), err)
	}
	if entries[0].Type != "tool_failure" || entries[1].Content != "x" || entries[2].Type != memory.EntryEvent || string(entries[2].Extra["original_id"]) != `"a b"` {
		t.Errorf("entries %+v %+v %+v", entries[0].Type, entries[1], entries[2])
	}
	if _, err := durable.ReadFile(fsys, dailylog.Manifest); err != nil {
		t.Error(err)
	}
	if ok, err := jsonstore.Unfinished(fsys); ok || err != nil {
		t.Errorf("unfinished: %v, %v", ok, err)
	}
}

// TestAdoptYears: a time outside of the years 1970 to 9999 is left out, reported, and kept as it was; a log of such a
// day is not read.
func TestAdoptYears(t *testing.T) {
	fsys := crashfs.New()
	write(t, fsys, "memory.json", `{"version":2,"last_updated":"2026-02-21T10:00:00Z","memories":[`+
		`{"id":"a","content":"old","created_at":"1899-12-31T00:00:00Z","expires_at":"0001-01-02T00:00:00Z"}]}`)
	write(t, fsys, "logs/2026-02-20.json", `{"date":"2026-02-20","entries":[{"id":"e","time":"14:30:00","content":"x",`+
		`"at":"0001-01-02T14:30:00Z"}]}`)
	write(t, fsys, "logs/1969-12-31.json", `{"date":"1969-12-31","entries":[{"content":"y"}]}`)
	st, _ := open(t, fsys)
	report := adopt(t, st, fsys)
	m, err := st.Space("").Get("a")
	if err != nil || !m.CreatedAt.Equal(time.Date(2026, 2, 21, 10, 0, 0, 0, time.UTC)) || !m.ExpiresAt().IsZero() ||
		string(m.Extra()["original_created_at"]) != `"1899-12-31T00:00:00Z"` || m.Extra()["original_expires_at"] == nil {
		t.Errorf("adopted %+v, %v", m, err)
	}
	_, entries, err := st.Space("").Log("2026-02-20")
	if err != nil || len(entries) != 1 || !entries[0].At.Equal(time.Date(2026, 2, 20, 14, 30, 0, 0, time.UTC)) ||
		entries[0].Extra["original_at"] == nil {
		t.Errorf("adopted %+v, %v", entries, err)
	}
	if len(report.Notes) != 3 || !slices.Contains(report.Ignored, "logs/1969-12-31.json") {
		t.Errorf("reported %+v, ignored %q", report.Notes, report.Ignored)
	}
}
