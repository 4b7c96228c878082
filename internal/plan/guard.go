package plan

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/redact"
)

// Guard decides what of p is allowed in view. accepted holds the allowed items, cleaned of secrets, ADDs of what is known
// already turned into NOOPs, and all entries; rejected says what was refused. Neither p nor the memories of view are changed.
func Guard(p Plan, view View) (accepted Plan, rejected []Rejection) {
	accepted = p
	accepted.Items = nil
	for i, v := range judge(p, view) {
		if v.reject != "" {
			rejected = append(rejected, Rejection{Index: i, Item: v.item, Reason: v.reject})
			continue
		}
		accepted.Items = append(accepted.Items, v.item)
	}
	accepted.Entries = cleanEntries(p.Entries)
	return accepted, rejected
}

// verdict is what became of one item.
type verdict struct {
	item   Item
	after  *memory.Memory // the state to store, nil for NOOP
	reject string
	reason string // of a NOOP
}

// bench judges the items of one plan in order. It knows what the earlier ones do.
type bench struct {
	view    View
	source  string
	used    int
	retired int // what a model wants to retire in all

	accepted bool // by a person: nothing is left to one any more

	targets map[string]bool
	added   map[string]string // target id by category and content; "" for a new memory
}

func judge(p Plan, view View) []verdict {
	b := &bench{view: view, source: cmp.Or(p.Source, memory.SourceReflection), retired: retired(p), targets: map[string]bool{}, added: map[string]string{}}
	verdicts := make([]verdict, len(p.Items))
	for i, item := range p.Items {
		if item.Action != Noop && b.used == MaxItems {
			verdicts[i] = verdict{item: item, reject: ReasonTooMany}
			continue
		}
		item.Memory = *item.Memory.Clone()
		v := b.judge(item)
		if v.reject == "" && v.item.Action != Noop {
			b.used++
			b.record(v)
		}
		verdicts[i] = v
	}
	return verdicts
}

func equalKey(m *memory.Memory) string { return m.Category + "\x00" + memory.Normalize(m.Content) }

func (b *bench) record(v verdict) {
	if v.item.Target != "" {
		b.targets[v.item.Target] = true
	}
	if v.item.Action != Delete {
		b.added[equalKey(v.after)] = v.item.Target
	}
}

func (b *bench) judge(item Item) verdict {
	switch item.Action {
	case Noop:
		reason := cmp.Or(item.Why, ReasonNothingToChange)
		return verdict{item: item, reason: reason}
	case Add:
		return b.add(item)
	case Update, Delete:
		target, reason := b.target(item)
		if reason != "" {
			return verdict{item: item, reject: reason}
		}
		if item.Action == Delete {
			if reason := b.mayRetire(item, target); reason != "" {
				return verdict{item: item, reject: reason}
			}
			after := target.Clone()
			after.Status = memory.Retired
			return verdict{item: item, after: after}
		}
		return b.update(item, target)
	}
	return verdict{item: item, reject: ReasonUnknownAction}
}

func (b *bench) mayRetire(item Item, target *memory.Memory) string {
	switch {
	case !item.Model || b.accepted:
		return ""
	case b.retired > maxModelRetired:
		return ReasonManyRetired
	}
	return doubtful(item, target)
}

// target returns the memory an item means to change, or why it must not.
func (b *bench) target(item Item) (*memory.Memory, string) {
	if item.Target == "" {
		return nil, ReasonNotShown
	}
	m := b.view.Memory(item.Target)
	switch {
	case m == nil:
		return nil, ReasonUnknownTarget
	case b.targets[item.Target]:
		return nil, ReasonTwice
	case m.Revision != item.TargetRevision:
		return nil, ReasonStale
	case !m.IsActive():
		return nil, ReasonInactive
	case m.Pinned:
		return nil, ReasonPinned
	}
	return m, ""
}

