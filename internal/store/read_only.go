package store

import (
	"fmt"
	"slices"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

// Writable returns a *memory.ReadOnlySpaceError for a space whose memories Update refuses to change, nil for any other.
// Who would work for nothing asks before.
func (s *Store) Writable(space string) error {
	if space == "" {
		space = memory.DefaultSpace
	}
	if s.readOnly == nil || !s.readOnly(space) {
		return nil
	}
	return &memory.ReadOnlySpaceError{Space: space}
}

// isReceived reports whether an operation must not change what is shared of its space. The adoption of files found at
// the first start is no change: they hold what was received.
func (s *Store) isReceived(meta Meta) bool {
	return meta.Actor != journal.ActorShare && meta.Actor != journal.ActorAdopt && s.Writable(meta.Space) != nil
}

// isShared reports whether a change is about something that shared spaces have in common. Logs and sessions are not.
func isShared(c journal.Change) bool {
	return c.Memory != nil || c.Access != nil || c.Forgotten != nil || c.Summary != nil
}

// checkWritable refuses a purge that would erase from a space what its log keeps. Error: *memory.ReadOnlySpaceError.
func (p *Purge) checkWritable() error {
	if p.req.Received || p.store.readOnly == nil {
		return nil
	}
	for _, name := range p.store.Spaces() {
		err := p.store.Writable(name)
		if err == nil {
			continue
		}
		if name == p.req.Space {
			return err
		}
		view := p.store.Space(name)
		_, summary := p.scrub.texts.Replace(view.Summary())
		if summary || slices.ContainsFunc(view.Memories(), func(m *memory.Memory) bool {
			_, changed := p.scrub.memory(name, m)
			return changed
		}) {
			return fmt.Errorf("erase: space %q holds some of it, too: %w", name, err)
		}
	}
	return nil
}
