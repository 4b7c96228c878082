package reflector_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/reflector"
	"github.com/memsidecar/memsidecar/internal/reflector/guard"
	"github.com/memsidecar/memsidecar/internal/store"
)

// ruleAbout is a rule that was learnt from failures.
func ruleAbout(content string, seen int64, failed ...*memory.ToolCall) *memory.Memory {
	p := reflector.Reflect(reflector.Input{Session: "s0", Messages: calls("go", append(failed, failed...)...)})
	m := p.Items[0].Memory.Clone()
	m.ID, m.Revision, m.Status, m.Content = "m1", 5, memory.Active, content
	m.Context().Occurrences = seen
	return m
}

func fetch(page string) *memory.ToolCall {
	return call("fetch_url", `{"url":"https://a.example/`+page+`"}`, `<div id="root"></div>`, "")
}

// lines writes what a plan does, one item a line.
func lines(p guard.Plan) (out []string) {
	for _, it := range p.Items {
		out = append(out, string(it.Action)+" "+it.Reason+": "+it.Memory.Content)
	}
	return out
}

// TestFailuresOfAKind: failures that differ in what was asked become one rule where what they have in common explains
// them.
func TestFailuresOfAKind(t *testing.T) {
	const general = "The tool fetch_url fails repeatedly (dynamic_content) for: https://a.example/one. The page is " +
		"rendered by scripts; use a browser or another source. " +
		"It fails like this for https://a.example/* in general"
	missing := func(path string) *memory.ToolCall {
		return call("read_file", `{"path":"`+path+`"}`, "", "no such file or directory")
	}
	npm := func(pkg string) *memory.ToolCall {
		return call("terminal", `{"command":"npm install `+pkg+`"}`, "", "npm ERR! 401 Unauthorized")
	}
	once := func(page string) string {
		return "ADD TOOL_FAILED: The tool fetch_url failed (dynamic_content) for: https://a.example/" + page +
			". The page is rendered by scripts; use a browser or another source"
	}
	noFile := func(name string) string {
		return "ADD TOOL_FAILED: The tool read_file failed (not_found) for: /a/" + name + ".txt; error: \"no such file or " +
			"directory\". The target does not exist; check the name or path first"
	}
	kind := map[string]int64{"fetch(https://a.example/*)*dynamic_content": 1}
	for _, tt := range []struct {
		name     string
		messages []*memory.Message
		earlier  map[string]int64
		want     []string
		seen     int64
	}{
		{"two pages", calls("go", fetch("one"), fetch("two")), nil, []string{"ADD TOOL_FAILS_IN_GENERAL: " + general},
			2},
		{"three pages, one twice", calls("go", fetch("one"), fetch("one"), fetch("two"), fetch("three")), nil,
			[]string{"ADD TOOL_FAILS_IN_GENERAL: " + general}, 4},
		{"one page", calls("go", fetch("one")), nil, []string{once("one")}, 1},
		{"one page, another before", calls("go", fetch("one")), kind, []string{"ADD TOOL_FAILS_IN_GENERAL: " + general},
			2},
		{"two sites", calls("go", fetch("one"),
			call("fetch_url", `{"url":"https://b.example/one"}`, `<div id="root"></div>`, "")), nil,
			[]string{once("one"), strings.ReplaceAll(once("one"), "a.example", "b.example")}, 1},
		{"two ends of one site", calls("go", fetch("one"),
			call("fetch_url", `{"url":"https://a.example/two"}`, "", "HTTP 404")), nil,
			[]string{once("one"), "ADD TOOL_FAILED: The tool fetch_url failed (not_found) for: https://a.example/two; " +
				"error: \"HTTP 404\". The target does not exist; check the name or path first"}, 1},
		{"two files that do not exist", calls("go", missing("/a/one.txt"), missing("/a/two.txt")), nil,
			[]string{noFile("one"), noFile("two")}, 1},
		{"in chinese", calls("请安装这两个包", npm("left"), npm("right")), nil,
			[]string{"ADD TOOL_FAILS_IN_GENERAL: 工具 terminal 多次失败（auth）：npm install left，错误：\"npm ERR! 401 " +
				"Unauthorized\"。需要有效凭据，请先向用户确认权限。npm install * 都会这样失败"}, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := reflector.Reflect(reflector.Input{Session: "s1", Messages: tt.messages, Failures: tt.earlier})
			if diff := cmp.Diff(tt.want, lines(p)); diff != "" {
				t.Fatal(diff)
			}
			if len(p.Items) > 0 && p.Items[0].Memory.Context().Occurrences != tt.seen {
				t.Errorf("seen %d times, want %d", p.Items[0].Memory.Context().Occurrences, tt.seen)
			}
		})
	}
	t.Run("a known rule is widened, once", func(t *testing.T) {
		known := ruleAbout("It needs a browser", 2, fetch("one"))
		in := reflector.Input{Session: "s1", Messages: calls("go", fetch("two")),
			Rules: map[string]*memory.Memory{"fetch(https://a.example/*)*dynamic_content": known}}
		p := reflector.Reflect(in)
		want := []string{"UPDATE TOOL_FAILS_IN_GENERAL: It needs a browser. It fails like this for " +
			"https://a.example/* in general"}
		if diff := cmp.Diff(want, lines(p)); diff != "" || p.Items[0].Memory.Context().Occurrences != 3 ||
			p.Items[0].Target != "m1" {
			t.Fatalf("%s%+v", diff, p.Items)
		}
		wide := p.Items[0].Memory.Clone()
		wide.ID, wide.Revision, wide.Category = "m1", 6, memory.Procedural
		in.Rules, in.Messages = map[string]*memory.Memory{"fetch(https://a.example/*)*dynamic_content": wide},
			calls("go", fetch("three"))
		if p := reflector.Reflect(in); len(p.Items) != 1 || p.Items[0].Memory.Content != wide.Content ||
			p.Items[0].Memory.Context().Occurrences != 4 {
			t.Errorf("again: %+v", p.Items)
		}
	})
}

