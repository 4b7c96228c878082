package reflector

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/memsidecar/memsidecar/internal/lazyregexp"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/memory/toolcall"
	"github.com/memsidecar/memsidecar/internal/reflector/guard"
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

// A model repeats a tool when so many words in a row are the tool's: few of a line that instructs, more of a page from
// the network, of which a fact may well use some words. A Chinese character is a word.
const (
	repeatedOrder = 5
	repeatedPage  = 14
)

// toldByTools is what tools said in a session and no model may repeat as a memory of its own. Texts are words, each
// between spaces.
type toldByTools struct {
	said   string // by the user, who may repeat a tool
	orders string // lines that tell their reader what to do
	pages  string // what came from the network
}

// refusal returns why a memory that a model proposes must not be kept, "" if it may be. Whoever writes a page or the
// output of a command could otherwise have the model make a rule of it. Its title and reason are stored, too.
func (r *planner) refusal(m *memory.Memory) string {
	if r.told == nil {
		r.told = collectTold(r.in.Messages)
		r.told.said = spacedWords(r.said())
	}
	for _, text := range []string{m.Content, m.Title, string(m.StructuredData)} {
		words := strings.Fields(spacedWords(truncate(text, memory.MaxContent)))
		if r.told.repeats(words, r.told.orders, repeatedOrder) || r.told.repeats(words, r.told.pages, repeatedPage) {
			return guard.ReasonFromTool
		}
	}
	return ""
}

// repeats reports whether n words in a row are in source, and not in what the user said.
func (t *toldByTools) repeats(words []string, source string, n int) bool {
	for i := 0; source != "" && i+n <= len(words); i++ {
		run := " " + strings.Join(words[i:i+n], " ") + " "
		if strings.Contains(source, run) && !strings.Contains(t.said, run) {
			return true
		}
	}
	return false
}

// collectTold reads the outputs of tools. A line break of a text in JSON separates lines, too.
func collectTold(messages []*memory.Message) *toldByTools {
	var orders, pages strings.Builder
	for _, m := range messages {
		if m.Tool == nil {
			continue
		}
		for _, text := range []string{m.Tool.Result, m.Tool.Error} {
			if isNetworkTool(m.Tool.Name) {
				pages.WriteString(spacedWords(text))
			}
			for line := range strings.SplitSeq(strings.ReplaceAll(text, `\n`, "\n"), "\n") {
				if instructs.MatchString(line) {
					orders.WriteString(spacedWords(line) + "|") // no run of words goes over two lines
				}
			}
		}
	}
	return &toldByTools{orders: orders.String(), pages: pages.String()}
}

// spacedWords writes the words of a text in lower case, each between spaces: runs of letters and digits, and single
// Chinese characters.
func spacedWords(s string) string {
	var b strings.Builder
	b.WriteByte(' ')
	open := false // within a word
	for _, r := range strings.ToLower(norm.NFKC.String(s)) {
		letter := unicode.IsLetter(r) || unicode.IsDigit(r)
		han := unicode.Is(unicode.Han, r)
		if open && (!letter || han) {
			b.WriteByte(' ')
		}
		if open = letter && !han; letter {
			b.WriteRune(r)
		}
		if han {
			b.WriteByte(' ')
		}
	}
	if open {
		b.WriteByte(' ')
	}
	return b.String()
}
