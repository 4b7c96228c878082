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
// megabytes of garbage at that share, so it has a smaller one, and some bytes more. While it is collected often, the
// processor's time counts, otherwise the memory.
const (
	mostPercent = 50
	busyPercent = 20
	busyBytes   = 32 << 20
	calmPercent = 4
	calmBytes   = 24 << 20
)

// mostCalm is how many collections between two looks are few.
const mostCalm = 1

// look is how often Limit looks at the heap.
const look = 5 * time.Second

// The runtime keeps pages that it does not use, a tenth of a large heap for hours, in case it needs them again. They are
// given back when there are this many bytes of them while the heap is calm. That takes a collection, so it is done once
// in so many looks at most.
const (
	mostUnused   = 24 << 20
	giveBackLook = 4
)

// givesBack reports whether to give back unused bytes, after so many collections since the last look, and so many looks
// since it was done last.
func givesBack(unused, collections uint64, looks int) bool {
	return unused >= mostUnused && collections <= mostCalm && looks >= giveBackLook
}

// percentOf is the share for a heap of which so many bytes are used, after so many collections since the last look.
func percentOf(used, collections uint64) int {
	least, bytes := calmPercent, uint64(calmBytes)
	if collections > mostCalm {
		least, bytes = busyPercent, busyBytes
	}
	return min(mostPercent, least+int(100*bytes/max(used, 1)))
}

// Limit keeps the share that fits the size of the heap, and gives back what a calm heap does not use, until ctx ends. It
// changes the share of the whole process.
func Limit(ctx context.Context) {
	percent, collected, looks := mostPercent, uint64(0), 0
	debug.SetGCPercent(percent)
	ticker := time.NewTicker(look)
	defer ticker.Stop()
	heap := []metrics.Sample{
		{Name: "/gc/heap/live:bytes"}, {Name: "/gc/cycles/automatic:gc-cycles"}, {Name: "/memory/classes/heap/free:bytes"},
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		metrics.Read(heap)
		live, collections := heap[0].Value.Uint64(), heap[1].Value.Uint64()
		if now := percentOf(live, collections-collected); now != percent { // setting it stops the world for a moment
			percent = now
			debug.SetGCPercent(percent)
		}
		if looks++; givesBack(heap[2].Value.Uint64(), collections-collected, looks) {
			debug.FreeOSMemory()
			looks = 0
		}
		collected = collections
	}
}
