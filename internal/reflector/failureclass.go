package reflector

import (
	"encoding/json"
	"strings"

	"github.com/memsidecar/memsidecar/internal/lazyregexp"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/memory/toolcall"
)

// Error classes with special treatment.
const (
	classEmpty   = "empty_content"
	classDynamic = "dynamic_content"
	classTests   = "test_failure"
	classWindows = "windows_shell"
	classPosix   = "posix_shell"
	classBinary  = "not_text"
	classOther   = "error"
)

// errorClasses are tried in order against the error text; the first match wins.
var errorClasses = []struct {
	class string
	re    *lazyregexp.Pattern
}{
	{classDynamic, lazyregexp.New(`(?i)without javascript|enable javascript|(?:requires?|needs?) javascript` +
		`|client-side render`)},
	{classBinary, lazyregexp.New(`(?i)can(?:no|')t decode byte|\bbinary (?:file|data|content)|not a (?:plain )?text` +
		` file|invalid utf-?8|unsupported (?:[a-z]+ ){0,2}(?:format|type|codec|encoding)|(?:cannot|could not|can't|unable to|failed to) decode` +
		`|unknown (?:file|image|audio|video) (?:format|type)|no decoder|二进制文件|不是文本文件|不支持的?(?:文件)?(?:格式|类型)|无法解码`)},
	{"command_not_found", lazyregexp.New(`(?i)command not found|is not recognized as|executable file not found` +
		`|no such command|不是内部或外部命令|找不到命令`)},
	{"missing_dependency", lazyregexp.New(`(?i)ModuleNotFoundError|No module named|Cannot find (?:module|package)` +
		`|no required module provides|could not resolve dependenc|shared object file`)},
	{classTests, lazyregexp.New(`(?m)--- FAIL|^FAIL\b|\bFAILED\b|(?i)AssertionError|tests? failed|failing tests?` +
		`|expected .* (?:got|received|but)|\b[1-9]\d* failed\b.*\b\d+ pass|\b\d+ pass(?:ed|ing)\b.*\b[1-9]\d* fail`)},
	{"rate_limit", lazyregexp.New(`(?i)rate.?limit|too many requests|\b429\b|quota exceeded|限流|请求过于频繁`)},
	{"auth", lazyregexp.New(`(?i)unauthori[sz]ed|\b401\b|authentication failed|invalid (?:api key|token|credentials)` +
		`|not logged in|未授权|认证失败`)},
	{"permission", lazyregexp.New(`(?i)permission denied|EACCES|EPERM|access (?:is )?denied|forbidden|\b403\b` +
		`|operation not permitted|read-only file system|权限不足|拒绝访问`)},
	{"not_found", lazyregexp.New(`(?i)no such file|not found|ENOENT|does not exist|doesn't exist|\b404\b|cannot find` +
		`|unknown revision|不存在|找不到|未找到`)},
	{"timeout", lazyregexp.New(`(?i)tim(?:e|ed)[ -]?out|deadline exceeded|ETIMEDOUT|超时`)},
	{"connection", lazyregexp.New(`(?i)connection (?:refused|reset|closed)|ECONNREFUSED|ECONNRESET|unreachable` +
		`|could not resolve host|no such host|network is|EOF$|TLS handshake|certificate|连接失败|无法连接`)},
	{"syntax", lazyregexp.New(`(?i)syntax ?error|unexpected token|unexpected end|parse error|unterminated` +
		`|invalid syntax|cannot parse|语法错误`)},
	{"invalid_argument", lazyregexp.New(`(?i)unknown (?:flag|option|argument|command)|unrecognized (?:option` +
		`|argument)|invalid (?:option|argument|value|parameter)|missing (?:required )?(?:argument|parameter)|usage:` +
		`|\b400\b|bad request|参数错误|无效参数`)},
	{"conflict", lazyregexp.New(`(?i)already exists|EEXIST|merge conflict|\b409\b|address already in use|EADDRINUSE` +
		`|is locked|已存在`)},
	{"no_match", lazyregexp.New(`(?i)no match|string to replace not found|old_str|not unique|multiple matches`)},
	{"out_of_resources", lazyregexp.New(`(?i)no space left|ENOSPC|out of memory|cannot allocate|disk quota|\bOOM\b` +
		`|磁盘已满|内存不足`)},
	{"type_error", lazyregexp.New(`(?i)TypeError|type mismatch|cannot use .* as|undefined is not`)},
	{classEmpty, lazyregexp.New(`(?i)empty (?:content|response|body|page|result)|no (?:text|readable) content|内容为空|返回为空`)},
	{"server_error", lazyregexp.New(`(?i)internal server error|\b50[0234]\b|bad gateway|service unavailable`)},
}

