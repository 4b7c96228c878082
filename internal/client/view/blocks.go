package view

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/memsidecar/memsidecar/internal/jsonstore/markdownv1"
	"github.com/memsidecar/memsidecar/internal/lazyregexp"
	"github.com/memsidecar/memsidecar/internal/memory"
)

// block is an item of a list with what is indented below it, a paragraph, or a block of code: what is one memory in a
// list.
type block struct {
	headings []string // above it, outermost first
	levels   []int
	text     string // its lines; those of an item without marker and indentation
	item     bool
	done     bool // a ticked checkbox
	line     int  // number of its first line
}

var (
	headingForm = lazyregexp.New(`^(#{1,6})\s+(.*?)\s*#*\s*$`)
	itemForm    = lazyregexp.New(`^(?:[-*+•]\s+|\d{1,3}[.)]\s+|\d{1,3}、\s*)`)
	boxForm     = lazyregexp.New(`^\[([ xX])\]\s+`)
	markForm    = lazyregexp.New(`<!-- memsidecar (\d+)\b`)
	moreForm    = lazyregexp.New(`^<!-- \d+ more files are in this directory -->$`)
	titleForm   = lazyregexp.New(`^\*\*(.+?)\*\* — `)
	ruleForm    = lazyregexp.New(`^(?:-{3,}|\*{3,}|_{3,}|={3,})$`)
)

// blockParser cuts a file into blocks.
type blockParser struct {
	blocks   []block
	headings []string
	levels   []int
	cur      *block // that may go on
	lines    []string
	blank    int    // empty lines since the last line of cur
	fence    string // the marker that ends a block of code at the margin
}

// parseBlocks parts a file into blocks. serial is the version that its mark names, 0 for none. Headings, comments and
// rules are no blocks.
//
// remarks says that it holds comments of somebody else.
func parseBlocks(text string) (pieces []block, serial int64, remarks bool) {
	c := &blockParser{}
	comment := false
	text = strings.ReplaceAll(strings.TrimPrefix(text, "\ufeff"), "\r\n", "\n")
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimRight(line, " \t\r")
		inner := c.cur != nil && c.cur.item && (strings.HasPrefix(line, "  ") || strings.HasPrefix(line, "\t"))
		switch {
		// Inside a code fence everything is text, even what looks like a heading or a comment.
		case c.fence != "":
			c.continueBlock(line)
			if strings.HasPrefix(strings.TrimSpace(line), c.fence) {
				c.fence = ""
			}
		case comment:
			comment = !strings.Contains(line, "-->")
		case inner:
			c.continueBlock(outdent(line))
		case strings.HasPrefix(strings.TrimSpace(line), "<!--"):
			if m := markForm.FindStringSubmatch(line); m != nil {
				serial, _ = strconv.ParseInt(m[1], 10, 64)
			} else if !moreForm.MatchString(line) {
				remarks = true
			}
			comment = !strings.Contains(line, "-->")
			c.endBlock()
		case line == "":
			c.blank++
		default:
			c.parseLine(i+1, line)
		}
	}
	c.endBlock()
	return c.blocks, serial, remarks
}

// parseLine handles a line at the margin outside code: a heading, a rule, an item, the start of code, or text.
func (c *blockParser) parseLine(n int, line string) {
	text := strings.TrimLeft(line, " \t")
	if m := headingForm.FindStringSubmatch(text); m != nil {
		c.endBlock()
		level := len(m[1])
		// A heading closes those of its own and of deeper levels.
		for len(c.levels) > 0 && c.levels[len(c.levels)-1] >= level {
			c.levels, c.headings = c.levels[:len(c.levels)-1], c.headings[:len(c.headings)-1]
		}
		c.levels, c.headings = append(c.levels, level), append(c.headings, m[2])
		return
	}
	if ruleForm.MatchString(text) {
		c.endBlock()
		return
	}
	if marker := itemForm.FindString(text); marker != "" {
		c.endBlock()
		text = text[len(marker):]
		done := false
		if m := boxForm.FindString(text); m != "" {
			done, text = m[1] != ' ', text[len(m):]
		}
		c.startBlock(n, text, true)
		c.cur.done = done
		return
	}
	if strings.HasPrefix(text, "```") || strings.HasPrefix(text, "~~~") {
		// Code that follows a text without a blank line belongs to that text.
		if c.cur == nil || c.blank > 0 {
			c.endBlock()
			c.startBlock(n, text, false)
		} else {
			c.continueBlock(text)
		}
		c.fence = text[:3]
		return
	}
	if c.cur != nil && c.blank == 0 {
		c.continueBlock(text)
		return
	}
	c.endBlock()
	c.startBlock(n, text, false)
}

// startBlock begins a block at line n under the present headings.
func (c *blockParser) startBlock(n int, text string, item bool) {
	c.cur = &block{headings: append([]string(nil), c.headings...), levels: append([]int(nil), c.levels...), item: item,
		line: n}
	c.lines, c.blank = []string{text}, 0
}

