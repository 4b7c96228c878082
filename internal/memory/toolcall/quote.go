package toolcall

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/memsidecar/memsidecar/internal/lazyregexp"
)

// maxQuoted is how much of a tool's output is quoted, in characters.
const maxQuoted = 160

var (
	// instructs matches text that tells its reader what to do. The author of a tool's output could otherwise write
	// the rules of the agent that reads them later.
	instructs = lazyregexp.New(`(?i)\b(?:remember|always|never|from now on|you (?:must|should|need to|have to)|make sure` +
		`|ignore (?:all|any|previous|the above)|disregard|do not (?:tell|ask|mention)|don't (?:tell|ask)|instead,? (?:run|use|call)` +
		`|please (?:run|execute|use|call|visit|open|install|download|send)|system prompt|assistant:|as an ai)\b` +
		`|\b(?:run|execute|call|use)\b.*(?:https?://|\|\s*(?:ba|z|da)?sh\b)|\|\s*(?:sudo\s+)?(?:ba|z|da)?sh\b` +
		`|记住|牢记|总是|永远|务必|必须|以后(?:都|要|请)|从现在起|今后|忽略(?:以上|之前|所有)|请(?:运行|执行|使用|访问|安装|下载|发送)`)
	// The status of an HTTP answer; group 1 is the number.
	httpStatus = lazyregexp.New(`(?i)\b(?:HTTP(?:/[\d.]+)?|status(?: code)?|错误码|状态码)[ :=：]*([45]\d\d)\b`)
	// Names of tools that fetch content, besides those of the table of tools.
	fetches = lazyregexp.New(`(?i)fetch|browse|crawl|scrape|http|web_?page|read_?url|open_?url|get_?url|visit`)
)

// Fetches reports whether a tool brings the content of an address, by its name.
func Fetches(tool string) bool {
	name := Canonical(tool)
	return name == Fetch || fetches.MatchString(name)
}

// IsNetwork reports whether what a tool says is written by strangers: it fetches from the network or searches there.
func IsNetwork(tool string) bool { return Fetches(tool) || strings.Contains(Canonical(tool), "search") }

// Instructs reports whether a line tells its reader what to do. Wide forms of letters and characters that are not shown
// do not hide it.
func Instructs(line string) bool { return instructs.MatchString(strings.Map(plainRune, line)) }

// plainRune maps a wide form to its letter and drops characters without a shape.
func plainRune(r rune) rune {
	switch {
	case r >= '！' && r <= '～': // the wide forms of ASCII
		return r - '！' + '!'
	case unicode.Is(unicode.Cf, r):
		return -1
	}
	return r
}

// WithoutInstructions replaces by "…" every line of a tool's output that tells its reader what to do.
func WithoutInstructions(output string) string {
	if !Instructs(output) { // the usual case
		return output
	}
	lines := strings.Split(output, "\n")
	for i, line := range lines {
		if Instructs(line) {
			lines[i] = "…"
		}
	}
	return strings.Join(lines, "\n")
}

// QuotedError is the line that says why a call failed, as evidence: at most 160 characters of one line, without double
// quotes, "" when there is none or it tells its reader what to do. Of what a tool brought from the network only the
// status is kept.
func QuotedError(tool, output string) string {
	line := ErrorLine(output)
	if IsNetwork(tool) {
		if m := httpStatus.FindStringSubmatch(line); m != nil {
			return "HTTP " + m[1]
		}
		return ""
	}
	if Instructs(line) {
		return ""
	}
	line = strings.Join(strings.Fields(strings.ReplaceAll(line, `"`, "'")), " ")
	if utf8.RuneCountInString(line) > maxQuoted {
		line = strings.TrimSpace(string([]rune(line)[:maxQuoted-1])) + "…"
	}
	return line
}
