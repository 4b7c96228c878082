package reflector

import (
	"fmt"
	"strings"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/memory/toolcall"
)

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
	address := ""
	for _, v := range named { // of an unknown tool, the only address
		s, _ := v.(string)
		if !strings.HasPrefix(s, "http://") && !strings.HasPrefix(s, "https://") {
			continue
		}
		if address != "" {
			return ""
		}
		address = s
	}
	return address
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
	classBinary:          {"it does not take this format; use a tool that does", "不支持这种格式，请改用适合该格式的工具"},
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
	switch f.class {
	case classWindows:
		return windowsText(f, chinese)
	case classPosix:
		return posixText(f, chinese)
	}
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
