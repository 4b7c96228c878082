package garbage

import (
	"context"
	"errors"
	"math"
	"os"
	"runtime/metrics"
	"strconv"
	"strings"
	"time"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

// ofContainer is the part of a container's memory that the process may take. The rest is for its threads, and for
// files that the system keeps for it.
const ofContainer = 0.9

// headroom is by how much the limit of the heap exceeds what is used at least. At less the process would collect
// garbage all the time and answer nobody in time; then the container's limit is too low, and the system ends it.
const headroom = 1.2

// containerLook is how often the container's limit is looked at, which takes 0.1 ms: it seldom changes, and vectors
// grow slowly.
const containerLook = 30 * time.Second

// LimitToContainer keeps what the runtime takes below the memory limit of the control group that the process runs in,
// as containers and service managers set it, until ctx ends. Near the limit garbage is collected more often, before the
// system ends the process. It follows a limit that changes. Nothing happens without a limit, outside of Linux, and
// where GOMEMLIMIT is set. Errors: what the system says when it does not show the limit; the process may go on.
func LimitToContainer(ctx context.Context) error { return limitTo(ctx, memlimit.FromCgroup) }

// limitTo is LimitToContainer for the limit of any container.
func limitTo(ctx context.Context, container memlimit.Provider) error {
	_, err := memlimit.Set(memlimit.WithRatio(ofContainer), memlimit.WithRefreshInterval(ctx, containerLook),
		memlimit.WithProvider(ofHeap(container)))
	return err
}

// ofHeap turns the limit of a container into that of the runtime, before ofContainer is taken of it.
func ofHeap(container memlimit.Provider) memlimit.Provider {
	return func() (uint64, error) {
		limit, err := container()
		if errors.Is(err, memlimit.ErrNoCgroup) || errors.Is(err, memlimit.ErrCgroupsNotSupported) {
			return 0, memlimit.ErrNoLimit
		} else if err != nil {
			return 0, err
		}
		return heapLimit(limit, readUse()), nil
	}
}

// use is what the process holds, in bytes.
type use struct {
	resident uint64 // its memory that no file backs
	runtime  uint64 // what the runtime has of it
	live     uint64 // what was in use after the last collection
}

// heapLimit is what the runtime may take, before ofContainer, of a container with so much memory.
func heapLimit(container uint64, u use) uint64 {
	outside := u.resident - min(u.runtime, u.resident) // vectors are outside of the heap
	left := container - min(outside, container)
	return max(left, uint64(math.Ceil(headroom/ofContainer*float64(u.live))))
}

// readUse asks the runtime and the system.
func readUse() use {
	s := []metrics.Sample{
		{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"},
		{Name: "/gc/heap/live:bytes"},
	}
	metrics.Read(s)
	return use{
		resident: residentOf(os.ReadFile("/proc/self/status")),
		runtime:  s[0].Value.Uint64() - s[1].Value.Uint64(), live: s[2].Value.Uint64(),
	}
}

// residentOf finds the memory that no file backs in the status of a process; 0 where the system has none.
func residentOf(status []byte, err error) uint64 {
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(status), "\nRssAnon:")
	line, _, _ := strings.Cut(rest, "\n")
	kib, err := strconv.ParseUint(strings.TrimSpace(strings.TrimSuffix(line, "kB")), 10, 64)
	if err != nil {
		return 0
	}
	return kib << 10
}
