// Package guard is the only way in which learning changes memories. Rules or a language model propose a Plan; Guard
// decides which items are allowed, and Apply writes them in one store operation.
//
// An UPDATE must not lose a number, a name or a negation of the old text, because these carry its meaning and a
// rewording rarely drops them on purpose. Items that would lose one, and other doubtful items, are left to a person
// as review items (see package review). Guards for a model's proposals are stricter than those for rules. The package
// makes no proposals and calls no model.
package guard

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/memsidecar/memsidecar/internal/lazyregexp"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/redact"
)

// Guard splits p into accepted and rejected items. Accepted items are redacted, and an ADD of a known text has become
// a NOOP; all entries are accepted. Neither p nor the memories of view are changed.
func Guard(p Plan, view View) (accepted Plan, rejected []Rejection) {
	accepted = p
	accepted.Items = nil
	for i, v := range evaluate(p, view) {
		if v.reject != "" {
			rejected = append(rejected, Rejection{Index: i, Item: v.item, Reason: v.reject})
			continue
		}
		accepted.Items = append(accepted.Items, v.item)
	}
	accepted.Entries = cleanEntries(p.Entries)
	return accepted, rejected
}

// verdict is the decision about one item.
type verdict struct {
	item Item
	// the memory to store, nil for NOOP
	after *memory.Memory
	// after is a new memory
	fresh bool
	// the memory that after supersedes, nil for none
	retired *memory.Memory
	reject  string
	// why the memory that the text would supersede stays; the item is an ADD then, of a DELETE as proposed
	refused  string
	proposed Item
	// of a NOOP, for its outcome
	reason string
}

// guardRun evaluates the items of one plan in order. It keeps the effects of earlier items, which the view does not
// show yet.
type guardRun struct {
	view       View
	source     string
	operations int
	// number of memories that the model's items would retire
	retired int

	// a person accepted the item, so no review reason applies
	byPerson bool

	// ids of memories that earlier items change
	targets map[string]bool
	// target id by equalKey; "" for a new memory
	added map[string]string
}

// evaluate returns one verdict per item of p, in order.
func evaluate(p Plan, view View) []verdict {
	b := &guardRun{view: view, source: cmp.Or(p.Source, memory.SourceReflection), retired: countModelRetired(p),
		targets: map[string]bool{}, added: map[string]string{}}
	verdicts := make([]verdict, len(p.Items))
	for i, item := range p.Items {
		if item.Action != Noop && b.operations == MaxItems {
			verdicts[i] = verdict{item: item, reject: ReasonTooMany}
			continue
		}
		item.Memory = *item.Memory.Clone()
		v := b.evaluateItem(item)
		if v.reject == "" && v.item.Action != Noop {
			b.operations++
			b.record(v)
		}
		verdicts[i] = v
	}
	return verdicts
}

// equalKey is the same for memories that may not exist twice in a space.
func equalKey(m *memory.Memory) string { return m.Category + "\x00" + memory.Normalize(m.Content) }

// record keeps the effect of an accepted item for later ones.
func (b *guardRun) record(v verdict) {
	if v.item.Target != "" {
		b.targets[v.item.Target] = true
	}
	switch {
	case v.fresh:
		b.added[equalKey(v.after)] = ""
	case v.item.Action == Update:
		b.added[equalKey(v.after)] = v.item.Target
	}
}

// evaluateItem decides about one item without recording it.
func (b *guardRun) evaluateItem(item Item) verdict {
	if item.Refused != "" {
		return verdict{item: item, reject: item.Refused}
	}
	if item.Action != Noop && b.view.ReadOnly() {
		return verdict{item: item, reject: ReasonReadOnly}
	}
	switch item.Action {
	case Noop:
		reason := cmp.Or(item.Reason, ReasonUnchanged)
		return verdict{item: item, reason: reason}
	case Add:
		return b.add(item)
	case Update:
		target, reason := b.target(item)
		if reason != "" {
			return verdict{item: item, reject: reason}
		}
		return b.update(item, target)
	case Delete:
		if item.Memory.Content != "" {
			return b.supersede(item)
		}
		return b.retire(item)
	}
	return verdict{item: item, reject: ReasonUnknownAction}
}

