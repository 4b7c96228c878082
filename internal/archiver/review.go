package archiver

import (
	"errors"
	"slices"

	"github.com/memsidecar/memsidecar/internal/memory"
	proposal "github.com/memsidecar/memsidecar/internal/plan"
)

// asksPerson says why a log must not be deleted yet when an entry of it waits for a person's decision, "" when none does.
func (r *run) asksPerson(space, date string) (string, error) {
	_, entries, err := r.a.store.Space(space).Log(date)
	if errors.Is(err, memory.ErrNotFound) {
		return "", nil
	}
	if slices.ContainsFunc(entries, func(e *memory.Entry) bool {
		p := proposal.ProposalOf(e)
		return p != nil && p.State == ""
	}) {
		return "a proposed change in it waits for a decision; see `memsidecar review`", err
	}
	return "", err
}
