package recall_test

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/reflector"
	"github.com/memsidecar/memsidecar/internal/service/recall"
	"github.com/memsidecar/memsidecar/internal/service/session"
	"github.com/memsidecar/memsidecar/internal/store"
)

// school is a world that learns.
type school struct {
	*world
	t        testing.TB
	sessions *session.Service
}

func newSchool(t testing.TB) *school {
	hints := &recall.Hints{}
	w := newWorld(t, recall.Config{Nonce: func() string { return "n0" }, Hints: hints})
	quiet := slog.New(slog.DiscardHandler)
	return &school{world: w, t: t, sessions: session.New(session.Config{
		Store: w.store, Now: w.clock.Now, Logger: quiet,
		Reflector: reflector.New(reflector.Config{Store: w.store, Search: w.engine, Now: w.clock.Now,
			Location: time.UTC, Logger: quiet, Hints: hints}),
	})}
}

func displayText(text string) memory.Message { return memory.Message{Role: "user", Content: text} }

// did is a tool call; failure is "" for one that worked.
func did(tool, args, failure string) memory.Message {
	result := ""
	if failure == "" {
		result = "done"
	}
	return memory.Message{Role: "tool", Tool: &memory.ToolCall{Name: tool, Arguments: args, Result: result,
		Error: failure, Failed: failure != ""}}
}

func command(s string) string { return fmt.Sprintf(`{"command":%q}`, s) }

// learn reflects a session and returns the operation.
func (s *school) learn(id string, messages ...memory.Message) int64 {
	s.t.Helper()
	s.clock.Advance(time.Minute)
	res, err := s.sessions.Reflect(s.t.Context(), session.ReflectRequest{ID: id, Wait: true, Messages: messages})
	if err != nil {
		s.t.Fatal(err)
	}
	s.clock.Advance(time.Minute)
	return res.Reflection.Op
}

// hint returns the block for an action.
func (s *school) hint(id, tool, args string) *recall.Result {
	s.t.Helper()
	res, err := s.Hint(s.t.Context(), recall.HintRequest{Tool: tool, Arguments: args, Session: id})
	if err != nil {
		s.t.Fatal(err)
	}
	if (len(res.Items) == 0) != (res.Block == "") || (res.Block == "") != (res.Reason != "") {
		s.t.Errorf("hint %+v", res)
	}
	return res
}

// rules are the active procedural memories.
func (s *school) rules() (out []*memory.Memory) {
	for _, m := range s.store.Space("").Memories() {
		if m.IsActive() && m.Category == memory.Procedural {
			out = append(out, m)
		}
	}
	return out
}

const noScripts = "empty content: the page has no text without JavaScript"

