package archiver

import (
	"cmp"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/memsidecar/memsidecar/internal/lazyregexp"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/reflector"
	proposal "github.com/memsidecar/memsidecar/internal/reflector/guard"
	"github.com/memsidecar/memsidecar/internal/store"
)

// maxPromoted is the maximum number of memories made of one log.
const maxPromoted = 64

// candidate is an entry, or several equal failures, worth a memory.
type candidate struct {
	entry    *memory.Entry // the first entry
	repeats  []*memory.Entry
	category string
	content  string
	// salience of the memory
	weight  float64
	context *memory.Context
}

// importanceRule classifies an entry by its words.
type importanceRule struct {
	category string
	weight   float64
	words    *lazyregexp.Pattern
}

// importanceRules are tried in order. They prefer precision over recall, because a missed entry is still in the
// summary.
var importanceRules = []importanceRule{
	{memory.Procedural, 0.75, lazyregexp.New(`(?i)\b(from now on|in (the )?future,|next time|remember (to|that)\b` +
		`|make sure (to|that)\b|` +
		`always (use|run|check|ask|write|keep|put|call)|never (use|run|push|commit|delete|ask|write|do|call)` +
		`|must (not|never|always)|` +
		`(don't|do not) (ever )?(use|run|push|commit|delete|do|call))\b` +
		`|以后(都|请|要|不要|别|不能)|下次(不要|别|请|要|记得|先)|从现在起|从今以后|今后(都|请|要|不要)|务必|切勿|千万(别|不要)|请?记住|请记得|一律|永远不要|不要再`)},
	{memory.Preferences, 0.7, lazyregexp.New(`(?i)\b(prefer(s|red|ence)?|favou?rite|(user|i|he|she|they|we) (really ` +
		`|strongly |always )?(likes?|loves?|hates?|dislikes?))\b` +
		`|喜欢|偏好|更愿意|讨厌|习惯(用|于|在)`)},
	{memory.Facts, 0.65, lazyregexp.New(`(?i)\b(decided|decision|agreed (to|on|that)|(we|they) will use|going with` +
		`|chose|switched to|settled on|migrated to)\b` +
		`|决定|选定|敲定|改用|确定(使用|采用|用)|最终(选择|采用|选用)|一致同意`)},
}

// aboutUser recognises entries that describe the user in the third person. First-person text may be a quotation, or
// about something else.
var aboutUser = lazyregexp.New(`(?i)^(the )?user\b|^用户`)

// categoryWeights are the saliences of entries with a category; 0 leaves the decision to importanceRules. Tasks and
// general notes are mostly obsolete after a month.
var categoryWeights = map[string]float64{
	memory.Preferences: 0.7,
	memory.Procedural:  0.7,
	memory.Facts:       0.6,
	memory.Reflections: 0.5,
	memory.Tasks:       0,
	memory.General:     0,
}

// importantWeight is the salience of what is worth a memory for the type of its entry alone.
const importantWeight = 0.6

// findCandidates returns the entries of a log that are worth a memory, most important first. Those of other machines
// are promoted there.
func findCandidates(date string, entries []*memory.Entry) []candidate {
	entries = slices.DeleteFunc(slices.Clone(entries), (*memory.Entry).IsReceived)
	out := findRepeatedFailures(date, entries)
	for _, e := range entries {
		// Reading a log takes milliseconds, and somebody who adds a memory meanwhile would wait for 10 ms, after which
		// the scheduler takes the processor away.
		runtime.Gosched()
		if isFailure(e) {
			continue
		}
		category, weight, sure := classifyEntry(e)
		var stated []candidate
		if !sure {
			stated = findStatements(e)
		}
		if weight > 0 && (sure || len(stated) > 0) {
			stated = []candidate{{entry: e, category: category,
				content: clip(strings.TrimSpace(e.Content), memory.MaxContent), weight: weight}}
		}
		out = append(out, stated...)
	}
	slices.SortStableFunc(out, func(a, b candidate) int { return cmp.Compare(b.weight, a.weight) })
	return out
}

