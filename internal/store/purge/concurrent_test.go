package purge_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/memsidecar/memsidecar/internal/memtest"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/durable/crashfs"
	"github.com/memsidecar/memsidecar/internal/store/journal"
	"github.com/memsidecar/memsidecar/internal/store/purge"
)

// TestWritersGoOn requires that what others write during a purge is there, and that they may say again what was
// erased once it is.
func TestWritersGoOn(t *testing.T) {
	w := newFilledFixture(t)
	const writers, each = 4, 60
	var wg sync.WaitGroup
	errs := make([]error, writers)
	for i := range writers {
		wg.Go(func() {
			for k := range each {
				_, err := w.st.Update(t.Context(), store.Meta{Space: "busy", Actor: journal.ActorClient},
					func(tx *store.Tx) error {
						return tx.Put(memtest.Fact(fmt.Sprintf("w%d-%d", i, k),
							fmt.Sprintf("writer %d wrote %d", i, k)))
					})
				if err != nil {
					errs[i] = err
					return
				}
				_ = w.st.Space("").Memories()
				_, _, _ = w.st.Space("").Log("2026-02-21")
			}
		})
	}
	if _, err := w.purges.Run(t.Context(), request()); err != nil {
		t.Fatal(err)
	}
	_, err := w.st.Update(t.Context(), store.Meta{Space: "again", Actor: journal.ActorClient},
		func(tx *store.Tx) error {
			return tx.Put(memtest.Fact("a1", canary))
		})
	if err != nil {
		t.Fatal(err)
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
	if n := w.st.Space("busy").Count(); n != writers*each {
		t.Errorf("%d memories of %d were kept", n, writers*each)
	}
	if _, err := w.state(); err != nil {
		t.Error(err)
	}
	again := &fixture{fs: w.fs.Crash(crashfs.Lost, nil), step: w.step}
	if err := again.open(); err != nil {
		t.Fatal(err)
	}
	m, err := again.st.Space("again").Get("a1")
	if err != nil || m.Content != canary || again.st.Space("busy").Count() != writers*each {
		t.Errorf("after a restart: %v, %v, %d", m, err, again.st.Space("busy").Count())
	}
}

// TestManyMemories purges more than fits into one record, and looks for more texts than one by one.
func TestManyMemories(t *testing.T) {
	w := newFilledFixture(t)
	const n = 400
	var req store.PurgeRequest
	req.Space = "many"
	for i := range n {
		id := fmt.Sprint("many", i)
		req.IDs = append(req.IDs, id)
		m := memtest.Fact(id, fmt.Sprintf("secret %d of %d", i*7919, i))
		if i%50 == 0 {
			if err := w.put("", memtest.Fact("quotes"+id, "quotes "+m.Content)); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.put("many", m); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 { // the second time nothing is left to do but to say so
		res, err := w.purges.Run(t.Context(), purge.Request{PurgeRequest: req})
		if err != nil {
			t.Fatal(err)
		}
		rec, err := w.st.Operation(t.Context(), res.Op)
		if err != nil || rec.Parts < 2 || rec.Purge.Memories != n {
			t.Fatalf("the record has %d parts: %v", rec.Parts, err)
		}
	}
	digest, err := w.state()
	if err != nil {
		t.Fatal(err)
	}
	if got := w.st.Space("many").Count(); got != 0 {
		t.Errorf("%d memories are left", got)
	}
	for _, m := range w.st.Space("").Memories() {
		if strings.HasPrefix(m.ID, "quotes") && m.Content != "quotes [purged]" {
			t.Errorf("%s says %q", m.ID, m.Content)
		}
	}
	if alone, err := w.fromStart(); err != nil || alone != digest {
		t.Errorf("the journal alone adds up to another state, or %v", err)
	}
	again := &fixture{fs: w.fs.Crash(crashfs.Lost, nil), step: w.step}
	if err := again.open(); err != nil {
		t.Fatal(err)
	}
	if got, err := again.state(); err != nil || got != digest {
		t.Errorf("after a restart: another state, or %v", err)
	}
}

// TestWaitsForBackup lets whoever copies the files finish first, and does nothing when it cannot wait that long.
func TestWaitsForBackup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFilledFixture(t)
		before, err := w.state()
		if err != nil {
			t.Fatal(err)
		}
		view, files, err := w.st.PinFiles(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		short, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := w.purges.Run(short, request()); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("beside a backup: %v", err)
		}
		if after, err := w.state(); err != nil || after != before {
			t.Fatalf("it changed the state all the same, %v", err)
		}
		var wg sync.WaitGroup
		var result error
		wg.Go(func() { _, result = w.purges.Run(t.Context(), request()) })
		synctest.Wait()
		for _, name := range files.Snapshot {
			if _, err := w.fs.Lstat(name); err != nil {
				t.Errorf("a file of the backup is gone: %v", err)
			}
		}
		view.Close()
		wg.Wait()
		if result != nil {
			t.Fatal(result)
		}
		if found, err := w.traces(); err != nil || len(found) > 0 {
			t.Errorf("left in %v, %v", found, err)
		}
	})
}
