package importers

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/memory/graphform"
	"github.com/memsidecar/memsidecar/internal/redact"
)

// draft is what a format says of a memory. Everything but content may be empty.
type draft struct {
	place            Place
	key              string // what the source calls it; it becomes part of the id
	kind             string // category or type, in the words of the source
	fallback         string // category when kind says nothing; "" is memory.Facts
	title, content   string
	description      string
	tags             []string
	created, updated time.Time
	salience         float64 // 0 to 1; 0 when the source has none
	session          string  // that it was learnt in
	tool             string
	evidence         []memory.Evidence
	expires          time.Time
	pinned           bool
	status           memory.Status
	origin           map[string]any // whatever else the source says of it
	graph            *memory.Memory // the part of a knowledge graph that it is; nil for none
}

// memory sends a memory, in parts when it is too long.
func (r *reader) memory(d draft) error {
	if strings.TrimSpace(d.content) == "" {
		return r.skip(d.place, "has no text")
	}
	content, taken, err := r.clean(d.place, d.content)
	if err != nil {
		return err
	}
	if strings.TrimSpace(content) == "" {
		if taken {
			return nil // said already
		}
		return r.skip(d.place, "has no text")
	}
	parts := splitContent(content)
	if len(parts) > 1 {
		if err := r.warn(d.place, "has more than %d characters; it became %d memories", memory.MaxContent,
			len(parts)); err != nil {
			return err
		}
	}
	if d.created.IsZero() && d.updated.IsZero() {
		d.created = r.mod
	}
	for i, part := range parts {
		m := d.base(r.format)
		m.Content = strings.TrimSpace(part)
		m.ID = r.id("memory", d.key, m.Category, m.Content)
		if d.graph != nil { // the graph finds its parts by their ids
			m.ID = d.graph.ID
		}
		if !d.origins(m, r.format, i, len(parts)) {
			if err := r.warn(d.place, "has more to it than the %d bytes of structured_data hold; what is longest "+
				"was left out", memory.MaxStructured); err != nil {
				return err
			}
		}
		if err := r.send(Item{Place: d.place, Memory: m}); err != nil {
			return err
		}
	}
	return nil
}

// base is the memory without its content.
func (d *draft) base(format string) *memory.Memory {
	m := &memory.Memory{
		Category: categoryOf(d.kind, cmp.Or(d.fallback, memory.Facts)),
		Salience: cmp.Or(d.salience, memory.DefaultSalience), Confidence: 1,
		CreatedAt: d.created.UTC(), UpdatedAt: d.updated.UTC(), Source: sourceOf(format),
		Status: cmp.Or(d.status, memory.Active),
		Title:  firstChars(cleanText(d.title), memory.MaxTitle), Tags: tagsOf(d.tags),
		Pinned: d.pinned,
	}
	m.SetDescription(firstChars(cleanText(d.description), memory.MaxDescription))
	m.SetEvidence(slices.Clone(d.evidence))
	m.SetExpiresAt(d.expires.UTC())
	if d.created.IsZero() {
		m.CreatedAt = d.updated.UTC()
	}
	if m.UpdatedAt.After(m.CreatedAt) {
		m.SetContentAt(m.UpdatedAt) // as far as another system tells, that is when the text was changed
	}
	if session := idOf(d.session); session != "" {
		m.SetContext(&memory.Context{LearnedFrom: "session_" + session})
		if len(m.Evidence()) == 0 {
			m.SetEvidence([]memory.Evidence{{Session: session}})
		}
	}
	if d.tool != "" {
		if m.Context() == nil {
			m.SetContext(&memory.Context{})
		}
		m.Context().Tool = firstChars(cleanText(d.tool), memory.MaxTitle)
	}
	return m
}

// sourceOf is the source of memories of a format.
func sourceOf(format string) string {
	return memory.SourceImport + "_" + strings.ReplaceAll(format, "-", "_")
}

// maxOrigin is how much of a name is kept in structured_data, in characters.
const maxOrigin = 1000

