package session

import (
	"context"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
)

const (
	// hostPollInterval is the interval of polling host processes whose end the operating system does not report.
	hostPollInterval = 5 * time.Second
	// hostStartTolerance is the maximum difference between two readings of a process's start time, because the clock
	// may be set in between. Process ids are not reused that fast.
	hostStartTolerance = time.Minute
)

// verifyHost sets the start time of the host's process, which identifies it together with its id. A process that is
// not visible, such as one in a container, is treated as unknown: the session then ends by request or idle time.
func (s *Service) verifyHost(r *StartRequest) {
	if r.HostPID == 0 {
		return
	}
	started, ok := s.hostStarted(r.HostPID)
	switch {
	case !ok || !r.HostStarted.IsZero() && started.Sub(r.HostStarted).Abs() > hostStartTolerance:
		r.HostPID, r.HostStarted = 0, time.Time{}
	default:
		r.HostStarted = started.UTC().Truncate(time.Microsecond)
	}
}

// endAbandoned ends the sessions whose host process has ended. others is true if host processes remain that must be
// polled.
func (s *Service) endAbandoned(ctx context.Context) (others bool, err error) {
	wanted := map[int]bool{}
	defer func() { s.hosts.retain(wanted) }()
	for space := range s.store.SpacesAtLeisure() {
		for _, h := range s.store.Space(space).Sessions() {
			if h.State != memory.SessionOpen || h.HostPID == 0 {
				continue
			}
			told := s.hosts.watch(h.HostPID) // before the start time is read, so that both are about the same process
			if started, ok := s.hostStarted(h.HostPID); ok && started.Sub(h.HostStarted).Abs() <= hostStartTolerance {
				others = others || !told
				wanted[h.HostPID] = true
				continue
			}
			if _, err := s.capture(ctx, &capture{space: space, id: h.ID, end: ReasonHostExit, mustExist: true,
				unchangedSince: h}); err != nil {
				return others, err
			}
		}
	}
	return others, nil
}
