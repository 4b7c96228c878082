package toolcall_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/memsidecar/memsidecar/internal/memory/toolcall"
)

// TestCanonical: one call has one name and one set of arguments, in whatever host it was made.
func TestCanonical(t *testing.T) {
	const shell, fetched = `{"command":"npm install left-pad"}`, `{"url":"https://a.example/x"}`
	for _, tt := range []struct{ host, tool, args, want, wantArgs string }{
		{"Claude Code", "Bash", `{"command":"npm install left-pad","description":"Install it","timeout":5}`,
			"shell", shell},
		{"Codex hook", "Bash", shell, "shell", shell},
		{"Codex rollout", "exec_command", `{"cmd":"npm install left-pad","yield_time_ms":1000}`, "shell", shell},
		{"Codex, older", "shell", `{"command":["bash","-lc","npm install left-pad"],"workdir":"/x"}`, "shell", shell},
		{"Codex, plain words", "local_shell", `{"argv":["npm","install","left-pad"]}`, "shell", shell},
		{"Gemini CLI", "run_shell_command", `{"command":" npm install left-pad ","dir_path":"."}`, "shell", shell},
		{"OpenCode", "bash", shell, "shell", shell},
		{"Copilot CLI", "bash", `{"command":"npm install left-pad","sessionId":"0","mode":"sync"}`, "shell", shell},
		{"Cursor", "Shell", `{"command":"npm install left-pad","cwd":"/x"}`, "shell", shell},
		{"VS Code", "run_in_terminal", `{"command":"npm install left-pad","explanation":"x","isBackground":false}`,
			"shell", shell},
		{"VibeWorker", "terminal", `{"cmd":"npm install left-pad"}`, "shell", shell},
		{"no JSON", "terminal", "npm install left-pad", "shell", shell},
		{"without a command", "terminal", `{"input":"y"}`, "shell", `{"input":"y"}`},
		{"Claude Code", "WebFetch", `{"url":"https://a.example/x","prompt":"what is there"}`, "fetch", fetched},
		{"Gemini CLI", "web_fetch", `{"prompt":"Summarise https://a.example/x please"}`, "fetch", fetched},
		{"VS Code", "fetch_webpage", `{"urls":["https://a.example/x"],"query":"y"}`, "fetch", fetched},
		{"OpenCode", "webfetch", `{"url":"https://a.example/x","format":"text"}`, "fetch", fetched},
		{"Claude Code", "Read", `{"file_path":"/a/b.go","limit":3}`, "read", `{"path":"/a/b.go"}`},
		{"OpenCode", "read", `{"filePath":"/a/b.go"}`, "read", `{"path":"/a/b.go"}`},
		{"Copilot CLI", "view", `{"path":"/a/b.go","view_range":[1,2]}`, "read", `{"path":"/a/b.go"}`},
		{"Gemini CLI", "replace", `{"file_path":"/a","old_string":"x","new_string":"y"}`, "edit",
			`{"new":"y","old":"x","path":"/a"}`},
		{"MCP in Claude Code", "mcp__forge__open_issue", `{"n":1}`, "forge_open_issue", `{"n":1}`},
		{"MCP in Gemini CLI", "mcp_forge_open_issue", `{"n":1}`, "forge_open_issue", `{"n":1}`},
		{"MCP in Copilot CLI", "forge-open_issue", `{"n":1}`, "forge_open_issue", `{"n":1}`},
	} {
		t.Run(tt.host+" "+tt.tool, func(t *testing.T) {
			if got := toolcall.Canonical(tt.tool); got != tt.want {
				t.Errorf("tool %q, want %q", got, tt.want)
			}
			named, plain := toolcall.Arguments(tt.tool, tt.args)
			got, err := json.Marshal(named)
			if err != nil || string(got) != tt.wantArgs || plain != "" {
				t.Errorf("arguments %s %q %v, want %s", got, plain, err, tt.wantArgs)
			}
		})
	}
	if named, plain := toolcall.Arguments("deploy", "now"); named != nil || plain != "now" {
		t.Errorf("got %v %q", named, plain)
	}
}

