package importers_test

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/memsidecar/memsidecar/internal/client/importers"
	"github.com/memsidecar/memsidecar/internal/memory"
)

// one is a tree of a single file.
func one(name, text string) fstest.MapFS {
	return fstest.MapFS{name: &fstest.MapFile{Data: []byte(text), ModTime: changed, Mode: 0o600}}
}

// brief writes items in a line each: what was taken by its content, what was not by its remark.
func brief(items []importers.Item) []string {
	var out []string
	for _, it := range items {
		switch {
		case it.Memory != nil:
			out = append(out, it.Memory.Category+": "+it.Memory.Content)
		case it.Entry != nil:
			out = append(out, it.Date+": "+it.Entry.Content)
		case it.Left:
			out = append(out, it.Place.String()+" left out: "+it.Remark)
		default:
			out = append(out, it.Place.String()+" note: "+it.Remark)
		}
	}
	return out
}

func ids(items []importers.Item) []string {
	var out []string
	for _, it := range items {
		switch {
		case it.Memory != nil:
			out = append(out, it.Memory.ID)
		case it.Entry != nil:
			out = append(out, it.Date+" "+it.Entry.ID)
		}
	}
	slices.Sort(out)
	return out
}

// packed is a zip archive of files, below a directory as archivers make them.
func packed(t *testing.T, files fstest.MapFS) string {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for name, f := range files {
		w, err := z.CreateHeader(&zip.FileHeader{Name: "export/" + name, Method: zip.Deflate, Modified: f.ModTime})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(f.Data); err != nil {
			t.Fatal(err)
		}
	}
	if w, err := z.Create("__MACOSX/export/._junk.json"); err != nil {
		t.Fatal(err)
	} else if _, err := w.Write([]byte("{")); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "data.zip")
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestArchives compares what a zip archive and a directory give, and how often: the ids are always the same.
func TestArchives(t *testing.T) {
	for _, format := range importers.Formats() {
		t.Run(format, func(t *testing.T) {
			files := sample(t, format)
			want := ids(read(t, open(t, files, format)))
			source, err := importers.Open(packed(t, files), "")
			if err != nil {
				t.Fatal(err)
			}
			if format == importers.Vibe {
				source.Format = format
			}
			if diff := cmp.Diff(want, ids(read(t, source))); diff != "" {
				t.Errorf("ids of the archive (-directory +archive):\n%s", diff)
			}
			if len(want) == 0 {
				t.Error("the sample gives nothing")
			}
		})
	}
}

func TestOpen(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700),
			os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, tt := range []struct{ name, path, format, want string }{
		{"one file", write("dump.json", `[{"id":"1","memory":"a"}]`), "", importers.Mem0},
		{"lines", write("dump.jsonl", `{"id":"1","memory":"a"}`+"\n"), "", importers.Mem0},
		{"a graph in one object", write("graph.json",
			`{"entities":[{"name":"a","entityType":"b","observations":["c"]}],"relations":[]}`), "", importers.Graph},
		{"an agent of the first kind", write("old.af",
			`{"agent_type":"memgpt_agent","core_memory":[{"label":"human","value":"x"}]}`), "", importers.Letta},
		{"told", write("told.json", `{}`), importers.Engram, importers.Engram},
		{"our own export", write("own.jsonl", `{"memsidecar":"export","version":1}`), "", ""},
		{"our own file", write("memory.json", `{"version":2,"memories":[{"id":"a","content":"b","category":"facts"}]}`),
			"", ""},
		{"a text", write("text.txt", "hello"), "", ""},
		{"nothing", write("empty/.hidden/x.json", `[{"id":"1","memory":"a"}]`)[:len(dir)] + "/empty", "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			source, err := importers.Open(tt.path, tt.format)
			if _, unknown := errors.AsType[*importers.UnknownError](err); unknown != (tt.want == "") ||
				err != nil && !unknown {
				t.Fatalf("opened with %v", err)
			}
			if source != nil {
				if err := source.Close(); err != nil || source.Format != tt.want {
					t.Errorf("is %s, want %s; %v", source.Format, tt.want, err)
				}
			}
		})
	}
	if _, err := importers.Open(dir, "nothing"); err == nil {
		t.Error("opened with a format that does not exist")
	} else if _, ok := errors.AsType[*memory.InvalidError](err); !ok {
		t.Errorf("a format that does not exist: %v", err)
	}
	if _, err := importers.Open(filepath.Join(dir, "missing"), ""); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a path that does not exist: %v", err)
	}
	if _, err := importers.Open(write("bad.zip", "PK\x03\x04 and nothing more"), ""); err == nil {
		t.Error("opened a damaged archive")
	}
}

