package recall

import (
	"fmt"
	"slices"
	"strings"

	"github.com/memsidecar/memsidecar/internal/memory"
)

// section is one part of a context. Sections stand in the order of their priority.
type section struct {
	title   string
	share   int  // percent of the budget that it may take before those behind it have had theirs
	prefix  bool // its entries make sense in order only: none is taken behind one that was left out
	entries []entry

	taken map[int]bool // entries that are shown
}

// entry is a line under a heading, both within one section. Headings stand in the order of their ranks.
type entry struct {
	rank    int
	heading string // "" for none
	line    string
}

const noteTokens = 24 // kept free in each section for the line that says that something was left out

// assemble writes the sections as far as the budget goes, whole lines only. It returns "" when there is nothing to write.
//
// Tokens of lines add up to at least those of the whole, so counting lines keeps the budget.
func assemble(sections []*section, w words, budget int) string {
	sections = slices.DeleteFunc(sections, func(s *section) bool { return len(s.entries) == 0 })
	guide := w.guide
	if budget < smallBudget {
		guide = w.short
	}
	const fence = 40 // tokens of the lines around
	left := budget - fence - Tokens(guide+"\n")
	for _, s := range sections {
		left -= s.take(min(left, budget*s.share/100))
	}
	for _, s := range sections {
		left -= s.take(left)
	}
	var b strings.Builder
	for _, s := range sections {
		s.write(&b, w)
	}
	if b.Len() == 0 {
		return ""
	}
	return guide + "\n" + b.String()
}

// take shows more entries, for at most so many tokens, and returns how many it used.
func (s *section) take(tokens int) (used int) {
	if s.taken == nil {
		s.taken = map[int]bool{}
	}
	headings := map[string]bool{}
	for i := range s.taken {
		headings[s.entries[i].heading] = true
	}
	overhead := 0
	if len(s.taken) == 0 {
		overhead = Tokens(s.title+"\n") + noteTokens
	}
	for i, e := range s.entries {
		if s.taken[i] {
			continue
		}
		cost := overhead + Tokens(e.line+"\n")
		if e.heading != "" && !headings[e.heading] {
			cost += Tokens(e.heading + "\n")
		}
		if used+cost > tokens {
			if s.prefix {
				break
			}
			continue
		}
		used, overhead = used+cost, 0
		s.taken[i], headings[e.heading] = true, true
	}
	return used
}

func (s *section) write(b *strings.Builder, w words) {
	if len(s.taken) == 0 {
		return
	}
	b.WriteString(s.title + "\n")
	var shown []entry
	for i, e := range s.entries {
		if s.taken[i] {
			shown = append(shown, e)
		}
	}
	slices.SortStableFunc(shown, func(a, b entry) int { return a.rank - b.rank })
	heading := ""
	for _, e := range shown {
		if e.heading != heading {
			heading = e.heading
			b.WriteString(heading + "\n")
		}
		b.WriteString(e.line + "\n")
	}
	if n := len(s.entries) - len(shown); n > 0 {
		fmt.Fprintf(b, w.more+"\n", n)
	}
}

// headings of memories by category, in the order in which they are shown.
var headings = []struct {
	categories []string
	en, zh     string
}{
	{[]string{memory.Preferences, "preference", "user", "feedback"}, "## User Preferences", "## 用户偏好"},
	{[]string{memory.Facts, "fact", "project", "reference"}, "## Known Facts", "## 已知事实"},
	{[]string{"patterns", "pattern", memory.Reflections}, "## User Patterns", "## 行为模式"},
	{[]string{memory.Procedural, "skills", "skill"}, "## Proven Skills", "## 已验证的技能"},
	{[]string{memory.Tasks}, "## Open Tasks", "## 待办任务"},
	{nil, "## Other Notes", "## 其他"},
}

func headingOf(category, language string) (rank int, heading string) {
	rank = slices.IndexFunc(headings, func(h struct {
		categories []string
		en, zh     string
	}) bool {
		return h.categories == nil || slices.Contains(h.categories, category)
	})
	if language == Chinese {
		return rank, headings[rank].zh
	}
	return rank, headings[rank].en
}
