package archiver

import (
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/memsidecar/memsidecar/internal/llm"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/redact"
)

// Model answers questions. *llm.Client implements it.
type Model interface {
	Do(ctx context.Context, req llm.Request) (llm.Reply, error)
}

// WaitError says that logs were not summarised because the model is unavailable. Try again later.
type WaitError struct{ Err *llm.Error }

func (e *WaitError) Error() string { return "logs wait for the model: " + e.Err.Error() }

// Unwrap returns the model's error.
func (e *WaitError) Unwrap() error { return e.Err }

const (
	// tokens of all entries in a question
	questionTokens = 6000
	// characters per entry
	entryRunes         = 300
	outputTokens       = 4096
	maxCachedSummaries = 256 // cached summaries
)

const summarySchema = `{"type":"object","properties":{"days":{"type":"array","items":{"type":"object","properties":{` +
	`"day":{"type":"integer"},"summary":{"type":"string"}},"required":["day","summary"],` +
	`"additionalProperties":false}}},` +
	`"required":["days"],"additionalProperties":false}`

// The system prompts, in English and Chinese. The Chinese one is for logs that are mostly Chinese.
var (
	//go:embed prompts/system_en.txt
	systemEnFile string
	//go:embed prompts/system_zh.txt
	systemZhFile string

	systemEn = strings.TrimSpace(systemEnFile)
	systemZh = strings.TrimSpace(systemZhFile)
)

// modelSummariser summarises by a model.
type modelSummariser struct {
	model Model
	// held during a question, so that a concurrent run finds the first one's summaries in the cache
	semaphore chan struct{}

	// by keyOf; guarded by semaphore
	summaries map[string]Summary
	// keys of summaries, oldest first; guarded by semaphore
	order []string
}

// ByModel returns a Summarise that asks a model, with one question of at most about 7,000 tokens for all given logs.
// A summary with claims that no entry supports is refused; the model is asked once more with the error, and then the
// rules summarise that log. If the model is unavailable the error is a *WaitError. Summaries are cached for the life
// of the process, so a dry run and the run after it agree and cost one question.
func ByModel(m Model) Summarise {
	s := &modelSummariser{model: m, semaphore: make(chan struct{}, 1), summaries: map[string]Summary{}}
	return s.summarise
}

// summarise asks the model only about logs that it has not summarised before. A run that is interrupted after
// the model answered, or whose operation conflicts, so costs no second call.
func (s *modelSummariser) summarise(ctx context.Context, logs []Log) ([]Summary, error) {
	select {
	case s.semaphore <- struct{}{}:
		defer func() { <-s.semaphore }()
	case <-ctx.Done():
		return nil, fmt.Errorf("wait for another summary to finish: %w", ctx.Err())
	}
	var news []Log
	for _, l := range logs {
		if _, ok := s.summaries[keyOf(l)]; !ok {
			news = append(news, l)
		}
	}
	fresh := map[string]Summary{}
	if len(news) > 0 {
		told, err := s.ask(ctx, news)
		if err != nil {
			return nil, err
		}
		for i, l := range news {
			fresh[keyOf(l)] = told[i]
			s.cache(keyOf(l), told[i])
		}
	}
	out := make([]Summary, len(logs))
	for i, l := range logs {
		if told, ok := fresh[keyOf(l)]; ok {
			out[i] = told
		} else {
			out[i] = s.summaries[keyOf(l)]
		}
	}
	return out, nil
}

// keyOf identifies a log by its date and entries.
func keyOf(l Log) string { return l.Date + " " + archiveMarkOf(l.Entries).Digest }

// cache stores a summary and evicts the oldest ones. The caller holds the semaphore.
func (s *modelSummariser) cache(key string, told Summary) {
	if _, ok := s.summaries[key]; !ok {
		s.order = append(s.order, key)
	}
	s.summaries[key] = told
	for len(s.order) > maxCachedSummaries {
		delete(s.summaries, s.order[0])
		s.order = slices.Delete(s.order, 0, 1)
	}
}

// ask asks one question about all logs. Days without an accepted summary are summarised by rules.
func (s *modelSummariser) ask(ctx context.Context, logs []Log) ([]Summary, error) {
	a := &answer{logs: logs, accepted: make([]string, len(logs))}
	_, err := s.model.Do(ctx, buildRequest(logs, a.check))
	note := ""
	if err != nil {
		e, ok := errors.AsType[*llm.Error](err)
		if !ok {
			return nil, fmt.Errorf("summarise logs: %w", err)
		}
		if e.Later {
			return nil, &WaitError{e}
		}
		// An error that will not pass: rules decide, and the note says why.
		note = e.Error()
	}
	rules, err := summariseByRules(ctx, logs)
	if err != nil {
		return nil, err
	}
	for i, text := range a.accepted {
		if text != "" {
			rules[i] = Summary{Text: text}
		} else {
			rules[i].Note = note
		}
	}
	return rules, nil
}

