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
	// maximum characters of a summary
	maxSummary = 1000
	// maximum characters per line
	maxLine = 160
)

// Log is a daily log to summarise.
type Log struct {
	Date string
	// in order of time, without forgotten ones
	Entries []*memory.Entry
}

// Summary is the summary of a log.
type Summary struct {
	// at most 1,000 characters
	Text string
	// why it was made by rules although a model is configured; else ""
	Note string
}

// Summarise returns one summary per log, in order. On an error all of the logs wait for a later run; a *WaitError
// means that the model is unavailable. The input is always entries, never earlier summaries, so details do not fade
// by repeated summarising. See ByModel.
type Summarise func(ctx context.Context, logs []Log) ([]Summary, error)

// summariseByRules is the Summarise without a model.
func summariseByRules(_ context.Context, logs []Log) ([]Summary, error) {
	out := make([]Summary, len(logs))
	for i, l := range logs {
		out[i].Text = outlineOf(l.Date, l.Entries).compose()
	}
	return out, nil
}

// summaryOutline is the material of a summary.
type summaryOutline struct {
	head string
	// most important first
	lines []line
}

// line is one entry as a line of the summary.
type line struct {
	text string // one line
	// position of the entry in its log
	pos    int
	weight float64
}

// outlineOf weighs the entries of a log.
func outlineOf(date string, entries []*memory.Entry) summaryOutline {
	if len(entries) == 0 {
		return summaryOutline{}
	}
	chinese := mostlyChinese(entries)
	d := summaryOutline{head: head(date, entries, chinese)}
	seen := map[string]bool{}
	for i, e := range entries {
		text := clip(strings.Join(strings.Fields(e.Content), " "), maxLine)
		if key := memory.Normalize(e.Content); key == "" || seen[key] {
			continue
		} else {
			seen[key] = true
		}
		d.lines = append(d.lines, line{text: text, pos: i, weight: entryWeight(e)})
	}
	slices.SortStableFunc(d.lines, func(a, b line) int { return cmp.Compare(b.weight, a.weight) })
	return d
}

// compose returns the summary: the most important lines that fit, in the order of the day.
func (d summaryOutline) compose() string {
	if d.head == "" {
		return ""
	}
	room := maxSummary - utf8.RuneCountInString(d.head)
	var chosen []line
	for _, l := range d.lines {
		n := utf8.RuneCountInString(l.text) + len("\n- ")
		// A later line may be shorter and still fit.
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

// typeNames are the Chinese names of the entry types that the daemon writes.
var typeNames = map[string]string{
	memory.EntryEvent: "事件", memory.EntryAutoExtract: "提取", memory.EntryReflection: "反思",
	memory.EntryToolFailure: "工具失败", memory.EntryCorrection: "纠正", memory.EntrySessionSummary: "会话摘要",
	memory.EntrySkillRun: "成功的流程",
}

// head is the first line: the number of entries by type, in the language of the log.
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
	const most = 8 // maximum number of listed types
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

// mostlyChinese reports whether the summary should be in Chinese: at least a third of the letters are Han characters.
// A Han character says about as much as a short word, and Chinese text contains many Latin names.
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

// clip cuts s to at most limit characters; a cut text ends with an ellipsis.
func clip(s string, limit int) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if utf8.RuneCountInString(s) <= limit {
		return s
	}
	return strings.TrimSpace(string([]rune(s)[:limit-1])) + "…"
}
