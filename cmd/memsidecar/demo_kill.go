package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
	"github.com/memsidecar/memsidecar/internal/memory"
)

const (
	demoWriters = 4
	demoWrites  = 400 // acknowledged before the daemon is killed
)

// writers adds memories from several clients at once until the daemon is gone, and returns what was acknowledged.
func (d *demo) writers(ctx context.Context, kill func() error) (acked []string, refused int, err error) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	var total atomic.Int64
	enough := make(chan struct{})
	for w := range demoWriters {
		c, dialErr := dial(d.socket)
		if dialErr != nil {
			return nil, 0, dialErr
		}
		wg.Go(func() {
			defer c.close()
			for n := 1; ; n++ {
				id := fmt.Sprintf("writer-%d-%d", w+1, n)
				resp, err := c.memory.Add(ctx, &pb.MemoryServiceAddRequest{Items: []*pb.NewMemory{
					{Id: id, Category: "facts", Content: fmt.Sprintf("Reading %d of gauge %d", n, w+1)},
				}})
				mu.Lock()
				if err != nil {
					refused++
					mu.Unlock()
					return
				}
				if resp.GetResult().GetOperation() > 0 {
					acked = append(acked, id)
				}
				mu.Unlock()
				if total.Add(1) == demoWrites {
					close(enough)
				}
			}
		})
	}
	ended := make(chan struct{})
	go func() { wg.Wait(); close(ended) }()
	select {
	case <-enough:
		err = kill()
	case <-ended:
		err = fmt.Errorf("the writers ended after %d writes, before the daemon was killed", total.Load())
	}
	<-ended
	return acked, refused, err
}

func (d *demo) stepKill(ctx context.Context) (string, error) {
	began := d.app.now()
	acked, cut, err := d.writers(ctx, func() error { return d.end(syscall.SIGKILL) })
	if err != nil {
		return "", err
	}
	wrote := d.app.now().Sub(began)
	took, err := d.start(ctx)
	if err != nil {
		return "", err
	}
	lost, err := d.missing(ctx, acked)
	if err != nil {
		return "", err
	}
	if len(lost) > 0 {
		return "", fmt.Errorf("%d of %d acknowledged memories are lost, such as %s", len(lost), len(acked), lost[0])
	}
	lost, err = d.missing(ctx, slices.Collect(maps.Keys(d.learnt)))
	if err != nil {
		return "", err
	}
	if len(lost) > 0 {
		return "", fmt.Errorf("%d of the memories learnt before are lost", len(lost))
	}
	d.figure("acknowledged", len(acked))
	d.figure("lost", len(lost))
	d.figure("restart_ms", millis(took))
	return fmt.Sprintf("%d writers had %d writes acknowledged in %s, %s cut short; after a restart of %s all %d are there",
		demoWriters, len(acked), short(wrote), plural(int64(cut), "write was", "writes were"), short(took), len(acked)), nil
}

// missing returns those of the ids that the daemon does not know.
func (d *demo) missing(ctx context.Context, ids []string) ([]string, error) {
	var out []string
	for part := range slices.Chunk(ids, memory.MaxBatch) {
		resp, err := d.c.memory.Get(ctx, &pb.MemoryServiceGetRequest{Ids: part})
		if err != nil {
			return nil, err
		}
		out = append(out, resp.GetMissing()...)
	}
	return out, nil
}
