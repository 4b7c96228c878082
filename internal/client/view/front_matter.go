package view

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"
)

// front is the front matter of an entry file: fields of one line each, in their order. Of other YAML only as much is
// understood as is needed to keep it: a line that is no field belongs to the field before.
type front []frontField

// frontField is one field of the front matter with its exact lines, so that unknown fields and comments survive a
// rewrite.
type frontField struct {
	name string   // "" for a comment, and for what stands before all fields
	raw  []string // all its lines
}

// splitFront parts a file into front matter and body. ok is false when it has no front matter, or one without an end.
func splitFront(text string) (fields front, body string, ok bool) {
	text = strings.ReplaceAll(strings.TrimPrefix(text, "\ufeff"), "\r\n", "\n")
	rest, found := strings.CutPrefix(text, "---\n")
	if !found {
		return nil, text, false
	}
	for rest != "" {
		line, next, _ := strings.Cut(rest, "\n")
		rest = next
		if strings.TrimRight(line, " \t") == "---" {
			return fields, strings.TrimSpace(rest), true
		}
		name, _, isField := strings.Cut(line, ":")
		if strings.HasPrefix(line, "#") {
			fields = append(fields, frontField{"", []string{line}})
		} else if isField && name != "" && strings.TrimLeft(name, " \t-#") == name {
			fields = append(fields, frontField{strings.TrimSpace(name), []string{line}})
			// An indented line continues the field above it. Fields of other programs are written back as they were.
		} else if n := len(fields); n > 0 && fields[n-1].name != "" {
			fields[n-1].raw = append(fields[n-1].raw, line)
		} else {
			fields = append(fields, frontField{"", []string{line}})
		}
	}
	return nil, text, false
}

// find returns the field of that name, ignoring letter case, or nil.
func (f front) find(name string) *frontField {
	i := slices.IndexFunc(f, func(x frontField) bool { return strings.EqualFold(x.name, name) })
	if i < 0 {
		return nil
	}
	return &f[i]
}

// value is the text of a field, "" when there is none. Lines of a block or of a text that was folded are joined.
func (f front) value(name string) string {
	x := f.find(name)
	if x == nil {
		return ""
	}
	_, first, _ := strings.Cut(x.raw[0], ":")
	first = strings.TrimSpace(first)
	if strings.HasPrefix(first, "|") || strings.HasPrefix(first, ">") {
		first = ""
	}
	parts := []string{first}
	for _, line := range x.raw[1:] {
		parts = append(parts, strings.TrimSpace(line))
	}
	return unquote(strings.TrimSpace(strings.Join(parts, " ")))
}

// list is a field that holds several texts, in brackets or a line each.
func (f front) list(name string) (out []string) {
	x := f.find(name)
	if x == nil {
		return nil
	}
	_, first, _ := strings.Cut(x.raw[0], ":")
	items := x.raw[1:]
	if first = strings.TrimSpace(first); first != "" {
		items = splitList(strings.TrimSuffix(strings.TrimPrefix(first, "["), "]"))
	}
	for _, item := range items {
		if item = unquote(strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(item), "- "))); item != "" {
			out = append(out, item)
		}
	}
	return out
}

// splitList parts at the commas that are not inside quotes.
func splitList(s string) (out []string) {
	var quote rune
	start := 0
	for i, r := range s {
		switch {
		case quote != 0:
			if r == quote && (quote == '\'' || s[i-1] != '\\') {
				quote = 0
			}
		case r == '"' || r == '\'':
			quote = r
		case r == ',' || r == '，':
			out = append(out, s[start:i])
			start = i + utf8.RuneLen(r)
		}
	}
	return append(out, s[start:])
}

// inner is the value of a field inside a block, such as the type in "metadata:".
func (f front) inner(outer, name string) string {
	x := f.find(outer)
	if x == nil {
		return ""
	}
	for _, line := range x.raw[1:] {
		if k, v, ok := strings.Cut(strings.TrimSpace(line), ":"); ok && k == name {
			return unquote(strings.TrimSpace(v))
		}
	}
	return ""
}

// unquote removes one pair of YAML quotes and resolves their escapes.
func unquote(s string) string {
	if len(s) < 2 {
		return s
	}
	switch {
	case s[0] == '"' && s[len(s)-1] == '"':
		var out string
		if json.Unmarshal([]byte(s), &out) == nil {
			return out
		}
		return s[1 : len(s)-1]
	case s[0] == '\'' && s[len(s)-1] == '\'':
		return strings.ReplaceAll(s[1:len(s)-1], "''", "'")
	}
	return s
}

// quoteFront writes a text so that every reader of YAML reads it as one.
func quoteFront(s string) string {
	plain := s != "" && strings.TrimSpace(s) == s &&
		!strings.ContainsAny(s[:1], "!&*-?|>@`\"'#%{}[],:=~.0123456789+") &&
		!strings.Contains(s, ": ") && !strings.Contains(s, " #") && !strings.HasSuffix(s, ":") &&
		!strings.ContainsFunc(s, func(r rune) bool {
			return r < ' ' || r == 0x7f || r == '\u2028' || r == '\u2029' || r == '\u0085' || r == '\ufeff'
		}) &&
		utf8.ValidString(s)
	if plain {
		switch strings.ToLower(s) {
		case "true", "false", "yes", "no", "on", "off", "null", "y", "n":
		default:
			return s
		}
	}
	return jsonText(s)
}

// jsonText is s as a string of JSON, which is one of YAML, too.
func jsonText(s string) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if enc.Encode(s) != nil {
		return `""` // a string: cannot be
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// quoteList formats a YAML list in one line and quotes items that need it.
func quoteList(items []string) string {
	out := make([]string, len(items))
	for i, s := range items {
		if out[i] = quoteFront(s); strings.ContainsAny(out[i], ",，[]{}") && out[i][0] != '"' {
			out[i] = jsonText(s)
		}
	}
	return "[" + strings.Join(out, ", ") + "]"
}
