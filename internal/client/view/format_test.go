package view_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/memsidecar/memsidecar/internal/client/view"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/store"
)

// hostile draws texts that look like the Markdown around them.
var hostile = rapid.Custom(func(t *rapid.T) string {
	parts := rapid.SliceOfN(rapid.OneOf(
		rapid.SampledFrom([]string{
			"- a", "* b", "1. c", "# d", "## Facts", "---", "- - -", "[x] done", "[ ] open", "<!-- memsidecar 3 -->",
			"<!-- c", "-->", "```", "~~~sh", "**T** — x", "**",
			"\tcode", "    code", "  - nested", "name: x", "", "", "用户偏好", "二、", "a: b # c", "\"q\"", "'s'", "a\\b",
			"\u2028", "\u0085", "true", "[a](b.md) — c", "=====", "\ufeffx", "• y",
		}), rapid.String(),
	), 1, 6).Draw(t, "lines")
	return strings.ToValidUTF8(strings.Join(parts, "\n"), "?")
})

// TestListSaysWhatMemoriesSay writes any memories as a list and reads them again.
func TestListSaysWhatMemoriesSay(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := openIn(rt, t, view.Context, tempDir(t))
		want := map[string]bool{}
		for i := range rapid.IntRange(1, 5).Draw(rt, "memories") {
			m := &memory.Memory{
				ID: fmt.Sprint("m", i), Content: hostile.Draw(rt, "content"),
				Title:    rapid.SampledFrom([]string{"", "A title", "**", "a\nb"}).Draw(rt, "title"),
				Category: rapid.SampledFrom([]string{memory.Facts, memory.Tasks, "recipes"}).Draw(rt, "category"),
			}
			if view.Canon(m.Content) == "" || utf8.RuneCountInString(m.Content) > memory.MaxContent {
				continue
			}
			w.put(m)
			want[m.Content] = true
		}
		w.settled()
		// Another edit makes the whole file read again: nothing else may change.
		w.write("memory.md", w.read("memory.md")+"\n- New and unlike the others: zebra\n")
		before := w.contents()
		r := w.settled()
		if len(r.Adopted) != 1 || len(w.contents()) != len(before)+1 {
			rt.Fatalf("one item was added, and %+v was taken; the file:\n%s", r.Adopted, w.read("memory.md"))
		}
	})
}

// TestEntrySaysWhatMemorySays writes any memory as an entry file and reads it again.
func TestEntrySaysWhatMemorySays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &memory.Memory{
			ID: "x", Category: rapid.SampledFrom([]string{memory.Facts, "user", "recipes"}).Draw(t, "category"),
			Content: hostile.Draw(t, "content"),
			Title:   strings.Join(strings.Fields(hostile.Draw(t, "title")), " "),
			Tags: rapid.SliceOf(rapid.SampledFrom([]string{"a", "b, c", "[d]", "\"e\"", "中，文", "'f'", "true",
				"#g"})).Draw(t, "tags"),
			CreatedAt: time.Date(2026, 2, 21, 0, 0, 0, 0, time.UTC), Revision: 7,
		}
		if view.Canon(m.Content) == "" {
			t.Skip("no content")
		}
		data := view.RenderEntry(m, nil)
		title, _, category, content, tags, ok := view.ParseEntry(data)
		if !ok || category != m.Category || content != view.Canon(m.Content) {
			t.Fatalf("read %q, %q, %v of:\n%s", category, content, ok, data)
		}
		if strings.Join(tags, "|") != strings.Join(m.Tags, "|") {
			t.Fatalf("tags %q of %q:\n%s", tags, m.Tags, data)
		}
		if strings.ContainsFunc(title, func(r rune) bool { return r == '\n' }) {
			t.Fatalf("title %q", title)
		}
	})
}

// TestEntryContentAt: the field is there only when the text changed on a later day than the memory was created.
func TestEntryContentAt(t *testing.T) {
	m := &memory.Memory{ID: "x", Category: memory.Facts, Content: "The port is 8443",
		CreatedAt: time.Date(2026, 1, 5, 10, 0, 0, 0, time.UTC)}
	for _, tt := range []struct {
		changed time.Time
		want    string
	}{
		{time.Time{}, "created: 2026-01-05\nid:"},
		{m.CreatedAt.Add(time.Hour), "created: 2026-01-05\nid:"},
		{m.CreatedAt.AddDate(0, 0, 40), "created: 2026-01-05\ncontent_at: 2026-02-14\nid:"},
	} {
		m.SetContentAt(tt.changed)
		if data := string(view.RenderEntry(m, nil)); !strings.Contains(data, tt.want) {
			t.Errorf("changed %v: no %q in\n%s", tt.changed, tt.want, data)
		}
	}
}

