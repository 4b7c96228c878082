package install_test

import (
	"strings"
	"testing"

	"github.com/memsidecar/memsidecar/internal/client/hook"
	"github.com/memsidecar/memsidecar/internal/client/install"
)

// codexReviewed is a configuration after a review, as Codex 0.169 wrote it: the hashes are its own, of hooks/list.
const codexReviewed = `[[hooks.SessionStart]]
[[hooks.SessionStart.hooks]]
type = "command"
command = "/usr/bin/memsidecar hook --host codex session-start"
timeout = 5
[[hooks.PreToolUse]]
[[hooks.PreToolUse.hooks]]
type = "command"
command = "/usr/bin/memsidecar hook --host codex pre-tool"
timeout = 5

[hooks.state]

[hooks.state."FILE:pre_tool_use:0:0"]
trusted_hash = "sha256:d67e0b5a1c51a28dc609b263fdedc9bfff566b16e961808493185bdf848a19f6"
enabled = true

[hooks.state."FILE:session_start:0:0"]
trusted_hash = "sha256:a62e9c5fb2743ad98aa2548f6bf1b4d271571118fa28b8031e467a20fd551a03"
enabled = true
`

// TestTrustState reads what Codex keeps of a review, and sees a command that is another one since.
func TestTrustState(t *testing.T) {
	const other = "[[hooks.PreToolUse]]\n[[hooks.PreToolUse.hooks]]\ntype = \"command\"\ncommand = \"x\"\n"
	for _, tt := range []struct {
		name, old, new string
		want           install.Trust
	}{
		{"reviewed", "", "", install.TrustGiven},
		{"never", "FILE:pre_tool_use", "/elsewhere:pre_tool_use", install.TrustMissing},
		{"another command since", "/usr/bin/memsidecar hook --host codex pre-tool",
			"/opt/memsidecar hook --host codex pre-tool", install.TrustOutdated},
		{"switched off", "48a19f6\"\nenabled = true", "48a19f6\"\nenabled = false", install.TrustSwitchOff},
		{"behind a hook of another", "[[hooks.PreToolUse]]", other + "[[hooks.PreToolUse]]", install.TrustMissing},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tg := target(t, "codex", install.User)
			text := strings.Replace(codexReviewed, tt.old, tt.new, 1)
			put(t, tg.Path, []byte(strings.ReplaceAll(text, "FILE", tg.Path)))
			got, err := tg.Trust()
			if err != nil || got[hook.PreTool] != tt.want || got[hook.SessionStart] != install.TrustGiven {
				t.Errorf("trust %v, %v; want %s", got, err, tt.want)
			}
		})
	}
	tg := target(t, "claude-code", install.User)
	if got, err := tg.Trust(); got != nil || err != nil {
		t.Errorf("a host without a review: %v, %v", got, err)
	}
}

// TestTrustAtEnd knows that Codex shortens the time of a hook at a session's end before it takes the hash.
func TestTrustAtEnd(t *testing.T) {
	const want = "sha256:7ea161eefc6b6e991bc4f25adfbc0ceddbe5f110c64a7b682ecbcf7ca0fe9ea1"
	if got := install.CodexHash("session_end", "x hook", "5"); got != want {
		t.Errorf("hash %s, want %s", got, want)
	}
}