// TestErrorLine: the outputs have the form that each host or program gives them.
func TestErrorLine(t *testing.T) {
	const npm = "npm warn deprecated x@1\nnpm error code E401\nnpm error 401 Unauthorized - GET https://r.example/x\n" +
		"npm error A complete log of this run can be found in: /root/.npm/_logs/2026-11-23T10_20_30_123Z-debug-0.log\n"
	const unauthorized = "npm error 401 Unauthorized - GET https://r.example/x"
	const missing = "ls: cannot access '/nonexistent': No such file or directory"
	for _, tt := range []struct{ name, output, want string }{
		{"Claude Code", "Exit code 2\n" + missing, missing},
		{"Claude Code, npm", "Exit code 1\n" + npm, unauthorized},
		{"Claude Code, a tool's own", "<tool_use_error>File does not exist.</tool_use_error>", "File does not exist."},
		{"Codex", "Chunk ID: c5668e\nWall time: 0.0512 seconds\nProcess exited with code 2\nOriginal token count: 14\n" +
			"Output:\n" + missing + "\n", missing},
		{"Codex, JSON", `{"output":"` + missing + `\n","metadata":{"exit_code":2,"duration_seconds":0.1}}`, missing},
		{"Gemini CLI",
			"<untrusted_context>\nOutput: " + missing + "\nExit Code: 2\nProcess Group PGID: 4711\n</untrusted_context>",
			missing},
		{"Gemini CLI, older", "Command: make\nDirectory: (root)\nStdout: building\nStderr: cc: not found\nError: (none)\n" +
			"Exit Code: 2\nSignal: (none)\nBackground PIDs: (none)", "cc: not found"},
		{"OpenCode", missing + "\n\n<bash_metadata>\nCommand exited with code 2\n</bash_metadata>", missing},
		{"Copilot CLI", missing + "\n<shellId: 0 completed with exit code 2>", missing},
		{"an MCP server", `{"content":[{"type":"text","text":"Error: issue 7 not found"}],"isError":true}`,
			"Error: issue 7 not found"},
		{"stderr first", `{"stdout":"error: nothing important","stderr":"fatal: not a git repository","exit_code":128}`,
			"fatal: not a git repository"},
		{"Python", "Traceback (most recent call last):\n  File \"a.py\", line 1, in <module>\n    import x\n" +
			"ModuleNotFoundError: No module named 'x'\n", "ModuleNotFoundError: No module named 'x'"},
		{"Python, two", "Traceback (most recent call last):\n  File \"a.py\", line 1\nKeyError: 'a'\n\n" +
			"During handling of the above exception, another exception occurred:\n\nTraceback (most recent call last):\n" +
			"  File \"a.py\", line 3\nValueError: bad port\n", "ValueError: bad port"},
		{"Node",
			"/app/a.js:3\n    throw new Error('x')\n\nError: Cannot find module 'left-pad'\n    at Module._load (node:1)\n" +
				"    at a.js:1\n\nNode.js v22.1.0\n", "Error: Cannot find module 'left-pad'"},
		{"Java", "Exception in thread \"main\" java.lang.IllegalStateException: start\n\tat A.main(A.java:3)\n" +
			"Caused by: java.io.FileNotFoundException: a.properties\n\tat B.b(B.java:9)\n\t... 1 more\n",
			"java.io.FileNotFoundException: a.properties"},
		{"Go",
			"panic: assignment to entry in nil map\n\ngoroutine 1 [running]:\nmain.main()\n\t/x/a.go:5 +0x1d\nexit status 2\n",
			"panic: assignment to entry in nil map"},
		{"make", "cc -c a.c\na.c:1:10: fatal error: x.h: No such file or directory\nmake: *** [Makefile:3: a.o] Error 1\n",
			"a.c:1:10: fatal error: x.h: No such file or directory"},
		{"make alone", "make: *** No rule to make target 'deploy'.  Stop.\n", "make: *** No rule to make target 'deploy'.  Stop."},
		{"only what says little", "Exit code 2\nmake: *** [Makefile:3: a.o] Error 1\n", "make: *** [Makefile:3: a.o] Error 1"},
		{"cargo",
			"   Compiling a v0.1.0\nerror[E0432]: unresolved import `x`\n --> src/main.rs:1:5\nerror: could not compile `a` " +
				"(bin \"a\") due to 1 previous error\n", "error[E0432]: unresolved import `x`"},
		{"colours", "\x1b[31merror:\x1b[0m no space left on device\r\n", "error: no space left on device"},
		{"Chinese", "正在安装\n错误：找不到软件包 x\n", "错误：找不到软件包 x"},
		{"a plain word", "boom", "boom"},
		{"nothing tells", "Exit code 1\n", ""},
		{"temporary names", "cp: cannot stat '/tmp/tmp.aB3xQ9/out-19f3/a.txt': No such file or directory",
			"cp: cannot stat '…/a.txt': No such file or directory"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := toolcall.ErrorLine(tt.output); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
	if got := toolcall.ErrorLine("error: " + strings.Repeat("词", 500)); len([]rune(got)) != 201 {
		t.Errorf("%d characters", len([]rune(got)))
	}
	if got := toolcall.ErrorLine(strings.Repeat("line\n", 200_000) + "error: last"); got != "error: last" {
		t.Errorf("got %q", got)
	}
}

func TestStable(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"request id: req_8fA3 failed", "request id: … failed"},
		{"2026-11-23T10:20:30.123Z error at 10:20:30", "… error at …"},
		{"see /tmp/build-8127/log.txt and /var/folders/xy/T/a", "see …/log.txt and …"},
		{"lock 550e8400-e29b-41d4-a716-446655440000 held", "lock … held"},
		{"commit 9fceb02d0a not found", "commit … not found"},
		{"toolu_01AbCdE9FgHiJ2 took 12.3 ms", "… took …"},
		{"listen tcp 127.0.0.1:8465: address in use, line 12:34, v22.1.0, 401",
			"listen tcp 127.0.0.1:8465: address in use, line 12:34, v22.1.0, 401"},
		{"IllegalStateException in AbstractProxyFactoryBean2 at 10.0.0.1",
			"IllegalStateException in AbstractProxyFactoryBean2 at 10.0.0.1"},
		{"npm install left-pad@1.3.0 --registry https://r.example/npm",
			"npm install left-pad@1.3.0 --registry https://r.example/npm"},
	} {
		if got := toolcall.Stable(tt.in); got != tt.want {
			t.Errorf("%q: got %q, want %q", tt.in, got, tt.want)
		}
	}
}

// TestExitFailed: only a line of its own at the edge of a shell's output counts.
func TestExitFailed(t *testing.T) {
	for _, tt := range []struct {
		tool, output string
		want         bool
	}{
		{"bash", "make: *** no rule\nexit code: 1", true}, {"Bash", "Exit code 127\nfoo: not found", true},
		{"terminal", "boom\nCommand exited with exit code 2.\n", true}, {"run_shell_command", "退出码：3", true},
		{"exec_command", "[exit code: -9]", true}, {"shell", "exit status 1", true},
		{"bash", "done\nexit code: 0", false}, {"bash", "exit code: 00", false}, {"bash", "", false},
		{"bash", "grep found: exit code: 1 means no match", false}, {"bash", "a\nexit code: 1\nb", false},
		{"read_file", "exit code: 1", false}, {"fetch_url", "exit code: 1", false},
	} {
		if got := toolcall.ExitFailed(tt.tool, tt.output); got != tt.want {
			t.Errorf("%s %q: %v", tt.tool, tt.output, got)
		}
	}
}