// origins puts into structured_data where the memory came from. It reports whether there was room for all.
func (d *draft) origins(m *memory.Memory, format string, part, parts int) bool {
	from := map[string]any{"from": format, "file": d.place.File}
	for name, v := range map[string]string{"item": d.place.Item, "id": d.key, "kind": d.kind} {
		if v != "" {
			from[name] = firstChars(v, maxOrigin)
		}
	}
	if utf8.RuneCountInString(d.title) > memory.MaxTitle {
		from["title"] = d.title
	}
	if len(m.Tags) < len(d.tags) {
		from["tags"] = d.tags
	}
	if parts > 1 {
		from["part"] = fmt.Sprintf("%d/%d", part+1, parts)
	}
	maps.Copy(from, d.origin)
	if part > 0 {
		delete(from, "metadata") // the first part has it
	}
	for _, name := range []string{"", "metadata", "tags", "title", "relation", "entity", "entity_type"} {
		delete(from, name)
		data := map[string]any{"import": from}
		if part, ok := graphform.Of(d.graph); ok {
			data["graph"] = part
		}
		raw, err := json.Marshal(data)
		if err == nil && len(raw) <= memory.MaxStructured {
			m.SetStructuredData(raw)
			return name == ""
		}
	}
	return false
}

// id makes the same id of the same thing, wherever and however often it is read.
func (r *reader) id(parts ...string) string {
	sum := sha256.Sum256([]byte("1\x00" + r.format + "\x00" + strings.Join(parts, "\x00")))
	return r.format + "-" + hex.EncodeToString(sum[:10])
}

// logNote is what a format says of an entry of a daily log.
type logNote struct {
	place    Place
	key      string
	at       time.Time
	kind     string // type of the entry; "" is memory.EntryEvent
	content  string
	session  string
	tool     string
	category string
}

// logEntry sends an entry of a daily log, in parts when it is too long, and returns the evidence that memories may
// name.
func (r *reader) logEntry(n logNote) (memory.Evidence, error) {
	switch {
	case strings.TrimSpace(n.content) == "":
		return memory.Evidence{}, r.skip(n.place, "has no text")
	case n.at.IsZero():
		return memory.Evidence{}, r.skip(n.place, "has no time, which an entry of a daily log needs")
	}
	content, taken, err := r.clean(n.place, n.content)
	switch {
	case err != nil || taken && strings.TrimSpace(content) == "": // said already
		return memory.Evidence{}, err
	case strings.TrimSpace(content) == "":
		return memory.Evidence{}, r.skip(n.place, "has no text")
	}
	at := n.at.In(r.loc)
	date := at.Format(memory.DateLayout)
	first := memory.Evidence{Log: date, Session: idOf(n.session)}
	parts := splitContent(content)
	if len(parts) > 1 {
		if err := r.warn(n.place, "has more than %d characters; it became %d entries", memory.MaxContent,
			len(parts)); err != nil {
			return memory.Evidence{}, err
		}
	}
	for i, part := range parts {
		e := &memory.Entry{
			At: at, Time: at.Format(time.TimeOnly), Type: cmp.Or(slug(n.kind), memory.EntryEvent),
			Content:  strings.TrimSpace(part),
			Category: slug(n.category), Tool: firstChars(cleanText(n.tool), memory.MaxTitle), Session: idOf(n.session),
		}
		e.ID = r.id("entry", n.key, n.at.UTC().Format(time.RFC3339Nano), e.Content)
		again := r.emitted[e.ID]
		if r.emitted[e.ID]++; again > 0 {
			e.ID = r.id("entry", n.key, n.at.UTC().Format(time.RFC3339Nano), e.Content, fmt.Sprint(again))
		}
		if i == 0 {
			first.Entry = e.ID
		}
		if err := r.send(Item{Place: n.place, Entry: e, Date: date}); err != nil {
			return first, err
		}
	}
	return first, nil
}

// splitContent is memory.Split, which looks at every character also of what is surely short enough.
func splitContent(content string) []string {
	if len(content) <= memory.MaxContent {
		return []string{content}
	}
	return memory.SplitContent(content)
}

// cleanText takes out of a short text what must not be stored.
func cleanText(s string) string {
	s, _ = redact.Text(s)
	return strings.TrimSpace(s)
}

// firstChars is the beginning of s, at most n characters.
func firstChars(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return strings.TrimSpace(string([]rune(s)[:n-1])) + "…"
}

// idOf returns s if it may be an id, else "".
func idOf(s string) string {
	var check memory.Check
	if check.ID("", s); check.Err() != nil {
		return ""
	}
	return s
}

// tagsOf keeps what may be tags, once each. What is too long or too many is in structured_data.
func tagsOf(list []string) []string {
	var tags []string
	for _, t := range list {
		t = cleanText(strings.TrimLeft(strings.TrimSpace(t), "#"))
		if t != "" && utf8.RuneCountInString(t) <= memory.MaxTag && !slices.Contains(tags, t) &&
			len(tags) < memory.MaxTags {
			tags = append(tags, t)
		}
	}
	return tags
}
