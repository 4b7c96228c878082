package main

import (
	"context"
	"fmt"

	"github.com/memsidecar/memsidecar/bench/process"
	memsidecarv1 "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
)

// reading compares a read by one client with an echo of the same size, and returns the row.
func (b *bench) reading(ctx context.Context, figure string, d, e *process.Server, size, clients int,
	f func(*process.Server) (call, error)) (*row, error) {
	take := func(s *process.Server) func() (sample, error) {
		return func() (sample, error) {
			c, err := f(s)
			if err != nil {
				return sample{}, err
			}
			return load(ctx, clients, b.slice, mostCalls, c)
		}
	}
	s, err := b.turns(take(e), take(d))
	if err != nil {
		return nil, err
	}
	r := b.report.timed(figure, size, clients, s[1])
	r.compare("p50 of echo", p50s, s[1], s[0])
	return r, nil
}

// gets measures Get beside an echo of the same size.
func (b *bench) gets(ctx context.Context, d, e *process.Server, size int, ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	_, err := b.reading(ctx, "Get", d, e, size, 1, func(s *process.Server) (call, error) {
		cs, err := s.Memories(1)
		return func(ctx context.Context, c int) error {
			id := ids[b.next.take()*7919%len(ids)]
			_, err := cs[c].Get(ctx, &memsidecarv1.MemoryServiceGetRequest{Ids: []string{id}})
			return err
		}, err
	})
	return err
}

// lists measures List beside an echo of as many bytes.
func (b *bench) lists(ctx context.Context, d, e *process.Server, size int, _ []string) error {
	if size == 0 {
		return nil
	}
	_, err := b.reading(ctx, "List, page of 100", d, e, size, 1, func(s *process.Server) (call, error) {
		cs, err := s.Memories(1)
		return func(ctx context.Context, c int) error {
			_, err := cs[c].List(ctx, &memsidecarv1.MemoryServiceListRequest{PageSize: 100})
			return err
		}, err
	})
	return err
}

// searches measures Search beside an echo and, in the server, beside calls that compute as long.
func (b *bench) searches(ctx context.Context, d, e *process.Server, size int, _ []string) error {
	for _, clients := range []int{1, 8, 64} {
		var calls, hits serial // of the last turn, which is the daemon's
		_, err := b.reading(ctx, "Search, 10 hits", d, e, size, clients, func(s *process.Server) (call, error) {
			calls, hits = serial{}, serial{}
			cs := make([]memsidecarv1.SearchServiceClient, clients)
			for i := range cs {
				conn, err := s.Client(i)
				if err != nil {
					return nil, err
				}
				cs[i] = memsidecarv1.NewSearchServiceClient(conn)
			}
			return func(ctx context.Context, c int) error {
				q := newQuery(b.next.take(), size)
				res, err := cs[c].Search(ctx, &memsidecarv1.SearchServiceSearchRequest{Query: q, Limit: 10})
				calls.take()
				hits.n.Add(int64(len(res.GetHits())))
				return err
			}, nil
		})
		if err != nil {
			return err
		}
		if size > 0 && hits.n.Load() == 0 {
			return fmt.Errorf("%d searches found nothing at all", calls.n.Load())
		}
		if clients == 1 {
			b.report.value("hits per search", size, float64(hits.n.Load())/float64(max(1, calls.n.Load())), "")
		}
		r, err := b.inServer(ctx, d, e, "Search", memsidecarv1.SearchService_Search_FullMethodName, size, clients)
		if err != nil {
			return err
		}
		if r != nil {
			b.limitSearch(r, size, clients)
		}
	}
	rss, err := status(d.PID(), "VmRSS")
	if err != nil {
		return err
	}
	r := b.report.value("resident after searches", size, rss, "MB")
	if size == 10_000 && !b.words {
		r.limit(rss, 150, "≤ 150 MB")
	}
	return nil
}

// limitSearch sets the target of a search in the server, where there is one.
func (b *bench) limitSearch(r *row, size, clients int) {
	switch {
	case b.words && size == 100_000 && clients == 1:
		r.limit(r.P50, 1000, "p50 ≤ 1 ms")
	case b.words && size == 100_000 && clients == 8:
		r.limit(r.P99, 5000, "p99 ≤ 5 ms")
	case !b.words && size == 10_000 && clients == 1:
		r.limit(r.P50, 12_000, "p50 ≤ 12 ms")
	case !b.words && size == 100_000 && clients == 1:
		r.limit(r.P50, 15_000, "p50 ≤ 15 ms")
	}
}

// inServer reports what the daemon says of all calls of a method since it was asked last: without the client, the
// socket and the queue for a processor before the call begins. With several clients it reports beside it what the
// same clients do to calls that only compute for as long, and for which no garbage is ever collected: what a
// processor shared with other processes makes of any work of that length.
func (b *bench) inServer(ctx context.Context, d, e *process.Server, name, method string, size, clients int) (*row,
	error) {
	took, err := d.Handled(method)
	if err != nil || len(took) == 0 {
		return nil, err
	}
	s := sample{}
	s.merge(sample{calls: took})
	floor, err := b.working(ctx, e, clients, s.at(.5))
	if err != nil {
		return nil, err
	}
	b.report.timed(fmt.Sprintf("computing %.0f µs, in a server", us(s.at(.5))), size, clients, floor)
	r := b.report.timed(name+", in the server", size, clients, s)
	r.compare("p99 of computing", p99s, s, floor)
	return r, nil
}
