package memory

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Limits of requests. Each is enforced with a named violation.
const (
	MaxContent     = 8000     // characters of a memory or log entry
	MaxTitle       = 200      // characters
	MaxDescription = 1000     // characters
	MaxSummary     = 32000    // characters of the rolling summary
	MaxTags        = 32       // tags of a memory
	MaxTag         = 64       // characters of a tag
	MaxLinks       = 64       // relations, pieces of evidence or superseded ids of a memory
	MaxStructured  = 64 << 10 // bytes of structured_data
	MaxID          = 128      // bytes of an id or an idempotency key
	MaxSlug        = 64       // bytes of a category, source, entry type or space
	MaxBatch       = 1000     // items of a batch
	MaxK           = 200      // results of a search
	MaxPage        = 1000     // items of a page
	MaxMessage     = 16 << 20 // bytes of a request
)

// Check collects violations. The zero value is ready to use.
type Check struct{ violations []Violation }

// Add records a violation of field.
func (c *Check) Add(field, reason, format string, args ...any) {
	c.violations = append(c.violations, Violation{Field: field, Reason: reason, Detail: fmt.Sprintf(format, args...)})
}

// Join adds the violations of other behind those of c.
func (c *Check) Join(other *Check) { c.violations = append(c.violations, other.violations...) }

// Err returns nil, or an *InvalidError with everything added so far.
func (c *Check) Err() error {
	if len(c.violations) == 0 {
		return nil
	}
	return &InvalidError{Violations: c.violations}
}

// Text checks that s is valid UTF-8 of at most limit characters, and not blank when required.
func (c *Check) Text(field, s string, limit int, required bool) {
	switch {
	case !utf8.ValidString(s):
		c.Add(field, "INVALID_UTF8", "is not valid UTF-8")
	case required && strings.TrimSpace(s) == "":
		c.Add(field, "REQUIRED", "must not be empty")
	case len(s) > limit && utf8.RuneCountInString(s) > limit:
		c.Add(field, "TOO_LONG", "has %d characters; the limit is %d", utf8.RuneCountInString(s), limit)
	}
}

// ID checks an id or an idempotency key: 1 to MaxID bytes of printable text without spaces.
func (c *Check) ID(field, s string) {
	switch {
	case s == "":
		c.Add(field, "REQUIRED", "must not be empty")
	case len(s) > MaxID:
		c.Add(field, "TOO_LONG", "has %d bytes; the limit is %d", len(s), MaxID)
	case !isPrintable(s):
		c.Add(field, "INVALID_ID", "may hold only printable characters without spaces")
	}
}

// isPrintable reports whether s is valid UTF-8 of printable characters without spaces.
func isPrintable(s string) bool {
	for i := range len(s) {
		if c := s[i]; c <= ' ' || c > '~' { // nearly no id has such a byte
			return utf8.ValidString(s) &&
				!strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsGraphic(r) || unicode.IsSpace(r) })
		}
	}
	return true
}

// Slug checks a category, source, type or space: lower-case letters, digits, "_", "-" and ".", starting with a
// letter or digit.
func (c *Check) Slug(field, s string) {
	switch {
	case s == "":
		c.Add(field, "REQUIRED", "must not be empty")
	case len(s) > MaxSlug:
		c.Add(field, "TOO_LONG", "has %d bytes; the limit is %d", len(s), MaxSlug)
	case !IsSlug(s):
		c.Add(
			field,
			"INVALID_SLUG",
			"must be lower-case letters, digits, '_', '-' or '.', starting with a letter or digit",
		)
	}
}

// IsSlug reports whether s has the form Slug checks, length aside.
func IsSlug(s string) bool {
	for i, r := range s {
		alnum := r >= 'a' && r <= 'z' || r >= '0' && r <= '9'
		if !alnum && (i == 0 || r != '_' && r != '-' && r != '.') {
			return false
		}
	}
	return s != ""
}

// Unit checks that v is a number from 0 to 1.
func (c *Check) Unit(field string, v float64) {
	if !(v >= 0 && v <= 1) {
		c.Add(field, "OUT_OF_RANGE", "must be a number from 0 to 1")
	}
}

// Date checks a calendar date of the form 2026-02-21, in the years that IsTime takes.
func (c *Check) Date(field, s string) {
	if !IsDate(s) {
		c.Add(field, "INVALID_DATE", "must be a date such as 2026-02-21, not before 1970")
	}
}

// IsDate reports whether s has the form and the years that Date checks.
func IsDate(s string) bool {
	at, err := time.Parse(DateLayout, s)
	return err == nil && IsTime(at)
}

