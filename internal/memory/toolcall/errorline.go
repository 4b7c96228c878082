package toolcall

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/memsidecar/memsidecar/internal/lazyregexp"
)

const (
	maxOutput = 64 << 10 // bytes of an output that are read, of its beginning and of its end each
	maxLines  = 2000
)

var (
	// Colours and other control sequences of a terminal.
	ansi = lazyregexp.New("\x1b(?:\\[[0-9;?]*[ -/]*[@-~]|\\][^\x07\x1b]*(?:\x07|\x1b\\\\)?)")
	// What hosts write around an output: tags of Gemini CLI, Claude Code and OpenCode, and a line of Copilot CLI.
	wrapper = lazyregexp.New(`(?i)</?(?:untrusted_context|tool_use_error|error|system|output|stdout|stderr|` +
		`bash_metadata|shell_metadata|metadata|result)>|<shellid: [^>]*>|<(?:command )?(?:exited|completed) with [^>]*>`)
	// Lines that say how a command ended and not why, or how a host ran it.
	frame = lazyregexp.New(`(?i)^(?:error:? )?(?:the )?(?:command|process|script|shell|tool|program)? ?` +
		`(?:failed with |exited with |exited |completed with |terminated with |finished with |returned )?` +
		`(?:a )?(?:non-?zero )?(?:exit ?(?:code|status)|status code|return code|退出码)[ :：=]*-?\d*[.,]?$` +
		`|^(?:chunk id|wall time|original token count|total output lines|session id|signal|background pids|` +
		`process group pgid|directory|command|duration|truncated)[ :：].*$` +
		`|^(?:process|command) (?:running|still running).*|^warning: truncated output.*|^output:$|^error:(?: \(none\))?$` +
		`|^\(empty\)$|^\(none\)$|^(?:stdout|stderr):(?: \(empty\))?$|^\[(?:output|stdout|…|\.\.\.).*\]$|^…$|^\[…\]$`)
	// What introduces the error output in a text with both.
	errorOutput = lazyregexp.New(`(?i)^(?:stderr|error output|standard error)(?: ?\(.*\))?: ?(.*)$`)
	// A label before the first line of an output.
	label = lazyregexp.New(`(?i)^(?:output|stdout|result|message): ?(\S.*)$`)
)

// ErrorLine returns the line of a failed tool's output that says what went wrong, cut to 200 characters: without exit
// codes, wrappers of hosts and banners of programs, of the error output before the other, and of a stack trace the
// line of the error. It is Stable. "" means that no line tells anything.
func ErrorLine(output string) string {
	if len(output) > 2*maxOutput {
		output = output[:maxOutput] + "\n" + output[len(output)-maxOutput:]
	}
	stdout, stderr := sections(unwrap(output))
	for _, lines := range [][]string{stderr, stdout} {
		if line := telling(lines); line != "" {
			return shorten(Stable(line), 200)
		}
	}
	return ""
}

// unwrap takes an output out of the JSON that hosts and servers put it into, the error output behind a label.
func unwrap(s string) string {
	trimmed := strings.TrimSpace(s)
	if !strings.HasPrefix(trimmed, "{") && !strings.HasPrefix(trimmed, "[") {
		return s
	}
	var v any
	if json.Unmarshal([]byte(trimmed), &v) != nil {
		return s
	}
	if text := textOf(v); text != "" {
		return text
	}
	return s
}

// textOf finds the text in a decoded answer: error output first, the messages of errors, then the output.
func textOf(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case []any:
		var parts []string
		for _, one := range v {
			if text := textOf(one); text != "" {
				parts = append(parts, text)
			}
		}
		return strings.Join(parts, "\n")
	case map[string]any:
		if text, ok := v["stderr"].(string); ok && strings.TrimSpace(text) != "" {
			return text
		}
		for _, key := range []string{"error", "message", "detail", "error_message", "errors", "text", "output", "stdout",
			"content", "result", "aggregated_output", "formatted_output"} {
			if text := textOf(v[key]); strings.TrimSpace(text) != "" {
				return unwrap(text)
			}
		}
	}
	return ""
}

// sections returns the lines of an output without what hosts wrote around it, those of the error output apart where
// the text keeps the two apart.
func sections(s string) (stdout, stderr []string) {
	into := &stdout
	for line := range strings.Lines(s) {
		line = strings.TrimRight(ansi.ReplaceAllString(line, ""), " \t\r\n")
		if i := strings.LastIndexByte(line, '\r'); i >= 0 { // a progress line that was written over
			line = line[i+1:]
		}
		tagged := strings.Contains(line, "<") && wrapper.MatchString(line)
		if tagged {
			line = wrapper.ReplaceAllString(line, "")
		}
		plain := strings.TrimSpace(line)
		if m := errorOutput.FindStringSubmatch(plain); m != nil {
			into, line, plain = &stderr, m[1], m[1]
		} else if into == &stderr && (tagged || endsErrorOutput(plain)) {
			into = &stdout
		}
		if plain == "" || frame.MatchString(plain) {
			continue
		}
		if m := label.FindStringSubmatch(plain); m != nil && len(stdout)+len(stderr) == 0 {
			line = m[1]
		}
		if len(*into) == 2*maxLines {
			*into = slices.Delete(*into, maxLines, maxLines+1) // the beginning and the end stay
		}
		*into = append(*into, line)
	}
	return stdout, stderr
}

// endsErrorOutput reports whether a line begins the next part behind the error output.
func endsErrorOutput(line string) bool {
	return strings.HasPrefix(strings.ToLower(line), "stdout:") || strings.HasPrefix(line, "Exit Code:")
}

