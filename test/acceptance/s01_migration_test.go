package acceptance_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/memsidecar/memsidecar/internal/memtest/process"
)

// Scenario 1: somebody has kept memories in the first layout, MEMORY.md and logs/DATE.md. The first start takes them
// over, loses nothing, and leaves the old files under another name, byte for byte.
func TestMigration(t *testing.T) {
	p := process.New(t, program)
	const memories = "# 长期记忆\n\n" +
		"## 用户偏好\n- [2026-02-20] 用户偏好东方航空，尤其是早班机\n- [2026-02-21][a1b2c3d4] 代码注释用英文写\n\n" +
		"## 重要事实\n- [2026-02-19] 项目后端是 FastAPI，端口 8088\n\n" +
		"## 任务备忘\n- [2026-02-18] 周五之前更新证书\n\n" +
		"## 反思日志\n- [2026-02-17] 动手之前先看一遍现有的测试\n\n" +
		"## 通用记忆\n- [2026-02-16] 办公室在三楼\n\n" +
		"## User Preferences\n- [2026-02-15][0badc0de] Answers should be short\n"
	yesterday := day(1)
	const log = "# Daily Log\n\n" +
		"- [14:30] 完成了项目 API 文档编写\n" +
		"- [15:45] [auto] [preferences] 用户喜欢在下午3点开会\n" +
		"- [16:05] Deployed the booking service\n"
	write(t, p, "MEMORY.md", memories)
	write(t, p, "logs/"+yesterday+".md", log)

	d := p.Serve(t)
	file := published[memoryFile](t, p, "memory.json")
	if file.Version != 2 || len(file.Memories) != 7 {
		t.Fatalf("memory.json has version %d and %d memories, want 2 and 7", file.Version, len(file.Memories))
	}
	for _, want := range []struct{ id, category, content, created string }{
		{"", "preferences", "用户偏好东方航空，尤其是早班机", "2026-02-20"},
		{"a1b2c3d4", "preferences", "代码注释用英文写", "2026-02-21"},
		{"", "facts", "项目后端是 FastAPI，端口 8088", "2026-02-19"},
		{"", "tasks", "周五之前更新证书", "2026-02-18"},
		{"", "reflections", "动手之前先看一遍现有的测试", "2026-02-17"},
		{"", "general", "办公室在三楼", "2026-02-16"},
		{"0badc0de", "preferences", "Answers should be short", "2026-02-15"},
	} {
		found := containing(file.Memories, want.content)
		if len(found) != 1 {
			t.Errorf("%d memories say %q, want 1", len(found), want.content)
			continue
		}
		m := found[0]
		created, err := time.Parse(time.RFC3339, m.CreatedAt)
		if err != nil {
			t.Fatal(err)
		}
		if m.Content != want.content || m.Category != want.category || m.Source != "migration" || m.Salience != 0.5 ||
			created.Local().Format(time.DateOnly) != want.created || want.id != "" && m.ID != want.id {
			t.Errorf("got %+v\nwant %+v, by migration with salience .5", m, want)
		}
	}

	entries := published[logFile](t, p, "logs/"+yesterday+".json").Entries
	var got strings.Builder
	for _, e := range entries {
		got.WriteString(fmt.Sprintln(e.Time, e.Type, e.Category, e.Content))
	}
	if want := "14:30:00 event  完成了项目 API 文档编写\n15:45:00 auto_extract preferences 用户喜欢在下午3点开会\n" +
		"16:05:00 event  Deployed the booking service\n"; got.String() != want {
		t.Errorf("the log is\n%s\nwant\n%s", got.String(), want)
	}

	// What was there is still there, and what was remembered is found.
	if read(t, p, "MEMORY.md.migrated") != memories || read(t, p, "logs/"+yesterday+".md.migrated") != log {
		t.Error("the old files are not kept byte for byte")
	}
	shows(t, "a search", p.Succeeds(t, "search", "早班机 东方航空"), "用户偏好东方航空")
	// By other words as well, once the vectors are made.
	process.Eventually(t, "a search by meaning finds", func() bool {
		return strings.Contains(p.Succeeds(t, "search", "how long should answers be?"), "Answers should be short")
	})

	// A second start finds nothing left to do.
	before := process.Ask[any](t, p, "ops")
	d.Stop(t)
	p.Serve(t)
	if diff := cmp.Diff(before, process.Ask[any](t, p, "ops")); diff != "" {
		t.Errorf("a second start did something (-before +after):\n%s", diff)
	}
}
