package daemon

import (
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/recall"
	"github.com/memsidecar/memsidecar/internal/search"
)

// newRecall makes what answers prompts and hints.
func (d *daemon) newRecall(hints *recall.Hints) *recall.Service {
	conf := recall.Config{
		Store: d.store, Search: d.engine, Now: d.now, Zone: d.cfg.Location(), Tools: d.tools, TopK: d.cfg.RecallTopK, Disabled: d.cfg.RecallDisabled,
		ContextTokens: d.cfg.ContextTokens, Hints: hints, Logger: d.log,
		// Sessions are opened later than this, and before anybody is answered.
		Working: func(space, session string) (*memory.Working, error) { return d.sessions.Working(space, session) },
	}
	if d.embedder != nil && d.remote == nil { // a request to a server would cost more than all of a recall does, and send what was typed
		conf.ExplicitArm = search.Fusion
		if d.cfg.RecallMeaning {
			conf.Arm = search.Fusion
		}
	}
	if d.model != nil && d.cfg.RecallSelection {
		conf.Model = d.model
	}
	return recall.New(conf)
}
