package hook

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/memory/agentstate"
	"github.com/memsidecar/memsidecar/internal/memory/toolcall"
	"github.com/memsidecar/memsidecar/internal/redact"
)

// Bounds of the text.
const (
	workingLine  = 300 // characters of one line
	workingAsked = 3
	workingTools = 8
)

// workingPhrases holds the texts of a working memory in one language.
type workingPhrases struct{ dir, now, first, then, tools, failed, failures, answer string }

var workingPhrasesByLanguage = map[bool]workingPhrases{
	false: {
		dir: "Run directory: ", now: "Date and time: ", first: "Asked first: ", then: "Asked lately:", tools: "Tools used: ",
		failed: "%d failed", failures: "Failed lately:",
		answer: "Answered last: ",
	},
	true: {
		dir: "运行目录：", now: "日期和时间：", first: "最初的请求：", then: "最近的请求：", tools: "用过的工具：", failed: "失败 %d 次", failures: "最近的失败：",
		answer: "最后的回答：",
	},
}

// Working returns a short account of a session for its agent, which has forgotten it: directory, tools and how often
// each failed, date and time, what was asked first and lately. It is fenced as data, so that it is not learnt from; ""
// when the session holds nothing.
func Working(cwd string, messages []memory.Message, now time.Time, nonce string) string {
	asked, answer := requestsAndAnswer(messages)
	tools, failures := toolsAndFailures(messages)
	if len(asked) == 0 && len(tools) == 0 {
		return ""
	}
	chinese := len(asked) > 0 &&
		slices.ContainsFunc([]rune(asked[0]), func(r rune) bool { return unicode.Is(unicode.Han, r) })
	w := workingPhrasesByLanguage[chinese]
	open, end := redact.Fence(nonce)
	lines := []string{open, agentstate.Intro(chinese)}
	add := func(s string) { lines = append(lines, strings.ReplaceAll(s, nonce, "…")) }
	if cwd != "" {
		add(w.dir + oneLine(cwd))
	}
	if len(tools) > 0 {
		add(w.tools + toolList(w, tools))
	}
	add(w.now + agentstate.DateTime(now, chinese))
	if len(asked) > 0 {
		add(w.first + asked[0])
	}
	if later := asked[min(len(asked), max(1, len(asked)-workingAsked)):]; len(later) > 0 {
		add(w.then)
		for _, s := range later {
			add("- " + s)
		}
	}
	if answer != "" {
		add(w.answer + answer)
	}
	if len(failures) > 0 {
		add(w.failures)
		for _, s := range failures[max(0, len(failures)-workingAsked):] {
			add("- " + s)
		}
	}
	return strings.Join(append(lines, end), "\n") + "\n"
}

// requestsAndAnswer is what the user asked and what the agent answered last.
func requestsAndAnswer(messages []memory.Message) (asked []string, answer string) {
	for i := range messages {
		switch m := &messages[i]; {
		case m.Tool != nil || strings.TrimSpace(m.Content) == "":
		case m.Role == "user":
			asked = append(asked, oneLine(m.Content))
		case m.Role == "assistant":
			answer = oneLine(m.Content)
		}
	}
	return asked, answer
}

// toolCount counts the calls of a tool.
type toolCount struct {
	name          string
	calls, failed int
}

// toolsAndFailures counts the calls per tool, in order of first use, and returns the last failures.
func toolsAndFailures(messages []memory.Message) (tools []toolCount, failures []string) {
	for i := range messages {
		t := messages[i].Tool
		if t == nil {
			continue
		}
		k := slices.IndexFunc(tools, func(u toolCount) bool { return u.name == t.Name })
		if k < 0 {
			k, tools = len(tools), append(tools, toolCount{name: t.Name})
		}
		tools[k].calls++
		if t.Failed {
			tools[k].failed++
			failures = append(failures, failureLine(t))
		}
	}
	slices.SortStableFunc(tools, func(a, b toolCount) int { return b.calls - a.calls })
	return tools[:min(len(tools), workingTools)], failures
}

// failureLine names a failed tool and quotes why it failed. The agent reads it later: it holds no orders of the tool.
func failureLine(t *memory.ToolCall) string {
	if why := toolcall.QuotedError(t.Name, t.Error); why != "" {
		return oneLine(t.Name + `: "` + why + `"`)
	}
	return oneLine(t.Name)
}

// toolList formats tools with their counts, such as "Bash 3 (1 failed)".
func toolList(w workingPhrases, tools []toolCount) string {
	var out []string
	for _, u := range tools {
		s := fmt.Sprintf("%s %d", oneLine(u.name), u.calls)
		if u.failed > 0 {
			s += " (" + fmt.Sprintf(w.failed, u.failed) + ")"
		}
		out = append(out, s)
	}
	return strings.Join(out, ", ")
}

// oneLine is a text without line breaks, cut at its end.
func oneLine(s string) string {
	r := []rune(strings.Join(strings.Fields(s), " "))
	if len(r) > workingLine {
		return string(r[:workingLine]) + "…"
	}
	return string(r)
}
