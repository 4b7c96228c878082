package markdownv1

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/memsidecar/memsidecar/internal/lazyregexp"
)

type kind int

const (
	paragraph kind = iota
	heading
	item // of a list, with everything indented below it
)

// block is a heading, a paragraph or a list item.
type block struct {
	kind  kind
	level int      // of a heading, 1 to 6
	box   string   // of an item: " " for an open checkbox, "x" for a ticked one, "" for none
	text  string   // of the first line, without its marker
	rest  []string // further lines
	lines []int    // where each of rest stands
	first int      // line numbers
	last  int

	indent int  // of its first line
	inner  int  // of the first line below that, once there is one
	code   bool // begins with a code block
}

// content is the whole text of a block.
func (b *block) content() string {
	return strings.TrimSpace(strings.Join(append([]string{b.text}, b.rest...), "\n"))
}

// grow adds text, which is line n of the file.
func (b *block) grow(n int, text string) {
	b.rest, b.lines, b.last = append(b.rest, text), append(b.lines, n), n
}

// scanner cuts a file into blocks.
type scanner struct {
	blocks []*block
	notes  []Note
	front  map[string]string // front matter, by name in lower case

	open    *block // that may go on
	gap     bool   // a blank line stands behind it
	fence   string // the marker that ends a code block, "" outside of one
	comment int    // the line on which a comment began, 0 outside of one
}

var (
	headingForm = lazyregexp.New(`^(#{1,6})\s*(.*?)\s*#*\s*$`)
	fenceForm   = lazyregexp.New("^(`{3,}|~{3,})")
	ruleForm    = lazyregexp.New(`^(?:[-*_=—]\s*){3,}$`)
	itemForm    = lazyregexp.New(
		`^(?:[-*+–—]\s+|-(?:[\p{Han}\p{Lu}]|\*\*|\[[ xX]\])|[•·・‣◦○●■□▪▫►▸➤→]\s*|\(?\d{1,3}[.)]\s+|\d{1,3}[.)]\p{Han}|\d{1,3}、|[（(]\d{1,3}[）)]\s*|[①-⑳]\s*)`,
	)
	boxForm  = lazyregexp.New(`^(?:\[([ xX✓✔√]?)\](?:\s+|$)|([☐☑✅✔✓])\x{FE0F}?\s*)`)
	boldForm = lazyregexp.New(`^(?:\*\*([^*]+)\*\*|__([^_]+)__)`)
)

