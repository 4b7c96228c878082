// Package garbage bounds how much garbage the heap of a daemon holds, which runs all day beside other programs.
package garbage

import (
	"context"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// The garbage that the heap may hold before it is collected, in percent of what is used. A small heap has half of Go's
// default: collections cost more processor time and the process holds less memory. A large heap would hold hundreds of
// megabytes of garbage at that share, so it has leastPercent, and manyBytes more.
const (
	mostPercent  = 50
	leastPercent = 20
	manyBytes    = 32 << 20
)

// look is how often Limit looks at the heap.
const look = 5 * time.Second

// percentOf is the share for a heap of which so many bytes are used.
func percentOf(used uint64) int {
	return min(mostPercent, leastPercent+int(100*manyBytes/max(used, 1)))
}

// Limit keeps the share that fits the size of the heap until ctx ends. It changes that of the whole process.
func Limit(ctx context.Context) {
	percent := mostPercent
	debug.SetGCPercent(percent)
	ticker := time.NewTicker(look)
	defer ticker.Stop()
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		metrics.Read(live)
		if now := percentOf(live[0].Value.Uint64()); now != percent { // setting it stops the world for a moment
			percent = now
			debug.SetGCPercent(percent)
		}
	}
}
