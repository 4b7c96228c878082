// Package garbage bounds how much garbage the heap of a daemon holds, which runs all day beside other programs.
package garbage

import (
	"context"
	"runtime/debug"
	"runtime/metrics"
	"sync"
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

// While something is loaded that stays, each collection looks at all of it again and finds little. So the heap may hold
// this much garbage then, in bytes, but not more than mostLoading percent of what is used.
const (
	loadingBytes = 128 << 20
	mostLoading  = 200
)

// look is how often Limit looks at the heap, and lookLoading how often it is looked at while something is loaded.
const (
	look        = 5 * time.Second
	lookLoading = 200 * time.Millisecond
)

// The runtime keeps pages that it does not use, a tenth of a large heap for hours, in case it needs them again. They
// are given back when there are this many bytes of them while the heap is calm. That takes a collection, so it is done
// once in so many looks at most.
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

// loadingPercent is percentOf while something is loaded.
func loadingPercent(percent int, used uint64) int {
	return max(percent, int(min(mostLoading, 100*loadingBytes/max(used, 1))))
}

// Limiter sets the share that fits the heap, for the whole process. The zero value is ready. It is safe for concurrent
// use.
type Limiter struct {
	mu      sync.Mutex
	percent int // that fits when nothing is loaded; 0 until Limit
	set     int // what is set
	loads   int
}

// Limit keeps the share that fits, and gives back what a calm heap does not use, until ctx ends.
func (l *Limiter) Limit(ctx context.Context) {
	l.fit(mostPercent)
	before, looks := heap{}, 0
	ticker := time.NewTicker(look)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		now := readHeap()
		collections := now.collections - before.collections
		before = now
		l.fit(percentOf(now.used, collections))
		if looks++; givesBack(now.unused, collections, looks) {
			debug.FreeOSMemory()
			looks = 0
		}
	}
}

// Loading lets the heap hold more garbage until the function that it returns is called. Without Limit nothing happens.
func (l *Limiter) Loading() (done func()) {
	l.load(1)
	ended := make(chan struct{})
	go func() {
		ticker := time.NewTicker(lookLoading)
		defer ticker.Stop()
		for {
			select {
			case <-ended:
				return
			case <-ticker.C:
				l.load(0)
			}
		}
	}()
	return func() {
		close(ended)
		l.load(-1)
	}
}

// fit sets the share that fits when nothing is loaded.
func (l *Limiter) fit(percent int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.percent = percent
	l.setLocked()
}

// load adds to the loads, and looks at the heap.
func (l *Limiter) load(more int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.loads += more
	l.setLocked()
}

// setLocked sets the share that fits now. That stops the world for a moment, so it is done for another one only.
func (l *Limiter) setLocked() {
	now := l.percent
	if now > 0 && l.loads > 0 {
		now = loadingPercent(now, readHeap().used)
	}
	if now != l.set {
		l.set = now
		debug.SetGCPercent(now)
	}
}

// heap is what the runtime says of the heap.
type heap struct {
	used        uint64 // bytes that were in use after the last collection
	unused      uint64 // bytes that the system could have back
	collections uint64 // since the start
}

func readHeap() heap {
	m := []metrics.Sample{
		{Name: "/gc/heap/live:bytes"}, {Name: "/memory/classes/heap/free:bytes"}, {Name: "/gc/cycles/automatic:gc-cycles"},
	}
	metrics.Read(m)
	return heap{used: m[0].Value.Uint64(), unused: m[1].Value.Uint64(), collections: m[2].Value.Uint64()}
}
