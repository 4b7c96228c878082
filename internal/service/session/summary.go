package session

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/reflector"
)

// prepareSummary adds a context summary to c, unless it is empty or equal to the newest one.
func (s *Service) prepareSummary(c *capture, text string) error {
	if strings.TrimSpace(text) == "" {
		return nil
	}
	one := s.prepare([]memory.Message{{Role: memory.RoleSummary, Content: text}})[0]
	for i := range one.taken {
		one.taken[i].Field = "context_summary"
	}
	newest, err := s.ContextSummary(c.space, c.id)
	if err != nil && !errors.Is(err, memory.ErrNotFound) {
		return err
	}
	if strings.TrimSpace(one.Content) != "" && newest != one.Content {
		c.summary = &one
	}
	return nil
}

// ContextSummary returns the host's newest summary of a session's context, "" if there is none. Error:
// memory.ErrNotFound.
func (s *Service) ContextSummary(space, id string) (string, error) {
	all, err := s.store.Space(space).Messages(id, 0)
	if err != nil {
		return "", err
	}
	for _, m := range slices.Backward(all) {
		if m.Seq == 0 && m.Role == memory.RoleSummary {
			return m.Content, nil
		}
	}
	return "", nil
}

// hasNewSummary reports whether an open session has a summary that was not reflected.
func hasNewSummary(h *memory.Session) bool {
	return h.State == memory.SessionOpen && h.Summaries > h.ReflectedSummaries
}

// needsReflection reports whether Run must reflect a session.
func needsReflection(h *memory.Session) bool {
	return h.State == memory.SessionEnded || hasNewSummary(h)
}

// reflectWaiting reflects an ended session, or the messages so far of an open one.
func (s *Service) reflectWaiting(ctx context.Context, k key, h *memory.Session) (reflector.Result, error) {
	return s.reflect(ctx, k, reflector.Options{Open: h.State == memory.SessionOpen}, false)
}
