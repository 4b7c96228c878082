package session

import (
	"context"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
)

const (
	// hostTick is how often the processes of hosts are looked at while there are any whose end the system does not tell.
	hostTick = 5 * time.Second
	// hostSlack is how far two tellings of a process's start may lie apart: the clock may have been set meanwhile. No number is given
	// to another process so soon.
	hostSlack = time.Minute
)

// settleHost makes sure that the host's process can be known again. One that is not seen from here, because it is in a container or on
// another system, is as good as unknown: the session then ends by request or silence.
func (s *Service) settleHost(r *StartRequest) {
	if r.HostPID == 0 {
		return
	}
	started, ok := s.hostStarted(r.HostPID)
	switch {
	case !ok || !r.HostStarted.IsZero() && started.Sub(r.HostStarted).Abs() > hostSlack:
		r.HostPID, r.HostStarted = 0, time.Time{}
	default:
		r.HostStarted = started.UTC().Truncate(time.Microsecond)
	}
}

// endAbandoned ends the sessions whose host's process has ended, and reports whether there are others that must be looked at again soon.
func (s *Service) endAbandoned(ctx context.Context) (others bool, err error) {
	wanted := map[int]bool{}
	defer func() { s.hosts.keep(wanted) }()
	for _, space := range s.store.Spaces() {
		for _, h := range s.store.Space(space).Sessions() {
			if h.State != memory.SessionOpen || h.HostPID == 0 {
				continue
			}
			told := s.hosts.watch(h.HostPID) // first: whose start is then looked at is the process that is watched
			if started, ok := s.hostStarted(h.HostPID); ok && started.Sub(h.HostStarted).Abs() <= hostSlack {
				others = others || !told
				wanted[h.HostPID] = true
				continue
			}
			if _, err := s.capture(ctx, &capture{space: space, id: h.ID, end: ReasonHostExit, known: true, idle: h}); err != nil {
				return others, err
			}
		}
	}
	return others, nil
}