// TestCutOff cuts the JSON samples off at many places: what stands whole before that is the same, and the damage is
// named.
func TestCutOff(t *testing.T) {
	for _, format := range []string{importers.Mem0, importers.Engram, importers.Letta, importers.ChatGPT,
		importers.Graph} {
		for name, f := range sample(t, format) {
			if name == "user.json" {
				continue
			}
			whole := ids(read(t, open(t, one(name, string(f.Data)), format)))
			for n := 1; n < len(f.Data)-3; n += 41 {
				items := read(t, open(t, one(name, string(f.Data[:n])), format))
				got := ids(items)
				for _, id := range got {
					// What the newest list of memories decides about depends on whether that was read.
					if !slices.Contains(whole, id) && format != importers.ChatGPT && format != importers.Engram {
						t.Errorf("%s cut off at %d: %s is not in the whole", name, n, id)
					}
				}
				if len(got) < len(whole) &&
					!slices.ContainsFunc(items, func(it importers.Item) bool { return it.Left }) {
					t.Errorf("%s cut off at %d: something is missing, and nothing says so", name, n)
				}
			}
		}
	}
}

// TestLinks reads a directory with links that lead out of it.
func TestLinks(t *testing.T) {
	out, dir := t.TempDir(), t.TempDir()
	err := errors.Join(
		os.WriteFile(filepath.Join(out, "secret.md"), []byte("---\nname: x\ntype: user\n---\nnot yours\n"), 0o600),
		os.WriteFile(filepath.Join(dir, "user_a.md"), []byte("---\nname: a\ntype: user\n---\nmine\n"), 0o600),
		os.Symlink(filepath.Join(out, "secret.md"), filepath.Join(dir, "user_b.md")),
		os.Symlink(out, filepath.Join(dir, "elsewhere")),
	)
	if err != nil {
		t.Fatal(err)
	}
	source, err := importers.Open(dir, "")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"elsewhere left out: leads out of the directory, or cannot be read",
		"user_b.md left out: leads out of the directory, or cannot be read", "user: mine",
	}
	if diff := cmp.Diff(want, brief(read(t, source))); diff != "" {
		t.Errorf("items (-want +got):\n%s", diff)
	}
}

// TestDamage reads files that are damaged in every way: what is whole is taken, the rest is named.
func TestDamage(t *testing.T) {
	item := func(text string) string { return `{"id":"` + text + `","memory":"` + text + `"}` }
	for _, tt := range []struct {
		name, file, text string
		want             []string
	}{
		{"cut off", "a.json", "[" + item("one") + ",\n" + item("two") + `,{"id":"3","mem`, []string{
			"facts: one", "facts: two", "a.json item 3 (line 2) left out: is not whole, so nothing behind it could " +
				"be read: unexpected end"}},
		{"cut off between items", "a.json", "[" + item("one") + ",",
			[]string{"facts: one", "a.json line 1 left out: ends in the middle: unexpected end"}},
		{"one item broken", "a.json", "[" + item("one") + ",\n{\"id\":5,\"memory\":},\n" + item("two") + "]", []string{
			"facts: one", "a.json item 2 (line 2) left out: is not valid JSON", "facts: two"}},
		{"a comma missing", "a.json", "[" + item("one") + "\n" + item("two") + ",\n" + item("three") + "]", []string{
			"a.json item 1 (line 1) left out: is not valid JSON", "facts: three"}},
		{"bytes that are no text", "a.json", "[" + item("one") + "," + item("\xff\xfe") + "," + item("two") + "]",
			[]string{
				"facts: one", "a.json item 2 (line 1) left out: is not valid UTF-8", "facts: two"}},
		{"something behind", "a.json", "[" + item("one") + "] and more",
			[]string{"facts: one", "a.json line 1 left out: has something behind its end"}},
		{"a name that is none", "a.json", `{"results":[` + item("one") + `], 7: 1}`,
			[]string{"facts: one", "a.json line 1 left out: is damaged here; what follows was not read"}},
		{"no JSON", "a.json", "hello", []string{"a.json line 1 left out: is no JSON that holds items"}},
		{"empty", "a.json", " \n", []string{"a.json line 2 left out: is empty"}},
		{"a line", "a.jsonl", "\ufeff" + item("one") + "\r\n\n{\"id\":\n" + item("two"),
			[]string{"facts: one", "a.jsonl line 3 left out: is not valid JSON", "facts: two"}},
		{"a quote that does not end", "a.json", "[" + item("one") + `,{"id":"2","memory":"two},` + item("three") + "]",
			[]string{
				"facts: one", "a.json item 2 (line 1) left out: is not valid JSON"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := brief(read(t, open(t, one(tt.file, tt.text), importers.Mem0)))
			// what follows depends on where the quotes stand; that something is named does not
			if tt.name == "a quote that does not end" {
				got = got[:min(len(got), 1)]
				tt.want = tt.want[:1]
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("items (-want +got):\n%s", diff)
			}
		})
	}
}

