//go:build unix

// Package hosts_test runs the real host programs, in the versions that package.json pins, against models of its own on
// a loopback port, with the hooks that memsidecar installs. What the models were asked is what the agents were told.
// The table in docs/hooks.md is made of what was seen.
package hosts_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write the table of docs/hooks.md")

const (
	pinned   = "The crane of the harbour project is called Gustav-8465."
	recalled = "Ferry timetables live in the drawer of the pilot house 4711."
	question = "Where do the ferry timetables live?"
	patience = 3 * time.Minute // for a session on a machine that does much else
)

// host is a program, how it is started, and what it cannot do.
type host struct {
	name, module, program string
	args                  []string // before the prompt
	env                   []string
	prepare               func(t *testing.T, w *world)
	config                string // of the host, below the home, with a text that must survive
	hooks                 string // the file with our hooks, if it is another one
	text                  string
	called                []string // events that a session in which a command fails has
	without               []string // columns of the table that the host's interface does not offer
}

// hosts returns the five hosts, talking to the models at url.
func hosts(url string) []host {
	return []host{
		{name: "claude-code", module: "@anthropic-ai/claude-code", program: "claude",
			args: []string{"--dangerously-skip-permissions", "-p"},
			env: []string{"ANTHROPIC_BASE_URL=" + url, "ANTHROPIC_API_KEY=dummy", "IS_SANDBOX=1", "DISABLE_AUTOUPDATER=1",
				"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1"},
			config: ".claude/settings.json", text: "{\n  \"cleanupPeriodDays\": 30\n}\n",
			called: []string{"session-start", "prompt", "pre-tool", "tool-failure", "stop", "session-end"}},
		{name: "codex", module: "@openai/codex", program: "codex",
			args: []string{"exec", "--skip-git-repo-check", "-c", "model_provider=mock", "-c",
				`model_providers.mock={name="mock",base_url="` + url + `/v1",wire_api="responses",env_key="OPENAI_API_KEY"}`,
				"-c", "model=mock", "-s", "danger-full-access"},
			env: []string{"OPENAI_API_KEY=dummy"}, prepare: trustCodex,
			config: ".codex/config.toml", text: "# mine\n[history]\npersistence = \"none\"\n",
			called: []string{"session-start", "prompt", "pre-tool", "post-tool", "stop", "session-end"}},
		{name: "gemini", module: "@google/gemini-cli", program: "gemini",
			args:   []string{"-m", "gemini-2.5-pro", "-y", "-p"},
			env:    []string{"GEMINI_API_KEY=dummy", "GOOGLE_GEMINI_BASE_URL=" + url, "GEMINI_CLI_TRUST_WORKSPACE=true"},
			config: ".gemini/settings.json", text: `{
  "privacy": {"usageStatisticsEnabled": false},
  "security": {"auth": {"selectedType": "gemini-api-key"}}
}
`,
			called:  []string{"session-start", "prompt", "post-tool", "stop", "session-end"},
			without: []string{"hint"}},
		{name: "opencode", module: "opencode-ai", program: "opencode",
			args: []string{"run"}, env: []string{"OPENCODE_DISABLE_AUTOUPDATE=1", "OPENCODE_DISABLE_MODELS_FETCH=1"},
			config: ".config/opencode/opencode.json", text: `{
  "model": "mock/mock",
  "provider": {"mock": {"npm": "@ai-sdk/openai-compatible", "options": {"baseURL": "` + url + `/v1", "apiKey": "dummy"},
    "models": {"mock": {}}}}
}
`, hooks: ".config/opencode/plugins/memsidecar.js",
			called: []string{"session-start", "prompt", "post-tool", "reply"}, without: []string{"hint"}},
		{name: "copilot", module: "@github/copilot", program: "copilot",
			args: []string{"--allow-all-tools", "-p"},
			env: []string{"COPILOT_OFFLINE=true", "COPILOT_PROVIDER_BASE_URL=" + url + "/v1", "COPILOT_PROVIDER_API_KEY=dummy",
				"COPILOT_MODEL=gpt-4.1"},
			config: ".copilot/config.json", text: "{\n  \"banner\": \"never\"\n}\n", hooks: ".copilot/hooks/memsidecar.json",
			called: []string{"session-start", "prompt", "pre-tool", "post-tool", "stop", "session-end"}},
	}
}