// TestHint: the action that failed, however it is spelt, and nothing else.
func TestHint(t *testing.T) {
	s := newSchool(t)
	install := command("npm install left-pad@1.3.0")
	s.learn("en", displayText("Fetch the timetable and install the package"),
		did("terminal", install, "npm ERR! 401 Unauthorized"), did("terminal", install, "npm ERR! 401 Unauthorized"),
		did("fetch_url", `{"url":"https://ferries.example.net/timetable?day=1"}`, noScripts),
		did("fetch_url", `{"url":"https://ferries.example.net/timetable?day=2"}`, noScripts),
		did("read_file", `{"path":"/srv/app/config.yml"}`, "no such file or directory"),
		did("read_file", `{"path":"/srv/app/config.yml"}`, "no such file or directory"),
	)
	s.learn("zh", displayText("请把迁移跑在预发环境上，然后告诉我结果"),
		did("terminal", command("make migrate ENV=staging"), "权限不足"),
		did("terminal", command("make migrate ENV=staging"), "权限不足"))
	lsn, ops := s.store.LSN(), s.fs.Ops()
	for _, tt := range []struct {
		name, tool, args string
		want             string // in the block; "" for none
	}{
		{"the same", "terminal", install, "npm install left-pad@1.3.0"},
		{"another spelling", "Terminal", install, "npm install left-pad@1.3.0"},
		{"other white space", "terminal", "{ \"command\" :  \"npm  install left-pad@1.3.0\" }",
			"npm install left-pad@1.3.0"},
		{"another package", "terminal", command("npm install right-pad@1.3.0"), ""},
		{"another version", "terminal", command("npm install left-pad@1.4.0"), ""},
		{"another subcommand", "terminal", command("npm test"), ""},
		{"more behind it", "terminal", command("npm install left-pad@1.3.0 --prefer-offline"), ""},
		{"how to run it beside it", "terminal", `{"command":"npm install left-pad@1.3.0","timeout":5}`,
			"npm install left-pad@1.3.0"},
		{"Claude Code's shell", "Bash", `{"command":"npm install left-pad@1.3.0","description":"Add it"}`,
			"npm install left-pad@1.3.0"},
		{"Codex's shell", "exec_command", `{"cmd":"npm install left-pad@1.3.0"}`, "npm install left-pad@1.3.0"},
		{"Codex's older shell", "shell", `{"command":["bash","-lc","npm install left-pad@1.3.0"]}`,
			"npm install left-pad@1.3.0"},
		{"Gemini's shell", "run_shell_command", install, "npm install left-pad@1.3.0"},
		{"VS Code's shell", "run_in_terminal", install, "npm install left-pad@1.3.0"},
		{"another tool", "deploy", install, ""},
		{"a query that was not seen", "fetch_url", `{"url":"https://ferries.example.net/timetable?day=3"}`,
			"ferries.example.net"},
		{"another page", "fetch_url", `{"url":"https://ferries.example.net/prices"}`, ""},
		{"another site", "fetch_url", `{"url":"https://trains.example.net/timetable?day=1"}`, ""},
		{"the same file", "read_file", `{"path":"/srv/app/config.yml"}`, "config.yml"},
		{"the same name elsewhere", "read_file", `{"path":"/srv/web/config.yml"}`, ""},
		{"another file", "read_file", `{"path":"/srv/app/config2.yml"}`, ""},
		{"中文", "terminal", command("make migrate ENV=staging"), "工具 terminal 多次失败（permission）"},
		{"中文，别的环境", "terminal", command("make migrate ENV=production"), ""},
		{"no arguments", "terminal", "", ""},
		{"broken arguments", "terminal", `{"command":"npm inst`, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := s.hint("", tt.tool, tt.args)
			if (got.Block != "") != (tt.want != "") || !strings.Contains(got.Block, tt.want) {
				t.Errorf("%s\n%s", got.Reason, got.Block)
			}
			if tt.want == "" {
				if got.Reason != recall.ReasonUnknown {
					t.Errorf("reason %s", got.Reason)
				}
				return
			}
			if !strings.HasPrefix(got.Block, `<recalled-memories id="n0">`) || got.Tokens > 240 || len(got.Items) != 1 {
				t.Errorf("%d tokens, %d rules:\n%s", got.Tokens, len(got.Items), got.Block)
			}
		})
	}
	if s.store.LSN() != lsn || s.fs.Ops() != ops {
		t.Errorf("hints touched the disk %d times", s.fs.Ops()-ops)
	}
	s.learn("zh2", displayText("帮我把这个网页抓下来"),
		did("fetch_url", `{"url":"https://docs.example.net/reference/api"}`, noScripts),
		did("fetch_url", `{"url":"https://docs.example.net/reference/api"}`, noScripts))
	if zh := s.hint("", "fetch_url", `{"url":"https://docs.example.net/reference/api"}`); zh.Language != recall.Chinese {
		t.Errorf("among Latin letters it is\n%s", zh.Block)
	}
	if zh := s.hint("", "terminal", command("make migrate ENV=staging")); zh.Language != recall.Chinese ||
		!strings.Contains(zh.Block, "依据之前先核实") {
		t.Errorf("the Chinese hint is\n%s", zh.Block)
	}
}

// TestHintOnceASession: a rule that was shown is not shown again before it is known what came of it.
func TestHintOnceASession(t *testing.T) {
	s := newSchool(t)
	bad := command("pip install ferry")
	s.learn("s0", displayText("install it"), did("terminal", bad, "permission denied"),
		did("terminal", bad, "permission denied"))
	if got := s.hint("s1", "terminal", bad); got.Block == "" {
		t.Fatal("no hint")
	}
	if got := s.hint("s1", "terminal", bad); got.Reason != recall.ReasonShown {
		t.Errorf("again: %+v", got)
	}
	if got := s.hint("s2", "terminal", bad); got.Block == "" {
		t.Error("no hint in another session")
	}
	rule := s.rules()[0]
	rule = rule.Clone()
	rule.Status = memory.Retired
	s.put(t, "", rule)
	if got := s.hint("s3", "terminal", bad); got.Block != "" {
		t.Error("a retired rule is shown")
	}
}

