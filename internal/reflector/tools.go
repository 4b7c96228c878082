package reflector

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"unicode"

	"github.com/memsidecar/memsidecar/internal/lazyregexp"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/memory/toolcall"
)

// Error classes with special treatment.
const (
	classEmpty   = "empty_content"
	classDynamic = "dynamic_content"
	classTests   = "test_failure"
	classOther   = "error"
)

// errorClasses are tried in order against the error text; the first match wins.
var errorClasses = []struct {
	class string
	re    *lazyregexp.Pattern
}{
	{classDynamic, lazyregexp.New(`(?i)without javascript|enable javascript|(?:requires?|needs?) javascript` +
		`|client-side render`)},
	{"command_not_found", lazyregexp.New(`(?i)command not found|is not recognized as|executable file not found` +
		`|no such command|不是内部或外部命令|找不到命令`)},
	{"missing_dependency", lazyregexp.New(`(?i)ModuleNotFoundError|No module named|Cannot find (?:module|package)` +
		`|no required module provides|could not resolve dependenc|shared object file`)},
	{classTests, lazyregexp.New(`(?m)--- FAIL|^FAIL\b|\bFAILED\b|(?i)AssertionError|tests? failed|failing tests?` +
		`|expected .* (?:got|received|but)`)},
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
	// The user stopped the call.
	stopped = lazyregexp.New(`(?i)(?:rejected|denied|cancell?ed|interrupted|aborted|declined) by (?:the )?user` +
		`|user (?:rejected|denied|cancell?ed|declined|doesn't want|interrupted)|request interrupted|用户(?:取消|拒绝|中断)`)
	// An exit code; group 1 is the number.
	exitCode = lazyregexp.New(`(?i)(?:exit(?:ed)?(?: with)?(?: code| status)?|returned|退出码)[ :：]*(\d{1,3})`)
	// Names of tools that fetch content, besides those of the table of tools.
	fetches = lazyregexp.New(`(?i)fetch|browse|crawl|scrape|http|web_?page|read_?url|open_?url|get_?url|visit`)
	// Names of tools that read one thing, whose answer is never empty when it is there.
	reads = lazyregexp.New(`(?i)(?:^|[_.-])(?:read|get|open|view|load|extract|download)_?(?:file|page|document|doc|content` +
		`|text|pdf|article|note|resource)s?(?:$|[_.-])`)
	// Pages that are rendered by scripts.
	needsJS = lazyregexp.New(`(?i)enable javascript|javascript is (?:required|disabled)|requires javascript` +
		`|<div id="(?:root|app|__next)">\s*</div>|启用 ?javascript|开启 ?javascript`)
	// HTML without visible text.
	markup = lazyregexp.New(`(?s)<(?:script|style|head|noscript)\b.*?</(?:script|style|head|noscript)>|<[^>]*>`)
	// JSON without content.
	blankJSON = lazyregexp.New(`^(?:null|""|\[\s*\]|\{\s*\}|\{\s*"(?:content|text|markdown|html|body|result` +
		`|data)"\s*:\s*(?:null|""|\[\s*\]|\{\s*\})\s*\})$`)
	// UUIDs, hashes and other hexadecimal ids.
	hexID  = lazyregexp.New(`(?i)\b(?:[0-9a-f]{8}-[0-9a-f-]{27}|[0-9a-f]{7,64})\b`)
	digits = lazyregexp.New(`\d+`)
	// An http or https URL.
	anyURL = lazyregexp.New(`https?://[^\s"'<>)\]]+`)
	// A path with at least two segments.
	longPath = lazyregexp.New(`(?:~|\.{1,2})?(?:/[\w.@+-]+){2,}/?|[A-Za-z]:\\[\w.\\ -]+`)
)

// errorText is what a failed call said.
func errorText(tc *memory.ToolCall) string {
	if tc.Error == "" && tc.Failed {
		return tc.Result
	}
	return tc.Error
}

// errorDetail is the line that says why a call failed, "" if none does.
func errorDetail(tc *memory.ToolCall) string { return toolcall.ErrorLine(errorText(tc)) }

