package reflector

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"unicode"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/pattern"
)

// Error classes that a tool's result alone gives away.
const (
	classEmpty   = "empty_content"
	classDynamic = "dynamic_content"
	classTests   = "test_failure"
	classOther   = "error"
)

// errorClasses are tried in order against the error text.
var errorClasses = []struct {
	class string
	re    *pattern.Pattern
}{
	{classDynamic, pattern.New(`(?i)without javascript|enable javascript|(?:requires?|needs?) javascript|client-side render`)},
	{"command_not_found", pattern.New(`(?i)command not found|is not recognized as|executable file not found|no such command|不是内部或外部命令|找不到命令`)},
	{"missing_dependency", pattern.New(`(?i)ModuleNotFoundError|No module named|Cannot find (?:module|package)|no required module provides|could not resolve dependenc|shared object file`)},
	{classTests, pattern.New(`(?m)--- FAIL|^FAIL\b|\bFAILED\b|(?i)AssertionError|tests? failed|failing tests?|expected .* (?:got|received|but)`)},
	{"rate_limit", pattern.New(`(?i)rate.?limit|too many requests|\b429\b|quota exceeded|限流|请求过于频繁`)},
	{"auth", pattern.New(`(?i)unauthori[sz]ed|\b401\b|authentication failed|invalid (?:api key|token|credentials)|not logged in|未授权|认证失败`)},
	{"permission", pattern.New(`(?i)permission denied|EACCES|EPERM|access (?:is )?denied|forbidden|\b403\b|operation not permitted|read-only file system|权限不足|拒绝访问`)},
	{"not_found", pattern.New(`(?i)no such file|not found|ENOENT|does not exist|doesn't exist|\b404\b|cannot find|unknown revision|不存在|找不到|未找到`)},
	{"timeout", pattern.New(`(?i)tim(?:e|ed)[ -]?out|deadline exceeded|ETIMEDOUT|超时`)},
	{"connection", pattern.New(`(?i)connection (?:refused|reset|closed)|ECONNREFUSED|ECONNRESET|unreachable|could not resolve host|no such host|network is|EOF$|TLS handshake|certificate|连接失败|无法连接`)},
	{"syntax", pattern.New(`(?i)syntax ?error|unexpected token|unexpected end|parse error|unterminated|invalid syntax|cannot parse|语法错误`)},
	{"invalid_argument", pattern.New(`(?i)unknown (?:flag|option|argument|command)|unrecognized (?:option|argument)|invalid (?:option|argument|value|parameter)|missing (?:required )?(?:argument|parameter)|usage:|\b400\b|bad request|参数错误|无效参数`)},
	{"conflict", pattern.New(`(?i)already exists|EEXIST|merge conflict|\b409\b|address already in use|EADDRINUSE|is locked|已存在`)},
	{"no_match", pattern.New(`(?i)no match|string to replace not found|old_str|not unique|multiple matches`)},
	{"out_of_resources", pattern.New(`(?i)no space left|ENOSPC|out of memory|cannot allocate|disk quota|\bOOM\b|磁盘已满|内存不足`)},
	{"type_error", pattern.New(`(?i)TypeError|type mismatch|cannot use .* as|undefined is not`)},
	{classEmpty, pattern.New(`(?i)empty (?:content|response|body|page|result)|no (?:text|readable) content|内容为空|返回为空`)},
	{"server_error", pattern.New(`(?i)internal server error|\b50[0234]\b|bad gateway|service unavailable`)},
}

var (
	stopped   = pattern.New(`(?i)(?:rejected|denied|cancell?ed|interrupted|aborted|declined) by (?:the )?user|user (?:rejected|denied|cancell?ed|declined|doesn't want|interrupted)|request interrupted|用户(?:取消|拒绝|中断)`)
	exitCode  = pattern.New(`(?i)(?:exit(?:ed)?(?: with)?(?: code| status)?|returned|退出码)[ :：]*(\d{1,3})`)
	fetches   = pattern.New(`(?i)fetch|browse|crawl|scrape|http|web_?page|read_?url|open_?url|get_?url|visit`)
	needsJS   = pattern.New(`(?i)enable javascript|javascript is (?:required|disabled)|requires javascript|<div id="(?:root|app|__next)">\s*</div>|启用 ?javascript|开启 ?javascript`)
	markup    = pattern.New(`(?s)<(?:script|style|head|noscript)\b.*?</(?:script|style|head|noscript)>|<[^>]*>`)
	blankJSON = pattern.New(`^(?:null|""|\[\s*\]|\{\s*\}|\{\s*"(?:content|text|markdown|html|body|result|data)"\s*:\s*(?:null|""|\[\s*\]|\{\s*\})\s*\})$`)
	hexID     = pattern.New(`(?i)\b(?:[0-9a-f]{8}-[0-9a-f-]{27}|[0-9a-f]{7,64})\b`)
	digits    = pattern.New(`\d+`)
	anyURL    = pattern.New(`https?://[^\s"'<>)\]]+`)
	longPath  = pattern.New(`(?:~|\.{1,2})?(?:/[\w.@+-]+){2,}/?|[A-Za-z]:\\[\w.\\ -]+`)
)

