package importers

import (
	"maps"
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/memsidecar/memsidecar/internal/memory"
)

// notes reads the notes of basic-memory. An observation is a memory, and so is a relation; what else a note says is
// one more.
func (r *reader) notes() error {
	for _, f := range r.tree.markdown() {
		data, ok, err := r.markdown(f)
		if err == nil && ok {
			err = r.note(f, data)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// noteReader reads one note.
type noteReader struct {
	*reader
	frontMatterPage
	f     file
	base  draft    // what all memories of the note have
	prose []string // what is neither observation nor relation
	first int      // line of the first of it that is not blank
}

// note imports one Markdown note of basic-memory: its observations, its relations and the rest of its text.
func (r *reader) note(f file, data string) error {
	cleaned, _, err := r.clean(Place{File: f.name}, data)
	if err != nil {
		return err
	}
	n := &noteReader{reader: r, frontMatterPage: splitFrontMatter(cleaned), f: f}
	n.base = draft{
		title: n.get("title"), created: r.parseTime(n.get("created", "created_at", "date")),
		updated: r.parseTime(n.get("modified", "updated", "updated_at")),
		origin:  map[string]any{},
	}
	for _, t := range n.front["tags"] {
		n.base.tags = append(n.base.tags, strings.Split(t, ",")...)
	}
	if n.base.title == "" {
		n.base.title = strings.TrimSuffix(f.base(), path.Ext(f.base()))
	}
	for _, name := range []string{"permalink", "type"} {
		if v := n.get(name); v != "" {
			n.base.origin["note_"+name] = v
		}
	}
	return n.read()
}

// read walks the lines of a note outside code fences. Observations and relations become memories; the remaining text
// is one more.
func (n *noteReader) read() error {
	fenced := false
	for i, line := range strings.Split(n.body, "\n") {
		trimmed := strings.TrimSpace(line)
		if strings.HasPrefix(trimmed, "```") || strings.HasPrefix(trimmed, "~~~") {
			fenced = !fenced
		}
		item, isItem := strings.CutPrefix(trimmed, "- ")
		if !isItem {
			item, isItem = strings.CutPrefix(trimmed, "* ")
		}
		place := Place{File: n.f.name, Line: n.frontMatterPage.first + i}
		if isItem && !fenced {
			if o, ok := observation(item); ok {
				if err := n.addObservation(o, place); err != nil {
					return err
				}
				continue
			}
			if kind, target, context, ok := relation(item); ok {
				if err := n.addRelation(kind, target, context, place); err != nil {
					return err
				}
				continue
			}
		}
		if n.first == 0 && trimmed != "" && !strings.HasPrefix(trimmed, "#") {
			n.first = place.Line
		}
		n.prose = append(n.prose, line)
	}
	return n.addRemainder()
}

// noteObservation is "- [category] text #tag (context)".
type noteObservation struct {
	category, text, context string
	tags                    []string
}

// observation reads an item of a list as an observation. Boxes of tasks, links and times are none.
func observation(item string) (o noteObservation, ok bool) {
	rest, ok := strings.CutPrefix(strings.TrimSpace(item), "[")
	if !ok {
		return o, false
	}
	category, rest, ok := strings.Cut(rest, "]")
	if !ok || rest == "" || rest[0] != ' ' && rest[0] != '\t' || strings.ContainsAny(category, "[(") {
		return o, false
	}
	o.category = strings.TrimSpace(category)
	if !strings.ContainsFunc(o.category, unicode.IsLetter) || strings.EqualFold(o.category, "x") {
		return o, false
	}
	o.text = strings.TrimSpace(rest)
	if before, ok := strings.CutSuffix(o.text, ")"); ok {
		if i := strings.LastIndex(before, "("); i > 0 {
			o.context, o.text = strings.TrimSpace(before[i+1:]), strings.TrimSpace(before[:i])
		}
	}
	words := strings.Fields(o.text)
	for _, w := range words {
		if len(w) > 1 && w[0] == '#' {
			o.tags = append(o.tags, strings.FieldsFunc(w, func(r rune) bool { return r == '#' })...)
		}
	}
	for len(words) > 0 && strings.HasPrefix(words[len(words)-1], "#") { // tags at the end are no part of what is said
		o.text = strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(o.text), words[len(words)-1]))
		words = words[:len(words)-1]
	}
	return o, o.text != ""
}

// relation reads an item of a list as "type [[Target]] (context)".
func relation(item string) (kind, target, context string, ok bool) {
	kind, rest, ok := strings.Cut(item, "[[")
	if !ok {
		return "", "", "", false
	}
	target, rest, ok = strings.Cut(rest, "]]")
	kind, target, rest = strings.TrimSpace(kind), strings.TrimSpace(target), strings.TrimSpace(rest)
	quoted := len(kind) > 2 && (kind[0] == '"' || kind[0] == '\'') && kind[len(kind)-1] == kind[0]
	if quoted {
		kind = kind[1 : len(kind)-1]
	}
	switch {
	case !ok || target == "" || !quoted && strings.ContainsFunc(kind, unicode.IsSpace):
		return "", "", "", false
	case rest != "" && (!strings.HasPrefix(rest, "(") || strings.Index(rest, ")") != len(rest)-1):
		return "", "", "", false // a sentence that holds a link
	}
	if kind == "" {
		kind = "relates_to"
	}
	return kind, target, strings.Trim(rest, "()"), true
}

// addObservation turns "- [category] text #tag (context)" into a memory.
func (n *noteReader) addObservation(o noteObservation, p Place) error {
	d := n.base
	d.place, d.kind, d.content = p, o.category, o.text
	d.tags = append(append([]string{}, d.tags...), o.tags...)
	if o.context != "" {
		d.content += " (" + o.context + ")"
	}
	if slug(o.category) == "" { // a name in another script that no category has
		d.tags = append(d.tags, o.category)
	}
	d.key = d.title
	return n.memory(d)
}

// addRelation turns "- type [[Target]]" into a memory.
func (n *noteReader) addRelation(kind, target, context string, p Place) error {
	d := n.base
	d.place, d.fallback, d.content = p, memory.Facts, d.title+" "+kind+" "+target
	if context != "" {
		d.content += " (" + context + ")"
	}
	d.tags = append(append([]string{}, d.tags...), "relation")
	d.origin = map[string]any{"relation": map[string]string{"from": d.title, "type": kind, "to": target}}
	maps.Copy(d.origin, n.base.origin)
	d.key = d.title
	return n.memory(d)
}

// addRemainder sends what else the note says, without headings that nothing stands below any more.
func (n *noteReader) addRemainder() error {
	content := strings.TrimSpace(strings.Join(withoutEmpty(n.prose), "\n"))
	if first, rest, _ := strings.Cut(content,
		"\n"); strings.TrimSpace(strings.TrimPrefix(first, "# ")) == n.base.title {
		content = strings.TrimSpace(rest) // the title is kept as such
	}
	if n.first == 0 || content == "" {
		return nil
	}
	d := n.base
	d.place, d.kind, d.fallback, d.content, d.key = Place{File: n.f.name, Line: n.first}, n.get("type"), memory.General,
		content, d.title
	return n.memory(d)
}

// withoutEmpty leaves out headings that nothing stands below.
func withoutEmpty(lines []string) []string {
	var out []string
	var filled [7]bool // by level: whether something stands between here and the next heading of that level or above
	for _, line := range slices.Backward(lines) {
		l := headingLevel(line)
		if l == 0 {
			if strings.TrimSpace(line) != "" {
				filled = [7]bool{true, true, true, true, true, true, true}
			}
			out = append(out, line)
			continue
		}
		if filled[l] {
			out = append(out, line)
		}
		for deeper := l; deeper < len(filled); deeper++ {
			filled[deeper] = false
		}
	}
	slices.Reverse(out)
	return out
}

// headingLevel is 1 to 6 for a heading, else 0.
func headingLevel(line string) int {
	line = strings.TrimSpace(line)
	n := len(line) - len(strings.TrimLeft(line, "#"))
	if n == 0 || n > 6 || !strings.HasPrefix(line[n:], " ") {
		return 0
	}
	return n
}