func TestSlug(t *testing.T) {
	for _, tt := range []struct{ title, want string }{
		{"Small Commits!", "small_commits"}, {"用户偏好：东方航空", "用户偏好_东方航空"}, {"../../etc/passwd", "etc_passwd"}, {"", ""},
		{"———", ""}, {"a/b\\c", "a_b_c"},
		{"日本語とEnglish", "日本語とenglish"}, {"Привет, мир", "привет_мир"},
		{strings.Repeat("长", 90), strings.Repeat("长", 60)},
	} {
		if got := view.Slug(tt.title); got != tt.want {
			t.Errorf("Slug(%q) = %q, want %q", tt.title, got, tt.want)
		}
	}
}

func TestTitlesThatAreAlikeGetFilesOfTheirOwn(t *testing.T) {
	w := open(t, view.Claude)
	for i, title := range []string{"Same", "same", "SAME!", "长", "长"} {
		w.put(&memory.Memory{ID: fmt.Sprint("m", i), Category: memory.Facts, Title: title,
			Content: fmt.Sprint("content ", i)})
	}
	w.settled()
	if n := len(w.tree()); n != 6 {
		t.Fatalf("%d files for 5 memories and an index: %v", n, w.tree())
	}
}

func TestIndexKeepsItsBounds(t *testing.T) {
	for _, tt := range []struct {
		name string
		n    int
		text string
	}{{"lines", 500, "short %d"}, {"bytes", 500, "很长的一条记忆，用来占满索引的字节数，第 %d 条，" + strings.Repeat("还有更多的字", 12)}} {
		t.Run(tt.name, func(t *testing.T) {
			w := open(t, view.Claude)
			w.update(func(tx *store.Tx) error {
				for i := range tt.n {
					m := &memory.Memory{ID: fmt.Sprint("m", i), Category: memory.Facts,
						Content: fmt.Sprintf(tt.text, i), Source: memory.SourceUser, Salience: 0.5, Confidence: 1}
					if err := tx.Put(m); err != nil {
						return err
					}
				}
				return nil
			})
			w.settled()
			index := w.read("MEMORY.md")
			if n := strings.Count(index, "\n"); n > view.MaxLines || len(index) > view.MaxBytes ||
				!strings.HasSuffix(index, "\n") {
				t.Errorf("%d lines, %d bytes, ends with %q", n, len(index), index[len(index)-20:])
			}
			if n := strings.Count(index, "\n"); n < 150 && len(index) < view.MaxBytes*9/10 {
				t.Errorf("only %d lines, %d bytes", n, len(index))
			}
			if len(w.tree()) != tt.n+1 {
				t.Errorf("%d files", len(w.tree()))
			}
			// The same for a list that holds the memories themselves.
			w.format, w.dir = view.Nanobot, tempDir(t)
			root, err := os.OpenRoot(w.dir)
			if err != nil {
				t.Fatal(err)
			}
			defer root.Close()
			w.fs = unsynced{dirOf(root)}
			w.restart()
			w.settled()
			list := w.read("MEMORY.md")
			if n := strings.Count(list, "\n"); n > view.MaxLines || len(list) > view.MaxBytes ||
				!strings.Contains(list, "of 500 memories") {
				t.Errorf("list: %d lines, %d bytes", n, len(list))
			}
			if n := len(w.contents()); n != tt.n {
				t.Errorf("%d memories are left", n)
			}
		})
	}
}

// TestAgentsOwnFiles takes over files as agents write them, and keeps what it does not know.
func TestAgentsOwnFiles(t *testing.T) {
	w := open(t, view.Claude)
	w.write("feedback_testing.md", "---\nname: feedback_testing\ntype: feedback\nscope: user\ndescription: "+
		"Integration tests must hit a real DB, not mocks\n---\n\nDon't mock the database in tests.\n**Why:** mocks "+
		"hide bugs.\n")
	w.write("用户_角色.md", "---\nname: 用户角色\ndescription: \"后端: 工程师\"\nmetadata:\n  node_type: memory\n  type: "+
		"user\n---\n\n用户有 C++ 后端背景，没有接触过 React。\n")
	w.write("README.md", "# Not a memory\n")
	w.write("MEMORY.md", "# Memory\n\n- [feedback_testing](feedback_testing.md) - Integration tests\n- "+
		"一条没有文件的记忆\n\n## Preferences\n\n- Answers in one paragraph\n")
	w.settled()
	check(t, w, "feedback: Don't mock the database in tests.\n**Why:** mocks hide bugs.", "general: 一条没有文件的记忆",
		"preferences: Answers in one paragraph", "user: 用户有 C++ 后端背景，没有接触过 React。")
	for name, words := range map[string]string{
		"feedback_testing.md": "scope: user\n", "用户_角色.md": "metadata:\n  node_type: memory\n  type: user\n",
		"README.md": "# Not a memory\n",
		"MEMORY.md": "](feedback_testing.md) — Integration tests must hit a real DB, not mocks\n",
	} {
		if text := w.read(name); !strings.Contains(text, words) {
			t.Errorf("%s does not hold %q:\n%s", name, words, text)
		}
	}
	if text := w.read("用户_角色.md"); strings.Count(text, "type: user") != 1 ||
		!strings.Contains(text, `description: "后端: 工程师"`) {
		t.Errorf("the type stands twice, or the description is lost:\n%s", text)
	}
	// The index may be edited, too.
	w.write("MEMORY.md", w.replaced("MEMORY.md", "— Integration tests must hit a real DB, not mocks",
		"— A real database, always"))
	w.settled()
	if text := w.read("feedback_testing.md"); !strings.Contains(text, "description: A real database, always\n") {
		t.Errorf("the description was not taken over:\n%s", text)
	}
}

