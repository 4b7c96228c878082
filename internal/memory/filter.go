package memory

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// Filter selects memories, in lists and in searches. A memory must meet every criterion that is given; a list of values
// is met by any of them.
type Filter struct {
	Categories    []string
	Tags          []string
	Sources       []string
	Sessions      []string // ids of sessions that the memory was learnt in
	Statuses      []Status // none: active and not expired
	MinSalience   float64
	Pinned        *bool // nil: both
	CreatedFrom   time.Time
	CreatedBefore time.Time
	UpdatedFrom   time.Time // accesses are no updates; what was never changed was updated when it was created
	UpdatedBefore time.Time
}

// Matches reports whether m is selected at now.
func (f *Filter) Matches(m *Memory, now time.Time) bool {
	if len(f.Statuses) == 0 {
		if !m.IsActive() || m.Expired(now) {
			return false
		}
	} else if !slices.Contains(f.Statuses, cmp.Or(m.Status, Active)) {
		return false
	}
	return anyOf(f.Categories, m.Category) && anyOf(f.Sources, m.Source) && m.Salience >= f.MinSalience &&
		(f.Pinned == nil || *f.Pinned == m.Pinned) && hasAnyTag(m, f.Tags) &&
		(len(f.Sessions) == 0 || slices.ContainsFunc(f.Sessions, m.LearntIn)) &&
		within(m.CreatedAt, f.CreatedFrom, f.CreatedBefore) && within(updatedAt(m), f.UpdatedFrom, f.UpdatedBefore)
}

// IsZero reports that no criterion is given, so that every active memory matches.
func (f *Filter) IsZero() bool {
	return len(f.Categories) == 0 && len(f.Tags) == 0 && len(f.Sources) == 0 && len(f.Sessions) == 0 &&
		len(f.Statuses) == 0 && f.MinSalience <= 0 && f.Pinned == nil &&
		f.CreatedFrom.IsZero() && f.CreatedBefore.IsZero() && f.UpdatedFrom.IsZero() && f.UpdatedBefore.IsZero()
}

// updatedAt is when m was changed last, or created: an entry of a log has no time of change.
func updatedAt(m *Memory) time.Time {
	if m.UpdatedAt.IsZero() {
		return m.CreatedAt
	}
	return m.UpdatedAt
}

// LearntIn reports whether the memory was learnt in a session, by its context or its evidence.
func (m *Memory) LearntIn(session string) bool {
	if m.Context() != nil && m.Context().LearnedFrom == "session_"+session {
		return true
	}
	return slices.ContainsFunc(m.Evidence(), func(e Evidence) bool { return e.Session == session })
}

// Validate adds what is wrong with f to check. Field names begin with prefix.
func (f *Filter) Validate(check *Check, prefix string) {
	for i, c := range f.Categories {
		check.Slug(fmt.Sprintf("%scategories[%d]", prefix, i), c)
	}
	if len(f.Tags) > MaxTags {
		check.Add(prefix+"tags", "TOO_MANY", "has %d tags; the limit is %d", len(f.Tags), MaxTags)
	}
	check.Unit(prefix+"min_salience", f.MinSalience)
}

func anyOf(want []string, have string) bool { return len(want) == 0 || slices.Contains(want, have) }

func hasAnyTag(m *Memory, want []string) bool {
	return len(want) == 0 || slices.ContainsFunc(m.Tags, func(t string) bool { return slices.Contains(want, t) })
}

// within reports whether from <= t < before. The zero time is no bound.
func within(t, from, before time.Time) bool {
	return (from.IsZero() || !t.Before(from)) && (before.IsZero() || t.Before(before))
}
