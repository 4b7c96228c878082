package reflector

import (
	"strings"

	"github.com/memsidecar/memsidecar/internal/lazyregexp"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/memory/toolcall"
)

// maxQuoted is how much of a tool's output a rule or log entry quotes, in characters.
const maxQuoted = 160

var (
	// instructs matches text that tells its reader what to do. Whoever writes the output of a tool could otherwise write
	// the rules of the agent that reads them later.
	instructs = lazyregexp.New(`(?i)\b(?:remember|always|never|from now on|you (?:must|should|need to|have to)|make sure` +
		`|ignore (?:all|any|previous|the above)|disregard|do not (?:tell|ask|mention)|don't (?:tell|ask)|instead,? (?:run|use|call)` +
		`|please (?:run|execute|use|call|visit|open|install|download|send)|system prompt|assistant:|as an ai)\b` +
		`|\b(?:run|execute|call|use)\b.*(?:https?://|\|\s*(?:ba|z|da)?sh\b)|\|\s*(?:sudo\s+)?(?:ba|z|da)?sh\b` +
		`|记住|牢记|总是|永远|务必|必须|以后(?:都|要|请)|从现在起|今后|忽略(?:以上|之前|所有)|请(?:运行|执行|使用|访问|安装|下载|发送)`)
	// The status of an HTTP answer; group 1 is the number.
	httpStatus = lazyregexp.New(`(?i)\b(?:HTTP(?:/[\d.]+)?|status(?: code)?|错误码|状态码)[ :=：]*([45]\d\d)\b`)
)

// isNetworkTool reports whether what a tool says is written by strangers: it fetches from the network.
func isNetworkTool(name string) bool {
	name = toolcall.Canonical(name)
	return name == toolcall.Fetch || fetches.MatchString(name) || strings.Contains(name, "search")
}

// quotedError is the line that says why a call failed, as evidence for a rule or log: at most 160 characters of one
// line, "" when there is none or it tells its reader what to do. Of what a tool brought from the network only the
// status is kept.
func quotedError(tc *memory.ToolCall) string {
	line := errorDetail(tc)
	if isNetworkTool(tc.Name) {
		if m := httpStatus.FindStringSubmatch(line); m != nil {
			return "HTTP " + m[1]
		}
		return ""
	}
	if instructs.MatchString(line) {
		return ""
	}
	line = strings.Join(strings.Fields(strings.ReplaceAll(line, `"`, "'")), " ")
	if short := truncate(line, maxQuoted); short != line {
		line = strings.TrimSpace(truncate(line, maxQuoted-1)) + "…"
	}
	return line
}

// inQuotes marks a text as the words of somebody else, "" for none.
func inQuotes(s string) string {
	if s == "" {
		return ""
	}
	return `"` + s + `"`
}
