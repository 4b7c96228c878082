package memorysvc

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

// Titled is a memory to be saved under its title.
type Titled struct {
	Title       string // compared exactly, but for spaces around it
	Description string // "" keeps that of the memory there is
	Content     string
	Category    string   // "" keeps that of the memory there is, else memory.General
	Salience    *float64 // nil keeps that of the memory there is, else memory.DefaultSalience
	Tags        []string // none keeps those of the memory there is
}

// SaveTitled gives the memory with the title a new text, or adds one. It returns the memory as it is then, and
// whether there was one. Of several with the title, the one changed last is meant. Errors: *memory.InvalidError,
// *memory.ExistsError when another memory of the category says the same. Durable on return.
func (s *Service) SaveTitled(ctx context.Context, meta store.Meta, t Titled) (store.Result, *memory.Memory, bool,
	error) {
	draft := Draft{Memory: &memory.Memory{Title: strings.TrimSpace(t.Title), Content: t.Content, Category: t.Category,
		Tags: t.Tags}, Salience: t.Salience}
	draft.Memory.SetDescription(t.Description)
	var check memory.Check
	checkMeta(&check, &meta)
	check.Text("title", draft.Memory.Title, memory.MaxTitle, true)
	taken := prepare(&check, "", &draft, s.now().Add(maxAhead))
	if err := check.Err(); err != nil {
		return store.Result{}, nil, false, err
	}
	var after *memory.Memory
	replaced := false
	result, err := s.store.Update(ctx, meta, func(tx *store.Tx) (err error) {
		var outcome journal.Outcome
		if known := newestTitled(tx, draft.Memory.Title); known != nil {
			replaced = true
			outcome, after, err = retext(tx, known, draft.Memory, t)
		} else {
			outcome, after, err = addTitled(tx, draft.Memory)
		}
		tx.Report(withRedactions(outcome, &taken))
		return err
	})
	if err == nil && result.Replayed && len(result.Outcomes) == 1 {
		after, err = s.store.Space(meta.Space).Get(result.Outcomes[0].ID)
	}
	return result, after, replaced, err
}

// addTitled adds m. A memory that says the same already gets the title, if it has none, and the description.
func addTitled(tx *store.Tx, m *memory.Memory) (journal.Outcome, *memory.Memory, error) {
	outcome, err := add(tx, m)
	after := tx.Memory(outcome.ID)
	if err != nil || after.Title == m.Title {
		return outcome, after, err
	}
	if outcome.Status == journal.Duplicate && after.Title != "" {
		return journal.Outcome{}, nil, &memory.ExistsError{Kind: "memory", Name: after.ID}
	}
	c := after.Clone()
	c.Title = m.Title
	c.SetDescription(cmp.Or(m.Description(), c.Description()))
	return journal.Outcome{ID: c.ID, Status: journal.Applied}, c, tx.Put(c)
}

// retext gives known the text of m, and what else t names.
func retext(tx *store.Tx, known, m *memory.Memory, t Titled) (journal.Outcome, *memory.Memory, error) {
	c := known.Clone()
	c.Content = m.Content
	c.SetDescription(cmp.Or(m.Description(), c.Description()))
	if t.Category != "" {
		c.Category = m.Category
	}
	if t.Salience != nil {
		c.Salience = *t.Salience
	}
	if len(t.Tags) > 0 {
		c.Tags = m.Tags
	}
	if c.Content == known.Content && c.Category == known.Category && c.Salience == known.Salience &&
		c.Description() == known.Description() && slices.Equal(c.Tags, known.Tags) {
		return journal.Outcome{ID: known.ID, Status: journal.Duplicate, Reason: ReasonState}, known, nil
	}
	if equal := tx.Equal(c.Category, c.Content); equal != nil && equal.ID != c.ID {
		return journal.Outcome{}, nil, &memory.ExistsError{Kind: "memory", Name: equal.ID}
	}
	tx.Unforget(c.Content)
	return journal.Outcome{ID: c.ID, Status: journal.Applied}, c, tx.Put(c)
}

// newestTitled is the active memory with a title that was changed last, nil when there is none.
func newestTitled(tx *store.Tx, title string) (found *memory.Memory) {
	for m := range tx.Memories() {
		if hasTitle(m, title) && !m.Expired(tx.Now()) && (found == nil || !m.UpdatedAt.Before(found.UpdatedAt)) {
			found = m
		}
	}
	return found
}

// hasTitle reports whether m is active and has exactly this title.
func hasTitle(m *memory.Memory, title string) bool { return m.Title == title && m.IsActive() }

// FindTitled returns the active memories with a title, newest change first. Errors:
// *memory.NotFoundError when there is none, *memory.InvalidError.
func (s *Service) FindTitled(space, title string) ([]*memory.Memory, error) {
	var check memory.Check
	space, title = checkSpace(&check, space), strings.TrimSpace(title)
	check.Text("title", title, memory.MaxTitle, true)
	if err := check.Err(); err != nil {
		return nil, err
	}
	now := s.now()
	found := slices.DeleteFunc(s.store.Space(space).Memories(), func(m *memory.Memory) bool {
		return !hasTitle(m, title) || m.Expired(now)
	})
	if len(found) == 0 {
		return nil, &memory.NotFoundError{Kind: "title", Name: title}
	}
	slices.SortStableFunc(found, func(a, b *memory.Memory) int { return b.UpdatedAt.Compare(a.UpdatedAt) })
	return found, nil
}

// ForgetTitled retires the active memories with a title and keeps what they say from being learnt again. There is one
// outcome per memory. Errors as of FindTitled. Durable on return; works on a full disk too.
func (s *Service) ForgetTitled(ctx context.Context, meta store.Meta, title string) (store.Result, error) {
	var check memory.Check
	title = strings.TrimSpace(title)
	checkMeta(&check, &meta)
	check.Text("title", title, memory.MaxTitle, true)
	if err := check.Err(); err != nil {
		return store.Result{}, err
	}
	meta.Essential = true
	return s.store.Update(ctx, meta, func(tx *store.Tx) error {
		var going []*memory.Memory
		for m := range tx.Memories() {
			if hasTitle(m, title) && !m.Expired(tx.Now()) {
				going = append(going, m)
			}
		}
		if len(going) == 0 {
			return &memory.NotFoundError{Kind: "title", Name: title}
		}
		errs := make([]error, 0, len(going))
		for _, m := range going {
			if !tx.IsForgotten(m.Content) {
				tx.Forget(m.Content)
			}
			c := m.Clone()
			c.Status = memory.Retired
			errs = append(errs, tx.Put(c))
			tx.Report(journal.Outcome{ID: m.ID, Status: journal.Applied})
		}
		return errors.Join(errs...)
	})
}