// columns are those of the table: what memsidecar captures of a session, and what it gives to the agent.
var columns = []string{"prompt", "reply", "tool result", "failure", "end", "start context", "recall", "hint"}

// world is a home directory with the program and the hosts in it.
type world struct {
	home, bin string
	models    *models
}

// TestHosts plays a session in every host. The command that failed in one host's session is run in the next one, where
// it works: only a hint can tell of it.
func TestHosts(t *testing.T) {
	bin := os.Getenv("MEMSIDECAR_TEST_HOSTS")
	if bin == "" {
		t.Skip("MEMSIDECAR_TEST_HOSTS does not name the node_modules/.bin of package.json; \".ci/run hosts\" installs it")
	}
	w := newWorld(t, bin)
	all := hosts(w.models.URL)
	for _, h := range all {
		w.install(t, h)
	}
	seen := map[string]map[string]bool{}
	failed := ""
	for _, h := range append(all, all[0]) { // the first once more, after an upgrade and with a failure before it
		t.Run(h.name, func(t *testing.T) {
			if seen[h.name] != nil {
				w.upgrade(t)
			}
			own := strings.ReplaceAll(h.name, "-", "") + ".txt"
			if seen[h.name] != nil {
				own = "again.txt"
			}
			// The very first session finds nothing that failed before: it has no hint, and no file that is there.
			if got := w.session(t, h, failed, own); seen[h.name] == nil {
				seen[h.name] = got
			} else {
				seen[h.name]["hint"], seen[h.name]["tool result"] = got["hint"], got["tool result"]
			}
			failed = own
		})
	}
	for _, h := range all {
		for _, c := range columns {
			if !seen[h.name][c] && !slices.Contains(h.without, c) {
				t.Errorf("%s: not seen: %s", h.name, c)
			}
		}
		w.uninstall(t, h)
	}
	checkTable(t, all, seen)
}

