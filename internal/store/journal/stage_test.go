package journal_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/store/durable"
	"github.com/memsidecar/memsidecar/internal/store/durable/crashfs"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

// gate is a file system whose syncs of the journal wait to be let through.
type gate struct {
	durable.FS
	arrived chan struct{} // a sync has begun
	open    chan error    // lets one through, with its error
}

func newGate() *gate {
	return &gate{FS: crashfs.New(), arrived: make(chan struct{}), open: make(chan error)}
}

func (g *gate) OpenFile(name string, flag int, perm fs.FileMode) (durable.File, error) {
	f, err := g.FS.OpenFile(name, flag, perm)
	return gateFile{f, g}, err
}

type gateFile struct {
	durable.File
	g *gate
}

func (f gateFile) Datasync() error {
	f.g.arrived <- struct{}{}
	if err := <-f.g.open; err != nil {
		return err
	}
	return f.File.Datasync()
}

// TestGroupCommit: many writers, in the order they staged; what is staged during a sync is one group; Durable is
// called in order and before any writer returns.
func TestGroupCommit(t *testing.T) {
	g := newGate()
	var applied []int64
	cfg := config(g, nil)
	cfg.Durable = func(recs []*journal.Record) {
		for _, rec := range recs {
			applied = append(applied, rec.Op)
		}
	}
	j := open(t, cfg)
	var wg sync.WaitGroup
	write := func(n int) {
		ticket, err := j.Stage(record(n, 0), false)
		if err != nil {
			t.Error(err)
			return
		}
		wg.Go(func() {
			if err := ticket.WaitDurable(context.Background()); err != nil {
				t.Error(err)
			}
		})
	}
	write(1)
	<-g.arrived
	for n := 2; n <= 64; n++ {
		write(n)
	}
	if j.Synced() != 0 {
		t.Fatal("synced before the sync returned")
	}
	g.open <- nil
	<-g.arrived
	if j.Synced() != 1 {
		t.Fatalf("synced %d, want 1", j.Synced())
	}
	g.open <- nil
	wg.Wait()
	if got := j.Stats(); got.Syncs != 2 {
		t.Errorf("%d syncs for 64 writers, want 2", got.Syncs)
	}
	for i, op := range applied {
		if op != int64(i+1) {
			t.Fatalf("applied in the order %v", applied)
		}
	}
	for rec, err := range j.Read(1, 64) {
		if err != nil {
			t.Fatal(err)
		}
		want := int64(2)
		if rec.LSN == 1 {
			want = 1
		}
		if rec.Group != want || rec.Changes[0].Summary.After != fmt.Sprint("summary ", rec.LSN) {
			t.Errorf("record %d: group %d, %q", rec.LSN, rec.Group, rec.Changes[0].Summary.After)
		}
	}
}

// TestNobodyWaits: what is staged during a sync, and nobody waits for, has no sync of its own.
func TestNobodyWaits(t *testing.T) {
	g := newGate()
	j := open(t, config(g, nil))
	write := func(n int) chan error {
		ticket, err := j.Stage(record(n, 0), false)
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 1)
		go func() { done <- ticket.WaitDurable(context.Background()) }()
		return done
	}
	first := write(1)
	<-g.arrived
	if _, err := j.Stage(record(2, 0), false); err != nil {
		t.Fatal(err)
	}
	g.open <- nil
	if err := <-first; err != nil || j.Synced() != 1 {
		t.Fatalf("synced %d, want 1: %v", j.Synced(), err)
	}
	third := write(3)
	<-g.arrived
	g.open <- nil
	if err := <-third; err != nil || j.Synced() != 3 || j.Stats().Syncs != 2 {
		t.Errorf("synced %d with %d syncs, want 3 with 2: %v", j.Synced(), j.Stats().Syncs, err)
	}
}