var (
	// The head of a Python traceback.
	traceback = lazyregexp.New(`^\s*Traceback \(most recent call last\):`)
	// A line of a stack: of JavaScript, Java and C#, of Python, Go and Rust.
	stackLine = lazyregexp.New(`^\s+at \S|^\s+File ".*", line \d+|^\s*\.\.\. \d+ more|^goroutine \d+ \[|^\t\S+\.go:\d+` +
		`|^\s+\d+: .*::|^[\w./*()]+\(.*\)$|^note: run with .RUST_BACKTRACE`)
	// The innermost cause of an exception.
	cause = lazyregexp.New(`^\s*Caused by: (.*)$`)
	// Names of errors at the beginning of a line, and a program's word for one.
	errorStart = lazyregexp.New(`^\s*(?:\[?(?:ERROR|FATAL|CRITICAL)\]?\b|(?:[\w.$]*(?:Error|Exception|Fault))\b` +
		`|error(?:\[\w+\])?:|fatal:|panic:|npm (?:ERR!|error)` +
		`|E(?:ACCES|PERM|NOENT|EXIST|ADDRINUSE|CONN\w+|TIMEDOUT|NOSPC)\b` +
		`|错误|失败|异常)`)
	// What a line about a failure says somewhere.
	errorWord = lazyregexp.New(`(?i)\berror\b|\bfail(?:ed|ure)?\b|\bfatal\b|\bdenied\b|not found|no such|no rule` +
		`|cannot|can't ` +
		`|could not|couldn't|unable to|\bunknown\b|\binvalid\b|\bunauthori[sz]ed\b|\bforbidden\b|refused|timed out|timeout` +
		`|does not exist|doesn't exist|not a |not recogni[sz]ed|unexpected|\bmissing\b|\brequired?s?\b|unresolved|undefined` +
		`|\bexpected\b|\babort|\bpanic\b|already (?:exists|in use)|too many|exceeded|no space|killed` +
		`|错误|失败|找不到|不存在|无法|拒绝|未授权|超时`)
	// A reason, which says more than that something failed.
	reasonWord = lazyregexp.New(`(?i)\b[45]\d\d\b|not found|no such|denied|unauthori[sz]ed|forbidden|refused|timed out` +
		`|does not exist|command not found|already (?:exists|in use)|no module|no space` +
		`|invalid|unknown|unexpected|missing|undefined` +
		`|cannot find|could not resolve|too many|quota|authenticat|不存在|找不到|拒绝|未授权|超时`)
	// Lines of which programs write many and that say nothing of the cause.
	banner = lazyregexp.New(`(?i)complete log of this run` +
		`|npm (?:ERR!|error)\s*(?:code|errno|syscall|path|command|A complete|$)` +
		`|^\s*make(?:\[\d+\])?: (?:\*\*\* \[|Leaving|Entering)|ELIFECYCLE|Command failed with exit|script returned exit` +
		`|could not compile .* due to|aborting due to|for more information|try .*--help|^\s*usage:|^\s*>` +
		`|^\s*hint:|^\s*warning\b|^\s*npm warn` +
		`|^\s*note:|failed to execute goal|see above|BUILD FAILED|^\s*\d+ errors?\b|Process completed with|^\s*[-=*_~^|+]{3,}` +
		`|deprecat|^\s*\[notice\]|new release of pip|Error \d+$|exit (?:code|status)[: ]+\d+$`)
)

// telling returns the line that says most. Between lines that say as much it is the first, as compilers and package
// managers write the cause before what follows from it.
func telling(lines []string) string {
	if line := ofTrace(lines); line != "" {
		return line
	}
	best, most := "", 0
	for _, line := range lines {
		score := 2
		switch {
		case stackLine.MatchString(line):
			continue
		case errorStart.MatchString(line):
			score = 6
		case errorWord.MatchString(line):
			score = 5
		}
		if score > 2 && reasonWord.MatchString(line) {
			score += 2
		}
		if banner.MatchString(line) {
			score = 1 // better than nothing
		}
		if letters(line) < 2 {
			score = 0
		}
		if score > most {
			best, most = strings.TrimSpace(line), score
		}
	}
	return best
}

// letters counts what is neither space nor punctuation, up to 2.
func letters(line string) (n int) {
	for _, r := range line {
		if r > '~' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			if n++; n == 2 {
				return n
			}
		}
	}
	return n
}

// ofTrace returns the line of a stack trace that names the error, of several the last; "" without a trace.
func ofTrace(lines []string) (found string) {
	for i, line := range lines {
		switch {
		case traceback.MatchString(line):
			found = firstOr(afterTraceback(lines[i+1:]), found)
		case strings.HasPrefix(line, "panic: "):
			found = strings.TrimSpace(line)
		case cause.MatchString(line):
			found = cause.FindStringSubmatch(line)[1]
		case stackLine.MatchString(line) && i > 0 && strings.HasPrefix(strings.TrimSpace(line), "at "):
			if before := lines[i-1]; !stackLine.MatchString(before) && errorStart.MatchString(before) &&
				!cause.MatchString(before) {
				found = strings.TrimSpace(before)
			}
		}
	}
	return found
}

// afterTraceback returns the first line behind a traceback's indented ones, which names the exception.
func afterTraceback(lines []string) string {
	for _, line := range lines {
		if line != "" && line[0] != ' ' && line[0] != '\t' {
			return strings.TrimSpace(line)
		}
	}
	return ""
}

// firstOr returns s, or other if s is empty.
func firstOr(s, other string) string {
	if s == "" {
		return other
	}
	return s
}
