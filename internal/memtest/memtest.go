// Package memtest holds what tests of several packages share: a clock that stands still, a store on any durable.FS,
// a checker of data directories. Nothing of the product imports it.
package memtest

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/durable"
)

// Epoch is where every Clock begins.
var Epoch = time.Date(2026, 2, 21, 10, 30, 0, 0, time.UTC)

// Clock stands still until it is moved. The zero value stands at Epoch. It is safe for concurrent use.
type Clock struct {
	mu    sync.Mutex
	moved time.Duration
}

// Now is the time of the clock.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return Epoch.Add(c.moved)
}

// Advance moves the clock.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.moved += d
}

// OpenStore opens a store with a clock at Epoch and the default sizes, and closes it when the test ends unless that
// was done before. The test fails when it does not open.
func OpenStore(t testing.TB, fsys durable.FS) *store.Store {
	t.Helper()
	return Open(t, store.Config{FS: fsys})
}

// Open is OpenStore with a configuration; what it leaves empty is filled in.
func Open(t testing.TB, cfg store.Config) *store.Store {
	t.Helper()
	if cfg.Now == nil {
		cfg.Now = new(Clock).Now
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	st, err := store.Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close(context.Background()) })
	return st
}

// CheckDir fails the test when store.Check has findings, and returns what the directory holds.
func CheckDir(t testing.TB, fsys durable.FS) store.Report {
	t.Helper()
	report, err := store.Check(fsys)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range report.Findings {
		t.Errorf("%s line %d: %s", f.File, f.Line, f.Detail)
	}
	return report
}

// Fact is an active memory of the category facts that holds to every limit.
func Fact(id, content string) *memory.Memory {
	return &memory.Memory{
		ID:         id,
		Category:   memory.Facts,
		Content:    content,
		Source:     memory.SourceUser,
		Salience:   memory.DefaultSalience,
		Confidence: 1,
	}
}