func (b *bench) add(item Item) verdict {
	m := &item.Memory
	m.Category = cmp.Or(m.Category, memory.General)
	m.Source = cmp.Or(m.Source, b.source)
	m.Confidence = cmp.Or(m.Confidence, 1)
	m.Status = memory.Active
	if reason := b.content(&item); reason != "" {
		return verdict{item: item, reject: reason}
	}
	if same := b.view.Equal(m.Category, m.Content); same != nil && !b.targets[same.ID] {
		return noop(item, same.ID, ReasonExactDuplicate)
	}
	if id, ok := b.added[equalKey(m)]; ok {
		return noop(item, id, ReasonExactDuplicate)
	}
	if reason := invalid(m); reason != "" {
		return verdict{item: item, reject: reason}
	}
	return verdict{item: item, after: m.Clone()}
}

func noop(item Item, id, reason string) verdict {
	item.Action, item.Target, item.Why = Noop, id, reason
	return verdict{item: item, reason: reason}
}

func (b *bench) update(item Item, target *memory.Memory) verdict {
	item.Memory.Content = cmp.Or(item.Memory.Content, target.Content)
	if strings.TrimSpace(item.Memory.Content) == "" {
		return verdict{item: item, reject: ReasonEmptied}
	}
	if reason := b.content(&item); reason != "" {
		return verdict{item: item, reject: reason}
	}
	if reason := b.loses(&item, target); reason != "" {
		return verdict{item: item, reject: reason}
	}
	after := merge(target, &item.Memory)
	after.Source = cmp.Or(after.Source, b.source)
	if unchanged(target, after) {
		return noop(item, target.ID, ReasonNothingToChange)
	}
	same := b.view.Equal(after.Category, after.Content)
	if same != nil && same.ID != target.ID && !b.targets[same.ID] {
		return verdict{item: item, reject: ReasonEqualsOther}
	}
	if id, ok := b.added[equalKey(after)]; ok && id != target.ID {
		return verdict{item: item, reject: ReasonEqualsOther}
	}
	if reason := invalid(after); reason != "" {
		return verdict{item: item, reject: reason}
	}
	return verdict{item: item, after: after}
}

// loses says what of the target an UPDATE would lose, as the reason why a person has to look at it.
func (b *bench) loses(item *Item, target *memory.Memory) string {
	if b.accepted {
		return ""
	}
	if item.Model {
		item.Replaces, _ = Replaced(target.Content, item.Memory.Content)
	}
	if reason := lost(target.Content, item.Memory.Content, item.Replaces); reason != "" || !item.Model {
		return reason
	}
	return doubtful(*item, target)
}

// content cleans the texts of an item. It refuses what is nothing without its secrets and what the user had forgotten.
func (b *bench) content(item *Item) string {
	m := &item.Memory
	m.Content = strings.TrimSpace(m.Content)
	if len(m.Content) > memory.MaxContent && utf8.RuneCountInString(m.Content) > memory.MaxContent {
		return "TOO_LONG"
	}
	clean, _ := redact.Text(m.Content)
	if rest := redact.WithoutMarkers(clean); rest != m.Content && words(rest) < minWords {
		return ReasonSecret
	}
	if b.view.IsForgotten(m.Content) || item.Said != "" && b.view.IsForgotten(item.Said) {
		return ReasonForgotten
	}
	m.Content = strings.TrimSpace(clean)
	if item.Model && repetitive(m.Content) {
		return ReasonRepetitive
	}
	m.Title, _ = redact.Text(m.Title)
	for i := range m.Tags {
		m.Tags[i], _ = redact.Text(m.Tags[i])
	}
	if x := m.Context; x != nil {
		x.Signature, _ = redact.Text(x.Signature)
	}
	if len(m.StructuredData) > 0 {
		if text, _ := redact.Text(string(m.StructuredData)); text != string(m.StructuredData) {
			return ReasonSecret // cutting a secret out of JSON could break it
		}
	}
	return ""
}

