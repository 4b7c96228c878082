package archiver_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/memsidecar/memsidecar/internal/archiver"
	"github.com/memsidecar/memsidecar/internal/dailylog"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/durable"
	"github.com/memsidecar/memsidecar/internal/store/durable/crashfs"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

// fill writes logs of n days, the newest of them from days ago, with so many entries each.
func fill(t testing.TB, st *store.Store, n, from, entries int) {
	t.Helper()
	for day := range n {
		date := noon.AddDate(0, 0, -from-day).Format(memory.DateLayout)
		_, err := st.Update(t.Context(), store.Meta{Actor: journal.ActorClient}, func(tx *store.Tx) error {
			for i := range entries {
				text := fmt.Sprintf("looked at file %d of the timetable service and moved on to the next one, as on "+
					"day %d", i, day)
				if i == 7 {
					text = fmt.Sprintf("We decided to use berth %d for line %d", day, i)
				}
				e := &memory.Entry{ID: fmt.Sprint("e", i), Time: "09:00:00", Type: memory.EntryEvent, Content: text}
				if err := tx.AppendEntry(date, e); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// counting counts the opened files that hold entries of logs: logs/DATE.json and snapshots/SPACE.log-DATE….
type counting struct {
	durable.FS
	n atomic.Int64
}

func (c *counting) OpenFile(name string, flag int, perm os.FileMode) (durable.File, error) {
	if strings.Contains(name, "logs/") || strings.Contains(name, ".log-") {
		c.n.Add(1)
	}
	return c.FS.OpenFile(name, flag, perm)
}

// TestStartReadsNoLogs: neither the store nor the publisher of the logs reads what is in them.
func TestStartReadsNoLogs(t *testing.T) {
	fsys := crashfs.New()
	open := func(fsys durable.FS) (*store.Store, *dailylog.Publisher) {
		t.Helper()
		now := func() time.Time { return noon }
		p := dailylog.NewPublisher(dailylog.Config{FS: fsys, Now: now, Logger: slog.New(slog.DiscardHandler)})
		st, err := store.Open(store.Config{FS: fsys, Now: now, Logger: slog.New(slog.DiscardHandler),
			Projections: []store.Projection{p}})
		if err != nil {
			t.Fatal(err)
		}
		p.Attach(dailylog.FromStore(st))
		if err := p.PublishAll(t.Context()); err != nil {
			t.Fatal(err)
		}
		return st, p
	}
	st, p := open(fsys)
	fill(t, st, 100, 0, 3)
	if err := p.PublishAll(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := st.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	watched := &counting{FS: fsys}
	st, _ = open(watched)
	atStart := watched.n.Load()
	if atStart > 0 {
		t.Errorf("%d files of logs were opened at the start", atStart)
	}
	if n := len(st.Space("").Days()); n != 100 {
		t.Errorf("%d logs", n)
	}
	if _, _, err := st.Space("").Log(noon.Format(memory.DateLayout)); err != nil || watched.n.Load() == atStart {
		t.Errorf("a log was read without its file: %v", err)
	}
	if err := st.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func openDir(b *testing.B, root *os.Root, now func() time.Time) *store.Store {
	b.Helper()
	st, err := store.Open(store.Config{FS: durable.Dir(root), Now: now, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		b.Fatal(err)
	}
	return st
}

// adds adds some 500 memories a second until ctx ends, and returns how long each took.
func adds(ctx context.Context, b *testing.B, st *store.Store) (took []time.Duration) {
	for i := 0; ctx.Err() == nil; i++ {
		began := time.Now()
		_, err := st.Update(b.Context(), store.Meta{Actor: journal.ActorClient}, func(tx *store.Tx) error {
			return tx.Put(&memory.Memory{ID: store.NewID(), Category: memory.Facts,
				Content: fmt.Sprint("a fact numbered ", i), Source: memory.SourceUser, Confidence: 1})
		})
		if err != nil {
			b.Error(err)
			return took
		}
		took = append(took, time.Since(began))
		time.Sleep(2 * time.Millisecond)
	}
	return took
}

func report(b *testing.B, name string, took []time.Duration) {
	slices.Sort(took)
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	b.ReportMetric(ms(took[len(took)/2]), name+"-p50-ms")
	b.ReportMetric(ms(took[len(took)*99/100]), name+"-p99-ms")
	b.ReportMetric(ms(took[len(took)-1]), name+"-max-ms")
}

// BenchmarkRetention opens a store of 3,650 logs of 200 entries each, archives 300 of them, and deletes them, while
// somebody adds memories. It reports the start, the runs, the growth of the heap during them, and what an Add took
// beside them and alone. Run it with -benchtime 1x.
func BenchmarkRetention(b *testing.B) {
	const logs, due, entries = 3650, 300, 200
	root, err := os.OpenRoot(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	defer root.Close()
	now := noon
	clock := func() time.Time { return now }
	st := openDir(b, root, clock)
	fill(b, st, logs, 30, entries)
	if err := st.Close(b.Context()); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		began := time.Now()
		st = openDir(b, root, clock)
		b.ReportMetric(float64(time.Since(began).Milliseconds()), "open-ms")
		alone, stop := context.WithTimeout(b.Context(), 3*time.Second)
		report(b, "alone", adds(alone, b, st))
		stop()
		// Beside work that shares nothing with the store but the processors.
		busy, stop := context.WithTimeout(b.Context(), 3*time.Second)
		go func() {
			for busy.Err() == nil {
				_ = strings.Fields(strings.Repeat("looked at file of the timetable service ", 200))
			}
		}()
		report(b, "busy", adds(busy, b, st))
		stop()
		benchmarkRetention(b, st, "archive", due, archiver.Archive, archiver.Options{DeleteDays: 100000})
		benchmarkRetention(b, st, "delete", due, archiver.Delete, archiver.Options{})
		if err := st.Close(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}

// benchmarkRetention does what is due in runs of 60 logs while memories are added.
func benchmarkRetention(b *testing.B, st *store.Store, name string, due int, action archiver.Action,
	opts archiver.Options) {
	heap := heapOf()
	ctx, done := context.WithCancel(b.Context())
	var peak atomic.Uint64
	var took time.Duration
	a := archiver.New(archiver.Config{Store: st, Location: shanghai, Logger: slog.New(slog.DiscardHandler)})
	go func() {
		defer done()
		began := time.Now()
		for range due / 60 {
			r, err := a.Run(ctx, opts)
			if n := r.Count(action); err != nil || n != 60 {
				b.Errorf("%d of %s, %v", n, action, err)
			}
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			peak.Store(max(peak.Load(), m.HeapAlloc))
		}
		took = time.Since(began)
	}()
	report(b, name, adds(ctx, b, st))
	b.ReportMetric(float64(took.Milliseconds())/float64(due), name+"-ms/log")
	b.ReportMetric(float64(int64(peak.Load()-heap))/(1<<20), name+"-heap-MiB")
}

func heapOf() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// BenchmarkCompress looks for groups among 5,000 memories of one category, as many as are compared in one run.
func BenchmarkCompress(b *testing.B) {
	now := func() time.Time { return noon }
	st, err := store.Open(store.Config{FS: crashfs.New(), Now: now, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		b.Fatal(err)
	}
	subjects, verbs := []string{"ferry", "crane", "tug", "pilot", "berth", "buoy", "gate"},
		[]string{"leaves", "waits", "turns", "was repaired", "is closed"}
	_, err = st.Update(b.Context(), store.Meta{}, func(tx *store.Tx) error {
		for i := range 5000 {
			m := old(fmt.Sprint("m", i), fmt.Sprintf("The %s of the %s harbour %s in the morning, says the %s from "+
				"house %d",
				subjects[i%7], subjects[i/7%7], verbs[i%5], subjects[i/49%7], i%300))
			if err := tx.Put(m); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	a := archiver.New(archiver.Config{Store: st, Location: shanghai, Logger: slog.New(slog.DiscardHandler)})
	for b.Loop() {
		r, err := a.Compress(b.Context(), archiver.CompressOptions{DryRun: true})
		if err != nil || r.Candidates != 5000 {
			b.Fatalf("%d candidates, %v", r.Candidates, err)
		}
		b.ReportMetric(float64(len(r.Groups)), "groups")
	}
	_ = st.Close(context.Background())
}
