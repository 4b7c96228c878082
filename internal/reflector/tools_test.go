package reflector_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/reflector"
	"github.com/memsidecar/memsidecar/internal/reflector/guard"
)

func call(name, args, result, failure string) *memory.ToolCall {
	return &memory.ToolCall{Name: name, Arguments: args, Result: result, Error: failure}
}

func TestSignature(t *testing.T) {
	for _, tt := range []struct {
		name string
		call *memory.ToolCall
		want string
	}{
		{"success", call("terminal", `{"cmd":"ls"}`, "ok", ""), ""},
		{"stopped by the user", call("terminal", "{}", "", "The request was rejected by the user"), ""},
		{"numbers", call("terminal", `{"cmd":"sleep 30"}`, "", "timed out after 30s"), "shell(command=sleep N)!timeout"},
		{"path", call("read_file", `{"path":"/home/ann/src/main.go"}`, "", "no such file or directory"),
			"read(path=PATH/main.go)!not_found"},
		{"keys sorted", call("x", `{"b":2,"a":"y"}`, "", "boom"), "x(a=y,b=N)!error"},
		{"url query", call("fetch_url", `{"url":"https://example.com/docs/v2?token=a&x=1#top"}`, "", "HTTP 404"),
			"fetch(url=https://example.com/docs/vN)!not_found"},
		{"ids", call("get", `{"id":"550e8400-e29b-41d4-a716-446655440000","rev":"9fceb02d0a"}`, "", "403 Forbidden"),
			"get(id=ID,rev=ID)!permission"},
		{"exit code", call("terminal", "make", "", "exit status 2"), "shell(command=make)!exit_2"},
		{"failed by result", &memory.ToolCall{Name: "terminal", Arguments: "pyton x", Failed: true,
			Result: "pyton: command not found"}, "shell(command=pyton x)!command_not_found"},
		{"empty fetch", call("fetch_url", `{"url":"https://example.com"}`, "  ", ""),
			"fetch(url=https://example.com)!empty_content"},
		{"empty json", call("fetch_url", `{"url":"https://example.com"}`, `{"content":""}`, ""),
			"fetch(url=https://example.com)!empty_content"},
		{"dynamic", call("fetch_url", `{"url":"https://example.com"}`,
			`<html><body><div id="root"></div><script>x</script></body></html>`, ""),
			"fetch(url=https://example.com)!dynamic_content"},
		{"a page about scripts", call("fetch_url", `{}`, "How to enable JavaScript: "+
			strings.Repeat("words and more words ", 40), ""), ""},
		{"an empty file", call("read_file", `{"path":"a.txt"}`, "", ""), "read(path=a.txt)!empty_content"},
		{"an empty document", call("mcp__wiki__get_document", `{"name":"x"}`, "null", ""),
			"wiki_get_document(name=x)!empty_content"},
		{"an empty list", call("read_messages", `{}`, "[]", ""), ""},
		{"the line that tells", call("Bash", `{"command":"x"}`, "", "Exit code 1\nretry after timeout\n"+
			"Traceback (most recent call last):\n  File \"x\"\nModuleNotFoundError: No module named 'y'"),
			"shell(command=x)!missing_dependency"},
		{"empty output of another tool", call("terminal", `{"cmd":"true"}`, "", ""), ""},
		{"chinese", call("terminal", "x", "", "权限不足"), "shell(command=x)!permission"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := reflector.Signature(tt.call); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
	a := reflector.Signature(call("fetch", `{"url":"https://a.com/x/123?q=1"}`, "", "timeout"))
	b := reflector.Signature(call("fetch", `{ "url": "https://a.com/x/456?q=2" }`, "", "Timed out"))
	if a != b {
		t.Errorf("the same failure has two signatures: %q %q", a, b)
	}
}

func calls(say string, list ...*memory.ToolCall) []*memory.Message {
	out := user(say)
	for i, c := range list {
		out = append(out, &memory.Message{Seq: int64(i + 2), At: saturday, Role: "tool", Tool: c})
	}
	return out
}

func TestFailuresBecomeRules(t *testing.T) {
	spa := call("fetch_url", `{"url":"https://example.com/app"}`, `<div id="root"></div>`, "")
	typo := call("terminal", `{"cmd":"pyton run.py --fast"}`, "", "pyton: command not found")
	right := call("terminal", `{"cmd":"python run.py --fast"}`, "ok", "")
	tests := call("terminal", `{"cmd":"go test"}`, "", "--- FAIL: TestX")
	for _, tt := range []struct {
		name     string
		messages []*memory.Message
		earlier  map[string]int64
		want     []string // category: content
		entries  int
	}{
		{"once", calls("go", spa), nil,
			[]string{"The tool fetch_url failed (dynamic_content) for: https://example.com/app. The page is rendered by " +
				"scripts; use a browser or another source"}, 1},
		{"twice", calls("go", spa, spa), nil,
			[]string{"The tool fetch_url fails repeatedly (dynamic_content) for: https://example.com/app. The page " +
				"is rendered by scripts; use a browser or another source"}, 1},
		{"twice in chinese", calls("帮我看看这个网页的内容", spa, spa), nil,
			[]string{"工具 fetch_url 多次失败（dynamic_content）：https://example.com/app。页面是动态渲染的，请改用浏览器或其他来源"}, 1},
		{"once now, once before", calls("go", spa), map[string]int64{reflector.Signature(spa): 1},
			[]string{"The tool fetch_url fails repeatedly (dynamic_content) for: https://example.com/app. The page " +
				"is rendered by scripts; use a browser or another source"}, 1},
		{"fixed", calls("go", typo, right), nil,
			[]string{"The tool terminal fails with pyton run.py --fast (command_not_found); use python run.py --fast " +
				"instead"}, 1},
		{"retried unchanged", calls("go", call("terminal", `{"cmd":"x"}`, "", "not found"),
			call("terminal", `{"cmd":"x"}`, "ok", "")), nil, nil, 1},
		{"another thing worked", calls("go", typo, call("terminal", `{"cmd":"git status"}`, "ok", "")), nil,
			[]string{"The tool terminal failed (command_not_found) for: pyton run.py --fast; error: \"pyton: command not " +
				"found\". The command is not installed here; use another one"}, 1},
		{"no ids, paths and times", calls("go", call("exec_command", `{"cmd":"make -C /tmp/x-1f9a"}`, "",
			"Chunk ID: c5668e\nProcess exited with code 2\nOutput:\n10:20:30 cannot open /tmp/x-1f9a/a.txt: denied "+
				"(request id 8f3a12)")), nil,
			[]string{"The tool exec_command failed (exit_2) for: make -C …; error: \"… cannot open …/a.txt: " +
				"denied (request id …)\""}, 1},
		{"failing tests are work", calls("go", tests, tests, tests), nil, nil, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := reflector.Reflect(reflector.Input{Session: "s1", Messages: tt.messages, Failures: tt.earlier})
			var got []string
			for _, it := range p.Items {
				got = append(got, it.Memory.Content)
				if it.Memory.Category != memory.Procedural || it.Memory.Context().Signature == "" ||
					it.Memory.Context().LearnedFrom != "session_s1" || it.Action != guard.Add {
					t.Errorf("item %+v", it)
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
			if n := len(p.Entries) - 1; n != tt.entries {
				t.Errorf("%d failures in the log, want %d", n, tt.entries)
			}
		})
	}
}

// TestCallsInTheOrderOfTime: a hook records a failure at once, the transcript an earlier success later. What was done
// before is not what worked instead; what was done after it is.
func TestCallsInTheOrderOfTime(t *testing.T) {
	failed := call("Bash", `{"command":"cat again.txt"}`, "", "cat: again.txt: No such file or directory")
	worked := call("Bash", `{"command":"cat tides.txt"}`, "harbour tides", "")
	at := time.Date(2026, 3, 9, 9, 0, 0, 0, time.UTC)
	for later, want := range map[time.Duration]bool{-time.Second: false, time.Second: true} {
		messages := calls("Read them.", failed, worked)
		messages[0].At, messages[1].At, messages[2].At = at.Add(-time.Minute), at, at.Add(later)
		p := reflector.Reflect(reflector.Input{Session: "s1", Messages: messages})
		if got := strings.Contains(strings.Join(lines(p), " "), "use cat tides.txt instead"); got != want {
			t.Errorf("success %v after the failure: %q", later, lines(p))
		}
	}
}

func TestKnownFailureIsCounted(t *testing.T) {
	spa := call("fetch_url", `{"url":"https://example.com/app"}`, `<div id="root"></div>`, "")
	known := &memory.Memory{ID: "m1", Revision: 5, Category: memory.Procedural, Content: "known", Salience: 0.8,
		Status: memory.Active,
		More:   &memory.More{Context: &memory.Context{Tool: "fetch_url", Signature: reflector.Signature(spa), Occurrences: 2}},
	}
	p := reflector.Reflect(reflector.Input{Session: "s1", Messages: calls("go", spa),
		Rules: map[string]*memory.Memory{reflector.Signature(spa): known}})
	if len(p.Items) != 1 || p.Items[0].Action != guard.Update || p.Items[0].Memory.Context().Occurrences != 3 ||
		p.Items[0].Memory.Content != "known" {
		t.Errorf("got %+v", p.Items)
	}
	if known.Context().Occurrences != 2 {
		t.Error("the memory was changed")
	}
}

func TestSessionSummaryAndLog(t *testing.T) {
	m := calls("Fix the login page\nplease", call("terminal", `{"cmd":"x"}`, "", "boom"),
		call("terminal", `{"cmd":"y"}`, "ok", ""), call("read_file", "{}", "ok", ""))
	p := reflector.Reflect(reflector.Input{Session: "s1", Messages: m})
	last := p.Entries[len(p.Entries)-1]
	if last.Date != "2026-02-21" || last.Entry.Type != memory.EntrySessionSummary || last.Entry.Session != "s1" ||
		last.Entry.Time != "10:00:00" ||
		last.Entry.Content != "Session of 1 user turn; first request: Fix the login page; tools: read_file ×1, "+
			"terminal ×2 (1 failed)" {
		t.Errorf("got %+v", last)
	}
	first := p.Entries[0].Entry
	if first.Type != memory.EntryToolFailure || first.Tool != "terminal" || first.Error != "error" ||
		first.Content != `terminal failed: "boom" [x]` ||
		!cmp.Equal(first.Extra["signature"], json.RawMessage(`"shell(command=x)!error"`)) {
		t.Errorf("got %+v", first)
	}
}

func TestReduce(t *testing.T) {
	var m []*memory.Message
	for i := range 200 {
		role := []string{"user", "assistant"}[i%2]
		m = append(m, &memory.Message{Seq: int64(i + 1), Role: role, Content: role + strings.Repeat("x", 1000)})
	}
	m[100] = &memory.Message{Seq: 101, Role: "tool", Tool: call("t", "", strings.Repeat("r", 1000), "boom")}
	got := reflector.Reduce(m, 60_000)
	total, users, failed := 0, 0, false
	for _, x := range got {
		total += len(x.Content)
		if x.Role == "user" {
			users++
		}
		failed = failed || x.Tool != nil
	}
	if total > 60_000 || users != 99 || !failed || got[0].Seq != 1 || got[len(got)-1].Seq != 200 {
		t.Errorf("%d characters, %d user turns, failure kept: %v", total, users, failed)
	}
	if diff := cmp.Diff(got, reflector.Reduce(m, 60_000)); diff != "" {
		t.Error("not deterministic")
	}
	if same := reflector.Reduce(m, 1<<20); &same[0] != &m[0] {
		t.Error("a short transcript was touched")
	}
}
