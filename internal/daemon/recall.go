package daemon

import (
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/search"
	"github.com/memsidecar/memsidecar/internal/service/recall"
)

// newRecall makes the service for prompts and hints.
func (d *daemon) newRecall(hints *recall.Hints) *recall.Service {
	conf := recall.Config{
		Store: d.store, Search: d.engine, Now: d.now, Zone: d.cfg.Location(), Index: d.recallIndex,
		TopK:          d.cfg.RecallTopK,
		Disabled:      d.cfg.RecallDisabled,
		ContextTokens: d.cfg.ContextTokens, LogDays: d.cfg.ContextLogDays, Hints: hints, Logger: d.log,
		// Sessions are opened later than this, and before anybody is answered.
		Working: func(space, session string) (*memory.Working, error) { return d.sessions.Working(space, session) },
	}
	// a request to a server would cost more than all of a recall does, and send what was typed
	if len(d.models) > 0 && d.remote == nil {
		conf.ExplicitArm = search.Fusion
		if !d.cfg.RecallByWords {
			conf.Arm = search.Fusion
		}
	}
	if d.model != nil && d.cfg.RecallSelection {
		conf.Model = d.model
	}
	return recall.New(conf)
}