// TestWhatWorked: what worked after a failure is kept with the rule, also when the rule was there before.
func TestWhatWorked(t *testing.T) {
	page := fetch("one")
	browser := call("browser_open", `{"url":"https://a.example/one"}`, "a long page", "")
	other := call("browser_open", `{"url":"https://a.example/two"}`, "a long page", "")
	install := call("terminal", `{"command":"npm install"}`, "", "connection refused")
	offline := call("terminal", `{"command":"npm install --offline"}`, "ok", "")
	for _, tt := range []struct {
		name     string
		messages []*memory.Message
		known    *memory.Memory
		want     string
	}{
		{"another tool", calls("go", page, page, browser), nil, "What worked: browser_open https://a.example/one"},
		{"another tool for another thing", calls("go", page, page, other), nil, "Use a browser or another source"},
		{"more arguments", calls("go", install, install, offline), nil, "What worked: npm install --offline"},
		{"known before", calls("go", install, offline), ruleAbout("npm install has no network", 2, install),
			"npm install has no network. What worked: npm install --offline"},
		{"known before, in Chinese", calls("请安装依赖", install, offline), ruleAbout("npm install 没有网络", 2, install),
			"npm install 没有网络。可行的做法：npm install --offline"},
		{"nothing worked", calls("go", install), ruleAbout("npm install has no network", 2, install),
			"npm install has no network"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in := reflector.Input{Session: "s1", Messages: tt.messages}
			if tt.known != nil {
				in.Rules = map[string]*memory.Memory{tt.known.Context().Signature: tt.known}
			}
			p := reflector.Reflect(in)
			if len(p.Items) != 1 || !strings.HasSuffix(strings.ToLower(p.Items[0].Memory.Content),
				strings.ToLower(tt.want)) {
				t.Fatalf("%q", lines(p))
			}
			if k := reflector.KnowledgeOf(&p.Items[0].Memory); (k.Worked == "") != !strings.Contains(tt.want,
				"worked") && (k.Worked == "") != !strings.Contains(tt.want, "可行") {
				t.Errorf("knowledge %+v", k)
			}
		})
	}
}

// TestKnowledgeBesideWhy: what other members of the structured data say stays.
func TestKnowledgeBesideWhy(t *testing.T) {
	known := ruleAbout("x", 2, fetch("one"))
	known.SetStructuredData(json.RawMessage(`{"why":"it was slow","failure":{"shape":"https://a.example/*"}}`))
	p := reflector.Reflect(reflector.Input{Session: "s1", Messages: calls("go", fetch("one")),
		Rules: map[string]*memory.Memory{known.Context().Signature: known}})
	if got := string(p.Items[0].Memory.StructuredData()); !strings.Contains(got, `"why":"it was slow"`) ||
		len(reflector.KnowledgeOf(&p.Items[0].Memory).Seen) != 1 {
		t.Errorf("%s", got)
	}
}

func TestSignatureOfLongArguments(t *testing.T) {
	long := func(end string) string {
		return reflector.Signature(call("terminal", `{"command":"deploy `+strings.Repeat("x", 300)+end+`"}`, "",
			"boom"))
	}
	if a, b := long("a"), long("b"); a == b || len(a) > 200 {
		t.Errorf("%q %q", a, b)
	}
}

// thanked is a session in which calls did what was asked for, and what the user said to that.
func thanked(request, verdict string, list ...*memory.ToolCall) []*memory.Message {
	m := calls(request, list...)
	end := *m[0]
	end.Content, end.Seq = verdict, int64(len(m)+1)
	return append(m, &end)
}

func shell(command string) *memory.ToolCall {
	return call("terminal", `{"command":"`+command+`"}`, "ok", "")
}

