package store_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/memsidecar/memsidecar/internal/memtest"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/durable/crashfs"
)

// TestSnapshotStepsAside: a snapshot of maintenance takes longer while requests are answered, until somebody waits for
// it, and a stop does not wait for it.
func TestSnapshotStepsAside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, err := store.Open(store.Config{FS: crashfs.New(), Now: time.Now, Logger: slog.New(slog.DiscardHandler),
			Busy: func() bool { return true }})
		if err != nil {
			t.Fatal(err)
		}
		write := func() {
			t.Helper()
			_, err := st.Update(t.Context(), store.Meta{}, func(tx *store.Tx) error {
				for i := range 900 { // of which a snapshot is due
					if err := tx.Put(memtest.Fact(fmt.Sprint(i), strings.Repeat(fmt.Sprint(tx.LSN(), " "), 2500))); err != nil {
						return err
					}
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		for range 2 {
			write()
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- st.Run(ctx) }()
		time.Sleep(5100 * time.Millisecond) // maintenance has begun one
		synctest.Wait()
		if lsn := st.Snapshot().LSN; lsn != 0 {
			t.Errorf("there is a snapshot up to %d before it can be written", lsn)
		}
		start := time.Now()
		lsn, err := st.Checkpoint(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if waited := time.Since(start); waited > 0 {
			t.Errorf("somebody waited %v for the snapshot", waited)
		}
		for range 2 {
			write()
		}
		time.Sleep(5100 * time.Millisecond)
		start = time.Now()
		stop()
		if err := <-ended; err != nil || time.Since(start) > 0 {
			t.Errorf("the stop waited %v: %v", time.Since(start), err)
		}
		if now := st.Snapshot().LSN; now != lsn {
			t.Errorf("the newest snapshot is up to %d, not %d", now, lsn)
		}
		if err := st.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
