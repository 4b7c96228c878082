package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/memsidecar/memsidecar/bench/process"
	memsidecarv1 "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
)

// dataDir returns the data directory of a store of that size.
func (b *bench) dataDir(size int) string { return filepath.Join(b.dir, fmt.Sprintf("d%d", size)) }

// cold measures starts of the daemon on data, which no daemon has open, and what memory it takes.
func (b *bench) cold(ctx context.Context, data string, size int, id string) error {
	if b.wants("start") {
		for _, keepIndex := range []bool{true, false} {
			if err := b.coldStarts(ctx, data, size, id, keepIndex); err != nil {
				return err
			}
		}
	}
	if b.wants("memory") {
		return b.resident(ctx, data, size)
	}
	return nil
}

// coldStarts times the daemon from the start of its process to its first answers, in turn with a process that only
// decodes the same memory.json. The page cache is warm for both.
func (b *bench) coldStarts(ctx context.Context, data string, size int, id string, keepIndex bool) error {
	var answer, search, process, decoding sample
	for range b.starts {
		p, dec, err := b.timeDecode(ctx, filepath.Join(data, "memory.json"))
		if err != nil {
			return err
		}
		if !keepIndex {
			if err := os.RemoveAll(filepath.Join(data, "index")); err != nil {
				return err
			}
		}
		a, s, err := b.coldStart(ctx, data, size, id)
		if err != nil {
			return err
		}
		process.merge(one(p))
		decoding.merge(one(dec))
		answer.merge(one(a))
		search.merge(one(s))
	}
	how := "index kept"
	if !keepIndex {
		how = "index deleted"
	}
	b.report.timed("floor: start a process, decode memory.json", size, 1, process)
	r := b.report.timed("start to first answer, "+how, size, 1, answer)
	if size >= 100_000 {
		r.compare("p50 of decoding", p50s, answer, decoding)
		r.atMost(1.5)
	} else {
		r.compare("p50 of start and decode", p50s, answer, process)
		if size == 10_000 {
			r.atMost(2)
		}
	}
	r = b.report.timed("start to first search, "+how, size, 1, search)
	r.compare("p50 of start and decode", p50s, search, process)
	return nil
}

// coldStart starts the daemon once; the times are those of the first Get and the first Search that succeed.
func (b *bench) coldStart(ctx context.Context, data string, size int, id string) (answer, search time.Duration,
	err error) {
	d, err := process.Launch(b.bin, data, b.socket())
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, d.Stop()) }()
	// Until the socket is there, connecting is tried a millisecond apart: the error of a timer, not of a back-off.
	if err := d.Poll(ctx, func(context.Context) error { _, err := os.Stat(d.Socket); return err }); err != nil {
		return 0, 0, err
	}
	conn, err := d.Client(0)
	if err != nil {
		return 0, 0, err
	}
	err = d.Poll(ctx, func(ctx context.Context) error {
		_, err := memsidecarv1.NewMemoryServiceClient(conn).Get(ctx,
			&memsidecarv1.MemoryServiceGetRequest{Ids: []string{id}})
		return err
	})
	if err != nil {
		return 0, 0, err
	}
	answer = time.Since(d.Began)
	i := 0
	err = d.Poll(ctx, func(ctx context.Context) error {
		i++
		res, err := memsidecarv1.NewSearchServiceClient(conn).Search(ctx,
			&memsidecarv1.SearchServiceSearchRequest{Query: query(i % size), Limit: 10})
		if err == nil && len(res.GetHits()) == 0 {
			err = errors.New("the search found nothing")
		}
		return err
	})
	return answer, time.Since(d.Began), err
}

// one returns a sample of a single duration.
func one(d time.Duration) sample { return sample{calls: []time.Duration{d}, elapsed: d} }

