package share

import (
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/memsidecar/memsidecar/internal/memtest"
	"github.com/memsidecar/memsidecar/internal/share/pglog"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/durable/crashfs"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

// TestSnapshotDue: a snapshot costs what the space is large, so a large one gets them rarely, and by one machine.
func TestSnapshotDue(t *testing.T) {
	st, err := store.Open(store.Config{FS: crashfs.New(), Now: time.Now, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = st.Close(t.Context()) }()
	for name, size := range map[string]int{"small": 10, "large": 5000} {
		_, err := st.Update(t.Context(), store.Meta{Space: name, Actor: journal.ActorClient}, func(tx *store.Tx) error {
			for i := range size {
				if err := tx.Put(memtest.Fact(fmt.Sprint("m", i), fmt.Sprint("fact ", i))); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	s := &Service{cfg: Config{Store: st}}
	for _, tt := range []struct {
		space           string
		rows            int64
		own, quiet, due bool
	}{
		{"small", 999, true, true, false}, {"small", 1000, true, true, true},
		{"small", 1999, false, true, false}, {"small", 2000, false, true, true},
		{"small", 1499, true, false, false}, {"small", 1500, true, false, true},
		{"large", 2499, true, true, false}, {"large", 2500, true, true, true},
		{"large", 4999, false, true, false}, {"large", 5000, false, true, true},
		{"large", 3749, true, false, false}, {"large", 3750, true, false, true},
	} {
		sp := newSpace(tt.space, &state{Remote: pglog.Space{ID: 1, Head: pglog.Head{Seq: 100 + tt.rows}}})
		sp.snapshotAt, sp.ownHead = 100, tt.own
		if got := s.snapshotDue(sp, tt.quiet); got != tt.due {
			t.Errorf("%s space, %d rows behind a snapshot, own %t, quiet %t: due %t", tt.space, tt.rows, tt.own, tt.quiet, got)
		}
		if sp.readOnly = true; s.snapshotDue(sp, tt.quiet) {
			t.Error("a space that is only received is due")
		}
	}
}