// newWorld builds the program into a versioned directory behind a symbolic link, starts a daemon and adds memories: one
// that every start context has, and one that only a recall can bring, because the context has no room for it.
func newWorld(t *testing.T, bin string) *world {
	t.Helper()
	home, err := os.MkdirTemp("/tmp", "mshost") // short, for the socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(home) })
	w := &world{home: home, bin: bin, models: startModels(t)}
	for _, dir := range []string{"run", "work", "bin", "cellar/1.0", "cellar/1.1"} {
		if err := os.MkdirAll(filepath.Join(home, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	build := exec.Command("../../.ci/build", filepath.Join(home, "cellar/1.0/memsidecar"))
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if err := os.Symlink("../cellar/1.0/memsidecar", filepath.Join(home, "bin/memsidecar")); err != nil {
		t.Fatal(err)
	}
	w.run(t, "daemon", "start")
	t.Cleanup(func() { w.run(t, "daemon", "stop") })
	w.run(t, "add", pinned, "--category", "facts", "--salience", "1")
	w.run(t, "add", recalled, "--category", "facts", "--salience", "0.1")
	for i, word := range strings.Fields("anchor bollard capstan davit fender gangway hawser jib keel lantern mast oar") {
		w.run(t, "add", fmt.Sprintf("The %s of berth %d was painted in a spring colour, and the %[1]s is checked each %d weeks by "+
			"the people of the workshop.", word, i+3, i+5), "--category", "facts", "--salience", "0.95")
	}
	return w
}

// environ is what the program and the hosts see, and nothing else of this process.
func (w *world) environ(more ...string) []string {
	return append([]string{"HOME=" + w.home, "XDG_RUNTIME_DIR=" + w.home + "/run", "TERM=dumb", "NO_COLOR=1",
		"MEMSIDECAR_MEMORY_MAX_PROMPT_TOKENS=400",
		"PATH=" + strings.Join([]string{w.home + "/bin", w.bin, filepath.Dir(nodePath()), "/usr/local/bin", "/usr/bin", "/bin"}, ":")},
		more...)
}

// nodePath is where Node.js is, which most hosts run in.
func nodePath() string {
	path, err := exec.LookPath("node")
	if err != nil {
		return "/usr/bin/node"
	}
	return path
}

// run runs the program and returns what it printed.
func (w *world) run(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.Command(filepath.Join(w.home, "bin/memsidecar"), args...)
	cmd.Env, cmd.Dir = w.environ(), filepath.Join(w.home, "work")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v\n%s", args, err, out)
	}
	return string(out)
}

// install writes a configuration of the user's, registers the hooks and prepares the host.
func (w *world) install(t *testing.T, h host) {
	t.Helper()
	path := filepath.Join(w.home, h.config)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(h.text), 0o600); err != nil {
		t.Fatal(err)
	}
	w.run(t, "install", h.name)
	w.run(t, "uninstall", h.name)
	if got, err := os.ReadFile(path); err != nil || string(got) != h.text {
		t.Errorf("%s: %s is not as it was: %v\n%s", h.name, h.config, err, got)
	}
	w.run(t, "install", h.name)
	w.bePatient(t, h)
	if h.prepare != nil {
		h.prepare(t, w)
	}
}

// Where the commands of hooks and the arguments of the plugin end.
var (
	hookCommand = regexp.MustCompile(`(memsidecar-hook hook --host [\w-]+ [\w-]+)`)
	pluginArgs  = regexp.MustCompile(`(const \[program, \.\.\.args\] = \[[^\]]*)`)
)

// bePatient gives the hooks more time than the 40 ms after which they leave the agent alone: what is tested is what
// they say, on a machine that may be busy. bench has the times.
func (w *world) bePatient(t *testing.T, h host) {
	t.Helper()
	path := filepath.Join(w.home, cmp.Or(h.hooks, h.config))
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	patient := hookCommand.ReplaceAllString(string(text), "$1 --timeout 20s")
	patient = pluginArgs.ReplaceAllString(patient, `$1, "--timeout", "20s"`)
	if patient == string(text) {
		t.Fatalf("no hooks in %s:\n%s", path, text)
	}
	if err := os.WriteFile(path, []byte(patient), 0o600); err != nil {
		t.Fatal(err)
	}
}

// upgrade puts the program into another directory and lets the link name that, as package managers do.
func (w *world) upgrade(t *testing.T) {
	t.Helper()
	link := filepath.Join(w.home, "bin/memsidecar")
	if err := os.Rename(filepath.Join(w.home, "cellar/1.0/memsidecar"), filepath.Join(w.home, "cellar/1.1/memsidecar")); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(link); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../cellar/1.1/memsidecar", link); err != nil {
		t.Fatal(err)
	}
}

// state is an event of a host, or a part of its installation, as "install status" shows it.
type state struct {
	Host, Scope, Event, Outcome, Problem, Trust, Error string

	Registered int
	LastCalled string `json:"last_called"`
}

// states returns what "install status" says of a host's files. What was called and is registered nowhere is left out.
func (w *world) states(t *testing.T, h host) (out []state) {
	t.Helper()
	var list struct{ Hooks []state }
	w.json(t, &list, "install", "status")
	for _, s := range list.Hooks {
		if s.Host == h.name && s.Scope != "elsewhere" {
			out = append(out, s)
		}
	}
	return out
}

