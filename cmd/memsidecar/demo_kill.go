package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
	"github.com/memsidecar/memsidecar/internal/memory"
)

const (
	demoWriters = 4
	demoWrites  = 400 // acknowledged before the daemon is killed
)

// writers adds memories from several clients at once until the daemon ends. It returns the ids of acknowledged writes
// and the number of failed ones.
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
				if resp.GetResult().GetOperationId() != "" {
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
		err = fmt.Errorf("the writers stopped after %d writes, before the daemon was killed", total.Load())
	}
	<-ended
	return acked, refused, err
}

// stepKill kills the daemon during writes, restarts it, and checks that no acknowledged write is lost.
func (d *demo) stepKill(ctx context.Context) (string, error) {
	began := d.app.now()
	acked, cut, err := d.writers(ctx, d.kill)
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
	lost, err = d.missing(ctx, slices.Collect(maps.Keys(d.learned)))
	if err != nil {
		return "", err
	}
	if len(lost) > 0 {
		return "", fmt.Errorf("%d of the memories learned before are lost", len(lost))
	}
	d.record("acknowledged", len(acked))
	d.record("lost", len(lost))
	d.record("restart_ms", millis(took))
	return fmt.Sprintf("%d writers had %d writes acknowledged in %s, %s interrupted; after a restart in %s all %d "+
			"are present",
			demoWriters, len(acked), short(wrote), plural(int64(cut), "write was", "writes were"), short(took),
			len(acked)),
		nil
}

// missing returns the ids that the daemon does not have.
func (d *demo) missing(ctx context.Context, ids []string) ([]string, error) {
	var out []string
	for part := range slices.Chunk(ids, memory.MaxBatch) {
		resp, err := d.c.memory.Get(ctx, &pb.MemoryServiceGetRequest{Ids: part})
		if err != nil {
			return nil, err
		}
		out = append(out, resp.GetMissingIds()...)
	}
	return out, nil
}