// Time checks that t, unless it is zero, is a time that IsTime takes.
func (c *Check) Time(field string, t time.Time) {
	if !t.IsZero() && !IsTime(t) {
		c.Add(field, "INVALID_TIME", "must be a time in the years 1970 to 9999")
	}
}

// IsTime reports whether t is in the years 1970 to 9999 in UTC. Earlier times are a clock or a program that counts from
// zero, and a log of theirs would be archived at once; later ones cannot be written in RFC 3339.
func IsTime(t time.Time) bool { return t.Unix() >= 0 && t.Unix() < firstOf10000 }

// firstOf10000 is when the year 10000 begins, in seconds since 1970.
var firstOf10000 = time.Date(10000, time.January, 1, 0, 0, 0, 0, time.UTC).Unix()

// Memory checks every field of m. prefix is put before each field's name ("memories[3].").
func (c *Check) Memory(prefix string, m *Memory) {
	before := len(c.violations)
	c.memory(m)
	for i := before; i < len(c.violations); i++ { // no name is put together before there is a violation
		c.violations[i].Field = prefix + c.violations[i].Field
	}
}

// memory is Memory without a prefix.
func (c *Check) memory(m *Memory) {
	c.ID("id", m.ID)
	c.Slug("category", m.Category)
	limits(c, "", Fields, m)
	c.Unit("salience", m.Salience)
	c.Unit("confidence", m.Confidence)
	c.Slug("source", m.Source)
	c.MemoryTimes("", m)
	if m.AccessCount() < 0 {
		c.Add("access_count", "OUT_OF_RANGE", "must not be negative")
	}
	if len(m.Tags) > MaxTags {
		c.Add("tags", "TOO_MANY", "has %d tags; the limit is %d", len(m.Tags), MaxTags)
	}
	for i, t := range m.Tags {
		before := len(c.violations)
		if c.Text("", t, MaxTag, true); len(c.violations) > before {
			c.violations[before].Field = fmt.Sprintf("tags[%d]", i)
		}
	}
	c.links(m)
	if len(m.StructuredData()) > 0 {
		var object map[string]json.RawMessage
		if len(m.StructuredData()) > MaxStructured {
			c.Add(
				"structured_data",
				"TOO_LONG",
				"has %d bytes; the limit is %d",
				len(m.StructuredData()),
				MaxStructured,
			)
		} else if json.Unmarshal(m.StructuredData(), &object) != nil {
			c.Add("structured_data", "INVALID_JSON", "must be a JSON object")
		}
	}
	if m.Context() != nil {
		limits(c, "context.", ContextFields, m.Context())
	}
}

// timeFields are the fields of a memory that are times.
var timeFields = func() (times []*Field[Memory]) {
	for i := range Fields {
		if _, ok := Fields[i].Pointer(new(Memory)).(*time.Time); ok {
			times = append(times, &Fields[i])
		}
	}
	return times
}()

// MemoryTimes checks the times of m.
func (c *Check) MemoryTimes(prefix string, m *Memory) {
	for _, f := range timeFields {
		if at := *f.Pointer(m).(*time.Time); !at.IsZero() {
			c.Time(prefix+f.Name, at)
		}
	}
}

// limits checks the texts that have a limit in their table.
func limits[T any](c *Check, prefix string, fields []Field[T], v *T) {
	for i := range fields {
		f := &fields[i]
		if f.Limit == 0 {
			continue
		}
		c.Text(prefix+f.Name, *f.Pointer(v).(*string), f.Limit, f.Presence == Required)
	}
}

// links checks the lists that name other things.
func (c *Check) links(m *Memory) {
	if m.More == nil {
		return
	}
	for _, n := range []struct {
		field string
		count int
	}{{"relations", len(m.Relations())}, {"evidence", len(m.Evidence())}, {"supersedes", len(m.Supersedes())}} {
		if n.count > MaxLinks {
			c.Add(n.field, "TOO_MANY", "has %d items; the limit is %d", n.count, MaxLinks)
		}
	}
	for i, r := range m.Relations() {
		at := fmt.Sprintf("relations[%d].", i)
		c.Slug(at+"type", r.Type)
		c.ID(at+"target", r.Target)
		c.Unit(at+"strength", r.Strength)
	}
}

// Entry checks every field of a log entry.
func (c *Check) Entry(prefix string, e *Entry) {
	c.ID(prefix+"id", e.ID)
	c.Slug(prefix+"type", e.Type)
	c.Time(prefix+"at", e.At)
	limits(c, prefix, EntryFields, e)
	if e.Category != "" {
		c.Slug(prefix+"category", e.Category)
	}
}