// TestHeadingsAndBullets takes over a MEMORY.md as people write it.
func TestHeadingsAndBullets(t *testing.T) {
	w := open(t, view.Nanobot)
	w.write("MEMORY.md", "# 长期记忆\n\n## 用户偏好\n\n* 喜欢早班机\n\n## Known Facts\n\n1. The API listens on 8443\n2. Two "+
		"lines\n   in one\n\n## TODO\n\n- [ ] Renew the certificate\n- [x] Done already\n\nA paragraph that\nstands "+
		"alone.\n\n<!-- my own remark -->\n")
	r := w.settled()
	check(t, w, "facts: The API listens on 8443", "facts: Two lines\n in one", "preferences: 喜欢早班机",
		"tasks: A paragraph that\nstands alone.", "tasks: Renew the certificate")
	if len(r.Kept) != 1 {
		t.Fatalf("kept %v, notes %v", r.Kept, r.Notes)
	}
	data, err := os.ReadFile(w.dir + "/" + r.Kept[0])
	if err != nil || !strings.Contains(string(data), "my own remark") {
		t.Errorf("the remark is lost: %v", err)
	}
	// A tick, a move and a new bullet, in one operation.
	text := w.replaced("MEMORY.md", "[ ] Renew", "[x] Renew")
	text = strings.Replace(text, "- The API listens on 8443\n", "", 1)
	text = strings.Replace(text, "- 喜欢早班机\n", "- 喜欢早班机\n- The API listens on 8443\n- 新的一条\n", 1)
	w.write("MEMORY.md", text)
	r = w.settled()
	check(t, w, "facts: Two lines\n in one", "preferences: The API listens on 8443", "preferences: 喜欢早班机",
		"preferences: 新的一条", "tasks: A paragraph that\nstands alone.")
	if len(r.Operations) != 1 {
		t.Errorf("operations %v", r.Operations)
	}
}

// TestWholeFileRewritten is what a language model does that is asked for the new MEMORY.md: other headings and words,
// no mark.
func TestWholeFileRewritten(t *testing.T) {
	w := open(t, view.Nanobot)
	w.add("a", memory.Preferences, "The user prefers short answers in the morning")
	w.add("b", memory.Facts, "Project tidewatch uses Python 3.12")
	w.add("c", memory.Facts, "The database connection string is in .env")
	w.add("d", memory.Procedural, "Never push to main directly")
	w.add("e", memory.Procedural, "部署前先跑一遍测试")
	w.settled()
	w.write("MEMORY.md", "# Long-term Memory\n\n## About them\n\n- The user prefers very short answers, in the "+
		"morning above all\n\n## Project Context\n\n"+
		"- Project tidewatch uses Python 3.13\n- Staging is at staging.example.com\n\n## Important things\n\n- Never "+
		"push to main directly; open a pull request\n- 部署前先跑一遍全部测试\n")
	r := w.settled()
	check(t, w, "facts: Project tidewatch uses Python 3.13", "general: Staging is at staging.example.com",
		"preferences: The user prefers very short answers, in the morning above all",
		"procedural: Never push to main directly; open a pull request", "procedural: 部署前先跑一遍全部测试")
	if len(r.Operations) != 1 || w.memory("b").Content != "Project tidewatch uses Python 3.13" {
		t.Errorf("operations %v", r.Operations)
	}
	w.undo(r.Operations[0])
	w.settled()
	if n := len(w.contents()); n != 5 || !strings.Contains(w.read("MEMORY.md"), ".env") {
		t.Errorf("after the undo: %v", w.contents())
	}
}