// checkStatus checks that the status is right when the host has run and may have written its files again: each part and
// event is there once and calls this program, and each event that the host called went well.
func (w *world) checkStatus(t *testing.T, h host) {
	t.Helper()
	fine := map[string]bool{} // events that were called, and parts
	for _, s := range w.states(t, h) {
		if s.Registered != 1 || s.Problem != "" || s.Error != "" || s.Trust != "" && s.Trust != "trusted" {
			t.Errorf("%s: install status says %+v", h.name, s)
		}
		if s.LastCalled != "" && s.Outcome != "ok" {
			t.Errorf("%s: %s: %s\n%s", h.name, s.Event, s.Outcome, w.hookLog())
		}
		fine[s.Event] = s.LastCalled != "" || s.Event == "mcp" || s.Event == "instructions"
	}
	for _, event := range append(h.called, "mcp", "instructions") {
		if !fine[event] {
			t.Errorf("%s: install status does not say that %s was called or is there", h.name, event)
		}
	}
}

// uninstall checks the status, and that nothing of ours stays in the files that the host has written to meanwhile.
func (w *world) uninstall(t *testing.T, h host) {
	t.Helper()
	w.checkStatus(t, h)
	w.run(t, "uninstall", h.name)
	if left := w.states(t, h); len(left) > 0 {
		t.Errorf("%s: still installed: %+v", h.name, left)
	}
	got, err := os.ReadFile(filepath.Join(w.home, h.config))
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(got, []byte("memsidecar-hook hook")) {
		t.Errorf("%s: hooks are left in %s:\n%s", h.name, h.config, got)
	}
}

// recordedSession is a session as the program shows it.
type recordedSession struct {
	Session  struct{ ID, Host, State, Summary string }
	Messages []struct {
		Role, Content string
		Tool          *struct {
			Name, Result, Error string
			Failed              bool
		}
	}
}

