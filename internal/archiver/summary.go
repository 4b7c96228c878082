package archiver

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/memsidecar/memsidecar/internal/memory"
)

const (
	maxSummary = 1000 // characters of a log's summary
	maxLine    = 160  // characters of one line of it
)

// Log is a daily log to be summed up.
type Log struct {
	Date    string
	Entries []*memory.Entry // in order of time; those that the user asked to forget are left out
}

// Summary is what is to be left of a log.
type Summary struct {
	Text string // at most 1,000 characters
	Note string // why it was made by rules although there is a model; "" when there is nothing to be said
}

// Summarise sums logs up, one summary for each log in their order. An error says that it cannot be done now: all of the logs are then left as they
// are, until a later run; a *WaitError says so of a model that is down. It is given entries, never earlier summaries, so that nothing fades by being
// summed up twice. See ByModel.
type Summarise func(ctx context.Context, logs []Log) ([]Summary, error)

// byRules is the Summarise that needs nothing.
func byRules(_ context.Context, logs []Log) ([]Summary, error) {
	out := make([]Summary, len(logs))
	for i, l := range logs {
		out[i].Text = digestOf(l.Date, l.Entries).compose()
	}
	return out, nil
}

// digest is what a summary is composed of.
type digest struct {
	head  string
	lines []line // the most important first
}

type line struct {
	text   string // one line
	pos    int    // of the entry in its log
	weight float64
}

// digestOf weighs the entries of a log.
func digestOf(date string, entries []*memory.Entry) digest {
	if len(entries) == 0 {
		return digest{}
	}
	chinese := mostlyChinese(entries)
	d := digest{head: head(date, entries, chinese)}
	seen := map[string]bool{}
	for i, e := range entries {
		text := clip(strings.Join(strings.Fields(e.Content), " "), maxLine)
		if key := memory.Normalize(e.Content); key == "" || seen[key] {
			continue
		} else {
			seen[key] = true
		}
		d.lines = append(d.lines, line{text: text, pos: i, weight: weigh(e)})
	}
	slices.SortStableFunc(d.lines, func(a, b line) int { return cmp.Compare(b.weight, a.weight) })
	return d
}

// compose writes the summary. The lines stand in the order of the day.
func (d digest) compose() string {
	if d.head == "" {
		return ""
	}
	room := maxSummary - utf8.RuneCountInString(d.head)
	var chosen []line
	for _, l := range d.lines {
		n := utf8.RuneCountInString(l.text) + len("\n- ")
		if n > room {
			continue
		}
		room -= n
		chosen = append(chosen, l)
	}
	slices.SortFunc(chosen, func(a, b line) int { return cmp.Compare(a.pos, b.pos) })
	var b strings.Builder
	b.WriteString(d.head)
	for _, l := range chosen {
		b.WriteString("\n- ")
		b.WriteString(l.text)
	}
	return b.String()
}

// typeNames are the Chinese names of the entry types the daemon writes.
var typeNames = map[string]string{
	memory.EntryEvent: "事件", memory.EntryAutoExtract: "提取", memory.EntryReflection: "反思",
	memory.EntryToolFailure: "工具失败", memory.EntryCorrection: "纠正", memory.EntrySessionSummary: "会话摘要", memory.EntrySkillRun: "成功的流程",
}

// head counts the entries by type, in the language of the log.
func head(date string, entries []*memory.Entry, chinese bool) string {
	counts := map[string]int{}
	for _, e := range entries {
		counts[e.Type]++
	}
	types := make([]string, 0, len(counts))
	for t := range counts {
		types = append(types, t)
	}
	slices.SortFunc(types, func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	})
	const most = 8 // types named; a log with more of them is no ordinary one
	types = types[:min(len(types), most)]
	parts := make([]string, len(types))
	for i, t := range types {
		if chinese {
			parts[i] = fmt.Sprintf("%s %d", cmp.Or(typeNames[t], t), counts[t])
		} else {
			parts[i] = fmt.Sprintf("%s %d", strings.ReplaceAll(t, "_", " "), counts[t])
		}
	}
	switch {
	case chinese:
		return fmt.Sprintf("%s 共 %d 条记录（%s）", date, len(entries), strings.Join(parts, "、"))
	case len(entries) == 1:
		return fmt.Sprintf("%s: 1 entry (%s)", date, strings.Join(parts, ", "))
	}
	return fmt.Sprintf("%s: %d entries (%s)", date, len(entries), strings.Join(parts, ", "))
}

// mostlyChinese reports whether the entries are to be summed up in Chinese. A Han character says about as much as a
// short word, and Chinese text is full of Latin names, so a third of the letters decides.
func mostlyChinese(entries []*memory.Entry) bool {
	han, letters := 0, 0
	for _, e := range entries {
		for _, r := range e.Content {
			if unicode.Is(unicode.Han, r) {
				han++
			}
			if unicode.IsLetter(r) {
				letters++
			}
		}
	}
	return han*3 >= letters && han > 0
}

// clip cuts s to at most limit characters, the last one an ellipsis when something was cut.
func clip(s string, limit int) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if utf8.RuneCountInString(s) <= limit {
		return s
	}
	return strings.TrimSpace(string([]rune(s)[:limit-1])) + "…"
}