// settled returns the resident memory of a process, in MB, some time after the last thing that was asked of it.
func (b *bench) settled(ctx context.Context, pid int) (float64, error) {
	select {
	case <-time.After(b.settle):
		return status(pid, "VmRSS")
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

// resident reads what memory a daemon takes some time after it has loaded, in a large store also after searches and
// additions, and at most while it writes a checkpoint.
func (b *bench) resident(ctx context.Context, data string, size int) (err error) {
	d, err := b.start(ctx, data)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.stop(d)) }()
	conn, err := d.Client(0)
	if err != nil {
		return err
	}
	// A search waits for the index, which takes longer than settling if the stop before had no time to save it.
	if _, err := b.someSearches(ctx, d, size, 1); err != nil {
		return err
	}
	pid := d.PID()
	rss, err := b.settled(ctx, pid)
	if err != nil {
		return err
	}
	b.report.value(residentFigure, size, rss, "MB")
	if size >= largeStore {
		if rss, err = b.residentInUse(ctx, d, size); err != nil {
			return err
		}
	}
	// So that there is something to write.
	if _, err := memsidecarv1.NewMemoryServiceClient(conn).Add(ctx, addRequest(&b.next, 1)); err != nil {
		return err
	}
	if err := forgetPeak(pid); err != nil {
		return err
	}
	if _, err := memsidecarv1.NewFileServiceClient(conn).Publish(ctx,
		&memsidecarv1.FileServicePublishRequest{}); err != nil {
		return err
	}
	peak, err := status(pid, "VmHWM")
	if err != nil {
		return err
	}
	r := b.report.value("peak during a checkpoint", size, peak, "MB")
	r.relate(peak, rss, "resident before")
	return nil
}

// largeStore is from how many memories a thousand more do not matter to what is measured next.
const largeStore = 100_000

// residentInUse reads what memory a daemon takes after its start, after searches, and after additions whose vectors
// have been made. Vectors are memory that no file backs; of the program and its models only what was read is resident,
// and the system may drop it. It returns the last reading.
func (b *bench) residentInUse(ctx context.Context, d *process.Server, size int) (rss float64, err error) {
	for _, step := range []struct {
		when string
		do   func() error
	}{
		{"after load", func() error { return nil }},
		{"after 100 searches", func() error {
			s, err := b.someSearches(ctx, d, size, 100)
			b.report.timed("Search, 10 hits, the first 100", size, 1, s)
			return err
		}},
		{"after 1,000 additions", func() error { return b.someAdditions(ctx, d, size, 1000) }},
	} {
		if err := step.do(); err != nil {
			return 0, err
		}
		anonymous, err := status(d.PID(), "RssAnon")
		if err != nil {
			return 0, err
		}
		if rss, err = status(d.PID(), "VmRSS"); err != nil {
			return 0, err
		}
		b.report.value("backed by no file, "+step.when, size, anonymous, "MB")
		r := b.report.value("with the program's file, "+step.when, size, rss, "MB")
		if size == 1_000_000 && !b.words {
			r.limit(rss, 1500, "≤ 1,500 MB")
		}
	}
	return rss, nil
}

// someSearches searches n times, one after the other.
func (b *bench) someSearches(ctx context.Context, d *process.Server, size, n int) (s sample, err error) {
	conn, err := d.Client(0)
	if err != nil {
		return s, err
	}
	for range n {
		began := time.Now()
		if _, err := memsidecarv1.NewSearchServiceClient(conn).Search(ctx, &memsidecarv1.SearchServiceSearchRequest{
			Query: newQuery(b.next.take(), size), Limit: 10}); err != nil {
			return s, err
		}
		s.merge(one(time.Since(began)))
	}
	return s, nil
}

// someAdditions adds n memories, one after the other, and waits for their vectors.
func (b *bench) someAdditions(ctx context.Context, d *process.Server, size, n int) error {
	clients, err := d.Memories(1)
	if err != nil {
		return err
	}
	for range n {
		res, err := clients[0].Add(ctx, addRequest(&b.next, 1))
		if err != nil {
			return err
		}
		if err := applied(res); err != nil {
			return err
		}
	}
	if b.words {
		return nil
	}
	return b.embedded(ctx, d, size)
}

const residentFigure = "resident after load"

// acrossSizes adds what compares one size of the store with another.
func (b *bench) acrossSizes() {
	small, large := b.report.find("Add", 1000, 1), b.report.find("Add", 100_000, 1)
	if small != nil && large != nil {
		p50 := large.P50
		r := b.report.value("Add p50 at 100,000 against 1,000", 100_000, p50, "µs")
		r.relate(p50, small.P50, "p50 at 1,000")
		r.atMost(1.2)
	}
	small, large = b.report.find(residentFigure, 10_000, 0), b.report.find(residentFigure, 100_000, 0)
	if small != nil && large != nil {
		growth := (large.Value - small.Value) / 9
		b.report.value("growth per 10,000 memories", 100_000, growth, "MB").limit(growth, 25, "≤ 25 MB")
	}
}
