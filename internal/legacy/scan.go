package legacy

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/memsidecar/memsidecar/internal/pattern"
)

type kind int

const (
	paragraph kind = iota
	heading
	item // of a list, with everything indented below it
)

// block is a heading, a paragraph or an item of a list.
type block struct {
	kind  kind
	level int    // of a heading, 1 to 6
	box   string // of an item: " " for an open checkbox, "x" for a ticked one, "" for none
	text  string // of the first line, without its marker
	rest  []string
	lines []int // where each of rest stands
	first int   // line numbers
	last  int

	indent int  // of its first line
	inner  int  // of the first line below that, once there is one
	code   bool // begins with a code block
}

// content is the whole text of a block.
func (b *block) content() string {
	return strings.TrimSpace(strings.Join(append([]string{b.text}, b.rest...), "\n"))
}

// grow adds line n of the file, which is text.
func (b *block) grow(n int, text string) {
	b.rest, b.lines, b.last = append(b.rest, text), append(b.lines, n), n
}

// scanner cuts a file into blocks.
type scanner struct {
	blocks []*block
	notes  []Note
	front  map[string]string // front matter, by name in lower case

	cur     *block // that may go on
	gap     bool   // a blank line stands behind it
	fence   string // the marker that ends a code block, "" outside of one
	comment int    // the line on which a comment began, 0 outside of one
}

var (
	headingForm = pattern.New(`^(#{1,6})\s*(.*?)\s*#*\s*$`)
	fenceForm   = pattern.New("^(`{3,}|~{3,})")
	ruleForm    = pattern.New(`^(?:[-*_=—]\s*){3,}$`)
	itemForm    = pattern.New(`^(?:[-*+–—]\s+|-(?:[\p{Han}\p{Lu}]|\*\*|\[[ xX]\])|[•·・‣◦○●■□▪▫►▸➤→]\s*|\(?\d{1,3}[.)]\s+|\d{1,3}[.)]\p{Han}|\d{1,3}、|[（(]\d{1,3}[）)]\s*|[①-⑳]\s*)`)
	boxForm     = pattern.New(`^(?:\[([ xX✓✔√]?)\](?:\s+|$)|([☐☑✅✔✓])\x{FE0F}?\s*)`)
	boldForm    = pattern.New(`^(?:\*\*([^*]+)\*\*|__([^_]+)__)`)
)