// continueBlock adds a line to the block, after the blank lines before it.
func (c *blockParser) continueBlock(line string) {
	for ; c.blank > 0; c.blank-- {
		c.lines = append(c.lines, "")
	}
	c.lines = append(c.lines, line)
}

// endBlock completes the block, if there is one with text.
func (c *blockParser) endBlock() {
	if c.cur != nil {
		if c.cur.text = strings.TrimSpace(strings.Join(c.lines, "\n")); c.cur.text != "" {
			c.blocks = append(c.blocks, *c.cur)
		}
	}
	c.cur, c.blank = nil, 0
}

// outdent takes off what an item's further lines are indented by.
func outdent(line string) string {
	if rest, ok := strings.CutPrefix(line, "\t"); ok {
		return rest
	}
	return strings.TrimPrefix(line, "  ")
}

// categories are the headings of lists, in the order in which they stand.
var categories = []struct{ category, en, zh string }{
	{memory.Preferences, "Preferences", "偏好"},
	{memory.Facts, "Facts", "事实"},
	{memory.Tasks, "Tasks", "任务"},
	{memory.Procedural, "Procedural", "经验"},
	{memory.Reflections, "Reflections", "反思"},
	{memory.General, "General", "通用"},
}

// headingOf returns the heading of a category in a language, "en" or "zh".
func headingOf(category, lang string) string {
	for _, c := range categories {
		if c.category == category && lang == "zh" {
			return c.zh
		} else if c.category == category {
			return c.en
		}
	}
	return category
}

// classify says what category and tags the headings above a block, and the block itself, stand for. "" is that they
// do not say.
func classify(p block) (category string, tags []string, m *memory.Memory) {
	for _, c := range categories {
		if n := len(p.headings); n > 0 && (strings.EqualFold(p.headings[n-1], c.en) || p.headings[n-1] == c.zh) {
			category = c.category
		}
	}
	if n := len(p.headings); category == "" && n > 0 && memory.IsSlug(p.headings[n-1]) &&
		len(p.headings[n-1]) <= memory.MaxSlug {
		category = p.headings[n-1]
	}
	// Whatever else people write as headings and items, the reader of the oldest layout understands.
	var b strings.Builder
	for i, h := range p.headings {
		fmt.Fprintf(&b, "%s %s\n\n", strings.Repeat("#", max(2, p.levels[i])), h)
	}
	box := ""
	if p.item {
		box = "- "
	}
	b.WriteString(box + strings.ReplaceAll(p.text, "\n", "\n  ") + "\n")
	read := markdownv1.ReadMemories([]byte(b.String()), time.Time{}, time.UTC)
	if len(read.Memories) != 1 {
		return category, nil, nil
	}
	m = read.Memories[0]
	read.UseHeading(m)
	// which is what it says of headings that it does not know
	if category == "" && len(p.headings) > 0 && m.Category != memory.General {
		category = m.Category
	}
	return category, m.Tags, m
}

// standard is the category of what stands under no heading that names one.
func (l listFile) standard() string {
	if l.holds != nil && !l.holds(memory.General) {
		return memory.Procedural
	}
	return memory.General
}

// classify is the function of the same name for a file that may hold some categories only. There a heading that names
// none of ours is a heading: it orders what is below it, as a tag.
func (l listFile) classify(p block) (category string, tags []string, m *memory.Memory) {
	category, tags, m = classify(p)
	if m != nil && category == "" && m.Category != memory.General {
		category = m.Category
	}
	known := slices.ContainsFunc(categories, func(c struct{ category, en, zh string }) bool { return c.category == category })
	if category == "" || known || l.standard() == memory.General {
		return category, tags, m
	}
	for _, h := range p.headings {
		if strings.EqualFold(h, category) && !slices.Contains(tags, h) && len(tags) < memory.MaxTags {
			tags = append(slices.Clone(tags), h)
		}
	}
	return "", tags, m
}

// splitTitle reads a block that stands for a memory with or without a title.
func splitTitle(p block, titled bool) (title, content string) {
	if m := titleForm.FindStringSubmatch(p.text); m != nil && titled &&
		utf8.RuneCountInString(m[1]) <= memory.MaxTitle {
		return oneLine(m[1]), canonical(p.text[len(m[0]):])
	}
	return "", canonical(p.text)
}

// blockText is how a list shows a memory, without the marker of the item.
func blockText(s renderedMemory) string {
	if s.Title == "" || strings.Contains(s.Title, "**") {
		return s.Content
	}
	return "**" + s.Title + "** — " + s.Content
}

// listItem is the whole item.
func listItem(s renderedMemory) string {
	marker := "- "
	text := blockText(s)
	if s.Category == memory.Tasks || boxForm.MatchString(text) {
		marker = "- [ ] " // what looks like a checkbox in the text itself is no tick then
	}
	lines := strings.Split(text, "\n")
	for i, line := range lines[1:] {
		if line != "" {
			lines[i+1] = "  " + line
		}
	}
	return marker + strings.Join(lines, "\n") + "\n"
}