// session lets the host's agent read a file that was missing in an earlier session and one that is missing now, and
// returns which columns of the table were seen.
func (w *world) session(t *testing.T, h host, missedBefore, missing string) map[string]bool {
	t.Helper()
	var commands []string
	if missedBefore != "" {
		if err := os.WriteFile(filepath.Join(w.home, "work", missedBefore), []byte("harbour tides\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		commands = append(commands, "cat "+missedBefore)
	}
	w.models.play(append(commands, "cat "+missing)...)
	known := w.sessions(t)
	w.start(t, h)
	s := w.reflected(t, known)
	asked := w.models.asked()
	if len(asked) == 0 {
		t.Fatalf("%s asked the model nothing", h.name)
	}
	last := asked[len(asked)-1]
	seen := map[string]bool{"start context": strings.Contains(last, pinned), "recall": strings.Contains(last, recalled)}
	if n := strings.Count(asked[0], pinned); n > 1 {
		t.Errorf("told %d times: %s", n, pinned)
	}
	if missedBefore != "" {
		// What failed itself is answered with the rules about its tool: the request before that is looked at.
		seen["hint"] = len(asked) > 1 && strings.Contains(asked[1], "for: cat "+missedBefore)
	}
	w.checkRecord(t, s, missing, seen)
	w.checkLearnt(t, s.Session.ID, missing)
	for _, c := range columns {
		if !seen[c] && !slices.Contains(h.without, c) && (missedBefore != "" || c != "hint" && c != "tool result") {
			t.Logf("%s was not seen in %+v\n%s", c, s, w.hookLog())
		}
	}
	return seen
}

// start runs the host until its session is over.
func (w *world) start(t *testing.T, h host) {
	t.Helper()
	cmd := exec.Command(filepath.Join(w.bin, h.program), append(h.args, question)...)
	cmd.Env, cmd.Dir = w.environ(h.env...), filepath.Join(w.home, "work")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	hung := time.AfterFunc(patience, func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
	err := cmd.Wait()
	if !hung.Stop() {
		t.Fatalf("%s did not end in %v\n%s", h.name, patience, out.String())
	}
	if err != nil {
		t.Fatalf("%s: %v\n%s", h.name, err, out.String())
	}
}

// sessions returns the ids of the sessions that are known.
func (w *world) sessions(t *testing.T) map[string]bool {
	t.Helper()
	var list struct{ Sessions []struct{ ID string } }
	w.json(t, &list, "session", "list")
	out := map[string]bool{}
	for _, s := range list.Sessions {
		out[s.ID] = true
	}
	return out
}

// json runs the program and decodes what it printed.
func (w *world) json(t *testing.T, into any, args ...string) {
	t.Helper()
	if err := json.Unmarshal([]byte(w.run(t, append(args, "--json")...)), into); err != nil {
		t.Fatalf("%v: %v", args, err)
	}
}

// reflected waits until the one new session has ended and is reflected on, and returns it.
func (w *world) reflected(t *testing.T, known map[string]bool) recordedSession {
	t.Helper()
	var s recordedSession
	for limit := time.Now().Add(patience); time.Now().Before(limit); time.Sleep(100 * time.Millisecond) {
		for id := range w.sessions(t) {
			if known[id] {
				continue
			}
			w.json(t, &s, "session", "get", id, "--messages")
			if s.Session.State == "reflected" {
				return s
			}
		}
	}
	t.Fatalf("no new session was reflected on: %+v\n%s", s, w.hookLog())
	return s
}

// hookLog is what the hooks could not do.
func (w *world) hookLog() string {
	text, _ := os.ReadFile(filepath.Join(w.home, ".local/state/memsidecar/hooks/hook.log"))
	return string(text)
}

// checkRecord looks at what was captured: nothing that memsidecar told the agent may be there.
func (w *world) checkRecord(t *testing.T, s recordedSession, missing string, seen map[string]bool) {
	t.Helper()
	seen["end"] = s.Session.State == "reflected"
	for _, m := range s.Messages {
		text := m.Content
		if m.Tool != nil {
			text += m.Tool.Result + m.Tool.Error
			seen["tool result"] = seen["tool result"] || strings.Contains(m.Tool.Result, "harbour tides")
			seen["failure"] = seen["failure"] || m.Tool.Failed && strings.Contains(m.Tool.Error, missing)
		}
		// "opencode run" puts an argument with spaces between quotes.
		seen["prompt"] = seen["prompt"] || m.Role == "user" && strings.Trim(m.Content, `"`) == question
		seen["reply"] = seen["reply"] || m.Role == "assistant" && m.Content == answer
		for _, ours := range []string{"recalled-memories", "hook_context", pinned, recalled} {
			if strings.Contains(text, ours) && m.Role != "context" {
				t.Errorf("what memsidecar told is in the record as a word of %s: %q", m.Role, text)
			}
		}
	}
}

// checkLearnt looks for the error's own line in what was learnt, and that the session was reflected on once.
func (w *world) checkLearnt(t *testing.T, session, missing string) {
	t.Helper()
	var list struct{ Memories []struct{ Content string } }
	w.json(t, &list, "list", "--category", "procedural", "--limit", "0")
	var learnt strings.Builder
	for _, m := range list.Memories {
		if strings.Contains(m.Content, "cat "+missing) {
			learnt.WriteString(m.Content + "\n")
		}
	}
	if want := `error: "cat: ` + missing + `: No such file or directory"`; strings.Count(learnt.String(), want) != 1 {
		t.Errorf("want one rule with %q, have %q from %s", want, learnt.String(),
			w.run(t, "session", "get", session, "--messages", "--json"))
	}
	var ops struct {
		Operations []struct {
			Actor   string
			Session string `json:"session_id"`
		}
	}
	w.json(t, &ops, "ops", "list", "--limit", "0")
	n := 0
	for _, op := range ops.Operations {
		if op.Actor == "reflect" && op.Session == session {
			n++
		}
	}
	if n != 1 {
		t.Errorf("session %s was reflected on %d times", session, n)
	}
}
