package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/memsidecar/memsidecar/bench/process"
	memsidecarv1 "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
)

const (
	// vectorsPerSecond is more than the texts that are embedded in a second.
	vectorsPerSecond = 600
	// besideEvery is the pause between two calls. Embedding steps aside while a call is answered, so calls without a
	// pause would hardly meet it.
	besideEvery = 20 * time.Millisecond
)

// besideEmbedding compares requests while thousands of memories wait for their vectors with the same requests when all
// have them, in a store that had size memories before.
func (b *bench) besideEmbedding(ctx context.Context, size int) (err error) {
	fmt.Fprintf(b.log, "%7d memories: requests beside embedding\n", size)
	d, _, err := b.filled(ctx, filepath.Join(b.dir, "embedding"), size)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.stop(d)) }()
	calls, err := b.besideCalls(d, size)
	if err != nil {
		return err
	}
	var take []func() (sample, error)
	for _, c := range calls {
		take = append(take, func() (sample, error) { return paced(ctx, besideEvery, time.After(b.slice), c.call) })
	}
	seconds := (b.slice * time.Duration(b.rounds*len(calls))).Seconds()
	if err := b.addWaiting(ctx, d, int(vectorsPerSecond*seconds)); err != nil {
		return err
	}
	beside, err := b.turns(take...)
	if err != nil {
		return err
	}
	waiting, err := waitingIn(ctx, d)
	if err != nil {
		return err
	}
	if waiting == 0 {
		return errors.New("nothing waits for its vectors any more: the last requests had nothing beside them")
	}
	if err := b.embedded(ctx, d, size); err != nil {
		return err
	}
	quiet, err := b.turns(take...)
	if err != nil {
		return err
	}
	for i, c := range calls {
		b.report.timed(c.name+", every 20 ms", size, 1, quiet[i])
		r := b.report.timed(c.name+", every 20 ms, beside embedding", size, 1, beside[i])
		r.compare("p90 without", p90s, beside[i], quiet[i])
		r.atMost(1.3)
	}
	return nil
}

// addWaiting adds n memories, which wait for their vectors.
func (b *bench) addWaiting(ctx context.Context, d *process.Server, n int) error {
	cs, err := d.Memories(1)
	if err != nil {
		return err
	}
	for ; n > 0; n -= batchSize {
		res, err := cs[0].Add(ctx, addRequest(&b.next, batchSize))
		if err != nil {
			return err
		}
		if err := applied(res); err != nil {
			return err
		}
	}
	return nil
}

// besideCall is a request that is measured beside embedding.
type besideCall struct {
	name string
	call call
}

// besideCalls are the requests that are measured beside embedding.
func (b *bench) besideCalls(d *process.Server, size int) ([]besideCall, error) {
	conn, err := d.Client(0)
	if err != nil {
		return nil, err
	}
	search := memsidecarv1.NewSearchServiceClient(conn)
	add, err := b.adder(d)
	if err != nil {
		return nil, err
	}
	recall, err := b.recaller(d, size, 1, func(*memsidecarv1.SearchServiceRecallResponse) {})
	if err != nil {
		return nil, err
	}
	return []besideCall{
		{"Search by words", func(ctx context.Context, _ int) error {
			res, err := search.Search(ctx, &memsidecarv1.SearchServiceSearchRequest{Query: newQuery(b.next.take(), size),
				Limit: 10, Arm: memsidecarv1.SearchArm_SEARCH_ARM_KEYWORD})
			if err == nil && len(res.GetHits()) == 0 {
				err = errors.New("a search found nothing")
			}
			return err
		}},
		{"Recall", recall},
		{"Add", add},
	}, nil
}
