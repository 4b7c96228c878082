package importers

import (
	"strings"
	"unicode/utf8"
)

// frontMatterPage is a Markdown file: its front matter, and what stands behind that.
type frontMatterPage struct {
	front map[string][]string // by name in lower case; of "metadata: / type: x" the name is "metadata.type"
	body  string
	first int // line on which the body begins
}

// get returns the first value of the first name that has one.
func (p *frontMatterPage) get(names ...string) string {
	for _, name := range names {
		if v := p.front[name]; len(v) > 0 && v[0] != "" {
			return v[0]
		}
	}
	return ""
}

// maxFront is how many lines front matter may have.
const maxFront = 500

// splitFrontMatter reads front matter as programs and people write it, which is often not quite YAML: names and values,
// lists in brackets or one item a line, and one level of indentation. Of what it does not understand it takes nothing.
func splitFrontMatter(data string) frontMatterPage {
	data = strings.ReplaceAll(strings.TrimPrefix(data, "\ufeff"), "\r\n", "\n")
	p := frontMatterPage{front: map[string][]string{}, body: data, first: 1}
	rest, ok := strings.CutPrefix(data, "---\n")
	if !ok {
		return p
	}
	lines := strings.Split(rest, "\n")
	for end, line := range lines[:min(len(lines), maxFront)] {
		if t := strings.TrimRight(line, " \t"); t == "---" || t == "..." {
			p.read(lines[:end])
			p.body, p.first = strings.Join(lines[end+1:], "\n"), end+3
			return p
		}
	}
	return p
}

// read reads the lines of front matter.
func (p *frontMatterPage) read(lines []string) {
	outer, last := "", ""
	for i, line := range lines {
		trimmed := strings.TrimSpace(line)
		indented := line != strings.TrimLeft(line, " \t")
		switch {
		case trimmed == "" || strings.HasPrefix(trimmed, "#"):
			continue
		case strings.HasPrefix(trimmed, "- ") && last != "":
			p.front[last] = append(p.front[last], unquote(trimmed[2:]))
			continue
		case indented && last != "" && isBlock(p.front[last]):
			p.front[last] = append(p.front[last], trimmed)
			continue
		}
		name, value, ok := strings.Cut(trimmed, ":")
		if name = strings.ToLower(strings.TrimSpace(name)); !ok || name == "" || value != "" && value[0] != ' ' &&
			value[0] != '\t' {
			if indented && last != "" && len(p.front[last]) == 1 { // a value that goes on
				p.front[last][0] += " " + trimmed
			}
			continue
		}
		if !indented {
			outer = name
		} else if outer != "" && outer != name {
			name = outer + "." + name
		}
		last = name
		value = strings.TrimSpace(value)
		switch {
		case value == "" && i+1 < len(lines): // a list, or members, may follow
		case strings.HasPrefix(value, "[") && strings.HasSuffix(value, "]"):
			for item := range strings.SplitSeq(value[1:len(value)-1], ",") {
				p.front[name] = append(p.front[name], unquote(item))
			}
		default:
			p.front[name] = append(p.front[name], unquote(value))
		}
	}
	for name, v := range p.front {
		if isBlock(v) {
			p.front[name] = []string{strings.Join(v[1:], "\n")}
		}
	}
}

// isBlock reports whether a value begins a block of lines.
func isBlock(v []string) bool {
	return len(v) > 0 && (v[0] == "|" || v[0] == ">" || v[0] == "|-" || v[0] == ">-")
}

// unquote removes one pair of YAML quotes and resolves their escapes.
func unquote(s string) string {
	s = strings.TrimSpace(s)
	for _, q := range []string{`"`, `'`} {
		if len(s) >= 2 && strings.HasPrefix(s, q) && strings.HasSuffix(s, q) {
			s = s[1 : len(s)-1]
			if q == `"` {
				return strings.NewReplacer(`\"`, `"`, `\\`, `\`, `\n`, "\n", `\t`, "\t").Replace(s)
			}
			return strings.ReplaceAll(s, "''", "'")
		}
	}
	return s
}

// links returns what a line of an index points to: "- [name](file.md) — description".
func indexLine(line string) (name, target, description string, ok bool) {
	line = strings.TrimSpace(line)
	rest, ok := strings.CutPrefix(line, "- ")
	if !ok {
		rest, ok = strings.CutPrefix(line, "* ")
	}
	if !ok {
		return "", "", "", false
	}
	rest = strings.TrimSpace(rest)
	if rest, ok = strings.CutPrefix(strings.TrimPrefix(rest, "**"), "["); !ok {
		return "", "", "", false
	}
	name, rest, ok = strings.Cut(rest, "](")
	if !ok {
		return "", "", "", false
	}
	target, rest, ok = strings.Cut(rest, ")")
	if !ok || !strings.HasSuffix(strings.ToLower(target), ".md") || strings.Contains(target, "://") {
		return "", "", "", false
	}
	description = strings.TrimSpace(strings.TrimLeft(strings.TrimPrefix(rest, "**"), " -–—:："))
	return name, target, description, true
}

// markdown reads a file as text. What is no text is named.
func (r *reader) markdown(f file) (data string, ok bool, err error) {
	r.mod = f.mod
	raw, err := r.tree.text(f)
	if err != nil {
		return "", false, r.skip(Place{File: f.name}, "cannot be read: %v", err)
	}
	if !utf8.Valid(raw) {
		lines := strings.Split(string(raw), "\n")
		for i, line := range lines {
			if !utf8.ValidString(line) {
				if err := r.skip(Place{File: f.name, Line: i + 1}, "is not valid UTF-8"); err != nil {
					return "", false, err
				}
				lines[i] = ""
			}
		}
		raw = []byte(strings.Join(lines, "\n"))
	}
	return string(raw), true, nil
}
