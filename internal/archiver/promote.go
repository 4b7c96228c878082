package archiver

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/pattern"
	proposal "github.com/memsidecar/memsidecar/internal/plan"
	"github.com/memsidecar/memsidecar/internal/reflector"
	"github.com/memsidecar/memsidecar/internal/store"
)

// maxPromoted bounds the memories made of one log.
const maxPromoted = 64

// candidate is an entry, or several of a kind, worth a memory.
type candidate struct {
	at       *memory.Entry // the first one
	others   []*memory.Entry
	category string
	content  string
	weight   float64 // salience of the memory
	context  *memory.Context
}

// cue recognises by its words what an entry is about.
type cue struct {
	category string
	weight   float64
	words    *pattern.Pattern
}

// cues are tried in order. They are meant to miss rather than to take chatter for knowledge: what they miss stays in
// the summary.
var cues = []cue{
	{memory.Procedural, 0.75, pattern.New(`(?i)\b(from now on|in (the )?future,|next time|remember (to|that)\b|make sure (to|that)\b|` +
		`always (use|run|check|ask|write|keep|put|call)|never (use|run|push|commit|delete|ask|write|do|call)|must (not|never|always)|` +
		`(don't|do not) (ever )?(use|run|push|commit|delete|do|call))\b` +
		`|以后(都|请|要|不要|别|不能)|下次(不要|别|请|要|记得|先)|从现在起|从今以后|今后(都|请|要|不要)|务必|切勿|千万(别|不要)|请?记住|请记得|一律|永远不要|不要再`)},
	{memory.Preferences, 0.7, pattern.New(`(?i)\b(prefer(s|red|ence)?|favou?rite|(user|i|he|she|they|we) (really |strongly |always )?(likes?|loves?|hates?|dislikes?))\b` +
		`|喜欢|偏好|更愿意|讨厌|习惯(用|于|在)`)},
	{memory.Facts, 0.65, pattern.New(`(?i)\b(decided|decision|agreed (to|on|that)|(we|they) will use|going with|chose|switched to|settled on|migrated to)\b` +
		`|决定|选定|敲定|改用|确定(使用|采用|用)|最终(选择|采用|选用)|一致同意`)},
}

// ofUser recognises entries written about the user, by somebody who has judged already. What people say themselves may be about a colleague, a
// quotation or the text before them.
var ofUser = pattern.New(`(?i)^(the )?user\b|^用户`)

// byCategory weighs entries that somebody gave a category. Tasks and general notes of a month ago are worth a memory only
// when their words say so.
var byCategory = map[string]float64{
	memory.Preferences: 0.7,
	memory.Procedural:  0.7,
	memory.Facts:       0.6,
	memory.Reflections: 0.5,
	memory.Tasks:       0,
	memory.General:     0,
}

// candidates finds the entries of a log that are worth a memory, most important first.
func candidates(date string, entries []*memory.Entry) []candidate {
	out := failures(date, entries)
	for _, e := range entries {
		if isFailure(e) {
			continue
		}
		category, weight, sure := judge(e)
		var stated []candidate
		if !sure {
			stated = statements(e)
		}
		if weight > 0 && (sure || len(stated) > 0) {
			stated = []candidate{{at: e, category: category, content: clip(strings.TrimSpace(e.Content), memory.MaxContent), weight: weight}}
		}
		out = append(out, stated...)
	}
	slices.SortStableFunc(out, func(a, b candidate) int { return cmp.Compare(b.weight, a.weight) })
	return out
}

// statements finds what an entry states among other things, as a session's reflection would have found it. Tasks of a month ago are done or in vain.
func statements(e *memory.Entry) (out []candidate) {
	if isAccount(e) {
		return nil
	}
	for _, item := range reflector.Reflect(reflector.Input{
		Messages: []*memory.Message{{Seq: 1, At: e.At, Role: "user", Content: e.Content}}, Now: e.At, Location: e.At.Location(),
	}).Items {
		if m := &item.Memory; item.Action == proposal.Add && m.Category != memory.Tasks {
			out = append(out, candidate{at: e, category: m.Category, content: m.Content, weight: m.Salience})
		}
	}
	return out
}

// isAccount reports whether an entry tells what a session did: what was worth a memory in it is one.
func isAccount(e *memory.Entry) bool {
	return e.Type == memory.EntrySessionSummary || e.Type == memory.EntryReview || e.Type == memory.EntrySkillRun
}

// judge says which category of memory an entry is worth, and how much; 0 when none. It is not sure when it goes by words that others use too.
func judge(e *memory.Entry) (category string, weight float64, sure bool) {
	if strings.TrimSpace(e.Content) == "" || isAccount(e) {
		return "", 0, true
	}
	category = slug(e.Category)
	if e.Type == memory.EntryCorrection {
		return cmp.Or(category, memory.Procedural), 0.85, true
	}
	if category != "" {
		w, published := byCategory[category]
		if !published {
			w = 0.5
		}
		if w > 0 {
			return category, w, true
		}
	}
	if c, ok := matchCue(e.Content); ok {
		return c.category, c.weight, c.category == memory.Facts || e.Type == memory.EntryAutoExtract || ofUser.MatchString(e.Content)
	}
	if e.Type == memory.EntryAutoExtract {
		return cmp.Or(category, memory.General), 0.5, true
	}
	return "", 0, false
}

