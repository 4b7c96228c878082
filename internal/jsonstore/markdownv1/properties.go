package markdownv1

import (
	"cmp"
	"strconv"
	"strings"
	"time"

	"github.com/memsidecar/memsidecar/internal/lazyregexp"
	"github.com/memsidecar/memsidecar/internal/memory"
)

// label is the type and category that words beside an entry state.
type label struct{ kind, category string }

// maxLabel is how many bytes of a text are searched for a label.
const maxLabel = 100

var labelEnd = lazyregexp.New(`\s*[:：|]|\s+[-–—]\s`)

// stripLabel removes the words at the beginning of text that state the type and the category, and stores them in l.
func stripLabel(l *label, text string) string {
	for {
		text = strings.TrimSpace(text)
		head := text[:min(len(text), maxLabel)]
		word, n := "", 0
		for _, form := range []*lazyregexp.Pattern{inBrackets, inEmphasis} {
			if m := form.FindStringSubmatch(head); m != nil && n == 0 {
				word, n = strings.Join(m[1:], ""), len(m[0])
			}
		}
		bracketed := n > 0
		if !bracketed {
			if at := labelEnd.FindStringIndex(head); at != nil {
				word, n = head[:at[0]], at[0]
			} else {
				word, n = head, len(head)
			}
			if entryTypeOf(word) == "" && strings.Contains(head, "_") { // tool_failure fetch_url …
				word, _, _ = strings.Cut(head, " ")
				n = len(word)
			}
		}
		switch kind, c := entryTypeOf(word), category(word); {
		case bracketed && normalizeLabel(word) == "auto": // as the first program marked what it extracted
			l.kind = memory.EntryAutoExtract
		case kind != "":
			l.kind = kind
		case c != "" && bracketed:
			l.category = c
		default:
			return text
		}
		text = text[n:]
		text = text[len(separator.FindString(text)):]
	}
}

// entryTypeOf returns the type of entry that a word means, "" for none.
func entryTypeOf(word string) string {
	word = normalizeLabel(word)
	return cmp.Or(entryTypes[word], entryTypes[strings.ReplaceAll(word, " ", "_")])
}

// cutField splits a line such as "- **Tool**: fetch_url".
func cutField(line string) (name, value string, ok bool) {
	line = strings.TrimSpace(line)
	line = stripBold(strings.TrimSpace(line[len(itemForm.FindString(line)):]))
	name, value, ok = strings.Cut(strings.Replace(line, "：", ":", 1), ":")
	return normalizeLabel(name), strings.TrimSpace(value), ok
}

// memoryField reads a line below an item that names a property of the memory, and reports whether it did. instant
// makes a time of a timestamp.
func memoryField(m *memory.Memory, line string, instant func(timestamp) time.Time) bool {
	name, value, ok := cutField(line)
	if !ok {
		return false
	}
	switch name {
	case "created", "created at", "date", "time", "创建时间", "创建", "日期", "时间":
		s, rest, ok := parseTimestamp(value)
		if at := instant(s); ok && rest == "" && s.date != "" && !at.IsZero() {
			m.CreatedAt = at
			return true
		}
	case "salience", "importance", "重要性", "重要度", "显著性":
		v, err := strconv.ParseFloat(value, 64)
		if err == nil && v >= 0 && v <= 1 {
			m.Salience = v
			return true
		}
	case "tags", "tag", "标签":
		tags := strings.FieldsFunc(value, func(r rune) bool { return strings.ContainsRune(",，、;；", r) })
		for i, t := range tags {
			tags[i] = strings.TrimSpace(t)
		}
		var check memory.Check
		for _, t := range tags {
			check.Text("", t, memory.MaxTag, true)
		}
		if check.Err() == nil && len(m.Tags)+len(tags) < memory.MaxTags {
			m.Tags = append(m.Tags, tags...)
			return true
		}
	}
	return false
}

// entryField reads a line that names a property of an entry, and reports whether it did.
func entryField(e *memory.Entry, line string) bool {
	name, value, ok := cutField(line)
	if !ok || value == "" {
		return false
	}
	var check memory.Check
	set := func(to *string, valid func()) bool {
		if valid(); *to != "" || check.Err() != nil {
			return false
		}
		*to = value
		return true
	}
	switch name {
	case "tool", "工具":
		return set(&e.Tool, func() { check.Text("", value, memory.MaxTitle, true) })
	case "error", "错误", "报错":
		return set(&e.Error, func() { check.Text("", value, memory.MaxContent, true) })
	case "session", "session id", "会话":
		return set(&e.Session, func() { check.ID("", value) })
	case "category", "分类", "类别":
		if c := category(value); c != "" && e.Category == "" {
			e.Category = c
			return true
		}
	}
	return false
}