func TestLongValues(t *testing.T) {
	for _, tt := range []struct {
		text  string
		lines bool
		want  []string
	}{
		{`[1, "a,]}\\\"b", {"c": "0123456789"}, [2]]`, false,
			[]string{"f item 1 (line 1): 1", `f item 2 (line 1): "a,]}\\\"b"`,
				"f item 3 (line 1): has more than 12 bytes", "f item 4 (line 1): [2]"}},
		{"{\"a\": 1,\n \"b\": [2, \"01234567890\", 3], \"c\": {\"d\": 4}}", false,
			[]string{"f a (line 1): 1", "f b 1 (line 2): 2", "f b 2 (line 2): has more than 12 bytes",
				"f b 3 (line 2): 3", `f c (line 2): {"d": 4}`}},
		{"1\n\n\"01234567890\"\n3", true, []string{"f line 1: 1", "f line 3: has more than 12 bytes", "f line 4: 3"}},
	} {
		if diff := cmp.Diff(tt.want, importers.Values(tt.text, tt.lines, 12)); diff != "" {
			t.Errorf("values of %s (-want +got):\n%s", tt.text, diff)
		}
	}
}

// TestLimits reads what is longer than a memory may be.
func TestLimits(t *testing.T) {
	var tags []string
	for i := range 40 {
		tags = append(tags, fmt.Sprintf(`"tag %d"`, i))
	}
	text := fmt.Sprintf(`[{"id":"1","memory":"%s","categories":[%s],"metadata":{"big":"%s"},"created_at":"2026-02-21"}]`,
		strings.Repeat("渡轮每天开。", 2000), strings.Join(tags, ","), strings.Repeat("y ", 40<<10))
	items := read(t, open(t, one("a.json", text), importers.Mem0))
	var content strings.Builder
	memories := 0
	for _, it := range items {
		if m := it.Memory; m != nil {
			memories++
			content.WriteString(m.Content)
			var check memory.Check
			if check.Memory("", m); check.Err() != nil {
				t.Error(check.Err())
			}
			if len(m.Tags) != memory.MaxTags || !strings.Contains(string(m.StructuredData()), "tag 39") {
				t.Errorf("%d tags; structured data %.300s", len(m.Tags), m.StructuredData())
			}
		}
	}
	if memories != 2 || content.String() != strings.Repeat("渡轮每天开。", 2000) {
		t.Errorf("%d memories of %d bytes", memories, len(content.String()))
	}
	want := []string{
		"a.json item 1 (line 1) note: has more than 8000 characters; it became 2 memories",
		"a.json item 1 (line 1) note: has more to it than the 65536 bytes of structured_data hold; what is longest " +
			"was left out",
	}
	got := slices.DeleteFunc(brief(items), func(s string) bool { return strings.HasPrefix(s, "facts") })
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("remarks (-want +got):\n%s", diff)
	}
}

// TestPrivate reads passages that must not be stored and span what would be cut apart.
func TestPrivate(t *testing.T) {
	for _, tt := range []struct {
		format, name, text string
		want               []string
	}{
		{importers.OpenClaw, "MEMORY.md", "- one\n- two <private>three\n- four\n- five</private>\n- six\n",
			[]string{"general: one", "general: two", "general: six"}},
		{importers.OpenClaw, "memory/2026-02-21.md", "- 10:00 a <private>b\n- 11:00 c</private>\n- 12:00 d\n",
			[]string{"2026-02-21: a", "2026-02-21: d"}},
		{importers.Nanobot, "HISTORY.md", "[2026-02-21 10:00] a <private>b\n[2026-02-21 11:00] " +
			"c</private>\n[2026-02-21 12:00] d\n", []string{"2026-02-21: a", "2026-02-21: d"}},
		{importers.BasicMemory, "n.md", "- [fact] one <private>two\n- [fact] three</private>\n- [fact] 四\n",
			[]string{"facts: one", "facts: 四"}},
		{importers.Mem0, "a.json", `[{"id":"1","memory":"<private>all of it</private>"}]`, nil},
	} {
		t.Run(tt.format+" "+tt.name, func(t *testing.T) {
			items := read(t, open(t, one(tt.name, tt.text), tt.format))
			got := slices.DeleteFunc(brief(items), func(s string) bool {
				return strings.Contains(s, " note: ") || strings.Contains(s, " left out: ")
			})
			if diff := cmp.Diff(tt.want, got,
				cmp.Transformer("nil", func(s []string) []string { return append([]string{}, s...) })); diff != "" &&
				len(got)+len(tt.want) > 0 {
				t.Errorf("taken (-want +got):\n%s", diff)
			}
			if got := dump("", items); strings.Contains(got, "three") || strings.Contains(got, "all of it") ||
				!strings.Contains(got, "must not be stored") && !strings.Contains(got, "taken out: ") {
				t.Errorf("private passages: %s", got)
			}
		})
	}
}

