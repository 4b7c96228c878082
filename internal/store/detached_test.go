package store_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/memtest"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/durable"
)

// detachments are the ways in which the journal can be taken away from under a running daemon.
var detachments = []struct {
	name   string
	detach func(t *testing.T, data string)
	says   string
}{
	{"segment deleted", func(t *testing.T, data string) {
		t.Helper()
		must(0, os.Remove(filepath.Join(data, "journal", "0000000000000001.jsonl")))
	}, "journal/0000000000000001.jsonl was deleted or moved away"},
	{"segment replaced", func(t *testing.T, data string) {
		t.Helper()
		name := filepath.Join(data, "journal", "0000000000000001.jsonl")
		copied := must(os.ReadFile(name))
		must(0, os.WriteFile(name+".new", copied, 0o600))
		must(0, os.Rename(name+".new", name))
	}, "journal/0000000000000001.jsonl was replaced"},
	{"journal deleted", func(t *testing.T, data string) {
		t.Helper()
		must(0, os.RemoveAll(filepath.Join(data, "journal")))
	}, "journal/0000000000000001.jsonl was deleted or moved away"},
	{"journal moved", func(t *testing.T, data string) {
		t.Helper()
		must(0, os.Rename(filepath.Join(data, "journal"), filepath.Join(data, "away")))
	}, "journal/0000000000000001.jsonl was deleted or moved away"},
	{"data directory deleted", func(t *testing.T, data string) {
		t.Helper()
		must(0, os.RemoveAll(data))
	}, "was deleted or moved away"},
	{"data directory moved", func(t *testing.T, data string) {
		t.Helper()
		must(0, os.Rename(data, data+"-away"))
	}, "was deleted or moved away"},
	{"data directory moved and made again", func(t *testing.T, data string) {
		t.Helper()
		must(0, os.Rename(data, data+"-away"))
		must(0, os.MkdirAll(filepath.Join(data, "journal"), 0o700))
	}, "was replaced by another one"},
}

// TestDetachedJournal: no write is acknowledged once the journal is not where the next start looks for it. The store
// turns read-only, says what happened, and what it holds can still be read.
func TestDetachedJournal(t *testing.T) {
	for _, d := range detachments {
		t.Run(d.name, func(t *testing.T) {
			data := filepath.Join(t.TempDir(), "data")
			must(0, os.Mkdir(data, 0o700))
			root := must(os.OpenRoot(data))
			defer root.Close()
			var failed error
			st := must(store.Open(store.Config{FS: durable.Dir(root), Now: time.Now,
				Logger: slog.New(slog.DiscardHandler), Failed: func(err error) { failed = err }}))
			put := func(id string) error {
				_, err := st.Update(context.Background(), store.Meta{}, func(tx *store.Tx) error {
					return tx.Put(memtest.Fact(id, "content of "+id))
				})
				return err
			}
			must(0, put("before"))
			d.detach(t, data)
			for _, id := range []string{"after", "later"} {
				if err := put(id); !errors.Is(err, memory.ErrReadOnly) || !errors.Is(err, durable.ErrDetached) ||
					!strings.Contains(err.Error(), d.says) {
					t.Errorf("write of %s: %v", id, err)
				}
			}
			if !errors.Is(failed, durable.ErrDetached) || !errors.Is(st.Err(), memory.ErrReadOnly) {
				t.Errorf("the failure is reported as %v, the state is %v", failed, st.Err())
			}
			if st.LSN() != 1 || st.Space("").Count() != 1 {
				t.Errorf("readers see %d memories at %d", st.Space("").Count(), st.LSN())
			}
		})
	}
}

// TestDetachedJournalRepeats: the answer to a repeated request, and to one that changes nothing because all of it is
// there, says that something is durable. Neither is given once the journal is gone, even if nothing was written since.
func TestDetachedJournalRepeats(t *testing.T) {
	for _, d := range detachments {
		for _, key := range []string{"key", ""} {
			data := filepath.Join(t.TempDir(), "data")
			must(0, os.Mkdir(data, 0o700))
			root := must(os.OpenRoot(data))
			st := must(store.Open(store.Config{FS: durable.Dir(root), Now: time.Now,
				Logger: slog.New(slog.DiscardHandler)}))
			put := func() (store.Result, error) {
				return st.Update(t.Context(), store.Meta{Key: key}, func(tx *store.Tx) error {
					if tx.Memory("a") != nil {
						return nil
					}
					return tx.Put(memtest.Fact("a", "content"))
				})
			}
			must(put())
			if again, err := put(); err != nil || again.Replayed != (key != "") {
				t.Errorf("%s: repeated while all is well: %+v, %v", d.name, again, err)
			}
			d.detach(t, data)
			if again, err := put(); !errors.Is(err, memory.ErrReadOnly) || !errors.Is(err, durable.ErrDetached) ||
				!errors.Is(st.Err(), memory.ErrReadOnly) {
				t.Errorf("%s, key %q: acknowledged again: %+v, %v", d.name, key, again, err)
			}
			must(0, root.Close())
		}
	}
}