func TestWaitDurable(t *testing.T) {
	g := newGate()
	j := open(t, config(g, nil))
	first, err := j.Stage(record(1, 0), false)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 3)
	go func() { done <- first.WaitDurable(context.Background()) }()
	<-g.arrived
	if _, err := j.Stage(record(2, 0), false); err != nil { // its writer does not wait for it
		t.Fatal(err)
	}
	go func() { done <- j.WaitDurable(context.Background(), 1) }() // in the group being written
	go func() { done <- j.WaitDurable(context.Background(), 2) }() // in the next
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for lsn := int64(1); lsn <= 2; lsn++ {
		if err := j.WaitDurable(ctx, lsn); !errors.Is(err, context.Canceled) {
			t.Errorf("wait for %d with a context that ended: %v", lsn, err)
		}
	}
	g.open <- nil
	<-g.arrived
	g.open <- nil
	for range 3 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if err := j.WaitDurable(ctx, 2); err != nil {
		t.Errorf("wait for what is durable: %v", err)
	}
}

// TestCancelledWriter: a writer whose context ends is told so, and its record becomes durable with its group all the
// same.
func TestCancelledWriter(t *testing.T) {
	g := newGate()
	j := open(t, config(g, nil))
	first, err := j.Stage(record(1, 0), false)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	go func() { done <- first.WaitDurable(context.Background()) }()
	<-g.arrived
	second, err := j.Stage(record(2, 0), false)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := second.WaitDurable(ctx); !errors.Is(err, context.Canceled) {
		t.Fatalf("cancelled writer: %v", err)
	}
	g.open <- nil
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	<-g.arrived
	g.open <- nil
	if err := j.WaitDurable(t.Context(), 2); err != nil {
		t.Fatal(err)
	}
}

// TestFailedSyncFailsEverybody: those in the group, those staged meanwhile, those who wait, and those who come later.
func TestFailedSyncFailsEverybody(t *testing.T) {
	g := newGate()
	j := open(t, config(g, nil))
	first, err := j.Stage(record(1, 0), false)
	if err != nil {
		t.Fatal(err)
	}
	results := make(chan error)
	go func() { results <- first.WaitDurable(context.Background()) }()
	<-g.arrived
	second, err := j.Stage(record(2, 0), false)
	if err != nil {
		t.Fatal(err)
	}
	go func() { results <- second.WaitDurable(context.Background()) }()
	go func() { results <- j.WaitDurable(context.Background(), 1) }()
	go func() { results <- j.WaitDurable(context.Background(), 2) }()
	advanced := j.Advanced(0)
	g.open <- syscall.EIO
	for range 4 {
		if err := <-results; !errors.Is(err, memory.ErrReadOnly) || !errors.Is(err, syscall.EIO) {
			t.Errorf("got %v", err)
		}
	}
	<-advanced
	if _, err := j.Stage(record(3, 0), false); !errors.Is(err, memory.ErrReadOnly) {
		t.Errorf("later: %v", err)
	}
	if j.Synced() != 0 {
		t.Errorf("synced %d", j.Synced())
	}
	if err := j.Close(t.Context()); err == nil {
		t.Error("closed without an error")
	}
	if _, err := g.Lstat("journal/mark.json"); err == nil {
		t.Error("there is a mark of a clean stop")
	}
}

// TestCloseBesideWriters: what was acknowledged is below the mark; nobody hears that the store failed.
func TestCloseBesideWriters(t *testing.T) {
	for range 20 {
		fs := crashfs.New()
		j := open(t, config(fs, nil))
		var mu sync.Mutex
		acked := int64(0)
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				for n := range 1000 {
					rec := record(n, 0)
					ticket, err := j.Stage(rec, false)
					if err == nil {
						err = ticket.WaitDurable(context.Background())
					}
					if errors.Is(err, memory.ErrShuttingDown) {
						return
					}
					if err != nil {
						t.Errorf("write beside close: %v", err)
						return
					}
					mu.Lock()
					acked = max(acked, rec.LSN)
					mu.Unlock()
				}
			})
		}
		wg.Go(func() {
			<-j.Advanced(50)
			if err := j.Close(context.Background()); err != nil {
				t.Error(err)
			}
		})
		wg.Wait()
		after := open(t, config(fs.Crash(crashfs.Lost, nil), nil))
		if after.Synced() < acked {
			t.Fatalf("%d was acknowledged, %d is there", acked, after.Synced())
		}
	}
}