// failureClass returns the error class of a call; "" if it succeeded or the user stopped it. The line that says why it
// failed decides before the rest of what the tool said. An empty result of a tool that fetches or reads is a failure,
// too.
func failureClass(tc *memory.ToolCall) string {
	if !tc.Failed && tc.Error == "" {
		return emptyClass(tc)
	}
	text := errorText(tc)
	if stopped.MatchString(text) {
		return ""
	}
	for _, part := range []string{toolcall.ErrorLine(text), truncate(text, 4000)} {
		for _, c := range errorClasses {
			if c.re.MatchString(part) {
				return c.class
			}
		}
	}
	if m := exitCode.FindStringSubmatch(truncate(text, 4000)); m != nil {
		return "exit_" + m[1]
	}
	return classOther
}

// emptyClass returns the error class of a call that brought nothing although it fetches or reads; "" otherwise.
func emptyClass(tc *memory.ToolCall) string {
	name := toolcall.Canonical(tc.Name)
	if name != toolcall.Fetch && name != toolcall.Read && !fetches.MatchString(name) && !reads.MatchString(name) {
		return ""
	}
	result := strings.TrimSpace(truncate(tc.Result, 64<<10))
	if result == "" || blankJSON.MatchString(result) {
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

// Signature identifies a failure across sessions: tool, error class, and arguments without their variable parts
// (numbers, ids, directories, URL queries). It is "" for a call that did not fail, and at most 200 characters long.
func Signature(tc *memory.ToolCall) string {
	class := failureClass(tc)
	if class == "" {
		return ""
	}
	return ActionOf(tc).normal + "!" + class
}

// normalArguments normalises canonical arguments: named ones become sorted key=value pairs, anything else is text.
func normalArguments(named map[string]any, plain string) string {
	if named == nil {
		return normalValue(plain)
	}
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(named)) {
		parts = append(parts, k+"="+normalValue(flattenValue(named[k])))
	}
	return strings.Join(parts, ",")
}

// flattenValue converts a JSON value to text.
func flattenValue(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case nil:
		return ""
	}
	b, err := json.Marshal(v)
	if err != nil {
		return "" // impossible: v was decoded from JSON
	}
	return string(b)
}