var (
	// A call that found nothing to do has not failed.
	nothingToDo = lazyregexp.New(`(?i)nothing to (?:commit|do|push|build|install|update)|already up[ -]to[ -]date|everything up-to-date` +
		`|no changes (?:added|detected|to commit)|没有(?:需要|可)提交|无需提交|已经是最新`)
	// The user stopped the call.
	stopped = lazyregexp.New(`(?i)(?:rejected|denied|cancell?ed|interrupted|aborted|declined) by (?:the )?user` +
		`|user (?:rejected|denied|cancell?ed|declined|doesn't want|interrupted)|request interrupted|用户(?:取消|拒绝|中断)`)
	// An exit code; group 1 is the number.
	exitCode = lazyregexp.New(`(?i)(?:exit(?:ed)?(?: with)?(?: code| status)?|returned|退出码)[ :：]*(\d{1,3})`)
	// Names of tools that read one thing, whose answer is never empty when it is there.
	reads = lazyregexp.New(`(?i)(?:^|[_.-])(?:read|get|open|view|load|extract|download)_?(?:file|page|document|doc|content` +
		`|text|pdf|article|note|resource)s?(?:$|[_.-])`)
	// Pages that are rendered by scripts.
	needsJS = lazyregexp.New(`(?i)enable javascript|javascript is (?:required|disabled)|requires javascript` +
		`|<div id="(?:root|app|__next)">\s*</div>|启用 ?javascript|开启 ?javascript`)
	// HTML without visible text.
	markup = lazyregexp.New(`(?s)<(?:script|style|head|noscript)\b.*?</(?:script|style|head|noscript)>|<[^>]*>`)
)

// contentMembers are the members of a JSON object that hold what a tool fetched; others say how it went.
var contentMembers = []string{"content", "text", "markdown", "html", "body", "result", "data", "output", "page"}

// blankJSON reports whether a result is JSON without content: nothing, or an object whose members for content are
// empty.
func blankJSON(result string) bool {
	var v any
	if json.Unmarshal([]byte(result), &v) != nil {
		return false
	}
	blank := func(v any) bool {
		switch v := v.(type) {
		case nil:
			return true
		case string:
			return strings.TrimSpace(v) == ""
		case []any:
			return len(v) == 0
		case map[string]any:
			return len(v) == 0
		}
		return false
	}
	members, ok := v.(map[string]any)
	if !ok || len(members) == 0 {
		return blank(v)
	}
	held := false
	for _, name := range contentMembers {
		if value, ok := members[name]; ok {
			if held = true; !blank(value) {
				return false
			}
		}
	}
	return held
}

// errorText is what a failed call said.
func errorText(tc *memory.ToolCall) string {
	if tc.Error == "" && tc.Failed {
		return tc.Result
	}
	return tc.Error
}

// failureClass returns the error class of a call; "" if it succeeded or the user stopped it. The line that says why it
// failed decides before the rest of what the tool said. An empty result of a tool that fetches or reads is a failure,
// too.
func failureClass(tc *memory.ToolCall) string {
	if !tc.Failed && tc.Error == "" {
		return emptyClass(tc)
	}
	text := errorText(tc)
	if stopped.MatchString(text) || nothingToDo.MatchString(text) {
		return ""
	}
	switch {
	case windowsShell(tc) != "":
		return classWindows
	case posixShell(tc) != "":
		return classPosix
	}
	for _, part := range []string{toolcall.ErrorLine(text), truncate(text, 4000)} {
		for _, c := range errorClasses {
			if c.re.MatchString(part) {
				return c.class
			}
		}
	}
	if m := exitCode.FindStringSubmatch(truncate(text, 4000)); m != nil {
		if m[1] == "1" && toolcall.Canonical(tc.Name) == toolcall.Grep {
			return "" // there is no match
		}
		return "exit_" + m[1]
	}
	return classOther
}

// emptyClass returns the error class of a call that brought nothing although it fetches or reads; "" otherwise.
func emptyClass(tc *memory.ToolCall) string {
	name := toolcall.Canonical(tc.Name)
	if name != toolcall.Read && !toolcall.Fetches(tc.Name) && !reads.MatchString(name) {
		return ""
	}
	result := strings.TrimSpace(truncate(tc.Result, 64<<10))
	if result == "" || blankJSON(result) {
		return classEmpty
	}
	if looks := needsJS.MatchString(result); looks || strings.HasPrefix(result, "<") {
		visible := strings.TrimSpace(markup.ReplaceAllString(result, " "))
		switch n := letterWeight(visible); {
		case looks && n < 200:
			return classDynamic
		case n == 0:
			return classEmpty
		}
	}
	return ""
}
