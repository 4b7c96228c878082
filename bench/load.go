package main

import (
	"context"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
)

// sample is the time that calls took.
type sample struct {
	rounds  []sample        // that it was merged from; none within a round
	calls   []time.Duration // sorted once closed by merge
	elapsed time.Duration   // wall time of all of them together
}

// merge adds the calls of another sample.
func (s *sample) merge(o sample) {
	s.calls = append(s.calls, o.calls...)
	s.elapsed += o.elapsed
	slices.Sort(s.calls)
}

// at is the quantile q, 0 to 1; 0 when there is nothing.
func (s sample) at(q float64) time.Duration {
	if len(s.calls) == 0 {
		return 0
	}
	return s.calls[min(len(s.calls)-1, int(q*float64(len(s.calls))))]
}

// perSecond is the number of calls a second.
func (s sample) perSecond() float64 {
	if s.elapsed <= 0 {
		return 0
	}
	return float64(len(s.calls)) / s.elapsed.Seconds()
}

// call is what a client does over and over.
type call func(ctx context.Context, client int) error

// load lets clients make calls one after another for d, at most most each. The first call of each, which may have to
// connect, does not count.
func load(ctx context.Context, clients int, d time.Duration, most int, f call) (sample, error) {
	each := make([][]time.Duration, clients)
	g, gctx := errgroup.WithContext(ctx)
	for c := range clients {
		g.Go(func() error { return f(gctx, c) })
	}
	if err := g.Wait(); err != nil {
		return sample{}, err
	}
	g, gctx = errgroup.WithContext(ctx)
	began := time.Now()
	for c := range clients {
		g.Go(func() error {
			for last := began; last.Sub(began) < d && len(each[c]) < most; {
				if err := f(gctx, c); err != nil {
					return err
				}
				now := time.Now()
				each[c] = append(each[c], now.Sub(last))
				last = now
			}
			return nil
		})
	}
	err := g.Wait()
	s := sample{elapsed: time.Since(began)}
	for _, calls := range each {
		s.calls = append(s.calls, calls...)
	}
	slices.Sort(s.calls)
	return s, err
}

// paced makes one call after another until end is ready, with a pause between two, which does not count.
func paced(ctx context.Context, pause time.Duration, end <-chan time.Time, f call) (s sample, err error) {
	var calls []time.Duration
	began := time.Now()
	for {
		at := time.Now()
		if err := f(ctx, 0); err != nil {
			return s, err
		}
		calls = append(calls, time.Since(at))
		select {
		case <-end:
			s.merge(sample{calls: calls, elapsed: time.Since(began)})
			return s, nil
		case <-time.After(pause):
		}
	}
}

// turns takes each sample b.rounds times, in turn, so that a change of the machine's mood meets all of them.
func (b *bench) turns(take ...func() (sample, error)) ([]sample, error) {
	all := make([]sample, len(take))
	for range b.rounds {
		for i, f := range take {
			s, err := f()
			if err != nil {
				return nil, err
			}
			all[i].merge(s)
			all[i].rounds = append(all[i].rounds, s)
		}
	}
	return all, nil
}
