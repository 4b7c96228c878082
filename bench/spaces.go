package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/memsidecar/memsidecar/bench/process"
	memsidecarv1 "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
)

// memoriesOfSpace is how many memories each of the many spaces has, unless --each says another number.
const memoriesOfSpace = 2

// manySpaces measures a daemon that holds many small spaces: how soon what is used is published while the rest waits,
// and how long a stop and a start take.
func (b *bench) manySpaces(ctx context.Context, spaces int) (err error) {
	fmt.Fprintf(b.log, "%7d spaces: filling\n", spaces)
	data := filepath.Join(b.dir, "spaces")
	if err := os.RemoveAll(data); err != nil { // of the run before
		return err
	}
	if err := b.settings(data); err != nil {
		return err
	}
	d, err := b.start(ctx, data)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Stop()) }()
	conn, err := d.Client(0)
	if err != nil {
		return err
	}
	// The daemon with the spaces has loaded its models and answered a search, too, when it is measured.
	if _, err := memsidecarv1.NewMemoryServiceClient(conn).Add(ctx,
		&memsidecarv1.MemoryServiceAddRequest{Items: []*memsidecarv1.NewMemory{newMemory(0), newMemory(3)}}); err != nil {
		return err
	}
	if _, err := memsidecarv1.NewSearchServiceClient(conn).Search(ctx,
		&memsidecarv1.SearchServiceSearchRequest{Query: query(1), WaitIndexed: true}); err != nil {
		return err
	}
	empty, err := b.settled(ctx, d.PID())
	if err != nil {
		return err
	}
	size := spaces * b.each
	if err := b.fillSpaces(ctx, d, spaces); err != nil {
		return err
	}
	used, err := b.publishUsed(ctx, d, data)
	if err != nil {
		return err
	}
	what := fmt.Sprintf(", %d spaces", spaces)
	if b.each != memoriesOfSpace {
		what += fmt.Sprintf(" of %d", b.each)
	}
	b.report.timed("publish a space that is used"+what, size, 1, used).limit(used.at(.5).Seconds(), 1, "≤ 1 s")
	began := time.Now()
	if err := d.Stop(); err != nil {
		return err
	}
	stop := time.Since(began)
	b.report.value("stop after writing"+what, size, stop.Seconds(), "s").limit(stop.Seconds(), 5, "≤ 5 s")

	fmt.Fprintf(b.log, "%7d spaces: starting again\n", spaces)
	if d, err = process.Launch(b.bin, data, b.socket()); err != nil {
		return err
	}
	if conn, err = d.Client(0); err != nil {
		return err
	}
	get := func(ctx context.Context) error {
		res, err := memsidecarv1.NewMemoryServiceClient(conn).List(ctx,
			&memsidecarv1.MemoryServiceListRequest{Space: spaceName(spaces / 2)})
		if err == nil && len(res.GetMemories()) != b.each {
			err = fmt.Errorf("%d memories in a space, not %d", len(res.GetMemories()), b.each)
		}
		return err
	}
	if err := d.Poll(ctx, get); err != nil {
		return err
	}
	start := time.Since(d.Began)
	b.report.value("start to first answer"+what, size, start.Seconds(), "s").limit(start.Seconds(), 3, "≤ 3 s")
	search := memsidecarv1.NewSearchServiceClient(conn)
	err = d.Poll(ctx, func(ctx context.Context) error {
		_, err := search.Search(ctx, &memsidecarv1.SearchServiceSearchRequest{Spaces: []string{spaceName(1)},
			Query: query(1)})
		return err
	})
	if err != nil {
		return err
	}
	b.report.value("start to first search"+what, size, time.Since(d.Began).Seconds(), "s")
	began = time.Now()
	if _, err := search.Search(ctx, &memsidecarv1.SearchServiceSearchRequest{Spaces: []string{spaceName(spaces - 1)},
		Query: query(2)}); err != nil {
		return err
	}
	cold := time.Since(began)
	b.report.value("search in a space for the first time"+what, size, float64(cold.Microseconds())/1000, "ms").
		limit(cold.Seconds(), .02, "≤ 20 ms")
	full, err := b.settled(ctx, d.PID())
	if err != nil {
		return err
	}
	each := (full - empty) * 1024 / float64(spaces)
	r := b.report.value("resident per space"+what, size, each, "kB")
	if spaces >= 20_000 { // with fewer it is mostly what the open ones have
		r.limit(each, 2, "≤ 2 kB")
	}
	began = time.Now()
	if err := d.Stop(); err != nil {
		return err
	}
	stop = time.Since(began)
	b.report.value("stop"+what, size, stop.Seconds(), "s").limit(stop.Seconds(), 5, "≤ 5 s")
	return nil
}

// spaceName is the name of one of the many spaces.
func spaceName(i int) string { return fmt.Sprintf("space%06d", i) }

// fillSpaces adds memories to each space, many clients at once, because each space is an operation of its own.
func (b *bench) fillSpaces(ctx context.Context, d *process.Server, spaces int) error {
	const clients = 64
	cs, err := d.Memories(clients)
	if err != nil {
		return err
	}
	began := time.Now()
	g, ctx := errgroup.WithContext(ctx)
	for c := range clients {
		g.Go(func() error {
			for i := c; i < spaces; i += clients {
				req := addRequest(&b.next, b.each)
				req.Space = spaceName(i)
				res, err := cs[c].Add(ctx, req)
				if err == nil {
					err = applied(res)
				}
				if err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	took := time.Since(began)
	b.report.value(fmt.Sprintf("fill %d spaces", spaces), spaces*b.each, float64(spaces)/took.Seconds(),
		"spaces/s")
	return nil
}

// publishUsed times how long a memory takes from its acknowledgement into the published file of its space.
func (b *bench) publishUsed(ctx context.Context, d *process.Server, data string) (sample, error) {
	cs, err := d.Memories(1)
	if err != nil {
		return sample{}, err
	}
	var all sample
	for i := range b.rounds {
		req := addRequest(&b.next, 1)
		req.Space = spaceName(i * 7)
		text := []byte(req.GetItems()[0].GetContent())
		if _, err := cs[0].Add(ctx, req); err != nil {
			return all, err
		}
		began := time.Now()
		err := d.Poll(ctx, func(context.Context) error {
			file, err := os.ReadFile(filepath.Join(data, "spaces", req.Space, "memory.json"))
			if err == nil && !bytes.Contains(file, text) {
				err = errors.New("the memory is not in the published file yet")
			}
			return err
		})
		if err != nil {
			return all, err
		}
		all.merge(one(time.Since(began)))
	}
	return all, nil
}