// TestHintsThatDoNotHelp lose salience until they are not shown any more; what helps keeps it. Each change is an
// operation that can be taken back.
func TestHintsThatDoNotHelp(t *testing.T) {
	bad, good := command("pip install ferry"), command("uv add ferry")
	for _, tt := range []struct {
		name  string
		after memory.Message // what the agent did after the hint
		want  []float64      // salience after one session and after six; 0.8 before
		shown bool           // after six
	}{
		{"fails again", did("terminal", bad, "permission denied"), []float64{0.65, 0.05}, false},
		// retired at the second time, as it stood after the first
		{"works all the same", did("terminal", bad, ""), []float64{0.65, 0.65}, false},
		{"something else works", did("terminal", good, ""), []float64{0.85, 0.95}, true},
		{"something else fails", did("terminal", good, "command not found"), []float64{0.8, 0.8}, true},
		{"fails otherwise", did("terminal", bad, "timed out"), []float64{0.8, 0.8}, true},
		{"another tool is used", did("browser", `{"url":"https://ferries.example.net"}`, ""), []float64{0.8, 0.8},
			true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newSchool(t)
			s.learn("s0", displayText("install it"), did("terminal", bad, "permission denied"),
				did("terminal", bad, "permission denied"))
			id := s.rules()[0].ID
			salience := func() float64 {
				m, err := s.store.Space("").Get(id)
				if err != nil {
					t.Fatal(err)
				}
				return float64(int(m.Salience*100+0.5)) / 100
			}
			hinted := false
			for i := range 6 {
				name := fmt.Sprint("s", i+1)
				hinted = s.hint(name, "terminal", bad).Block != ""
				op := s.learn(name, displayText("go on"), tt.after)
				if i > 0 {
					continue
				}
				if got := salience(); got != tt.want[0] {
					t.Errorf("salience %v after one session, want %v", got, tt.want[0])
				}
				if tt.want[0] == 0.8 {
					continue
				}
				if _, err := s.store.Undo(t.Context(), store.Meta{}, op); err != nil || salience() != 0.8 {
					t.Errorf("taken back it is %v, %v", salience(), err)
				}
			}
			if got := salience(); got > tt.want[1] && tt.want[1] < 0.3 && got >= 0.3 ||
				tt.want[1] > 0.3 && got != tt.want[1] {
				t.Errorf("salience %v after six sessions, want %v", got, tt.want[1])
			}
			if hinted != tt.shown {
				t.Errorf("still hinted at: %v", hinted)
			}
		})
	}
}

// TestNotHintedAt: without a hint nothing is held against a rule, and a hint of another session does not count.
func TestNotHintedAt(t *testing.T) {
	s := newSchool(t)
	bad := command("pip install ferry")
	s.learn("s0", displayText("install it"), did("terminal", bad, "permission denied"),
		did("terminal", bad, "permission denied"))
	s.hint("elsewhere", "terminal", bad)
	s.learn("s1", displayText("go on"), did("terminal", bad, "permission denied"))
	if m := s.rules()[0]; m.Salience != 0.8 || m.Context().Occurrences != 3 {
		t.Errorf("salience %v, seen %d times", m.Salience, m.Context().Occurrences)
	}
}

// TestHintOfAKind: what failed for two pages of a site fails for the third, and not for another site; one rule says so.
func TestHintOfAKind(t *testing.T) {
	s := newSchool(t)
	page := func(name string) string { return fmt.Sprintf(`{"url":"https://ferries.example.net/%s"}`, name) }
	s.learn("s0", displayText("read these pages"), did("fetch_url", page("prices"), noScripts),
		did("fetch_url", page("timetable"), noScripts))
	if rules := s.rules(); len(rules) != 1 ||
		!strings.Contains(rules[0].Content, "https://ferries.example.net/* in general") {
		t.Fatalf("%d rules: %+v", len(rules), rules)
	}
	for args, want := range map[string]bool{
		page("prices"): true, page("timetable"): true, page("harbours"): true,
		`{"url":"https://trains.example.net/prices"}`: false, `{"url":"http://ferries.example.net/prices"}`: false,
	} {
		if got := s.hint("", "fetch_url", args).Block != ""; got != want {
			t.Errorf("%s: hinted %v", args, got)
		}
	}
}

