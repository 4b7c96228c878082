package daemon

import (
	"context"
	"fmt"
	"time"

	"github.com/memsidecar/memsidecar/internal/archiver"
	"github.com/memsidecar/memsidecar/internal/llm"
)

// archiving returns the configuration of the archiver.
func (d *daemon) archiving() archiver.Config {
	c := archiver.Config{
		Store: d.store, Location: d.cfg.Location(), Logger: d.log, ArchiveDays: d.cfg.ArchiveDays,
		DeleteDays: d.cfg.DeleteDays,
	}
	if d.model != nil {
		c.Summarise = archiver.ByModel(&halfBudgetModel{model: d.model, zone: d.cfg.Location()})
	}
	return c
}

// halfBudgetModel asks the model while less than half of the daily tokens are used. An adopted directory can have
// years of logs; they can wait, so that they do not delay the sessions of today.
type halfBudgetModel struct {
	model *model
	zone  *time.Location
}

// Do asks the model, or fails with llm.ErrBudget.
func (s *halfBudgetModel) Do(ctx context.Context, req llm.Request) (llm.Reply, error) {
	if limit := s.model.limit; limit > 0 && s.model.broken == nil {
		if used := s.model.ledger.Today().Total(); used >= limit/2 {
			now := s.model.now().In(s.zone)
			return llm.Reply{}, &llm.Error{
				Reason: llm.ErrBudget, Later: true,
				RetryAt: time.Date(now.Year(), now.Month(), now.Day()+1, 0, 0, 0, 0, s.zone),
				Detail:  fmt.Sprintf("%d of %d are used; half of them are reserved for sessions", used, limit),
			}
		}
	}
	return s.model.Do(ctx, req)
}