func TestMuchIsAddedToAnItem(t *testing.T) {
	w := three(t, view.Nanobot)
	w.write("MEMORY.md", w.replaced("MEMORY.md", "on port 8443\n", "on port 8443, and "+
		strings.Repeat("there is very much more to say about that, ", 20)+"you see\n"))
	w.settled()
	if m := w.memory("api"); !m.IsActive() || !strings.HasSuffix(m.Content, "you see") {
		t.Errorf("it became another memory: %+v", m)
	}
}

func TestMovedBetweenFiles(t *testing.T) {
	w := open(t, view.Context)
	w.add("a", memory.Facts, "Retry uploads twice")
	w.settled()
	w.write("memory.md", w.replaced("memory.md", "- Retry uploads twice\n", ""))
	w.write("learnings.md", w.read("learnings.md")+"\n## Procedural\n\n- Retry uploads twice\n")
	w.settled(view.Options{Accept: true})
	check(t, w, "procedural: Retry uploads twice")
	if m := w.memory("a"); m.Category != memory.Procedural {
		t.Errorf("the memory was not moved but made anew: %+v", m)
	}
}

// TestLearningsThatWereThere: a file that somebody kept by hand is taken over; its headings order what it says and are
// no categories, apart from the names of ours.
func TestLearningsThatWereThere(t *testing.T) {
	w := open(t, view.Context)
	w.write("learnings.md", "# Learnings\n\n# Anything\n\n- Retry uploads twice\n\n## deployment\n\n- Drain the queue first\n\n"+
		"## What went wrong\n\n- The cache was never cleared\n\n## Reflections\n\n- Small steps went well\n")
	w.settled(view.Options{Accept: true})
	check(t, w, "procedural: Drain the queue first", "procedural: Retry uploads twice",
		"procedural: The cache was never cleared", "reflections: Small steps went well")
	for _, m := range w.store.Space("default").Memories() {
		if m.Content == "Drain the queue first" && !slices.Contains(m.Tags, "deployment") {
			t.Errorf("the heading is lost: tags %q", m.Tags)
		}
	}
}

func TestRenamedFileIsTheSameMemory(t *testing.T) {
	w := three(t, view.Claude)
	name := w.fileOf("port 8443")
	text := w.read(name)
	w.remove(name)
	w.write("ports.md", text)
	w.settled()
	check(t, w, unedited...)
	if got := w.read("MEMORY.md"); !strings.Contains(got, "(ports.md)") {
		t.Errorf("index:\n%s", got)
	}
}

func TestCopyOfAFile(t *testing.T) {
	w := three(t, view.Claude)
	text := w.read(w.fileOf("port 8443"))
	w.write("copy.md", text)
	w.settled()
	check(t, w, unedited...)
	if w.read("copy.md") != text {
		t.Error("the copy was changed")
	}
	w.write("copy.md", strings.ReplaceAll(text, "8443", "9443"))
	w.settled()
	check(t, w, unedited[0], "facts: The API listens on port 9443", unedited[1], unedited[2])
}

func FuzzCut(f *testing.F) {
	f.Add("# Long-term Memory\n\n## Facts\n\n- a\n  b\n\n- [ ] c\n\n<!-- memsidecar 3 -->\n")
	f.Add("1. x\n```\n- y\n```\n\ttab\n----\n<!-- open")
	f.Fuzz(func(t *testing.T, text string) {
		texts, serial := view.Cut(text)
		if serial < 0 {
			t.Errorf("serial %d", serial)
		}
		for _, s := range texts {
			if strings.TrimSpace(s) != s || s == "" {
				t.Errorf("piece %q", s)
			}
		}
	})
}

func FuzzParseEntry(f *testing.F) {
	f.Add([]byte("---\nname: a\ndescription: \"b: c\"\ntags: [d, 'e, f']\nmetadata:\n  type: user\n---\n\nbody\n"))
	f.Add([]byte("---\n- x\n---\n"))
	f.Add([]byte("\ufeff---\r\nname: |\r\n  a\r\n  b\r\n---\r\nbody"))
	f.Fuzz(func(t *testing.T, data []byte) {
		_, _, _, content, _, ok := view.ParseEntry(data)
		if !ok {
			return
		}
		former, _ := view.RenderAgain(data)
		m := &memory.Memory{ID: "x", Category: memory.Facts, Content: content, Revision: 1}
		once := view.RenderEntry(m, former)
		again, ok := view.RenderAgain(once)
		if !ok {
			t.Fatalf("what was written cannot be read:\n%s", once)
		}
		if diff := cmp.Diff(string(once), string(view.RenderEntry(m, again))); diff != "" {
			t.Errorf("written again it is another file:\n%s", diff)
		}
	})
}