// failureClass says how a call failed; "" when it did not, or when the user stopped it.
func failureClass(tc *memory.ToolCall) string {
	text := tc.Error
	if tc.Failed && text == "" {
		text = tc.Result
	}
	if tc.Failed || tc.Error != "" {
		if stopped.MatchString(text) {
			return ""
		}
		text = head(text, 4000)
		for _, c := range errorClasses {
			if c.re.MatchString(text) {
				return c.class
			}
		}
		if m := exitCode.FindStringSubmatch(text); m != nil {
			return "exit_" + m[1]
		}
		return classOther
	}
	if !fetches.MatchString(tc.Name) {
		return ""
	}
	result := strings.TrimSpace(head(tc.Result, 64<<10))
	if result == "" || blankJSON.MatchString(result) {
		return classEmpty
	}
	if looks := needsJS.MatchString(result); looks || strings.HasPrefix(result, "<") {
		visible := strings.TrimSpace(markup.ReplaceAllString(result, " "))
		switch n := weight(visible); {
		case looks && n < 200:
			return classDynamic
		case n == 0:
			return classEmpty
		}
	}
	return ""
}

// Signature identifies a failure, so that it is known again: the tool, its arguments without what differs from call to
// call (numbers, ids, directories, the queries of URLs) and the class of the error. "" for a call that did not fail. At most
// 200 characters.
func Signature(tc *memory.ToolCall) string {
	class := failureClass(tc)
	if class == "" {
		return ""
	}
	return ActionOf(tc).normal + "!" + class
}

// normalArguments flattens arguments: JSON objects as sorted key=value, anything else as text.
func normalArguments(args string) string {
	var object map[string]any
	if json.Unmarshal([]byte(args), &object) != nil {
		return normalValue(args)
	}
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(object)) {
		parts = append(parts, k+"="+normalValue(flat(object[k])))
	}
	return strings.Join(parts, ",")
}

func flat(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case nil:
		return ""
	}
	b, err := json.Marshal(v)
	if err != nil {
		return "" // cannot be: it came from JSON
	}
	return string(b)
}

