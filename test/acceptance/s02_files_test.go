package acceptance_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/memsidecar/memsidecar/internal/memtest/process"
)

// printedMemories and printedLog are the two files as the description of the layered memory prints them.
const (
	printedMemories = `{
  "version": 2,
  "last_updated": "2026-02-21T10:30:00Z",
  "rolling_summary": "用户是一名 Python 开发者，偏好简洁代码风格，使用 Windows 系统...",

  "memories": [
    {
      "id": "a1b2c3d4",
      "category": "preferences",
      "content": "用户偏好东方航空，尤其是早班机",
      "salience": 0.85,
      "created_at": "2026-02-21T10:30:00Z",
      "last_accessed": "2026-02-21T14:00:00Z",
      "access_count": 3,
      "source": "user_explicit"
    },
    {
      "id": "e5f6g7h8",
      "category": "procedural",
      "content": "fetch_url 工具对动态渲染网页（如 React/Vue SPA）无效，需提示用户使用浏览器插件获取内容",
      "salience": 0.9,
      "created_at": "2026-02-20T15:20:00Z",
      "last_accessed": "2026-02-21T09:00:00Z",
      "access_count": 5,
      "source": "auto_reflection",
      "context": {
        "tool": "fetch_url",
        "error_type": "dynamic_content",
        "learned_from": "session_abc123"
      }
    }
  ]
}
`
	printedLog = `{
  "date": "2026-02-21",
  "entries": [
    {
      "time": "14:30:00",
      "type": "event",
      "content": "完成了项目 API 文档编写"
    },
    {
      "time": "15:45:00",
      "type": "auto_extract",
      "content": "用户喜欢在下午3点开会",
      "category": "preferences"
    },
    {
      "time": "16:20:00",
      "type": "reflection",
      "content": "fetch_url 对 https://example.com 失败，该站点是 React SPA",
      "tool": "fetch_url",
      "error": "empty_content"
    }
  ],
  "summary": null,
  "archived": false
}
`
)

// Scenario 2: a person has files of the published format. They are served as they stand, every field of theirs stays,
// and the person goes on editing them while the daemon runs.
func TestFiles(t *testing.T) {
	p := process.New(t, program)
	write(t, p, "memory.json", printedMemories)
	write(t, p, "logs/2026-02-21.json", printedLog)
	// The log is of a fixed day, and this is not about its age.
	p.Serve(t, "--set", "memory_archive_days=3000", "--set", "memory_delete_days=3001")

	tool := list(t, p, "--category", "procedural")
	if len(tool) != 1 || tool[0].ID != "e5f6g7h8" || tool[0].Context.Tool != "fetch_url" || tool[0].AccessCount != 5 {
		t.Errorf("of the category procedural there is %+v", tool)
	}
	shows(t, "the log", p.Succeeds(t, "log", "get", "2026-02-21"), "14:30:00", "完成了项目 API 文档编写", "auto_extract",
		"用户喜欢在下午3点开会", "fetch_url")

	// What is added later joins what was printed; of that, no field changes.
	p.Succeeds(t, "add", "The release train leaves on Thursdays", "--category", "facts")
	p.Succeeds(t, "log", "add", "Checked the release train", "--at", "2026-02-21 17:00")
	file := published[map[string]any](t, p, "memory.json")
	if got, want := file["rolling_summary"], decoded(t, printedMemories)["rolling_summary"]; got != want {
		t.Errorf("the rolling summary is %q, want %q", got, want)
	}
	sameFields(t, decoded(t, printedMemories)["memories"].([]any), file["memories"].([]any), 3)
	log := published[map[string]any](t, p, "logs/2026-02-21.json")
	sameFields(t, decoded(t, printedLog)["entries"].([]any), log["entries"].([]any), 4)

	// An editor changes a text, adds a memory and saves.
	text := strings.Replace(read(t, p, "memory.json"), "尤其是早班机", "尤其是晚班机", 1)
	text = strings.Replace(text, `"memories": [`, `"memories": [{"id": "by-hand", "category": "facts",`+
		`"content": "The harbour office opens at seven", "salience": 0.6},`, 1)
	write(t, p, "memory.json", text)
	process.Eventually(t, "the edit is taken over", func() bool {
		all := list(t, p)
		return len(containing(all, "晚班机")) == 1 && len(containing(all, "opens at seven")) == 1 && len(all) == 4
	})
	shows(t, "the operations", p.Succeeds(t, "ops"), "edit")

	// A line of the log is corrected in the same way.
	write(t, p, "logs/2026-02-21.json", strings.Replace(read(t, p, "logs/2026-02-21.json"), "下午3点", "上午9点", 1))
	process.Eventually(t, "the edit of the log is taken over", func() bool {
		return strings.Contains(p.Succeeds(t, "log", "get", "2026-02-21"), "上午9点")
	})

	// A file that is half saved is not: the memories stay, and `edits` names the file.
	write(t, p, "memory.json", text[:len(text)/2])
	process.Eventually(t, "the broken file waits", func() bool {
		return strings.Contains(p.Succeeds(t, "edits"), "memory.json")
	})
	if n := len(list(t, p)); n != 4 {
		t.Errorf("a broken file leaves %d memories, want all 4", n)
	}
}

// decoded is a JSON object.
func decoded(t *testing.T, text string) (out map[string]any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// sameFields requires of a published list n elements, and of those that were printed every printed field as it was.
// What the program adds to them is its own.
func sameFields(t *testing.T, printed, got []any, n int) {
	t.Helper()
	if len(got) != n {
		t.Fatalf("%d elements are published, want %d", len(got), n)
	}
	for _, want := range printed {
		want := want.(map[string]any)
		var best string
		same := false
		for _, g := range got {
			all := g.(map[string]any)
			kept := map[string]any{}
			for name := range want {
				if v, ok := all[name]; ok {
					kept[name] = v
				}
			}
			if diff := cmp.Diff(want, kept); diff == "" {
				same = true
			} else if all["content"] == want["content"] {
				best = diff
			}
		}
		if !same {
			t.Errorf("not published as it was printed: %v\n%s", want["content"], best)
		}
	}
}