// TestRealSizes: an operation over a mebibyte is split, a single change of that size is not, and both come back.
func TestRealSizes(t *testing.T) {
	fs := crashfs.New()
	j := open(t, config(fs, nil))
	big := long(50, 60_000)
	group(t, j, big, record(2, 2<<20))
	if big.Parts < 3 {
		t.Errorf("an operation of 3 MB has %d parts", big.Parts)
	}
	var got []*journal.Record
	open(t, config(fs.Crash(crashfs.Lost, nil), &got))
	if len(got) != 2 || len(got[0].Changes) != 50 || len(got[1].Changes[0].Summary.After) < 2<<20 {
		t.Fatalf("came back as %s", summaries(got))
	}
}

// TestDiskFull: nothing changes without space, essential records have some in reserve, and everything goes on when
// there is space again, also where a new segment could not be made.
func TestDiskFull(t *testing.T) {
	fs := crashfs.New()
	cfg := config(fs, nil)
	cfg.SegmentSize = 128 << 10
	j := open(t, cfg)
	fill(t, j, 3)
	fs.SetFree(0)
	n, err := 0, error(nil)
	for ; err == nil; n++ {
		var ticket journal.Ticket
		if ticket, err = j.Stage(record(n, 2000), false); err == nil {
			err = ticket.WaitDurable(t.Context())
		}
	}
	if !errors.Is(err, memory.ErrDiskFull) || j.Err() != nil {
		t.Fatalf("after %d records: %v, journal: %v", n, err, j.Err())
	}
	next := j.Next()
	essential := 0
	for ; ; essential++ {
		ticket, err := j.Stage(record(essential, 2000), true)
		if errors.Is(err, memory.ErrDiskFull) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := ticket.WaitDurable(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if essential < 28 {
		t.Errorf("%d essential records of 2.2 KB fit into 64 KiB", essential)
	}
	if j.Next() != next+int64(essential) {
		t.Errorf("next is %d, want %d: a refused record changed it", j.Next(), next+int64(essential))
	}
	last := j.Synced()
	fs.SetFree(-1)
	for range 100 {
		group(t, j, record(1, 2000))
	}
	if j.Stats().Segments < 2 {
		t.Error("no new segment after the space came back")
	}
	if found, err := journal.Check(crash(fs), "", 0); err != nil || len(found) > 0 {
		t.Fatalf("check: %v %v", found, err)
	}
	if after := open(t, config(fs.Crash(crashfs.Lost, nil), nil)); after.Synced() != last+100 {
		t.Errorf("%d records are there, want %d", after.Synced(), last+100)
	}
}

// oneSegment is a file system that has space for the first segment only.
type oneSegment struct{ *crashfs.FS }

func (o oneSegment) OpenFile(name string, flag int, perm fs.FileMode) (durable.File, error) {
	f, err := o.FS.OpenFile(name, flag, perm)
	if strings.HasSuffix(name, ".jsonl") && name != first {
		return fullFile{f}, err
	}
	return f, err
}

type fullFile struct{ durable.File }

func (fullFile) Allocate(int64) error { return syscall.ENOSPC }

// TestNoSpaceForASegment: the old one goes on, and an empty new one never comes back in a crash, not even behind a
// snapshot.
func TestNoSpaceForASegment(t *testing.T) {
	disk := crashfs.New()
	cfg := config(oneSegment{disk}, nil)
	cfg.SegmentSize = 16 << 10
	j := open(t, cfg)
	for n := range 40 {
		group(t, j, record(n, 1000))
	}
	if n := j.Stats().Segments; n != 1 || j.Err() != nil {
		t.Fatalf("%d segments, %v", n, j.Err())
	}
	if trace := strings.Join(disk.Trace(), "\n"); !strings.Contains(trace, "remove journal/") {
		t.Fatal("no new segment was tried")
	}
	for seed := range uint64(40) {
		cfg := config(disk.Crash(crashfs.Torn, newRand(seed)), nil)
		cfg.After = j.Synced() // a snapshot was taken
		if _, err := journal.Open(cfg); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
}
