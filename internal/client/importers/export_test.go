package importers

import "strings"

// Values cuts a JSON text, or JSON lines, into values of at most limit bytes.
func Values(text string, lines bool, limit int) (out []string) {
	each := eachValue
	if lines {
		each = eachLine
	}
	_ = each(strings.NewReader(text), limit, func(v jsonValue) error { // which never fails
		out = append(out, v.place(file{name: "f"}).String()+": "+string(v.raw)+v.bad)
		return nil
	})
	return out
}

// CategoryOf is the category for a name of another system.
func CategoryOf(name string) string { return categoryOf(name, "") }