func scan(data []byte) *scanner {
	s := &scanner{front: map[string]string{}}
	text := strings.TrimPrefix(string(data), "\ufeff")
	lines := strings.Split(strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n"), "\n")
	begin := s.frontMatter(lines)
	for i, line := range lines[begin:] {
		s.line(begin+i+1, line)
	}
	if s.comment > 0 {
		s.note(s.comment, len(lines), "is a comment that does not end; it was not taken over")
	}
	return s
}

func (s *scanner) note(first, last int, detail string) {
	n := Note{First: first, Last: last, Detail: detail}
	if len(s.notes) == 0 || s.notes[len(s.notes)-1] != n {
		s.notes = append(s.notes, n)
	}
}

// frontMatter reads what stands between two lines "---" at the very beginning, and returns how many lines that is.
func (s *scanner) frontMatter(lines []string) int {
	if strings.TrimSpace(lines[0]) != "---" {
		return 0
	}
	for i, line := range lines[1:] {
		trimmed := strings.TrimSpace(line)
		if trimmed == "---" || trimmed == "..." {
			if i > 0 {
				s.note(1, i+2, "front matter; of it only a date was looked at")
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

// line takes in one line.
func (s *scanner) line(n int, line string) {
	if !utf8.ValidString(line) || strings.ContainsRune(line, 0) {
		s.note(n, n, "is not text in UTF-8; it was not taken over")
		return
	}
	if s.fence != "" {
		s.cur.grow(n, outdent(line, s.cur.inner))
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
		s.cur = nil
	case ruleForm.MatchString(text):
		s.rule(text)
	default:
		s.textLine(n, line, text)
	}
}

// isHeading reports whether a line that begins with "#" is one: "#word" is a hashtag.
func isHeading(text string) bool {
	hashes := len(text) - len(strings.TrimLeft(text, "#"))
	rest := text[hashes:]
	if hashes > 1 || rest == "" || strings.HasPrefix(rest, " ") || strings.HasPrefix(rest, "\t") {
		return true
	}
	m, _ := classify(rest)
	return m != ""
}

// uncomment takes comments out of a line.
func (s *scanner) uncomment(n int, line string) string {
	var out strings.Builder
	for {
		if s.comment > 0 {
			_, rest, ok := strings.Cut(line, "-->")
			if !ok {
				return out.String()
			}
			s.note(s.comment, n, "has a comment; it was not taken over")
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

func (s *scanner) add(b *block) {
	s.blocks = append(s.blocks, b)
	s.cur, s.gap = b, false
}

func (s *scanner) openFence(n int, line, text string) {
	marker := fenceForm.FindString(text)
	if rest := text[len(marker):]; strings.Contains(rest, marker[:1]) {
		s.textLine(n, line, text) // code within a line
		return
	}
	if s.cur != nil && (!s.gap || s.cur.kind == item && indentOf(line) > s.cur.indent) {
		s.goOn(n, line)
	} else {
		s.add(&block{kind: paragraph, text: text, first: n, last: n, indent: indentOf(line), inner: indentOf(line), code: true})
	}
	s.fence = marker
}

// rule ends a block. Below a single line it makes that a heading.
func (s *scanner) rule(text string) {
	if b := s.cur; b != nil && b.kind == paragraph && !s.gap && !b.code && len(b.rest) == 0 {
		m, _ := classify(b.text)
		if strings.Trim(text, "=") == "" || m != "" && strings.Trim(text, "-") == "" {
			b.kind, b.level = heading, 2
			if text[0] == '=' {
				b.level = 1
			}
		}
	}
	s.cur = nil
}

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
	nested := s.cur != nil && s.cur.kind == item && indent > s.cur.indent
	switch {
	case marker != "" && nested && indent >= s.cur.indent+2, marker == "" && s.cur != nil && (!s.gap || nested):
		if b := s.cur; marker == "" && b.kind == paragraph && len(b.rest) == 0 && s.pseudo(b) {
			s.add(&block{kind: paragraph, text: unbold(text), first: n, last: n, indent: indent})
			return
		}
		s.goOn(n, line)
	case marker != "":
		if s.cur != nil && s.cur.kind == paragraph {
			s.pseudo(s.cur)
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
		b.text = unbold(rest)
		s.add(b)
	default:
		b := &block{kind: paragraph, text: unbold(text), first: n, last: n, indent: indent}
		if m := boldForm.FindString(text); m == text {
			if _, whole := classify(text); whole {
				b.kind, b.level = heading, 6
			}
		}
		s.add(b)
		if b.kind == heading {
			s.cur = nil
		}
	}
}

// pseudo makes a heading of a line that says nothing but the name of a category and a colon. It reports whether it did.
func (s *scanner) pseudo(b *block) bool {
	if b.code || len(b.rest) > 0 || !strings.HasSuffix(b.text, ":") && !strings.HasSuffix(b.text, "：") {
		return false
	}
	if _, whole := classify(b.text); !whole {
		return false
	}
	b.kind, b.level = heading, 6
	return true
}

func (s *scanner) goOn(n int, line string) {
	if s.gap {
		s.cur.grow(n-1, "")
	}
	if s.cur.inner == 0 {
		s.cur.inner = indentOf(line)
	}
	s.cur.grow(n, outdent(line, s.cur.inner))
	s.gap = false
}

func indentOf(line string) int {
	column := 0
	for _, r := range line {
		if !unicode.IsSpace(r) {
			break
		}
		column = beyond(column, r)
	}
	return column
}

// beyond returns the column behind a white space.
func beyond(column int, r rune) int {
	switch r {
	case '\t':
		return column + 4 - column%4
	case '\u3000':
		return column + 2
	}
	return column + 1
}

// outdent removes up to n columns of white space, and what stands at the end of the line.
func outdent(line string, n int) string {
	column := 0
	for i, r := range line {
		if column >= n || !unicode.IsSpace(r) {
			return strings.TrimRightFunc(line[i:], unicode.IsSpace)
		}
		column = beyond(column, r)
	}
	return ""
}

// unbold takes the marks off what stands in bold at the beginning.
func unbold(text string) string {
	m := boldForm.FindStringSubmatch(text)
	if m == nil {
		return text
	}
	return m[1] + m[2] + text[len(m[0]):]
}