func TestWorkflows(t *testing.T) {
	steps := []*memory.ToolCall{shell("make test"), shell("make release"), shell("git push --tags")}
	failing := call("terminal", `{"command":"make relaese"}`, "", "No rule to make target")
	const content = "Release the next version, steps that worked:\n1. terminal make test\n2. terminal make " +
		"release\n3. terminal git push --tags"
	for _, tt := range []struct {
		name     string
		messages []*memory.Message
		before   int64 // how often it worked before
		want     string
		logged   bool
	}{
		{"thanks", thanked("Release the next version", "Thanks, that works!", steps...), 0, "", true},
		{"thanks, the second time", thanked("Release the next version", "Perfect.", steps...), 1, content, true},
		{"asked for", thanked("Release the next version", "Great. Please remember these steps.", steps...), 0, content,
			true},
		{"asked for without praise", thanked("Release the next version", "Remember how you did this for next time.",
			steps...), 0, content, true},
		{"a slip on the way", thanked("Release the next version", "Great, remember this workflow", steps[0], failing,
			steps[1], steps[2]), 0, content, true},
		{"谢谢，第二次", thanked("发布下一个版本", "太好了，谢谢！", steps...), 1,
			"发布下一个版本，可行的步骤：\n1. terminal make test\n2. terminal make release\n3. terminal git push --tags", true},
		{"记住", thanked("发布下一个版本", "请记住这个流程", steps...), 0,
			"发布下一个版本，可行的步骤：\n1. terminal make test\n2. terminal make release\n3. terminal git push --tags", true},
		{"以后照这样", thanked("发布下一个版本", "很好，以后都照这样做", steps...), 0,
			"发布下一个版本，可行的步骤：\n1. terminal make test\n2. terminal make release\n3. terminal git push --tags", true},
		{"but", thanked("Release the next version", "Thanks, but the tag is missing.", steps...), 1, "", false},
		{"不过", thanked("发布下一个版本", "谢谢，不过标签没有推上去", steps...), 1, "", false},
		{"a question", thanked("Release the next version", "Great, what is next?", steps...), 1, "", false},
		{"no word of it", thanked("Release the next version", "Now write the notes", steps...), 1, "", false},
		{"it does not work", thanked("Release the next version", "It does not work.", steps...), 1, "", false},
		{"two steps", thanked("Release the next version", "Thanks!", steps[:2]...), 1, "", false},
		{"one step again and again", thanked("Release the next version", "Thanks!", steps[0], steps[0], steps[0],
			steps[0]), 1, "", false},
		{"it failed in the end", thanked("Release the next version", "Thanks!", steps[0], steps[1], steps[2], failing),
			1, "", false},
		{"never thanked", calls("Release the next version", steps...), 1, "", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			signature := reflector.StepsSignature([]memory.Step{
				{Tool: "terminal", Arguments: steps[0].Arguments}, {Tool: "terminal", Arguments: steps[1].Arguments},
				{Tool: "terminal", Arguments: steps[2].Arguments},
			})
			p := reflector.Reflect(reflector.Input{Session: "s1", Messages: tt.messages,
				Failures: map[string]int64{signature: tt.before}})
			var got *guard.Item
			for i := range p.Items {
				if memory.SkillOf(&p.Items[i].Memory) != nil {
					got = &p.Items[i]
				}
			}
			logged := false
			for _, e := range p.Entries {
				logged = logged || e.Entry.Type == "skill_run"
			}
			if logged != tt.logged {
				t.Errorf("in the log: %v", logged)
			}
			switch {
			case tt.want == "" && got != nil:
				t.Errorf("kept %q", got.Memory.Content)
			case tt.want == "":
			case got == nil || got.Memory.Content != tt.want || got.Memory.Context().Signature != signature ||
				len(memory.SkillOf(&got.Memory).Steps) != 3:
				t.Errorf("got %+v", got)
			}
		})
	}
}

// TestWorkflowIsLearntOnce: the second session makes the skill, the third counts it, by what the store holds alone.
func TestWorkflowIsLearntOnce(t *testing.T) {
	b := open(t, t.TempDir())
	skills := func() (out []*memory.Memory) {
		for _, m := range b.store.Space("p").Memories() {
			if memory.SkillOf(m) != nil && m.IsActive() {
				out = append(out, m)
			}
		}
		return out
	}
	for i, want := range []int64{0, 2, 3} {
		b.say("s"+string(rune('1'+i)), thanked("Release the next version", "Thanks, that works!", shell("make test"),
			shell("make release"), shell("git push --tags"))...)
		res := b.reflect("s" + string(rune('1'+i)))
		got := skills()
		if (want == 0) != (len(got) == 0) || want > 0 && (len(got) != 1 || got[0].Context().Occurrences != want) {
			t.Fatalf("after session %d: %+v", i+1, got)
		}
		if want == 3 {
			if _, err := b.store.Undo(t.Context(), store.Meta{Space: "p"}, res.Op); err != nil ||
				skills()[0].Context().Occurrences != 2 {
				t.Errorf("taken back: %v, %+v", err, skills()[0])
			}
		}
	}
}
