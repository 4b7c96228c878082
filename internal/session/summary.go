package session

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/reflector"
)

// takeSummary prepares the summary of a context for c, unless it is empty or the newest one again.
func (s *Service) takeSummary(c *capture, text string) error {
	if strings.TrimSpace(text) == "" {
		return nil
	}
	one := s.prepare([]memory.Message{{Role: memory.RoleSummary, Content: text}})[0]
	newest, err := s.ContextSummary(c.space, c.id)
	if err != nil && !errors.Is(err, memory.ErrNotFound) {
		return err
	}
	if strings.TrimSpace(one.Content) != "" && newest != one.Content {
		c.summary = &one
	}
	return nil
}

// ContextSummary returns the newest summary that the host made of a session's context, "" when there is none. Error: memory.ErrNotFound.
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

// compacted reports whether an open session has a summary that was not reflected yet.
func compacted(h *memory.Session) bool {
	return h.State == memory.SessionOpen && h.Summaries > h.ReflectedSummaries
}

// waits reports whether a session is to be reflected by Run.
func waits(h *memory.Session) bool { return h.State == memory.SessionEnded || compacted(h) }

// reflectWaiting reflects a session that has ended, or what was said so far in one that goes on.
func (s *Service) reflectWaiting(ctx context.Context, k key, h *memory.Session) (reflector.Result, error) {
	return s.reflect(ctx, k, reflector.Options{Open: h.State == memory.SessionOpen}, false)
}
