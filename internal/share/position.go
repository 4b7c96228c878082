package share

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/share/pglog"
)

// position is what a machine knew of a shared space: the rows of a log up to seq, and what a line had written by then,
// which may not be in the log yet. As text it is opaque to clients.
type position struct {
	log  string
	seq  int64
	line line
	op   int64 // newest operation of the line that the log did not have, 0 for none
}

// line is the identity under which a machine takes part.
type line struct{ origin, epoch string }

// positionPrefix begins positions of this form, so that there can be others.
const positionPrefix = "1"

// String is the text of a position.
func (p position) String() string {
	parts := []string{positionPrefix, p.log, strconv.FormatInt(p.seq, 10)}
	if p.op != 0 {
		parts = append(parts, p.line.origin, p.line.epoch, strconv.FormatInt(p.op, 10))
	}
	return strings.Join(parts, ".")
}

// parsePosition reads the text of a position.
func parsePosition(text string) (p position, ok bool) {
	parts := strings.Split(text, ".")
	if len(parts) != 3 && len(parts) != 6 || parts[0] != positionPrefix || parts[1] == "" {
		return p, false
	}
	p.log = parts[1]
	var err, opErr error
	p.seq, err = strconv.ParseInt(parts[2], 10, 64)
	if len(parts) == 6 {
		p.line = line{parts[3], parts[4]}
		p.op, opErr = strconv.ParseInt(parts[5], 10, 64)
	}
	return p, err == nil && opErr == nil && p.seq >= 0 && p.op >= 0
}

// Position is what this machine knows of a space now: for Reach, at any machine. It includes what is written here and
// not in the log yet, unless committed: a reply that waited does not depend on that, and it may be lost with this disk.
// It is "" for a space that is not shared.
func (s *Service) Position(name string, committed bool) string {
	s.mu.RLock()
	sp := s.spaces[name]
	s.mu.RUnlock()
	if sp == nil {
		return ""
	}
	sp.mu.Lock()
	defer sp.mu.Unlock()
	if sp.log == "" {
		return "" // it is being set up
	}
	p := position{log: sp.log, seq: sp.shown.Position}
	if n := len(sp.unsent); n > 0 && !committed {
		p.line, p.op = line{s.cfg.Store.Origin(), sp.epoch}, sp.unsent[n-1]
	}
	return p.String()
}

// Reach waits until this machine holds everything that some positions name, and asks the logs for it at once. It
// returns the spaces of those whose replies wait for PostgreSQL. Errors: *memory.InvalidError for what is no position
// of a space that is shared here, memory.ErrNotReached.
func (s *Service) Reach(ctx context.Context, positions []string) (strict []string, err error) {
	var check memory.Check
	spaces := make([]*space, len(positions))
	wanted := make([]position, len(positions))
	for i, text := range positions {
		field := fmt.Sprintf("min_positions[%d]", i)
		p, ok := parsePosition(text)
		if !ok {
			check.Add(field, "INVALID_POSITION", "is not a position")
			continue
		}
		if wanted[i], spaces[i] = p, s.ofLog(p.log); spaces[i] == nil {
			check.Add(field, "NOT_SHARED", "is a position in a space that is not shared on this machine")
		}
	}
	if err := check.Err(); err != nil {
		return nil, err
	}
	for i, sp := range spaces {
		if err := sp.await(ctx, func() bool { return sp.reached(wanted[i], s.cfg.Store.Origin()) }, false); err != nil {
			return nil, fmt.Errorf("space %q is at row %d of its log, and the read asks for more: %w: %w", sp.name,
				sp.status().Position, memory.ErrNotReached, err)
		}
		if sp.status().Ack == AckShared {
			strict = append(strict, sp.name)
		}
	}
	return strict, nil
}

// AwaitAll waits until PostgreSQL has committed everything that some spaces show now. Error: memory.ErrNotReached.
func (s *Service) AwaitAll(ctx context.Context, names []string) error {
	for _, name := range names {
		s.mu.RLock()
		sp := s.spaces[name]
		s.mu.RUnlock()
		if sp == nil {
			continue
		}
		sp.mu.Lock()
		last := int64(0)
		if n := len(sp.unsent); n > 0 {
			last = sp.unsent[n-1]
		}
		sp.mu.Unlock()
		sent := func() bool {
			sp.mu.Lock()
			defer sp.mu.Unlock()
			return len(sp.unsent) == 0 || sp.unsent[0] > last
		}
		if err := sp.await(ctx, sent, false); err != nil {
			return fmt.Errorf("what space %q shows is not in its log yet: %w: %w", name, memory.ErrNotReached, err)
		}
	}
	return nil
}

// ofLog returns the shared space of a log, nil when there is none.
func (s *Service) ofLog(log string) *space {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.logs[log]
}

// reached reports whether this machine, which has an origin, holds what a position names. If that is not known of its
// line, the next exchange asks the log.
func (sp *space) reached(p position, origin string) bool {
	sp.mu.Lock()
	defer sp.mu.Unlock()
	if sp.shown.Position < p.seq {
		return false
	}
	if p.op == 0 || p.line == (line{origin, sp.epoch}) {
		return true // what this machine acknowledged, it shows
	}
	newest, known := sp.received[p.line]
	if !known {
		sp.asked[p.line] = true
	}
	return newest >= p.op
}

// noteRow notes that a row is applied here. The caller may use the space.
func (sp *space) noteRow(r *pglog.Row) {
	sp.mu.Lock()
	defer sp.mu.Unlock()
	l := line{r.Origin, r.Epoch}
	if newest, known := sp.received[l]; known || sp.asked[l] {
		sp.received[l] = max(newest, r.Op)
	}
}

// answer asks the log how far the lines have come that somebody waits for. Rows behind the position of this machine do
// not count. From then on the rows say it.
func (s *Service) answer(ctx context.Context, log *pglog.Log, sp *space) error {
	sp.mu.Lock()
	var lines []line
	for l := range sp.asked {
		lines = append(lines, l)
	}
	sp.mu.Unlock()
	var errs []error
	for _, l := range lines {
		newest, err := log.Newest(ctx, sp.state.Remote.ID, l.origin, l.epoch, sp.state.Remote.Head.Seq)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		sp.mu.Lock()
		sp.received[l] = max(newest, sp.received[l])
		delete(sp.asked, l)
		sp.signal()
		sp.mu.Unlock()
	}
	return errors.Join(errs...)
}
