package reflector

import (
	"hash/maphash"
	"iter"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/memory/toolcall"
	"github.com/memsidecar/memsidecar/internal/reflector/guard"
)

// quotedError is the line that says why a call failed, as evidence for a rule, a log or a model; see
// toolcall.QuotedError.
func quotedError(tc *memory.ToolCall) string { return toolcall.QuotedError(tc.Name, errorText(tc)) }

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
	if slices.ContainsFunc([]string{m.Content, m.Title, string(m.StructuredData())}, r.repeatsTool) {
		return guard.ReasonFromTool
	}
	return ""
}

// repeatsTool reports whether a model's text repeats what no model may repeat of a tool's output.
func (r *planner) repeatsTool(text string) bool {
	if r.told == nil {
		r.told = collectTold(r.in.Messages)
		r.told.said = spacedWords(r.said())
	}
	words := strings.Fields(spacedWords(truncate(text, memory.MaxContent)))
	return r.told.repeats(words, r.told.orders, repeatedOrder) || r.told.repeats(words, r.told.pages, repeatedPage)
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
		texts, network := []string{m.Content}, m.Role == roleTool // of a tool without a name nobody knows whose words
		switch {
		case m.Tool != nil:
			texts, network = append(texts, m.Tool.Result, m.Tool.Error), toolcall.IsNetwork(m.Tool.Name)
		case m.Role != roleTool:
			continue
		}
		for _, text := range texts {
			if network {
				add(t.pages, text, repeatedPage)
			}
			for line := range strings.SplitSeq(strings.ReplaceAll(text, `\n`, "\n"), "\n") {
				if toolcall.Instructs(line) {
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
