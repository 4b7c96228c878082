package acceptance_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"strings"
	"testing"

	"github.com/memsidecar/memsidecar/internal/memtest/process"
)

// Scenario 4: an agent's tools fail, its user corrects it, and nobody has configured a model. The hooks of the agent's
// host are all that the daemon hears. The next session is warned.
func TestProceduralLearning(t *testing.T) {
	p := process.New(t, program)
	p.Serve(t)
	host := hooks{t, p, p.Home()}
	host.call("session-start", "s1", nil)
	host.call("prompt", "s1", map[string]any{"prompt": "Fetch the timetable, then clean up."})
	for _, page := range []string{"https://ferries.example.net/timetable", "https://ferries.example.net/prices"} {
		host.call("post-tool", "s1", map[string]any{"tool_name": "fetch_url", "tool_use_id": page,
			"tool_input": map[string]any{"url": page}, "tool_output": `{"output":"","exitCode":0}`})
	}
	host.call("tool-failure", "s1", map[string]any{"tool_name": "terminal", "tool_use_id": "t3",
		"tool_input":    map[string]any{"command": "for f in *.log; do rm $f; done"},
		"error_message": "At line:1 char:4\n+ for f in *.log; do rm $f; done\nMissing opening '(' after keyword 'for'."})
	host.call("prompt", "s1", map[string]any{"prompt": "下次不要直接删除日志文件"})
	host.call("session-end", "s1", nil)

	// Three rules: of the tool that returned nothing twice, of the shell that is not bash, and of the user.
	procedural := func() []memory { return list(t, p, "--category", "procedural") }
	process.Eventually(t, "the session is learnt from", func() bool { return len(procedural()) >= 3 })
	all := procedural()
	fetch := 0
	for _, m := range all {
		if m.Context.Tool == "fetch_url" {
			fetch++
			shows(t, "the rule about the page", m.Content, "ferries.example.net")
			if m.Context.LearnedFrom != "session_s1" || m.Context.ErrorType == "" || m.Source != "auto_reflection" {
				t.Errorf("the rule about the page comes from %+v, %s", m.Context, m.Source)
			}
		}
	}
	if fetch != 1 {
		t.Errorf("two failures of a kind are %d rules, want one: %+v", fetch, all)
	}
	shell := false
	for _, m := range all {
		shell = shell || m.Context.Tool == "terminal" && strings.Contains(m.Content, "PowerShell")
	}
	if !shell {
		t.Errorf("nothing says that the shell is PowerShell: %+v", all)
	}
	if len(containing(all, "不要直接删除日志文件")) != 1 {
		t.Errorf("what the user said is not a rule: %+v", all)
	}

	// The next session hears of it at its start, or before the tool is called again.
	host.call("session-start", "s2", nil)
	asks := map[string]any{"prompt": "Use fetch_url for https://ferries.example.net/timetable"}
	told := host.call("prompt", "s2", asks) +
		host.call("pre-tool", "s2", map[string]any{"tool_name": "fetch_url", "tool_use_id": "t9",
			"tool_input": map[string]any{"url": "https://ferries.example.net/timetable"}}) +
		p.Succeeds(t, "session", "context", "s2")
	shows(t, "the context of the next session", told, "ferries.example.net", "不要直接删除日志文件")
}

// hooks calls the program as the host Cursor does, which reports each tool call in an event and writes no transcript.
type hooks struct {
	t   *testing.T
	p   process.Place
	dir string
}

func (h hooks) call(event, session string, fields map[string]any) string {
	h.t.Helper()
	names := map[string]string{"session-start": "sessionStart", "prompt": "beforeSubmitPrompt", "pre-tool": "preToolUse",
		"post-tool": "postToolUse", "tool-failure": "postToolUseFailure", "session-end": "sessionEnd"}
	in := map[string]any{"conversation_id": session, "session_id": session, "hook_event_name": names[event],
		"workspace_roots": []string{h.dir}, "transcript_path": nil}
	maps.Copy(in, fields)
	text, err := json.Marshal(in)
	if err != nil {
		h.t.Fatal(err)
	}
	cmd := h.p.Command("hook", "--host", "cursor", event, "--timeout", "20s")
	cmd.Stdin, cmd.Stderr = strings.NewReader(string(text)), os.Stderr
	out, err := cmd.Output()
	if err != nil || !json.Valid(out) {
		h.t.Fatal(fmt.Errorf("%s: %w: %s", event, err, out))
	}
	return string(out)
}
