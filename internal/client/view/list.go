package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/memsidecar/memsidecar/internal/memory"
)

// compareImportance orders memories as they are shown where there is not room for all.
func compareImportance(a, b *memory.Memory) int {
	pinned := func(m *memory.Memory) int {
		if m.Pinned {
			return 1
		}
		return 0
	}
	return cmp.Or(cmp.Compare(pinned(b), pinned(a)), cmp.Compare(b.Salience, a.Salience),
		b.CreatedAt.Compare(a.CreatedAt), cmp.Compare(a.ID, b.ID))
}

// comparePosition orders memories inside a list: by category, the oldest first, so that what is new stands at the end.
func comparePosition(a, b *memory.Memory) int {
	return cmp.Or(cmp.Compare(categoryRank(a.Category), categoryRank(b.Category)), cmp.Compare(a.Category, b.Category),
		a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.ID, b.ID))
}

// categoryRank returns the position of a category's heading. Unknown categories come last.
func categoryRank(category string) int {
	for i, c := range categories {
		if c.category == category {
			return i
		}
	}
	return len(categories)
}

// endMark is the last line of a list: it says from which version an edit was made, and that the file is whole.
func endMark(serial int64, shownCount, all int) string {
	more := ""
	if shownCount < all {
		more = fmt.Sprintf("; %d of %d memories, `memsidecar search` finds the others", shownCount, all)
	}
	return fmt.Sprintf("<!-- memsidecar %d%s -->\n", serial, more)
}

// renderList writes a list of memories and returns those that had room.
func renderList(l listFile, lang string, serial int64, memories []*memory.Memory) ([]byte, []*memory.Memory) {
	fitting := slices.Clone(memories)
	slices.SortFunc(fitting, compareImportance)
	title := l.en
	if lang == "zh" {
		title = l.zh
	}
	const reserve = 120 // of the mark
	lines, size := 3, len(title)+4+reserve
	headed := map[string]bool{}
	fitting = slices.DeleteFunc(fitting, func(m *memory.Memory) bool {
		item := listItem(itemRendering(m))
		n, bytes := strings.Count(item, "\n"), len(item)
		if !headed[m.Category] {
			n, bytes = n+3, bytes+len(headingOf(m.Category, lang))+5
		}
		if l.max > 0 && (lines+n > l.lines || size+bytes > l.max) {
			return true
		}
		lines, size, headed[m.Category] = lines+n, size+bytes, true
		return false
	})
	slices.SortFunc(fitting, comparePosition)
	var b strings.Builder
	b.WriteString("# " + title + "\n\n")
	for i, m := range fitting {
		if i == 0 || fitting[i-1].Category != m.Category {
			if i > 0 {
				b.WriteString("\n")
			}
			b.WriteString("## " + headingOf(m.Category, lang) + "\n\n")
		}
		b.WriteString(listItem(itemRendering(m)))
	}
	if len(fitting) > 0 {
		b.WriteString("\n")
	}
	b.WriteString(endMark(serial, len(fitting), len(memories)))
	return []byte(b.String()), fitting
}

// listRendering is how a list shows a memory.
func listRendering(file string, m *memory.Memory) rendering {
	s := itemRendering(m)
	f := s.rendering(file, m.Revision)
	f.Block = shortHash(canonical(blockText(s)))
	return f
}

// languageOf is the language of headings: Chinese when most of the memories are written in it.
func languageOf(memories []*memory.Memory) string {
	chinese := 0
	for _, m := range memories {
		if strings.ContainsFunc(m.Content, func(r rune) bool { return unicode.Is(unicode.Han, r) }) {
			chinese++
		}
	}
	if 2*chinese > len(memories) {
		return "zh"
	}
	return "en"
}

// renderIndex writes the index of entry files, as many lines as it may have, whole ones.
func renderIndex(entries []indexed) []byte {
	const reserve = 60 // of the line that says that there is more
	var b strings.Builder
	b.WriteString("# Memory\n\n")
	lines := 3
	left := len(entries)
	for _, e := range entries {
		line := e.line()
		if lines+1 > MaxLines || b.Len()+len(line)+reserve > MaxBytes {
			break
		}
		b.WriteString(line)
		lines++
		left--
	}
	if left > 0 {
		fmt.Fprintf(&b, "<!-- %d more files are in this directory -->\n", left)
	}
	return []byte(b.String())
}

// indexed is a line of an index.
type indexed struct{ name, title, about string }

// line formats one line of the index.
func (e indexed) line() string {
	return "- [" + strings.NewReplacer("[", "(", "]", ")").Replace(e.title) + "](" + e.name + ") — " + e.about + "\n"
}