// answer collects the last accepted summary of each log in a question.
type answer struct {
	logs []Log
	// one per log; made at the first reply
	checks   []*sourceCheck
	accepted []string // "" without one
}

// check accepts the valid summaries of a reply. The error describes the first invalid one, for the model.
func (a *answer) check(raw json.RawMessage) error {
	var reply struct {
		Days []struct {
			Day     int    `json:"day"`
			Summary string `json:"summary"`
		} `json:"days"`
	}
	if err := llm.Into(&reply)(raw); err != nil {
		return err
	}
	if a.checks == nil {
		for _, l := range a.logs {
			a.checks = append(a.checks, newSourceCheck(l))
		}
	}
	// By day number and not by position: models reorder and leave out days.
	texts := make([]*string, len(a.logs))
	for _, d := range reply.Days {
		if d.Day < 1 || d.Day > len(texts) || texts[d.Day-1] != nil {
			return fmt.Errorf("days: day %d is repeated or not one of 1 to %d", d.Day, len(texts))
		}
		texts[d.Day-1] = &d.Summary
	}
	var wrong error
	for i, said := range texts {
		if said == nil {
			wrong = cmp.Or(wrong, fmt.Errorf("days: day %d is missing", i+1))
			continue
		}
		// A model may spell out what was redacted in parts.
		text, _ := redact.Text(strings.TrimSpace(strings.ToValidUTF8(*said, "")))
		if err := a.checks[i].check(text); err != nil {
			wrong = cmp.Or(wrong, fmt.Errorf("day %d: %w", i+1, err))
			continue
		}
		a.accepted[i] = text
	}
	return wrong
}

// buildRequest builds the question about logs.
func buildRequest(logs []Log, check func(json.RawMessage) error) llm.Request {
	var all []*memory.Entry
	for _, l := range logs {
		all = append(all, l.Entries...)
	}
	chinese := mostlyChinese(all)
	system, head := systemEn, "DAY %d: %s, entries: %d, of which %d are shown\n"
	if chinese {
		system, head = systemZh, "第 %d 天：%s，共 %d 条，列出 %d 条\n"
	}
	var b strings.Builder
	for i, lines := range chooseLines(logs) {
		fmt.Fprintf(&b, head, i+1, logs[i].Date, len(logs[i].Entries), len(lines))
		for _, l := range lines {
			b.WriteString(l)
		}
		b.WriteString("\n")
	}
	return llm.Request{
		System: system, User: b.String(), Schema: json.RawMessage(summarySchema), Name: "log_summaries",
		MaxOutputTokens: outputTokens, Check: check,
	}
}

// chooseLines chooses what to show of each log: all of it when there is room, else what weighs most, each log having
// the same share of the tokens and what others leave of theirs. The lines stand in the order of the day.
func chooseLines(logs []Log) [][]string {
	type shown struct {
		line string
		cost int
	}
	all := make([][]shown, len(logs))
	need := make([]int, len(logs))
	order := make([]int, len(logs))
	for i, l := range logs {
		order[i] = i
		for _, e := range l.Entries {
			line := entryLine(e)
			cost := llm.EstimateTokens(line)
			all[i] = append(all[i], shown{line, cost})
			need[i] += cost
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(need[a], need[b]) })
	out := make([][]string, len(logs))
	left := questionTokens
	for n, i := range order {
		// Logs that need least come first; what they leave of their share goes to the others.
		room := min(left/(len(order)-n), need[i])
		left -= room
		if room == need[i] {
			for _, l := range all[i] {
				out[i] = append(out[i], l.line)
			}
			continue
		}
		byWeight := make([]int, len(all[i]))
		for k := range byWeight {
			byWeight[k] = k
		}
		entries := logs[i].Entries
		slices.SortStableFunc(byWeight, func(a, b int) int {
			return cmp.Compare(entryWeight(entries[b]), entryWeight(entries[a]))
		})
		var chosen []int
		for _, k := range byWeight {
			if cost := all[i][k].cost; cost <= room {
				room -= cost
				chosen = append(chosen, k)
			}
		}
		slices.Sort(chosen)
		for _, k := range chosen {
			out[i] = append(out[i], all[i][k].line)
		}
	}
	return out
}

// entryLine encodes an entry as one redacted line of JSON.
func entryLine(e *memory.Entry) string {
	cut := func(s string, n int) string {
		s, _ = redact.Text(s)
		return clip(strings.Join(strings.Fields(s), " "), n)
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(struct { // cannot fail for strings
		Time  string `json:"time,omitempty"`
		Type  string `json:"type"`
		Tool  string `json:"tool,omitempty"`
		Text  string `json:"text"`
		Error string `json:"error,omitempty"`
	}{clip(e.Time, 5), e.Type, cut(e.Tool, 80), cut(e.Content, entryRunes), cut(e.Error, entryRunes/2)})
	return b.String()
}
