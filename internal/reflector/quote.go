package reflector

import (
	"hash/maphash"
	"iter"
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

// toldByTools is what tools said in a session and no model may repeat in a memory. Runs of words are kept as hashes: a
// page may be megabytes, and every proposal is looked up in it.
type toldByTools struct {
	seed   maphash.Seed        // of the hashes
	said   string              // by the user, who may repeat a tool; words between spaces
	orders map[uint64]struct{} // runs of repeatedOrder words of lines that tell their reader what to do
	pages  map[uint64]struct{} // runs of repeatedPage words of what came from the network
}

// refusal returns why a memory that a model proposes must not be kept, "" if it may be. The author of a page or of
// a command's output could otherwise have the model make a rule of it. Its title and reason are stored, too.
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

// repeats reports whether n words in a row are a run of source, and not what the user said.
func (t *toldByTools) repeats(words []string, source map[uint64]struct{}, n int) bool {
	if len(source) == 0 {
		return false
	}
	for run := range runs(words, n) {
		if _, ok := source[t.hashOf(run)]; ok && !strings.Contains(t.said, " "+strings.Join(run, " ")+" ") {
			return true
		}
	}
	return false
}

// runs yields every n words in a row.
func runs(words []string, n int) iter.Seq[[]string] {
	return func(yield func([]string) bool) {
		for i := 0; i+n <= len(words); i++ {
			if !yield(words[i : i+n]) {
				return
			}
		}
	}
}

// hashOf is the hash of a run of words. Two different runs have the same with a probability of 1 in 2^64.
func (t *toldByTools) hashOf(run []string) uint64 {
	var h maphash.Hash
	h.SetSeed(t.seed)
	for _, word := range run {
		_, _ = h.WriteString(word)
		_ = h.WriteByte(' ')
	}
	return h.Sum64()
}

// collectTold reads the outputs of tools. A line break of a text in JSON separates lines, too.
func collectTold(messages []*memory.Message) *toldByTools {
	t := &toldByTools{seed: maphash.MakeSeed(), orders: map[uint64]struct{}{}, pages: map[uint64]struct{}{}}
	add := func(to map[uint64]struct{}, text string, n int) {
		for run := range runs(strings.Fields(spacedWords(text)), n) {
			to[t.hashOf(run)] = struct{}{}
		}
	}
	for _, m := range messages {
		if m.Tool == nil {
			continue
		}
		for _, text := range []string{m.Tool.Result, m.Tool.Error} {
			if isNetworkTool(m.Tool.Name) {
				add(t.pages, text, repeatedPage)
			}
			for line := range strings.SplitSeq(strings.ReplaceAll(text, `\n`, "\n"), "\n") {
				if instructs.MatchString(line) {
					add(t.orders, line, repeatedOrder)
				}
			}
		}
	}
	return t
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
