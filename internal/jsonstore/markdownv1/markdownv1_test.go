package markdownv1_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/memsidecar/memsidecar/internal/jsonstore/markdownv1"
	"github.com/memsidecar/memsidecar/internal/memory"
)

var update = flag.Bool("update", false, "write the golden files")

var (
	zone    = time.FixedZone("", 8*3600)
	written = time.Date(2026, 2, 22, 12, 0, 0, 0, zone)
)

func golden(t *testing.T, name, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(name, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

func samples(t testing.TB, pattern string) []string {
	t.Helper()
	names, err := filepath.Glob(pattern)
	if err != nil || len(names) < 2 {
		t.Fatalf("samples %v, %v", names, err)
	}
	return names
}

func content(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func notes(b *strings.Builder, list []markdownv1.Note) {
	for _, n := range list {
		fmt.Fprintf(b, "note %s\n", n)
	}
}

func TestReadMemoriesSamples(t *testing.T) {
	for _, name := range samples(t, "testdata/*.md") {
		if strings.Contains(name, ".log.") {
			continue
		}
		t.Run(filepath.Base(name), func(t *testing.T) {
			got := markdownv1.ReadMemories(content(t, name), written, zone)
			var b strings.Builder
			fmt.Fprintf(&b, "summary %q, %d finished\n", got.Summary, got.Done)
			for _, m := range got.Memories {
				fmt.Fprintf(&b, "%s %s %v %s %q %q\n", m.CreatedAt.Format(time.RFC3339Nano), m.Category, m.Salience, m.Status, m.Tags, m.Content)
			}
			notes(&b, got.Notes)
			golden(t, strings.TrimSuffix(name, ".md")+".golden", b.String())
		})
	}
}

func TestReadLogSamples(t *testing.T) {
	for _, name := range samples(t, "testdata/*.log.md") {
		t.Run(filepath.Base(name), func(t *testing.T) {
			date, ok := markdownv1.DateOf(filepath.Base(name), nil)
			if !ok {
				t.Fatal("no date")
			}
			got := markdownv1.ReadLog(content(t, name), date, zone)
			var b strings.Builder
			for _, e := range got.Entries {
				fmt.Fprintf(&b, "%s %s %s category=%s tool=%s error=%s session=%s %s %q\n",
					e.Time, e.At.Format(time.RFC3339Nano), e.Type, e.Category, e.Tool, e.Error, e.Session, e.Extra["section"], e.Content)
			}
			notes(&b, got.Notes)
			golden(t, strings.TrimSuffix(name, ".md")+".golden", b.String())
		})
	}
}

func TestDateOf(t *testing.T) {
	for _, tt := range []struct{ base, data, want string }{
		{"2026-02-21.md", "", "2026-02-21"},
		{"20260221.md", "", "2026-02-21"},
		{"2026_02_21-work.md", "", "2026-02-21"},
		{"2026-02-30.md", "", ""},
		{"202602211.md", "", ""},
		{"notes.md", "# 2026年2月3日 日志", "2026-02-03"},
		{"notes.md", "---\ndate: 2026-02-03\n---\n", "2026-02-03"},
		{"notes.md", "said on 2026-02-03", ""},
	} {
		if got, ok := markdownv1.DateOf(tt.base, []byte(tt.data)); got != tt.want || ok != (tt.want != "") {
			t.Errorf("DateOf(%q, %q) is %q, %v; want %q", tt.base, tt.data, got, ok, tt.want)
		}
	}
}

func TestHeadings(t *testing.T) {
	for heading, want := range map[string]string{
		"Preferences": "preferences", "用户偏好": "preferences", "Preferences / 偏好": "preferences", "🎯 偏好 (Preferences)": "preferences", "1. User's Preferences": "preferences",
		"事实": "facts", "FACTS:": "facts", "个人信息": "facts", "Tasks & Reminders": "tasks", "待办事项": "tasks", "反思总结": "reflections", "Lessons Learned": "reflections",
		"Task Notes": "tasks", "任务记录": "tasks", "Reflection Log": "reflections", "General Notes": "general", "Important Information": "facts", "Project Facts": "facts",
		"编码偏好": "preferences", "程序性记忆": "procedural", "工具使用经验": "procedural", "How-To": "procedural", "其他": "general", "Contacts": "general", "Odds and ends": "general",
	} {
		got := markdownv1.ReadMemories([]byte("# Memory\n## "+heading+"\n- something\n"), written, zone)
		if len(got.Memories) != 1 || got.Memories[0].Category != want {
			t.Errorf("%q: %+v, want %s", heading, got.Memories, want)
		}
	}
}

func TestLongTexts(t *testing.T) {
	long := strings.Repeat("喜欢 ", 6000)
	got := markdownv1.ReadMemories([]byte("# Facts\n- "+long+"\n"), written, zone)
	if len(got.Memories) != 3 || len(got.Notes) != 1 {
		t.Errorf("%d memories, notes %v", len(got.Memories), got.Notes)
	}
	got = markdownv1.ReadMemories([]byte("# Summary\n"+strings.Repeat("x", memory.MaxSummary+1)), written, zone)
	if got.Summary != "" || len(got.Memories) != 5 || len(got.Notes) != 1 {
		t.Errorf("%d memories, notes %v", len(got.Memories), got.Notes)
	}
	entries := markdownv1.ReadLog([]byte("- 10:00 "+long), "2026-02-20", zone)
	if len(entries.Entries) != 3 || len(entries.Notes) != 1 {
		t.Errorf("%d entries, notes %v", len(entries.Entries), entries.Notes)
	}
}

// check looks at everything that holds for any input: limits, ids, and that what was read twice is the same.
func checkMemories(t *testing.T, data []byte) {
	got := markdownv1.ReadMemories(data, written, zone)
	var check memory.Check
	ids := map[string]bool{}
	for i, m := range got.Memories {
		check.Memory(fmt.Sprintf("memories[%d].", i), m)
		if ids[m.ID] || m.CreatedAt.IsZero() {
			t.Errorf("memory %+v", m)
		}
		ids[m.ID] = true
	}
	check.Text("summary", got.Summary, memory.MaxSummary, false)
	if err := check.Err(); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(got, markdownv1.ReadMemories(slices.Clone(data), written, zone)); diff != "" {
		t.Errorf("read twice:\n%s", diff)
	}
	var b strings.Builder
	b.WriteString(got.Summary)
	for _, m := range got.Memories {
		fmt.Fprintln(&b, m.Content, m.Category, m.Tags, m.Salience, times(m.CreatedAt))
	}
	lossless(t, data, b.String(), got.Notes)
}

func checkLog(t *testing.T, data []byte) {
	got := markdownv1.ReadLog(data, "2026-02-20", zone)
	var check memory.Check
	ids := map[string]bool{}
	for i, e := range got.Entries {
		check.Entry(fmt.Sprintf("entries[%d].", i), e)
		if ids[e.ID] || e.Time == "" {
			t.Errorf("entry %+v", e)
		}
		ids[e.ID] = true
	}
	if err := check.Err(); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(got, markdownv1.ReadLog(slices.Clone(data), "2026-02-20", zone)); diff != "" {
		t.Errorf("read twice:\n%s", diff)
	}
	var b strings.Builder
	for _, e := range got.Entries {
		var section string
		if raw := e.Extra["section"]; raw != nil {
			section = unquote(t, raw)
		}
		fmt.Fprintln(&b, e.Content, e.Type, e.Category, e.Tool, e.Error, e.Session, section, times(e.At))
	}
	lossless(t, data, b.String(), got.Notes)
}

// TestFirstProgram: files as the first program wrote them, in its grammar, need no note; everything outside it has one.
func TestFirstProgram(t *testing.T) {
	got := markdownv1.ReadMemories([]byte("## 用户偏好\n\n- [2026-02-21][a1b2c3d4] 喜欢东方航空\n- [2026-02-20] 早班机\n\n"+
		"## 重要事实\n\n## 任务备忘\n- [2026-02-20][0badcafe] 报销\n## 反思日志\n- [2026-02-21][c1b2c3d4] 先查后问\n"+
		"## 通用记忆\n- [2026-02-21][zz] 看板\n杂记一行\n"), time.Time{}, time.UTC)
	var list []string
	for _, m := range got.Memories {
		if m.Source != memory.SourceMigration || m.Salience != memory.DefaultSalience {
			t.Errorf("%s has source %s, salience %v", m.Content, m.Source, m.Salience)
		}
		list = append(list, m.ID+" "+m.Category+" "+m.CreatedAt.Format(time.DateOnly)+" "+m.Content)
	}
	want := []string{"a1b2c3d4 preferences 2026-02-21 喜欢东方航空", list[1][:12] + " preferences 2026-02-20 早班机",
		"0badcafe tasks 2026-02-20 报销", "c1b2c3d4 reflections 2026-02-21 先查后问"}
	for i, w := range want {
		if list[i] != w {
			t.Errorf("memory %d is %q, want %q", i, list[i], w)
		}
	}
	if !slices.ContainsFunc(got.Notes, func(n markdownv1.Note) bool { return strings.Contains(n.Detail, "in brackets") }) {
		t.Errorf("notes %v", got.Notes)
	}
	for text, line := range map[string]int{
		"# 长期记忆\n## 用户偏好\n- [2026-02-20] 早班机\n没有符号的一行\n":   4,
		"# 长期记忆\n## 用户偏好\n- [2026-13-77] 早班机\n":            3,
		"# 长期记忆\n## 用户偏好\n- [2026-02-20] 早班机\n\n一段话\n":     5,
		"# 长期记忆\n## Odds\n- [2026-02-20] 早班机\n  - 靠窗的座位\n": 4,
	} {
		got := markdownv1.ReadMemories([]byte(text), time.Time{}, time.UTC)
		if !slices.ContainsFunc(got.Notes, func(n markdownv1.Note) bool { return n.First == line && n.Guess }) {
			t.Errorf("of %q: notes %v", text, got.Notes)
		}
	}
	for text, line := range map[string]int{"- [16:00] 开会\n随手一行\n": 2, "- [16:00] 开会\n- [25:99] 散会\n": 2} {
		got := markdownv1.ReadLog([]byte(text), "2026-02-21", time.UTC)
		if !slices.ContainsFunc(got.Notes, func(n markdownv1.Note) bool { return n.First == line && n.Guess }) {
			t.Errorf("of %q: notes %v", text, got.Notes)
		}
	}
	log := markdownv1.ReadLog([]byte("# 2026-02-21\n\n- [15:45] [auto] [preferences] 喜欢东方航空\n- [16:00] 开会\n"),
		"2026-02-21", time.UTC)
	if len(log.Notes) != 0 || len(log.Entries) != 2 {
		t.Fatalf("log %+v", log)
	}
	if e := log.Entries[0]; e.Type != memory.EntryAutoExtract || e.Category != memory.Preferences || e.Time != "15:45:00" ||
		e.Content != "喜欢东方航空" {
		t.Errorf("entry %+v", e)
	}
	if e := log.Entries[1]; e.Type != memory.EntryEvent || e.Content != "开会" {
		t.Errorf("entry %+v", e)
	}
}