// TestHintOfNothingElse: whatever failed, an action in which a word is another one, is missing or is added has no hint.
func TestHintOfNothingElse(t *testing.T) {
	words := rapid.SampledFrom([]string{"git", "rm", "deploy", "push", "-rf", "--force", "main", "v1", "v2", "staging",
		"production", "/srv/app", "/srv/web", "8080", "9090",
		"发布", "测试环境", "生产环境", "https://a.example/x?id=1", "https://a.example/x?id=2", "0a1b2c3d", "0a1b2c3e",
		"config.yml", "&&", "$HOME"})
	errs := rapid.SampledFrom([]string{"permission denied", "not found", "timed out", "401 Unauthorized", "boom",
		"权限不足", "connection refused"})
	rapid.Check(t, func(rt *rapid.T) {
		failed := rapid.SliceOfN(words, 1, 6).Draw(rt, "failed")
		failure := errs.Draw(rt, "error")
		s := newSchool(t)
		act := func(words []string) string { return command(strings.Join(words, " ")) }
		s.learn("s0", displayText("go on"), did("terminal", act(failed), failure),
			did("terminal", act(failed), failure))
		if len(s.rules()) != 1 || s.hint("", "terminal", act(failed)).Block == "" {
			rt.Fatalf("%d rules, no hint for %q", len(s.rules()), failed)
		}
		other := slices.Clone(failed)
		at := rapid.IntRange(0, len(other)-1).Draw(rt, "at")
		switch rapid.IntRange(0, 2).Draw(rt, "how") {
		case 0:
			other[at] = words.Draw(rt, "word")
		case 1:
			other = slices.Delete(other, at, at+1)
		default:
			other = slices.Insert(other, at, words.Draw(rt, "word"))
		}
		if slices.Equal(other, failed) {
			return
		}
		if got := s.hint("", "terminal", act(other)); got.Block != "" {
			rt.Fatalf("%q failed, and for %q there is\n%s", failed, other, got.Block)
		}
	})
}

func TestBadHintRequests(t *testing.T) {
	s := newSchool(t)
	for name, req := range map[string]recall.HintRequest{
		"no tool": {}, "long tool": {Tool: strings.Repeat("x", 201)},
		"long arguments": {Tool: "x", Arguments: strings.Repeat("x", recall.MaxArguments+1)},
		"space":          {Tool: "x", Spaces: []string{"No Space"}},
	} {
		if _, err := s.Hint(t.Context(), req); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	off := newWorld(t, recall.Config{Disabled: true})
	if res, err := off.Hint(t.Context(), recall.HintRequest{Tool: "x"}); err != nil ||
		res.Reason != recall.ReasonDisabled {
		t.Errorf("%+v, %v", res, err)
	}
}

// BenchmarkHint asks beside 500 rules about the tool; a hundred of them have arguments of some size.
func BenchmarkHint(b *testing.B) {
	s := newSchool(b)
	for i := range 500 {
		bad := command(fmt.Sprintf("deploy service%c%c --config %s", 'a'+i%26, 'a'+i/26, strings.Repeat("x", 10*(i%5))))
		s.put(b, "", &memory.Memory{
			ID: fmt.Sprint("r", i), Category: memory.Procedural, Content: "It fails: " + bad, Salience: 0.8,
			Confidence: 1, Source: memory.SourceReflection,
			More: &memory.More{Context: &memory.Context{Tool: "terminal", ErrorType: "permission",
				Signature: reflector.Signature(&memory.ToolCall{Name: "terminal", Arguments: bad,
					Error: "permission denied"})}},
		})
	}
	req := recall.HintRequest{Tool: "terminal",
		Arguments: command("deploy servicezz --config " + strings.Repeat("y", 4000))}
	for b.Loop() {
		if _, err := s.Hint(b.Context(), req); err != nil {
			b.Fatal(err)
		}
	}
}