// matchCue finds the first cue in s, an entry that is a statement as a whole. A question states nothing.
func matchCue(s string) (cue, bool) {
	// What runs over several lines is more than the statement in it.
	if s = strings.TrimSpace(s); strings.HasSuffix(s, "?") || strings.HasSuffix(s, "？") || strings.Contains(s, "\n") {
		return cue{}, false
	}
	for _, c := range cues {
		if c.words.MatchString(s) {
			return c, true
		}
	}
	return cue{}, false
}

// weigh says how much an entry matters for the summary of its log.
func weigh(e *memory.Entry) float64 {
	if _, w, _ := judge(e); w > 0 {
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

// slug is the category as it is stored, "" when it cannot be one. Logs may be written by hand.
func slug(category string) string {
	category = strings.ToLower(strings.TrimSpace(category))
	if len(category) > memory.MaxSlug || !memory.IsSlug(category) {
		return ""
	}
	return category
}

// isFailure reports whether an entry notes that a tool failed.
func isFailure(e *memory.Entry) bool {
	return e.Tool != "" && (e.Type == memory.EntryToolFailure || e.Error != "" && e.Type != memory.EntryCorrection)
}

// failures makes one candidate of each failure that occurred at least twice. What failed once may have been chance.
func failures(date string, entries []*memory.Entry) []candidate {
	type kind struct{ tool, class string }
	groups := map[kind][]*memory.Entry{}
	var order []kind
	for _, e := range entries {
		if !isFailure(e) || strings.TrimSpace(e.Content) == "" {
			continue
		}
		k := kind{e.Tool, errorClass(cmp.Or(e.Error, e.Content))}
		if groups[k] == nil {
			order = append(order, k)
		}
		groups[k] = append(groups[k], e)
	}
	var out []candidate
	for _, k := range order {
		g := groups[k]
		if len(g) < 2 {
			continue
		}
		first := g[0]
		text := fmt.Sprintf("%s failed %d times on %s: %s", k.tool, len(g), date, strings.TrimSpace(first.Content))
		if mostlyChinese(g[:1]) {
			text = fmt.Sprintf("%s 在 %s 失败 %d 次：%s", k.tool, date, len(g), strings.TrimSpace(first.Content))
		}
		ctx := &memory.Context{Tool: clip(k.tool, memory.MaxTitle), ErrorType: k.class, Occurrences: int64(len(g))}
		if first.Session != "" {
			ctx.LearnedFrom = clip("session_"+first.Session, memory.MaxTitle)
		}
		out = append(out, candidate{
			at: first, others: g[1:], category: memory.Procedural, content: clip(text, memory.MaxContent), weight: 0.7, context: ctx,
		})
	}
	return out
}

var (
	variable = pattern.New(`[0-9]+|"[^"]*"|'[^']*'|https?://\S+|(/[\w.@-]+){2,}`)
	spaces   = pattern.New(`\s+`)
)

// errorClass reduces an error message to what is the same each time it occurs: numbers, quoted names, paths and addresses
// are not.
func errorClass(s string) string {
	s = variable.ReplaceAllString(strings.ToLower(s), "#")
	return clip(strings.TrimSpace(spaces.ReplaceAllString(s, " ")), 80)
}

// memory makes the memory of a candidate.
func (c candidate) memory(date string, at time.Time) *memory.Memory {
	m := &memory.Memory{
		ID: store.NewID(), Category: c.category, Content: c.content, Salience: c.weight, Confidence: 1,
		Status: memory.Active, Source: memory.SourceArchive, CreatedAt: at, Context: c.context,
	}
	for _, e := range append([]*memory.Entry{c.at}, c.others...) {
		if len(m.Evidence) == memory.MaxLinks {
			break
		}
		m.Evidence = append(m.Evidence, memory.Evidence{Log: date, Entry: e.ID, Session: e.Session})
	}
	return m
}

// choose splits candidates into those to promote and those that say what is known already, on the evidence of a snapshot.
// Memories in any state count: what was superseded or retired must not come back as news from an old log.
func choose(found []candidate, known *similar) (pick []candidate, skip []Skipped) {
	index := newSimilar(nil)
	for _, c := range found {
		reason := ""
		switch {
		case known.has(c) || index.has(c):
			reason = "DUPLICATE"
		case len(pick) == maxPromoted:
			reason = "LIMIT"
		}
		if reason != "" {
			skip = append(skip, Skipped{Entry: c.at.ID, Category: c.category, Content: c.content, Reason: reason})
			continue
		}
		pick = append(pick, c)
		index.add(c.content, c.context)
	}
	return pick, skip
}
