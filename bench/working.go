package main

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/memsidecar/memsidecar/bench/process"
	memsidecarv1 "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
)

// compute keeps a processor busy for some steps, without memory.
func compute(steps int) (x uint64) {
	x = uint64(steps) | 1
	for range steps {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
	}
	return x
}

// stepsFor is how many steps take so long when nothing interrupts them.
func stepsFor(d time.Duration) int {
	const tried = 100_000
	least, sum := time.Hour, uint64(0)
	for range 50 {
		began := time.Now()
		sum += compute(tried)
		least = min(least, time.Since(began))
	}
	if sum == 0 {
		return 0 // never: it keeps the compiler from leaving the work out
	}
	return int(float64(tried) * float64(d) / float64(least))
}

const workPrefix = "compute "

// stepsOf reads what a recall asks an echo to do.
func stepsOf(text string) (int, bool) {
	rest, ok := strings.CutPrefix(text, workPrefix)
	n, err := strconv.Atoi(rest)
	return n, ok && err == nil
}

// working lets clients make calls of the echo that compute for d, and returns how long those took in its process.
func (b *bench) working(ctx context.Context, e *process.Server, clients int, d time.Duration) (sample, error) {
	cs := make([]memsidecarv1.SearchServiceClient, clients)
	for i := range cs {
		conn, err := e.Client(i)
		if err != nil {
			return sample{}, err
		}
		cs[i] = memsidecarv1.NewSearchServiceClient(conn)
	}
	each := make([][]time.Duration, clients)
	text := workPrefix + strconv.Itoa(stepsFor(d))
	all, err := load(ctx, clients, time.Duration(b.rounds)*b.slice, mostCalls, func(ctx context.Context, c int) error {
		res, err := cs[c].Recall(ctx, &memsidecarv1.SearchServiceRecallRequest{Text: text})
		each[c] = append(each[c], time.Duration(res.GetTokens())*time.Microsecond)
		return err
	})
	out := sample{elapsed: all.elapsed}
	for _, took := range each {
		out.calls = append(out.calls, took...)
	}
	out.merge(sample{})
	return out, err
}
