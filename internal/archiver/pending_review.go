package archiver

import (
	"errors"
	"slices"

	"github.com/memsidecar/memsidecar/internal/memory"
	proposal "github.com/memsidecar/memsidecar/internal/reflector/guard"
)

// pendingReviewReason returns why a log with pending review items must not be deleted, "" if it has none.
func (r *run) pendingReviewReason(space, date string) (string, error) {
	_, entries, err := r.a.store.Space(space).Log(date)
	if errors.Is(err, memory.ErrNotFound) {
		return "", nil
	}
	if slices.ContainsFunc(entries, func(e *memory.Entry) bool {
		p := proposal.ProposalOf(e)
		return p != nil && p.State == ""
	}) {
		return "it has a pending review item; see `memsidecar review`", err
	}
	return "", err
}
