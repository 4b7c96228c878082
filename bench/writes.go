package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/memsidecar/memsidecar/bench/process"
	memsidecarv1 "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
)

// How many calls a client makes at most in one turn, so that writing does not make the store another one.
const (
	mostCalls   = 1 << 30
	mostAdds    = 500
	mostBatches = 20
)

const batchSize = 100

// fill adds the memories 0 to n-1 to an empty store and returns their ids.
func (b *bench) fill(ctx context.Context, d *process.Server, n int) ([]string, error) {
	clients, err := d.Memories(1)
	if err != nil {
		return nil, err
	}
	var ids []string
	for len(ids) < n {
		req := &memsidecarv1.MemoryServiceAddRequest{}
		for i := range min(1000, n-len(ids)) {
			req.Items = append(req.Items, newMemory(len(ids)+i))
		}
		res, err := clients[0].Add(ctx, req)
		if err != nil {
			return nil, err
		}
		if err := applied(res); err != nil {
			return nil, err
		}
		for _, o := range res.GetResult().GetOutcomes() {
			ids = append(ids, o.GetId())
		}
	}
	return ids, nil
}

// applied is an error when a memory was not added: then something else than adding was measured.
func applied(res *memsidecarv1.MemoryServiceAddResponse) error {
	for i, o := range res.GetResult().GetOutcomes() {
		if o.GetStatus() != memsidecarv1.OutcomeStatus_OUTCOME_STATUS_APPLIED {
			return fmt.Errorf("item %d was not added: %v %s", i, o.GetStatus(), o.GetReason())
		}
	}
	return nil
}

// adder makes the call of a client that adds one memory after another.
func (b *bench) adder(d *process.Server) (call, error) {
	cs, err := d.Memories(1)
	return func(ctx context.Context, _ int) error {
		res, err := cs[0].Add(ctx, addRequest(&b.next, 1))
		if err != nil {
			return err
		}
		return applied(res)
	}, err
}

// adding takes a sample of Add calls of n items each by some clients of s.
func (b *bench) adding(ctx context.Context, s *process.Server, clients, n, most int) (sample, error) {
	cs, err := s.Memories(clients)
	if err != nil {
		return sample{}, err
	}
	return load(ctx, clients, b.slice, most, func(ctx context.Context, c int) error {
		res, err := cs[c].Add(ctx, addRequest(&b.next, n))
		if err != nil {
			return err
		}
		return applied(res)
	})
}

// adds times single Adds. One client is compared with an echo and an fsync one after the other, many with the smaller
// of the two throughputs: that of an echo with as many clients, and that of appending a group of as many with one sync.
func (b *bench) adds(ctx context.Context, d, e *process.Server, size int, _ []string) error {
	file, err := b.newAppender()
	if err != nil {
		return err
	}
	defer file.f.Close()
	for _, clients := range []int{1, 8, 64} {
		s, err := b.turns(
			func() (sample, error) { return b.adding(ctx, e, clients, 1, mostAdds) },
			func() (sample, error) { return file.sample(ctx, clients, b.slice) },
			func() (sample, error) { return b.adding(ctx, d, clients, 1, mostAdds) },
		)
		if err != nil {
			return err
		}
		b.report.timed("echo of an Add", size, clients, s[0])
		b.report.timed(fmt.Sprintf("append %d, fsync", clients), size, 1, s[1])
		r := b.report.timed("Add", size, clients, s[2])
		if clients == 1 {
			r.compare("p50 of echo + append-fsync", p50s, s[2], s[0], s[1])
			r.atMost(1.5)
			if size >= largeStore {
				b.report.value("Add, p99", size, r.P99/1000, "ms").limit(r.P99, 20_000, "≤ 20 ms")
			}
			continue
		}
		r.compare("rate of min(echo, group append)", func(s []sample) (figure, floor float64) {
			return s[2].perSecond(), min(s[0].perSecond(), s[1].perSecond()*float64(clients))
		}, s...)
		if clients == 64 {
			r.atLeast(0.4)
		}
	}
	return nil
}

// batches times Adds of many items.
func (b *bench) batches(ctx context.Context, d, e *process.Server, size int, _ []string) error {
	file, err := b.newAppender()
	if err != nil {
		return err
	}
	defer file.f.Close()
	s, err := b.turns(
		func() (sample, error) { return b.adding(ctx, e, 1, batchSize, mostBatches) },
		func() (sample, error) { return file.sample(ctx, batchSize, b.slice) },
		func() (sample, error) { return b.adding(ctx, d, 1, batchSize, mostBatches) },
	)
	if err != nil {
		return err
	}
	r := b.report.timed(fmt.Sprintf("Add of %d", batchSize), size, 1, s[2])
	// Rates of one client: the floor does the echo and the append one after the other.
	r.compare("rate of echo + append-fsync", func(s []sample) (figure, floor float64) {
		return 1 / s[2].at(.5).Seconds(), 1 / (s[0].at(.5) + s[1].at(.5)).Seconds()
	}, s...)
	r.atLeast(0.4)
	return nil
}

// checkpoints times Adds while files are published over and over, and while they are not.
func (b *bench) checkpoints(ctx context.Context, d, _ *process.Server, size int, _ []string) error {
	conn, err := d.Client(8)
	if err != nil {
		return err
	}
	quiet, busy, count := sample{}, sample{}, 0
	for range b.rounds {
		s, err := b.adding(ctx, d, 8, 1, mostAdds)
		if err != nil {
			return err
		}
		quiet.merge(s)
		loop, stop := context.WithCancel(ctx)
		done := make(chan error, 1)
		go func() {
			for {
				_, err := memsidecarv1.NewFileServiceClient(conn).Publish(loop,
					&memsidecarv1.FileServicePublishRequest{})
				if err != nil {
					if loop.Err() != nil {
						err = nil
					}
					done <- err
					return
				}
				count++
			}
		}()
		s, err = b.adding(ctx, d, 8, 1, mostAdds)
		stop()
		if err := errors.Join(err, <-done); err != nil {
			return err
		}
		busy.merge(s)
	}
	b.report.timed("Add, quiet", size, 8, quiet)
	r := b.report.timed(fmt.Sprintf("Add, during %d checkpoints", count), size, 8, busy)
	r.compare("p99 while quiet", p99s, busy, quiet)
	return nil
}

// journal relates the bytes written to the journal to those of the contents acknowledged.
func (b *bench) journal(ctx context.Context, d, _ *process.Server, size int, _ []string) error {
	clients, err := d.Memories(1)
	if err != nil {
		return err
	}
	dir := filepath.Join(b.dataDir(size), "journal")
	before, err := written(dir)
	if err != nil {
		return err
	}
	acked := 0
	for range 300 {
		req := addRequest(&b.next, 1)
		if _, err := clients[0].Add(ctx, req); err != nil {
			return err
		}
		acked += len(req.GetItems()[0].GetContent())
	}
	after, err := written(dir)
	if err != nil {
		return err
	}
	b.report.value("journal bytes per byte of content", size, float64(after-before)/float64(acked), "")
	return nil
}

// written is the number of bytes in the files below dir, without the zeros that space was reserved with.
func written(dir string) (int64, error) {
	var n int64
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		n += int64(len(bytes.TrimRight(data, "\x00")))
		return err
	})
	return n, err
}

// us is d in microseconds.
func us(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