func normalValue(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	s = anyURL.ReplaceAllStringFunc(s, func(raw string) string {
		u, err := url.Parse(raw)
		if err != nil {
			return raw
		}
		return u.Scheme + ":\x00" + u.Host + hexID.ReplaceAllString(strings.ReplaceAll(u.EscapedPath(), "/", "\x00"), "ID")
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
	return cutHashed(digits.ReplaceAllString(s, "N"), 80)
}

// head cuts s to n characters.
func head(s string, n int) string {
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

// failure is one signature's failures in a stretch of a session.
type failure struct {
	signature string
	class     string
	message   *memory.Message // the first one
	actions   []Action        // what was asked
	count     int64
	fix       *memory.ToolCall // a later call of the same tool that worked with corrected arguments
	remedy    *memory.ToolCall // a later call that worked and did the same with something before or after it
}

// fixable are the classes that other arguments can mend.
var fixable = map[string]bool{"command_not_found": true, "not_found": true, "syntax": true, "invalid_argument": true, "no_match": false}

// fixWithin is how many calls later a success still counts as the fix.
const fixWithin = 4

// failures lists what failed, in order of its first occurrence.
func failures(messages []*memory.Message) (out []*failure) {
	var calls []*memory.Message
	for _, m := range messages {
		if m.Tool != nil {
			calls = append(calls, m)
		}
	}
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
			f.fix = fixOf(m.Tool, calls[i+1:min(len(calls), i+1+fixWithin)])
		}
	}
	for _, f := range out {
		if f.fix == nil {
			f.remedy = remedyOf(f.message.Tool, calls, f.message)
		}
		if i := slices.Index(calls, f.message); f.fix == nil && f.remedy == nil {
			f.remedy = insteadOf(f.message.Tool, calls[i+1:min(len(calls), i+1+fixWithin)])
		}
	}
	return out
}

// remedyOf finds the call that shows what else was needed: it worked and holds the failed command whole, with more to it.
func remedyOf(failed *memory.ToolCall, calls []*memory.Message, at *memory.Message) *memory.ToolCall {
	what := readable(failed.Arguments)
	i := slices.Index(calls, at)
	for _, m := range calls[i+1 : min(len(calls), i+1+fixWithin)] {
		if c := readable(m.Tool.Arguments); m.Tool.Name == failed.Name && failureClass(m.Tool) == "" && len(what) > 3 && c != what && strings.Contains(c, what) {
			return m.Tool
		}
	}
	return nil
}

// fixOf finds the call that shows what the arguments should have been: the next one of the same tool, when it worked and
// differs in little.
func fixOf(failed *memory.ToolCall, next []*memory.Message) *memory.ToolCall {
	for _, m := range next {
		if m.Tool.Name != failed.Name {
			continue
		}
		if failureClass(m.Tool) != "" || m.Tool.Arguments == failed.Arguments || !alike(failed.Arguments, m.Tool.Arguments) {
			return nil
		}
		return m.Tool
	}
	return nil
}

// alike: more than half of the words of two argument texts are the same, and they are short enough to be read.
func alike(a, b string) bool {
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

// firstLine is the start of what went wrong, for people.
func firstLine(s string, n int) string {
	for l := range strings.Lines(strings.TrimSpace(s)) {
		if l = strings.TrimSpace(l); l != "" {
			if short := head(l, n); short != l {
				return short + "…"
			}
			return l
		}
	}
	return ""
}

// telling are the arguments that say what a call does; the others say how or where.
var telling = []string{"command", "cmd", "script", "query", "url"}

// readable shows arguments to people: the one that tells or the only value of an object, else the whole.
func readable(args string) string {
	var object map[string]any
	if json.Unmarshal([]byte(head(args, 4000)), &object) == nil {
		for _, k := range telling {
			if v, ok := object[k].(string); ok && v != "" {
				return firstLine(v, 160)
			}
		}
		if len(object) == 1 {
			for _, v := range object {
				args = flat(v)
			}
		}
	}
	return firstLine(args, 160)
}

// advice says what to do about a class of failures, in English and Chinese.
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
	"no_match":           {"the text to change was not found as given; read the file again first", "要修改的文本不匹配，请先重新读取文件"},
}

// ruleText is the general rule for a failure seen several times.
func ruleText(f *failure, chinese bool) string {
	tc := f.message.Tool
	what := readable(tc.Arguments)
	hint := advice[f.class]
	if f.fix != nil {
		return fixText(f, chinese)
	}
	detail := firstLine(tc.Error, 160)
	if f.remedy != nil {
		hint = [2]string{"what worked: " + readableWorked(f), "可行的做法：" + readableWorked(f)}
	}
	if chinese {
		return strings.TrimSpace(fmt.Sprintf("工具 %s 多次失败（%s）%s%s%s", tc.Name, f.class, prefixed("：", what), prefixed("，错误：", detail), prefixed("。", hint[1])))
	}
	return strings.TrimSpace(fmt.Sprintf("The tool %s fails repeatedly (%s)%s%s%s", tc.Name, f.class, prefixed(" for: ", what), prefixed("; error: ", detail), prefixed(". ", capital(hint[0]))))
}

func prefixed(lead, s string) string {
	if s == "" {
		return ""
	}
	return lead + s
}

// fixText says what to use instead.
func fixText(f *failure, chinese bool) string {
	tc := f.message.Tool
	if chinese {
		return fmt.Sprintf("工具 %s：%s 会失败（%s），应使用：%s", tc.Name, readable(tc.Arguments), f.class, readable(f.fix.Arguments))
	}
	return fmt.Sprintf("The tool %s fails with %s (%s); use %s instead", tc.Name, readable(tc.Arguments), f.class, readable(f.fix.Arguments))
}
