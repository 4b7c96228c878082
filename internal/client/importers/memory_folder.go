package importers

import (
	"path"
	"strings"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
)

const indexName = "MEMORY.md"

// kinds of memories in a folder, as its files are named.
var folderKinds = []string{"user", "feedback", "project", "reference"}

// folder reads a memory folder: a file with front matter a memory, and MEMORY.md, which points to them and may hold
// text of its own.
func (r *reader) folder() error {
	names, indexed := map[string]bool{}, map[string]bool{} // of files; directories with an index
	pages := r.tree.markdown()
	for _, f := range pages {
		names[f.name] = true
		if strings.EqualFold(f.base(), indexName) {
			indexed[path.Dir(f.name)] = true
		}
	}
	for _, f := range pages {
		data, ok, err := r.markdown(f)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		if strings.EqualFold(f.base(), indexName) {
			err = r.index(f, data, names)
		} else {
			err = r.entryFile(f, data, indexed[path.Dir(f.name)])
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// entryFile reads the file of one memory. Outside of a directory with an index, it must say what kind of memory it is:
// other programs have front matter too.
func (r *reader) entryFile(f file, data string, indexed bool) error {
	cleaned, _, err := r.clean(Place{File: f.name}, data)
	if err != nil {
		return err
	}
	p := splitFrontMatter(cleaned)
	place := Place{File: f.name, Line: p.first}
	kind := p.get("type", "metadata.type")
	if kind == "" || kind == "memory" {
		kind = categoryFromName(f.base())
	}
	if kind == "" && !indexed {
		return r.skip(Place{File: f.name}, "says no type, and stands beside no %s", indexName)
	}
	name, description := p.get("name", "title"), p.get("description")
	content := strings.TrimSpace(p.body)
	if content == "" { // a file that says all in its front matter
		content, place.Line = description, 1
	}
	d := draft{
		place: place, kind: kind, title: name, content: content, tags: p.front["tags"],
		session:  p.get("originsessionid", "metadata.originsessionid"),
		created:  r.parseTime(p.get("created", "created_at", "date", "metadata.created")),
		updated:  r.parseTime(p.get("modified", "updated", "updated_at", "metadata.modified")),
		fallback: memory.Facts, origin: map[string]any{},
	}
	if d.title == "" {
		d.title = strings.TrimSuffix(f.base(), path.Ext(f.base()))
	}
	if description != "" && description != content {
		d.description = description
	}
	if category := p.get("category"); category != "" { // which our own views write
		d.kind, d.origin["type"] = category, kind
	}
	if scope := p.get("scope"); scope != "" {
		d.tags = append(d.tags, "scope:"+scope)
	}
	return r.memory(d)
}

// categoryFromName reads the type off the name of a file, feedback_testing.md.
func categoryFromName(base string) string {
	for _, kind := range folderKinds {
		if strings.HasPrefix(base, kind+"_") || strings.HasPrefix(base, kind+"-") {
			return kind
		}
	}
	return ""
}

// parseTime reads a time of front matter.
func (r *reader) parseTime(s string) time.Time { return timeOf(s, r.loc) }

// index reads MEMORY.md. Its pointers are made of the files; what else stands there is memories too.
func (r *reader) index(f file, data string, names map[string]bool) error {
	lines := strings.Split(data, "\n")
	for i, line := range lines {
		_, target, _, ok := indexLine(line)
		if !ok {
			continue
		}
		lines[i] = ""
		if !names[path.Join(path.Dir(f.name), target)] {
			if err := r.skip(Place{File: f.name, Line: i + 1}, "points to a file that is not there"); err != nil {
				return err
			}
		}
	}
	rest := strings.Join(lines, "\n")
	if onlyHeadings(rest) {
		return nil
	}
	return r.memoryList(memoryList{place: Place{File: f.name, Line: 1}, text: rest, written: f.mod})
}

// onlyHeadings reports whether a text says nothing but what it is.
func onlyHeadings(s string) bool {
	for line := range strings.Lines(s) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			return false
		}
	}
	return true
}