// target returns the memory that an item changes, or the reason why it must not.
func (b *guardRun) target(item Item) (*memory.Memory, string) {
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

// add decides about an ADD: it is completed with defaults, redacted, compared with equal memories and validated.
func (b *guardRun) add(item Item) verdict {
	m := &item.Memory
	m.Category = cmp.Or(m.Category, memory.General)
	m.Source = cmp.Or(m.Source, b.source)
	m.Confidence = cmp.Or(m.Confidence, 1)
	m.Status = memory.Active
	if reason := b.cleanContent(&item); reason != "" {
		return verdict{item: item, reject: reason}
	}
	if same := b.view.Equal(m.Category, m.Content); same != nil && !b.targets[same.ID] {
		return noop(item, same.ID, ReasonExactDuplicate)
	}
	if item.Model && !b.byPerson && isCutAddition(visible(item.Said), m.Content) {
		return verdict{item: item, reject: ReasonCut}
	}
	if id, ok := b.added[equalKey(m)]; ok {
		return noop(item, id, ReasonExactDuplicate)
	}
	if reason := invalid(m); reason != "" {
		return verdict{item: item, reject: reason}
	}
	return verdict{item: item, after: m.Clone(), fresh: true}
}

// noop turns an item into a NOOP on the memory id.
func noop(item Item, id, reason string) verdict {
	item.Action, item.Target, item.Reason = Noop, id, reason
	return verdict{item: item, reason: reason}
}

// update decides about an UPDATE of target.
func (b *guardRun) update(item Item, target *memory.Memory) verdict {
	item.Memory.Content = cmp.Or(item.Memory.Content, target.Content)
	if strings.TrimSpace(item.Memory.Content) == "" {
		return verdict{item: item, reject: ReasonEmptied}
	}
	if reason := b.cleanContent(&item); reason != "" {
		return verdict{item: item, reject: reason}
	}
	if reason := b.checkLoss(&item, target); reason != "" {
		return verdict{item: item, reject: reason}
	}
	after := merge(target, &item.Memory)
	after.Source = cmp.Or(after.Source, b.source)
	if unchanged(target, after) {
		return noop(item, target.ID, ReasonUnchanged)
	}
	same := b.view.Equal(after.Category, after.Content)
	if same != nil && same.ID != target.ID && !b.targets[same.ID] {
		return verdict{item: item, reject: ReasonExactDuplicate}
	}
	if id, ok := b.added[equalKey(after)]; ok && id != target.ID {
		return verdict{item: item, reject: ReasonExactDuplicate}
	}
	if reason := invalid(after); reason != "" {
		return verdict{item: item, reject: reason}
	}
	return verdict{item: item, after: after}
}

// checkLoss returns the reason why an UPDATE that would lose a part of target is rejected or left to a person, "" if
// nothing is lost.
func (b *guardRun) checkLoss(item *Item, target *memory.Memory) string {
	switch {
	case b.byPerson:
		return ""
	case !item.Model:
		return lossReason(target.Content, item.Memory.Content, item.Replaces)
	case isCut(target.Content, item.Memory.Content):
		return ReasonCut
	}
	item.Replaces = nil
	if reason := changeReason(target.Content, item.Memory.Content, item.Said); reason != "" {
		return reason
	}
	return modelReviewReason(*item, target)
}

// cleanContent redacts the texts of an item. It returns a reason to reject texts that consist of secrets, forgotten
// values and a model's repetitive texts; else "".
func (b *guardRun) cleanContent(item *Item) string {
	m := &item.Memory
	m.Content, m.Title = strings.TrimSpace(visible(m.Content)), strings.TrimSpace(visible(m.Title))
	for i := range m.Tags {
		m.Tags[i] = strings.TrimSpace(visible(m.Tags[i]))
	}
	if len(m.Content) > memory.MaxContent && utf8.RuneCountInString(m.Content) > memory.MaxContent {
		return "TOO_LONG"
	}
	taken := redact.Cleaner{Keep: item.Keep}
	clean := taken.Text("content", m.Content)
	if rest := redact.WithoutMarkers(clean); rest != m.Content && countWords(rest) < minWords {
		return ReasonSecret
	}
	if b.view.IsForgotten(m.Content) || item.SourceSentence != "" && b.view.IsForgotten(item.SourceSentence) {
		return ReasonForgotten
	}
	m.Content = strings.TrimSpace(clean)
	if item.Model && repetitive(m.Content) {
		return ReasonRepetitive
	}
	m.Title = taken.Text("title", m.Title)
	for i := range m.Tags {
		m.Tags[i] = taken.Text("tags", m.Tags[i])
	}
	if x := m.Context(); x != nil {
		x.Signature = taken.Text("context.signature", x.Signature)
	}
	if len(m.StructuredData()) > 0 {
		if text, _ := redact.Text(string(m.StructuredData())); text != string(m.StructuredData()) {
			return ReasonSecret // replacing part of JSON could make it invalid
		}
	}
	return ""
}

// minWords is the number of words that a redacted text needs to be worth keeping.
const minWords = 3

// countWords counts words; two Chinese characters count as one word.
func countWords(s string) int {
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

// invalid returns the reason of the first violated limit, "" for a valid memory.
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

// merge returns target after an UPDATE with the values of m. Zero values of m keep those of target; tags and evidence
// are added.
func merge(target, m *memory.Memory) *memory.Memory {
	out := target.Clone()
	out.Content = m.Content
	out.Category = cmp.Or(m.Category, out.Category)
	out.Salience = cmp.Or(m.Salience, out.Salience)
	out.Title = cmp.Or(m.Title, out.Title)
	out.Confidence = cmp.Or(m.Confidence, out.Confidence)
	// an update of a memory that was saved on purpose does not change its source
	if !memory.IsUsersOwn(out.Source) {
		out.Source = cmp.Or(m.Source, out.Source)
	}
	if m.Context() != nil {
		x := *m.Context()
		if out.Context() != nil {
			x.Extra = out.Context().Extra
		}
		out.SetContext(&x)
	}
	if len(m.StructuredData()) > 0 {
		out.SetStructuredData(m.StructuredData())
	}
	for _, t := range m.Tags {
		if !slices.Contains(out.Tags, t) {
			out.Tags = append(out.Tags, t)
		}
	}
	for _, e := range m.Evidence() {
		if !slices.Contains(out.Evidence(), e) {
			out.SetEvidence(append(out.Evidence(), e))
		}
	}
	if n := len(out.Evidence()); n > memory.MaxLinks {
		out.SetEvidence(out.Evidence()[n-memory.MaxLinks:])
	}
	return out
}

// unchanged reports whether an UPDATE changes nothing but evidence.
func unchanged(before, after *memory.Memory) bool {
	context := before.Context() == after.Context() ||
		before.Context() != nil && after.Context() != nil && before.Context().Tool == after.Context().Tool &&
			before.Context().ErrorType == after.Context().ErrorType &&
			before.Context().Signature == after.Context().Signature &&
			before.Context().Occurrences == after.Context().Occurrences
	return context && before.Content == after.Content && before.Category == after.Category &&
		before.Salience == after.Salience &&
		before.Title == after.Title && before.Confidence == after.Confidence && slices.Equal(before.Tags, after.Tags) &&
		string(before.StructuredData()) == string(after.StructuredData())
}

// cleanEntries redacts entries and cuts them to their limits. Empty entries are dropped.
func cleanEntries(entries []DatedEntry) (out []DatedEntry) {
	for _, d := range entries {
		e := d.Entry
		e.Content, e.Error = visible(e.Content), visible(e.Error)
		of := redact.Cleaner{Keep: d.Keep}
		e.Content = clip(strings.TrimSpace(of.Text("content", e.Content)), memory.MaxContent)
		e.Error = clip(of.Text("error", e.Error), memory.MaxContent)
		e.Tool = clip(of.Text("tool", e.Tool), memory.MaxTitle)
		if !memory.IsSlug(e.Category) || len(e.Category) > memory.MaxSlug {
			e.Category = ""
		}
		if e.Content != "" {
			out = append(out, DatedEntry{Date: d.Date, Entry: e})
		}
	}
	return out
}

// terminalSequence is what a terminal obeys; without its first character the rest would be text.
var terminalSequence = lazyregexp.New("\x1b\\[[0-9;?]*[ -/]*[@-~]")

// visible drops control characters and sequences, those that turn the direction of writing, and invisible tags: a text
// from elsewhere must not hide a part of itself from who reads it. Line feeds and tabs stay; other line ends become
// line feeds.
func visible(s string) string {
	s = terminalSequence.ReplaceAllString(s, "")
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case r == '\r' || r == '\u2028' || r == '\u2029' || r == '\u0085':
			return '\n'
		case unicode.Is(unicode.Cc, r), r >= '\u202a' && r <= '\u202e', r >= '\u2066' && r <= '\u2069',
			r == '\u200b', r == '\u200e', r == '\u200f', r == '\u2060', r == '\ufeff', r == '\u061c',
			r >= 0xE0000 && r <= 0xE007F:
			return -1
		}
		return r
	}, strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\r\n", "\n"))
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