// TestFrontMatter reads front matter as it is found.
func TestFrontMatter(t *testing.T) {
	for _, tt := range []struct {
		name, text  string
		title       string
		category    string
		tags        []string
		created     string
		description string
	}{
		{"colons, lists and comments", "---\nname: a: b\n# comment\ndescription: one: two\ntype: user\ntags:\n  - " +
			"x\n  - 'y z'\ncreated: 2026-01-02\n---\nbody\n", "a: b", "user", []string{"x", "y z"}, "2026-01-02",
			"one: two"},
		{"nested, and a value of several lines",
			"---\r\nname: \"q\\\"uote\"\r\nmetadata:\r\n  type: feedback\r\n  modified: " +
				"2026-01-03T00:00:00Z\r\ndescription: >\r\n  first\r\n  second\r\n---\r\nbody\r\n", `q"uote`,
			"feedback",
			nil, "2026-01-03", "first\nsecond"},
		{"in brackets", "---\nname: n\ntype: preference\ntags: [a, \"b\", 中文]\n---\nbody\n", "n", "preferences",
			[]string{"a", "b", "中文"}, "2026-02-21", ""},
		{"of a view of ours", "---\nname: n\ntype: feedback\ncategory: procedural\ncreated: 2026-01-05\n---\nbody\n",
			"n", "procedural", nil, "2026-01-05", ""},
		{"no end", "---\nname: n\ntype: user\nbody\n", "user_x", "user", nil, "2026-02-21", ""},
		{"a type that cannot be a category", "---\nname: n\ntype: 项目\n---\nbody\n", "n", "facts", nil, "2026-02-21",
			""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			files := one("user_x.md", tt.text)
			files["MEMORY.md"] = &fstest.MapFile{Data: []byte("- [x](user_x.md)\n"), ModTime: changed}
			items := read(t, open(t, files, importers.Claude))
			if len(items) != 1 || items[0].Memory == nil {
				t.Fatalf("read %q", brief(items))
			}
			m := items[0].Memory
			if m.Title != tt.title || m.Category != tt.category || m.CreatedAt.Format(time.DateOnly) != tt.created {
				t.Errorf("title %q, category %q, created %s", m.Title, m.Category, m.CreatedAt)
			}
			if diff := cmp.Diff(tt.tags, m.Tags); diff != "" {
				t.Errorf("tags (-want +got):\n%s", diff)
			}
			if !strings.HasPrefix(m.Description(), tt.description) {
				t.Errorf("description %q, want %q", m.Description(), tt.description)
			}
		})
	}
}

// TestObservations reads the items of a note.
func TestObservations(t *testing.T) {
	for _, tt := range []struct{ item, want string }{
		{"[decision] keep it #a", "decision: keep it"},
		{"[tech stack] Go (since 1.26)", "tech_stack: Go (since 1.26)"},
		{"[偏好] 早班机", "preferences: 早班机"},
		{"[随想] 码头", "facts: 码头"},
		{"[x] done", "general: - [x] done"},
		{"[/] half", "general: - [/] half"},
		{"[00:12:01] said", "general: - [00:12:01] said"},
		{"[link](a.md)", "general: - [link](a.md)"},
		{"[[Target]]", "facts: n relates_to Target"},
		{"works_on [[Ferry]] (daily)", "facts: n works_on Ferry (daily)"},
		{"'is part of' [[Ferry]]", "facts: n is part of Ferry"},
		{"this sentence names [[Ferry]] too", "general: - this sentence names [[Ferry]] too"},
		{"uses [[A]] and [[B]]", "general: - uses [[A]] and [[B]]"},
		{"[a] ", "general: - [a]"},
	} {
		got := brief(read(t, open(t, one("n.md", "- "+tt.item+"\n"), importers.BasicMemory)))
		if diff := cmp.Diff([]string{tt.want}, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.item, diff)
		}
	}
}

func TestReadStops(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	source := open(t, sample(t, importers.Mem0), "")
	n := 0
	err := source.Read(ctx, time.UTC, func(importers.Item) error {
		n++
		cancel()
		return nil
	})
	if !errors.Is(err, context.Canceled) || n != 1 {
		t.Errorf("%d items, then %v", n, err)
	}
	full := errors.New("full")
	if err := source.Read(t.Context(), time.UTC, func(importers.Item) error { return full }); !errors.Is(err, full) {
		t.Errorf("an error of the receiver became %v", err)
	}
}
