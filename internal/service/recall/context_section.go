package recall

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/memsidecar/memsidecar/internal/memory"
)

// section is one part of a context. Sections are ordered by priority.
type section struct {
	title   string
	share   int  // percent of the budget that the first pass allows
	prefix  bool // entries only make sense in order: after an omitted one, all are omitted
	entries []entry
	more    int // further entries that were not written, because the budget cannot hold them

	included map[int]bool // indexes of the entries to show
}

// entry is one line of a section, under a heading. Headings are ordered by rank.
type entry struct {
	rank    int
	heading string // "" for none
	line    string
}

const (
	omissionTokens = 24 // tokens reserved per section for the line that reports omissions
	fenceTokens    = 40 // tokens of the opening and closing lines of a context
)

// assemble writes the sections behind head, within the budget and in whole lines only. A first pass gives each section
// its share, a second one gives the rest in order of priority. It returns "" if there is nothing to write.
//
// The estimates of single lines add up to at least the estimate of the whole, so counting lines keeps the budget.
func assemble(sections []*section, head string, w phrases, budget int) string {
	sections = slices.DeleteFunc(sections, func(s *section) bool { return len(s.entries) == 0 })
	left := budget - fenceTokens - Tokens(head)
	for _, s := range sections {
		left -= s.fill(min(left, budget*s.share/100))
	}
	for _, s := range sections {
		left -= s.fill(left)
	}
	var b strings.Builder
	for _, s := range sections {
		s.write(&b, w)
	}
	if b.Len() == 0 {
		return ""
	}
	return head + b.String()
}

// fill includes further entries within tokens and returns the tokens used.
func (s *section) fill(tokens int) (used int) {
	if s.included == nil {
		s.included = map[int]bool{}
	}
	headings := map[string]bool{}
	for i := range s.included {
		headings[s.entries[i].heading] = true
	}
	overhead := 0
	if len(s.included) == 0 {
		// The first entry pays for the section's title and for the line that says how many were left out.
		overhead = Tokens(s.title+"\n") + omissionTokens
	}
	for i, e := range s.entries {
		if s.included[i] {
			continue
		}
		cost := overhead + Tokens(e.line+"\n")
		if e.heading != "" && !headings[e.heading] {
			cost += Tokens(e.heading + "\n")
		}
		if used+cost > tokens {
			// A chronological section must not have holes; others take whatever still fits.
			if s.prefix {
				break
			}
			continue
		}
		used, overhead = used+cost, 0
		s.included[i], headings[e.heading] = true, true
	}
	return used
}

// write appends the title, the included entries under their headings, and the number of omitted ones.
func (s *section) write(b *strings.Builder, w phrases) {
	if len(s.included) == 0 {
		return
	}
	b.WriteString(s.title + "\n")
	var shown []entry
	for i, e := range s.entries {
		if s.included[i] {
			shown = append(shown, e)
		}
	}
	slices.SortStableFunc(shown, func(a, b entry) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), strings.Compare(a.heading, b.heading))
	})
	heading := ""
	for _, e := range shown {
		if e.heading != heading {
			heading = e.heading
			b.WriteString(heading + "\n")
		}
		b.WriteString(e.line + "\n")
	}
	if n := len(s.entries) - len(shown) + s.more; n > 0 {
		fmt.Fprintf(b, w.more+"\n", n)
	}
}

// categoryHeadings maps categories to headings, in display order. Other categories follow under their own names.
var categoryHeadings = []struct {
	categories []string
	en, zh     string
}{
	{[]string{memory.Preferences, "preference", "user", "feedback"}, "## User Preferences", "## 用户偏好"},
	{[]string{memory.Facts, "fact", "project", "reference"}, "## Known Facts", "## 已知事实"},
	{[]string{"patterns", "pattern"}, "## User Patterns", "## 行为模式"},
	{[]string{memory.Procedural, "skills", "skill"}, "## Proven Skills", "## 已验证的技能"},
}

// ownNamesZh are the Chinese names of categories without a heading above.
var ownNamesZh = map[string]string{memory.Tasks: "任务备忘", memory.Reflections: "反思日志", memory.General: "通用记忆"}

// headingOf returns the heading of a category and its rank: the place in categoryHeadings, or the one behind.
func headingOf(category, language string) (rank int, heading string) {
	for rank, h := range categoryHeadings {
		if !slices.Contains(h.categories, category) {
			continue
		}
		if language == Chinese {
			return rank, h.zh
		}
		return rank, h.en
	}
	name := ownNamesZh[category]
	if language != Chinese || name == "" {
		name = strings.ToUpper(category[:min(1, len(category))]) + category[min(1, len(category)):]
	}
	return len(categoryHeadings), "## " + name
}
