package reconcile

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/memsidecar/memsidecar/internal/dailylog"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/publish"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/durable"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

// List returns the edits that wait for a person, oldest first.
func (s *Service) List() ([]publish.Edit, error) {
	records, err := publish.Edits(s.cfg.FS)
	return slices.DeleteFunc(records, func(e publish.Edit) bool { return e.Resolved != "" }), err
}

// SpaceOf is the space of an edit's file, "" for a damaged record.
func SpaceOf(e publish.Edit) string {
	t, ok := parsePath(e.File)
	if !ok {
		return ""
	}
	return t.space
}

// Get returns an edit by its id, or an unambiguous prefix of it, and what accepting it would change now: nothing
// when it is refused. Errors: memory.ErrNotFound, *memory.InvalidError.
func (s *Service) Get(ctx context.Context, id string) (publish.Edit, []journal.Change, error) {
	s.passMu.Lock()
	defer s.passMu.Unlock()
	e, err := s.find(id)
	if err != nil {
		return e, nil, err
	}
	p, err := s.acceptedPlan(ctx, e)
	if err != nil || p.kind == publish.Refused {
		if errors.Is(err, memory.ErrRefused) {
			err = nil
		}
		return e, nil, err
	}
	_, _, changes, err := s.runPlan(ctx, p, "", true)
	return e, changes, err
}

// Resolve accepts an edit, which makes the state as the edit says in one operation, or rejects it. Then the file is
// published again if the edit is still in place. The bytes stay in quarantine/. Durable on return. Errors: those of
// Get, and memory.ErrRefused when a refused edit is accepted.
func (s *Service) Resolve(ctx context.Context, id string, accept bool) (store.Result, error) {
	s.passMu.Lock()
	defer s.passMu.Unlock()
	e, err := s.find(id)
	if err != nil {
		return store.Result{}, err
	}
	p := &plan{target: target{name: e.File}}
	resolved := publish.Discarded
	if accept {
		if p, err = s.acceptedPlan(ctx, e); err != nil {
			return store.Result{}, err
		}
		resolved = publish.Accepted
		if e.Op, _, err = s.apply(ctx, p, "edit accepted"); err != nil {
			return store.Result{}, err
		}
	}
	// The claim comes first: a record that says more than was done would be the end of the edit.
	if err := s.unblock(e, p); err != nil {
		return store.Result{}, err
	}
	e.Resolved, e.InPlace = resolved, false
	if err := e.Save(s.cfg.FS); err != nil {
		return store.Result{}, err
	}
	return store.Result{Op: e.Op}, nil
}

// unblock lets the files of an edit be published again.
func (s *Service) unblock(e publish.Edit, p *plan) error {
	t, ok := parsePath(e.File)
	switch {
	case !ok:
		return nil
	case t.isDeletion:
		dates, err := s.deletedDays(e)
		for _, date := range dates {
			name := dailylog.Path(t.space, date)
			delete(s.missing, name)
			s.cfg.Logs.Republish(name)
		}
		return err
	}
	found, err := s.files(t).Inspect(t.name)
	if err != nil {
		return err
	}
	if found.Exists && found.Hash == e.Hash {
		if err := s.files(t).Claim(t.name, e.Hash); err != nil {
			return err
		}
	}
	s.republish(p, !e.InPlace)
	return nil
}

// find returns the open edit with an id or a prefix of one.
func (s *Service) find(id string) (publish.Edit, error) {
	open, err := s.List()
	if err != nil {
		return publish.Edit{}, err
	}
	var found []publish.Edit
	for _, e := range open {
		if id != "" && strings.HasPrefix(e.ID, id) {
			found = append(found, e)
		}
	}
	switch {
	case len(found) == 0:
		return publish.Edit{}, &memory.NotFoundError{Kind: "edit", Name: id}
	case len(found) > 1 && found[0].ID != id:
		var check memory.Check
		check.Add("id", "AMBIGUOUS", "%d edits begin with %q", len(found), id)
		return publish.Edit{}, check.Err()
	}
	return found[0], nil
}

// acceptedPlan is the plan that accepting an edit runs. Errors: memory.ErrRefused, and those of the file system.
func (s *Service) acceptedPlan(ctx context.Context, e publish.Edit) (*plan, error) {
	t, ok := parsePath(e.File)
	if !ok {
		return nil, refused(e.Details)
	}
	if t.isDeletion {
		dates, err := s.deletedDays(e)
		return &plan{target: t, dates: dates}, err
	}
	data, err := durable.ReadFile(s.cfg.FS, e.Copy)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, refused([]string{"its copy " + e.Copy + " is not there any more"})
	}
	if err != nil {
		return nil, err
	}
	// The person decided about the text that they were shown, not about another one.
	if hashOf(data) != e.Hash {
		return nil, refused([]string{fmt.Sprintf("its copy %s was changed", e.Copy)})
	}
	p, err := s.makePlan(ctx, t, data, !e.InPlace)
	if err != nil {
		return nil, err
	}
	if p.kind == publish.Refused {
		return nil, refused(p.details)
	}
	// Accepting overrides conflicts; a file that cannot be read stays refused.
	p.kind, p.force = "", map[string]bool{"*": true}
	if e.Kind == publish.Conflict {
		p.only = e.Details
	}
	return p, nil
}

// refused is the error of accepting what cannot be accepted.
func refused(details []string) error {
	return fmt.Errorf("%w: %s", memory.ErrRefused, strings.Join(details, "; "))
}

// deletedDays lists the days that an edit of a directory of logs deleted.
func (s *Service) deletedDays(e publish.Edit) (dates []string, err error) {
	data, err := durable.ReadFile(s.cfg.FS, e.Copy)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(data, &dates); err != nil {
		return nil, refused([]string{fmt.Sprintf("%s is not a list of days", e.Copy)})
	}
	return dates, nil
}

// writeFile writes a file below the data directory. Durable on return.
func writeFile(fsys durable.FS, name string, data []byte) error {
	if err := fsys.MkdirAll(path.Dir(name)); err != nil {
		return fmt.Errorf("make directory %s: %w", path.Dir(name), err)
	}
	return durable.WriteFile(fsys, name, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}