// findStatements extracts statements from a longer entry, by the rules of a session's reflection. Tasks are skipped:
// after a month they are done or obsolete.
func findStatements(e *memory.Entry) (out []candidate) {
	if isAccount(e) {
		return nil
	}
	for _, item := range reflector.Reflect(reflector.Input{
		Messages: []*memory.Message{{Seq: 1, At: e.At, Role: "user", Content: e.Content}}, Now: e.At,
		Location: e.At.Location(),
	}).Items {
		if m := &item.Memory; item.Action == proposal.Add && m.Category != memory.Tasks {
			out = append(out, candidate{entry: e, category: m.Category, content: m.Content, weight: m.Salience})
		}
	}
	return out
}

// isAccount reports whether an entry reports on a session. Its memories were made when the session was reflected.
func isAccount(e *memory.Entry) bool {
	return e.Type == memory.EntrySessionSummary || e.Type == memory.EntryReview || e.Type == memory.EntrySkillRun
}

// isThought reports whether an entry is what somebody thought about their work, which no session was reflected for.
func isThought(e *memory.Entry) bool { return e.Type == memory.EntryReflection && e.Session == "" }

// classifyEntry returns the category and salience of the memory that an entry is worth; 0 if none. sure is false if
// the words are ambiguous.
func classifyEntry(e *memory.Entry) (category string, weight float64, sure bool) {
	if strings.TrimSpace(e.Content) == "" || isAccount(e) {
		return "", 0, true
	}
	category = slug(e.Category)
	// What a user corrected must not be repeated, so a correction weighs more than its category says.
	if e.Type == memory.EntryCorrection {
		return cmp.Or(category, memory.Procedural), 0.85, true
	}
	if category != "" {
		w, published := categoryWeights[category]
		if !published {
			w = 0.5
		}
		if w > 0 {
			return category, w, true
		}
	}
	if c, ok := matchImportance(e.Content); ok {
		return c.category, c.weight, c.category == memory.Facts || e.Type == memory.EntryAutoExtract ||
			aboutUser.MatchString(e.Content)
	}
	switch {
	case e.Type == memory.EntryAutoExtract:
		return cmp.Or(category, memory.General), importantWeight, true
	case isThought(e):
		return memory.Reflections, importantWeight, true
	}
	return "", 0, false
}

// matchImportance returns the first matching rule for s, a single statement. Questions and texts of several lines
// match none.
func matchImportance(s string) (importanceRule, bool) {
	// Text of several lines is more than one statement.
	if s = strings.TrimSpace(s); strings.HasSuffix(s, "?") || strings.HasSuffix(s, "？") || strings.Contains(s, "\n") {
		return importanceRule{}, false
	}
	for _, c := range importanceRules {
		if c.words.MatchString(s) {
			return c, true
		}
	}
	return importanceRule{}, false
}

// entryWeight is the importance of an entry for the summary of its log, 0 to 1.
func entryWeight(e *memory.Entry) float64 {
	if _, w, _ := classifyEntry(e); w > 0 {
		return w
	}
	switch {
	case e.Type == memory.EntrySessionSummary:
		return 0.8
	case isFailure(e):
		return 0.3
	case e.Type == memory.EntryReflection:
		return 0.4
	}
	return 0.2
}

// slug normalises a category, "" if it is invalid. Logs may be edited by hand.
func slug(category string) string {
	category = strings.ToLower(strings.TrimSpace(category))
	if len(category) > memory.MaxSlug || !memory.IsSlug(category) {
		return ""
	}
	return category
}

// isFailure reports whether an entry is a tool failure.
func isFailure(e *memory.Entry) bool {
	return e.Tool != "" && (e.Type == memory.EntryToolFailure || e.Error != "" && e.Type != memory.EntryCorrection)
}