// normalValue replaces the variable parts of an argument by placeholders.
func normalValue(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	s = anyURL.ReplaceAllStringFunc(s, func(raw string) string {
		u, err := url.Parse(raw)
		if err != nil {
			return raw
		}
		return u.Scheme + ":\x00" + u.Host +
			hexID.ReplaceAllString(strings.ReplaceAll(u.EscapedPath(), "/", "\x00"), "ID")
	})
	s = longPath.ReplaceAllStringFunc(s, func(p string) string {
		return "PATH/" + p[strings.LastIndexAny(strings.TrimRight(p, `/\`), `/\`)+1:]
	})
	s = strings.ReplaceAll(s, "\x00", "/")
	s = strings.Replace(strings.Replace(s, "http:/", "http://", 1), "https:/", "https://", 1)
	s = hexID.ReplaceAllStringFunc(s, func(id string) string {
		if strings.ContainsFunc(id, unicode.IsDigit) {
			return "ID"
		}
		return id
	})
	return truncateHashed(digits.ReplaceAllString(s, "N"), 80)
}

// truncate cuts s to n characters.
func truncate(s string, n int) string {
	if len(s) <= n {
		return s
	}
	i := 0
	for at := range s {
		if i == n {
			return s[:at]
		}
		i++
	}
	return s
}

// failure collects the failures with one signature in a reflection.
type failure struct {
	signature string
	class     string
	// the first failure
	message *memory.Message
	// the failed actions
	actions []Action
	count   int64
	// the same action worked later in the session
	passed bool
	// a later successful call of the same tool with corrected arguments
	fix *memory.ToolCall
	// a later successful call that contains the failed command, or another tool's call for the same thing
	remedy *memory.ToolCall
}

// fixable are the error classes that corrected arguments can fix.
var fixable = map[string]bool{"command_not_found": true, "not_found": true, "syntax": true, "invalid_argument": true,
	"no_match": false}

// fixWithin is the number of calls after a failure that are searched for its fix.
const fixWithin = 4

// failures returns the failures in messages, in order of their first occurrence.
func failures(messages []*memory.Message) (out []*failure) {
	var calls []*memory.Message
	for _, m := range messages {
		if m.Tool != nil {
			calls = append(calls, m)
		}
	}
	// A failure comes by a hook at once and an earlier success by the transcript, so they may be recorded in the other
	// order. A success before the failure is no fix of it.
	slices.SortStableFunc(calls, func(a, b *memory.Message) int { return a.At.Compare(b.At) })
	byName := map[string]*failure{}
	for i, m := range calls {
		signature := Signature(m.Tool)
		if signature == "" {
			continue
		}
		f := byName[signature]
		if f == nil {
			f = &failure{signature: signature, class: failureClass(m.Tool), message: m}
			byName[signature] = f
			out = append(out, f)
		}
		f.count++
		f.actions = append(f.actions, ActionOf(m.Tool))
		if f.fix == nil && fixable[f.class] {
			f.fix = findFix(m.Tool, calls[i+1:min(len(calls), i+1+fixWithin)])
		}
	}
	for _, f := range out {
		f.passed = worksLater(f.message, calls)
		if f.fix == nil {
			f.remedy = findRemedy(f.message.Tool, calls, f.message)
		}
		if i := slices.Index(calls, f.message); f.fix == nil && f.remedy == nil {
			f.remedy = findAlternativeTool(f.message.Tool, calls[i+1:min(len(calls), i+1+fixWithin)])
		}
	}
	return out
}

// worksLater reports whether a failed action was done again unchanged and worked, so that it failed by chance or by
// what has been put right since.
func worksLater(failed *memory.Message, calls []*memory.Message) bool {
	a := ActionOf(failed.Tool)
	for _, m := range calls[slices.Index(calls, failed)+1:] {
		if m.Tool.Name == failed.Tool.Name && failureClass(m.Tool) == "" && ActionOf(m.Tool).digest == a.digest {
			return true
		}
	}
	return false
}

// findRemedy returns a successful call of the same tool whose command contains the failed command and more.
func findRemedy(failed *memory.ToolCall, calls []*memory.Message, at *memory.Message) *memory.ToolCall {
	what := readableArguments(failed)
	i := slices.Index(calls, at)
	for _, m := range calls[i+1 : min(len(calls), i+1+fixWithin)] {
		if c := readableArguments(m.Tool); m.Tool.Name == failed.Name && failureClass(m.Tool) == "" &&
			len(what) > 3 &&
			c != what && strings.Contains(c, what) {
			return m.Tool
		}
	}
	return nil
}

// findFix returns the next call of the same tool if it succeeded with similar arguments.
func findFix(failed *memory.ToolCall, next []*memory.Message) *memory.ToolCall {
	for _, m := range next {
		if m.Tool.Name != failed.Name {
			continue
		}
		if failureClass(m.Tool) != "" || m.Tool.Arguments == failed.Arguments ||
			!similarArguments(failed.Arguments, m.Tool.Arguments) {
			return nil
		}
		return m.Tool
	}
	return nil
}

// similarArguments reports whether two short argument texts share at least half of their words.
func similarArguments(a, b string) bool {
	if len(a) > 300 || len(b) > 300 {
		return false
	}
	split := func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }
	x, y := strings.FieldsFunc(a, split), strings.FieldsFunc(b, split)
	shared := 0
	for _, w := range x {
		if slices.Contains(y, w) {
			shared++
		}
	}
	return 2*shared >= max(len(x), len(y)) && shared > 0
}

// firstLine returns the first non-empty line of s, cut to n characters.
func firstLine(s string, n int) string {
	for l := range strings.Lines(strings.TrimSpace(s)) {
		if l = strings.TrimSpace(l); l != "" {
			if short := truncate(l, n); short != l {
				return short + "…"
			}
			return l
		}
	}
	return ""
}

// informativeArguments are the arguments that say what a call does; others say how or where.
var informativeArguments = []string{"command", "cmd", "script", "query", "url"}

// informative returns the argument that says what a call does, "" if none of them is known to.
func informative(named map[string]any) string {
	for _, k := range informativeArguments {
		if v, ok := named[k].(string); ok && v != "" {
			return v
		}
	}
	return ""
}

// readableArguments formats arguments for people: the informative one, else the only value of an object, else all.
func readableArguments(tc *memory.ToolCall) string {
	args := tc.Arguments
	named, plain := toolcall.Arguments(tc.Name, truncate(args, 4000))
	switch what := informative(named); {
	case what != "":
		return firstLine(what, 160)
	case named == nil:
		return firstLine(plain, 160)
	case len(named) == 1:
		for _, v := range named {
			args = flattenValue(v)
		}
	}
	return firstLine(args, 160)
}

// lastingArguments are readableArguments without what differs from run to run, as rules say them.
func lastingArguments(tc *memory.ToolCall) string { return toolcall.Stable(readableArguments(tc)) }

// advice is what to do about an error class, in English and Chinese.
var advice = map[string][2]string{
	classDynamic:         {"the page is rendered by scripts; use a browser or another source", "页面是动态渲染的，请改用浏览器或其他来源"},
	classEmpty:           {"it returns nothing; use another way to get the content", "返回内容为空，请换一种方式获取"},
	"command_not_found":  {"the command is not installed here; use another one", "该命令在此环境不可用，请换用其他命令"},
	"missing_dependency": {"a dependency is missing; install it first", "缺少依赖，请先安装"},
	"rate_limit":         {"it is rate limited; slow down or batch the requests", "有频率限制，请降低频率或合并请求"},
	"auth":               {"it needs valid credentials; ask the user for access first", "需要有效凭据，请先向用户确认权限"},
	"permission":         {"access is not permitted; do not retry unchanged", "没有权限，不要原样重试"},
	"not_found":          {"the target does not exist; check the name or path first", "目标不存在，请先确认名称或路径"},
	"timeout":            {"it takes too long; use a smaller request or a longer limit", "会超时，请缩小请求或放宽时限"},
	"connection":         {"it cannot be reached from here; check the address and the network first", "无法连接，请先检查地址和网络"},
	"syntax":             {"the syntax is not accepted here; check the dialect first", "语法不被接受，请先确认语法"},
	"invalid_argument":   {"the arguments are not accepted; check the usage first", "参数不被接受，请先查看用法"},
	"no_match": {"the text to change was not found as given; read the file again first",
		"要修改的文本不匹配，请先重新读取文件"},
}

// How a rule says that a tool failed: what was seen once may be chance.
const (
	failedOnce    = "The tool %s failed (%s)"
	failsAgain    = "The tool %s fails repeatedly (%s)"
	failedOnceZh  = "工具 %s 失败过（%s）"
	failsAgainZh  = "工具 %s 多次失败（%s）"
	whatWorked    = ". What worked: "
	whatWorkedZh  = "。可行的做法："
	maxFirstRules = 5 // rules about failures that were seen once, of one reflection
)

// repeatedText turns the text of a rule about one failure into that of a rule about a repeated one. A text that a
// person or a model wrote stays.
func repeatedText(content string, x *memory.Context) string {
	for once, again := range map[string]string{failedOnce: failsAgain, failedOnceZh: failsAgainZh} {
		if rest, ok := strings.CutPrefix(content, fmt.Sprintf(once, x.Tool, x.ErrorType)); ok {
			return fmt.Sprintf(again, x.Tool, x.ErrorType) + rest
		}
	}
	return content
}

// ruleText is the text of the rule about a failure that was seen so often.
func ruleText(f *failure, seen int64, chinese bool) string {
	tc := f.message.Tool
	what := lastingArguments(tc)
	hint := advice[f.class]
	if f.fix != nil {
		return fixText(f, chinese)
	}
	en, zh := failsAgain, failsAgainZh
	if seen < 2 {
		en, zh = failedOnce, failedOnceZh
	}
	detail := inQuotes(quotedError(tc))
	if f.remedy != nil {
		hint = [2]string{"what worked: " + workedInstead(f), "可行的做法：" + workedInstead(f)}
	}
	if chinese {
		return strings.TrimSpace(fmt.Sprintf(zh+"%s%s%s", tc.Name, f.class, withPrefix("：", what),
			withPrefix("，错误：", detail), withPrefix("。", hint[1])))
	}
	return strings.TrimSpace(fmt.Sprintf(en+"%s%s%s", tc.Name, f.class,
		withPrefix(" for: ", what), withPrefix("; error: ", detail), withPrefix(". ", capitalize(hint[0]))))
}

// withPrefix prepends lead to a non-empty s.
func withPrefix(lead, s string) string {
	if s == "" {
		return ""
	}
	return lead + s
}

// fixText is the text of a rule with a known fix.
func fixText(f *failure, chinese bool) string {
	tc := f.message.Tool
	if chinese {
		return fmt.Sprintf("工具 %s：%s 会失败（%s），应使用：%s", tc.Name, lastingArguments(tc), f.class,
			lastingArguments(f.fix))
	}
	return fmt.Sprintf("The tool %s fails with %s (%s); use %s instead", tc.Name, lastingArguments(tc), f.class,
		lastingArguments(f.fix))
}