// scan cuts a file into blocks. Lines end in LF, CRLF or CR.
func scan(data []byte) *scanner {
	s := &scanner{front: map[string]string{}}
	text := strings.TrimPrefix(string(data), "\ufeff")
	lines := strings.Split(strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n"), "\n")
	begin := s.frontMatter(lines)
	for i, line := range lines[begin:] {
		s.line(begin+i+1, line)
	}
	if s.comment > 0 {
		s.notef(s.comment, len(lines), "is a comment that does not end; it was skipped")
	}
	return s
}

// notef records a place that is not read. Equal notes in a row are one.
func (s *scanner) notef(first, last int, detail string) {
	n := Note{First: first, Last: last, Detail: detail}
	if len(s.notes) == 0 || s.notes[len(s.notes)-1] != n {
		s.notes = append(s.notes, n)
	}
}

// frontMatter reads YAML-like front matter between two lines "---" at the very beginning, and returns how many
// lines it has.
func (s *scanner) frontMatter(lines []string) int {
	if strings.TrimSpace(lines[0]) != "---" {
		return 0
	}
	for i, line := range lines[1:] {
		trimmed := strings.TrimSpace(line)
		if trimmed == "---" || trimmed == "..." {
			if i > 0 {
				s.notef(1, i+2, "front matter; of it only a date was looked at")
			}
			return i + 2
		}
		name, value, ok := strings.Cut(trimmed, ":")
		if !ok && trimmed != "" && !strings.HasPrefix(trimmed, "-") || !utf8.ValidString(line) {
			break
		}
		s.front[strings.ToLower(name)] = strings.Trim(strings.TrimSpace(value), `"'`)
	}
	clear(s.front)
	return 0
}

// line reads one line.
func (s *scanner) line(n int, line string) {
	if !utf8.ValidString(line) || strings.ContainsRune(line, 0) {
		s.notef(n, n, "is not text in UTF-8; it was skipped")
		return
	}
	if s.fence != "" {
		s.open.grow(n, outdent(line, s.open.inner))
		if t := strings.TrimSpace(line); strings.HasPrefix(t, s.fence) && strings.Trim(t, s.fence[:1]) == "" {
			s.fence = ""
		}
		return
	}
	before := line
	line = s.uncomment(n, line)
	text := strings.TrimSpace(line)
	switch {
	case text == "" && strings.TrimSpace(before) != "": // only a comment
	case text == "":
		s.gap = true
	case fenceForm.MatchString(text):
		s.openFence(n, line, text)
	case headingForm.MatchString(text) && isHeading(text):
		m := headingForm.FindStringSubmatch(text)
		s.add(&block{kind: heading, level: len(m[1]), text: m[2], first: n, last: n})
		s.open = nil
	case ruleForm.MatchString(text):
		s.rule(text)
	default:
		s.textLine(n, line, text)
	}
}

// isHeading reports whether a line that begins with "#" is a heading: "#word" is a hashtag.
func isHeading(text string) bool {
	hashes := len(text) - len(strings.TrimLeft(text, "#"))
	rest := text[hashes:]
	if hashes > 1 || rest == "" || strings.HasPrefix(rest, " ") || strings.HasPrefix(rest, "\t") {
		return true
	}
	m, _ := classify(rest)
	return m != ""
}

// uncomment removes HTML comments from a line.
func (s *scanner) uncomment(n int, line string) string {
	var out strings.Builder
	for {
		if s.comment > 0 {
			_, rest, ok := strings.Cut(line, "-->")
			if !ok {
				return out.String()
			}
			s.notef(s.comment, n, "has a comment; it was skipped")
			s.comment, line = 0, rest
		}
		text, rest, ok := strings.Cut(line, "<!--")
		out.WriteString(text)
		if !ok {
			return out.String()
		}
		s.comment, line = n, rest
	}
}

// add appends a block, to which the next lines may belong.
func (s *scanner) add(b *block) {
	s.blocks = append(s.blocks, b)
	s.open, s.gap = b, false
}

// openFence begins a block of fenced code, or continues the open block with it.
func (s *scanner) openFence(n int, line, text string) {
	marker := fenceForm.FindString(text)
	if rest := text[len(marker):]; strings.Contains(rest, marker[:1]) {
		s.textLine(n, line, text) // code within a line
		return
	}
	if s.open != nil && (!s.gap || s.open.kind == item && indentOf(line) > s.open.indent) {
		s.continueBlock(n, line)
	} else {
		s.add(&block{kind: paragraph, text: text, first: n, last: n, indent: indentOf(line), inner: indentOf(line), code: true})
	}
	s.fence = marker
}

// rule handles a thematic break: it ends a block, or makes a setext heading of the single line above.
func (s *scanner) rule(text string) {
	if b := s.open; b != nil && b.kind == paragraph && !s.gap && !b.code && len(b.rest) == 0 {
		m, _ := classify(b.text)
		if strings.Trim(text, "=") == "" || m != "" && strings.Trim(text, "-") == "" {
			b.kind, b.level = heading, 2
			if text[0] == '=' {
				b.level = 1
			}
		}
	}
	s.open = nil
}

// textLine reads a line of text: a list item, the continuation of the open block, or a new paragraph.
func (s *scanner) textLine(n int, line, text string) {
	indent := indentOf(line)
	marker := itemForm.FindString(text)
	if marker != "" && marker[0] == '-' && !strings.ContainsAny(marker, " \t") {
		marker = "-" // the character behind it belongs to the text
	} else if marker != "" {
		if last, size := utf8.DecodeLastRuneInString(marker); unicode.Is(unicode.Han, last) {
			marker = marker[:len(marker)-size]
		}
	}
	nested := s.open != nil && s.open.kind == item && indent > s.open.indent
	switch {
	case marker != "" && nested && indent >= s.open.indent+2, marker == "" && s.open != nil && (!s.gap || nested):
		if b := s.open; marker == "" && b.kind == paragraph && len(b.rest) == 0 && s.colonHeading(b) {
			s.add(&block{kind: paragraph, text: stripBold(text), first: n, last: n, indent: indent})
			return
		}
		s.continueBlock(n, line)
	case marker != "":
		if s.open != nil && s.open.kind == paragraph {
			s.colonHeading(s.open)
		}
		b := &block{kind: item, first: n, last: n, indent: indent}
		rest := strings.TrimSpace(text[len(marker):])
		if m := boxForm.FindStringSubmatch(rest); m != nil {
			b.box = "x"
			if mark := strings.TrimSpace(m[1] + m[2]); mark == "" || mark == "☐" {
				b.box = " "
			}
			rest = rest[len(m[0]):]
		}
		b.text = stripBold(rest)
		s.add(b)
	default:
		b := &block{kind: paragraph, text: stripBold(text), first: n, last: n, indent: indent}
		if m := boldForm.FindString(text); m == text {
			if _, whole := classify(text); whole {
				b.kind, b.level = heading, 6
			}
		}
		s.add(b)
		if b.kind == heading {
			s.open = nil
		}
	}
}

// colonHeading makes a heading of a line that is only the name of a category and a colon, and reports whether it
// did.
func (s *scanner) colonHeading(b *block) bool {
	if b.code || len(b.rest) > 0 || !strings.HasSuffix(b.text, ":") && !strings.HasSuffix(b.text, "：") {
		return false
	}
	if _, whole := classify(b.text); !whole {
		return false
	}
	b.kind, b.level = heading, 6
	return true
}

// continueBlock adds a line to the open block.
func (s *scanner) continueBlock(n int, line string) {
	if s.gap {
		s.open.grow(n-1, "")
	}
	if s.open.inner == 0 {
		s.open.inner = indentOf(line)
	}
	s.open.grow(n, outdent(line, s.open.inner))
	s.gap = false
}

// indentOf is the width of the white space at the start of a line, in columns.
func indentOf(line string) int {
	column := 0
	for _, r := range line {
		if !unicode.IsSpace(r) {
			break
		}
		column = advanceColumn(column, r)
	}
	return column
}

// advanceColumn returns the column behind a white space. A tab stop is 4 columns, an ideographic space 2.
func advanceColumn(column int, r rune) int {
	switch r {
	case '\t':
		return column + 4 - column%4
	case '\u3000':
		return column + 2
	}
	return column + 1
}

// outdent removes up to n columns of white space from the start, and all white space from the end of a line.
func outdent(line string, n int) string {
	column := 0
	for i, r := range line {
		if column >= n || !unicode.IsSpace(r) {
			return strings.TrimRightFunc(line[i:], unicode.IsSpace)
		}
		column = advanceColumn(column, r)
	}
	return ""
}

// stripBold removes the marks around bold text at the beginning.
func stripBold(text string) string {
	m := boldForm.FindStringSubmatch(text)
	if m == nil {
		return text
	}
	return m[1] + m[2] + text[len(m[0]):]
}