// findRepeatedFailures returns a candidate for each failure that occurred at least twice, or that somebody thought
// about. Any other single failure may be accidental.
func findRepeatedFailures(date string, entries []*memory.Entry) []candidate {
	type kind struct{ tool, class string }
	groups := map[kind][]*memory.Entry{}
	var order []kind
	for _, e := range entries {
		if !isFailure(e) || strings.TrimSpace(e.Content) == "" {
			continue
		}
		// By class and not by text: error messages hold paths and numbers that differ each time.
		k := kind{e.Tool, errorClass(cmp.Or(e.Error, e.Content))}
		if groups[k] == nil {
			order = append(order, k)
		}
		groups[k] = append(groups[k], e)
	}
	var out []candidate
	for _, k := range order {
		g := groups[k]
		first := g[0]
		if len(g) < 2 {
			if isThought(first) {
				out = append(out, candidate{entry: first, category: memory.Procedural, weight: importantWeight,
					content: clip(strings.TrimSpace(first.Content), memory.MaxContent),
					context: &memory.Context{Tool: clip(k.tool, memory.MaxTitle), ErrorType: k.class}})
			}
			continue
		}
		text := fmt.Sprintf("%s failed %d times on %s: %s", k.tool, len(g), date, strings.TrimSpace(first.Content))
		if mostlyChinese(g[:1]) {
			text = fmt.Sprintf("%s 在 %s 失败 %d 次：%s", k.tool, date, len(g), strings.TrimSpace(first.Content))
		}
		ctx := &memory.Context{Tool: clip(k.tool, memory.MaxTitle), ErrorType: k.class, Occurrences: int64(len(g))}
		if first.Session != "" {
			ctx.LearnedFrom = clip("session_"+first.Session, memory.MaxTitle)
		}
		out = append(out, candidate{
			entry: first, repeats: g[1:], category: memory.Procedural, content: clip(text, memory.MaxContent),
			weight:  0.7,
			context: ctx,
		})
	}
	return out
}

var (
	// Numbers, quoted names, URLs and paths.
	variablePart = lazyregexp.New(`[0-9]+|"[^"]*"|'[^']*'|https?://\S+|(/[\w.@-]+){2,}`)
	// White space.
	spaces = lazyregexp.New(`\s+`)
)

// errorClass removes the variable parts of an error message: numbers, quoted names, paths and addresses.
func errorClass(s string) string {
	s = variablePart.ReplaceAllString(strings.ToLower(s), "#")
	return clip(strings.TrimSpace(spaces.ReplaceAllString(s, " ")), 80)
}

// memory returns the memory of a candidate.
func (c candidate) memory(date string, at time.Time) *memory.Memory {
	m := &memory.Memory{
		ID: store.NewID(), Category: c.category, Content: c.content, Salience: c.weight, Confidence: 1,
		Status: memory.Active, Source: memory.SourceArchive, CreatedAt: at, More: &memory.More{Context: c.context},
	}
	for _, e := range append([]*memory.Entry{c.entry}, c.repeats...) {
		if len(m.Evidence()) == memory.MaxLinks {
			break
		}
		m.SetEvidence(append(m.Evidence(), memory.Evidence{Log: date, Entry: e.ID, Session: e.Session}))
	}
	return m
}

// selectCandidates splits candidates into those to promote and those that are known already. Memories in any state
// count, so an old log does not bring back what was superseded or retired.
func selectCandidates(found []candidate, known *textIndex) (pick []candidate, skip []Skipped) {
	index := newTextIndex(nil)
	for _, c := range found {
		reason := ""
		switch {
		case known.contains(c) || index.contains(c):
			reason = "NEAR_DUPLICATE"
		case len(pick) == maxPromoted:
			reason = "TOO_MANY"
		}
		if reason != "" {
			skip = append(skip, Skipped{Entry: c.entry.ID, Category: c.category, Content: c.content, Reason: reason})
			continue
		}
		pick = append(pick, c)
		index.add(c.content, c.context)
	}
	return pick, skip
}