// minWords must be left of a text beside its secrets to make it worth keeping.
const minWords = 3

// words counts words, two Chinese characters making one.
func words(s string) int {
	han := 0
	s = strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Han, r) {
			han++
			return ' '
		}
		return r
	}, s)
	n := 0
	for w := range strings.FieldsSeq(s) {
		if strings.ContainsFunc(w, unicode.IsLetter) {
			n++
		}
	}
	return n + han/2
}

// invalid returns the reason of the first violation of the limits, "" when there is none.
func invalid(m *memory.Memory) string {
	c := m.Clone()
	c.ID = cmp.Or(c.ID, "new")
	var check memory.Check
	check.Memory("", c)
	if e, ok := errors.AsType[*memory.InvalidError](check.Err()); ok {
		return e.Violations[0].Reason
	}
	return ""
}

// merge is the state of target after an UPDATE to m.
func merge(target, m *memory.Memory) *memory.Memory {
	out := target.Clone()
	out.Content = m.Content
	out.Category = cmp.Or(m.Category, out.Category)
	out.Salience = cmp.Or(m.Salience, out.Salience)
	out.Title = cmp.Or(m.Title, out.Title)
	out.Confidence = cmp.Or(m.Confidence, out.Confidence)
	if out.Source != memory.SourceUser && out.Source != memory.SourceUserCorrection { // what the user saved stays the user's, whoever completes it
		out.Source = cmp.Or(m.Source, out.Source)
	}
	if m.Context != nil {
		x := *m.Context
		if out.Context != nil {
			x.Extra = out.Context.Extra
		}
		out.Context = &x
	}
	if len(m.StructuredData) > 0 {
		out.StructuredData = m.StructuredData
	}
	for _, t := range m.Tags {
		if !slices.Contains(out.Tags, t) {
			out.Tags = append(out.Tags, t)
		}
	}
	for _, e := range m.Evidence {
		if !slices.Contains(out.Evidence, e) {
			out.Evidence = append(out.Evidence, e)
		}
	}
	if n := len(out.Evidence); n > memory.MaxLinks {
		out.Evidence = out.Evidence[n-memory.MaxLinks:]
	}
	return out
}

// unchanged reports whether an UPDATE would change nothing but where the memory was learnt.
func unchanged(before, after *memory.Memory) bool {
	context := before.Context == after.Context ||
		before.Context != nil && after.Context != nil && before.Context.Tool == after.Context.Tool && before.Context.ErrorType == after.Context.ErrorType &&
			before.Context.Signature == after.Context.Signature && before.Context.Occurrences == after.Context.Occurrences
	return context && before.Content == after.Content && before.Category == after.Category && before.Salience == after.Salience &&
		before.Title == after.Title && before.Confidence == after.Confidence && slices.Equal(before.Tags, after.Tags) &&
		string(before.StructuredData) == string(after.StructuredData)
}

// cleanEntries takes the secrets out of entries and cuts them to their limits. Empty ones are left out.
func cleanEntries(entries []DatedEntry) (out []DatedEntry) {
	for _, d := range entries {
		e := d.Entry
		e.Content, _ = redact.Text(e.Content)
		e.Content = clip(strings.TrimSpace(e.Content), memory.MaxContent)
		e.Error, _ = redact.Text(e.Error)
		e.Error = clip(e.Error, memory.MaxContent)
		e.Tool = clip(e.Tool, memory.MaxTitle)
		if !memory.IsSlug(e.Category) || len(e.Category) > memory.MaxSlug {
			e.Category = ""
		}
		if e.Content != "" {
			out = append(out, DatedEntry{Date: d.Date, Entry: e})
		}
	}
	return out
}

// clip cuts s to limit characters and makes it valid UTF-8.
func clip(s string, limit int) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= limit {
		return s
	}
	if r := []rune(s); len(r) > limit {
		return string(r[:limit-1]) + "…"
	}
	return s
}
