package daemon

import (
	"context"
	"fmt"
	"time"

	"github.com/memsidecar/memsidecar/internal/archiver"
	"github.com/memsidecar/memsidecar/internal/llm"
)

// archiving configures the archiver, with the model if there is one.
func (d *daemon) archiving() archiver.Config {
	c := archiver.Config{
		Store: d.store, Location: d.cfg.Location(), Logger: d.log, ArchiveDays: d.cfg.ArchiveDays, DeleteDays: d.cfg.DeleteDays,
	}
	if d.model != nil {
		c.Summarise = archiver.ByModel(&sparing{model: d.model, zone: d.cfg.Location()})
	}
	return c
}

// sparing asks the model as long as less than half of the day's tokens are used. Logs can wait, years of them when a directory is taken over; sessions
// of today should not wait for those.
type sparing struct {
	model *model
	zone  *time.Location
}

// Do is the model's.
func (s *sparing) Do(ctx context.Context, req llm.Request) (llm.Reply, error) {
	if limit := s.model.limit; limit > 0 && s.model.broken == nil {
		if used := s.model.ledger.Today().Total(); used >= limit/2 {
			now := s.model.now().In(s.zone)
			return llm.Reply{}, &llm.Error{
				Reason: llm.ErrBudget, Later: true, RetryAt: time.Date(now.Year(), now.Month(), now.Day()+1, 0, 0, 0, 0, s.zone),
				Detail: fmt.Sprintf("%d of %d are used, half of them are kept for sessions", used, limit),
			}
		}
	}
	return s.model.Do(ctx, req)
}
