package archiver_test

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/memsidecar/memsidecar/internal/archiver"
	"github.com/memsidecar/memsidecar/internal/memtest"
	"github.com/memsidecar/memsidecar/internal/store"
)

// TestReceivedSpace: nothing of a space that is shared read-only is archived, merged or retired, and the other spaces
// are not kept from it.
func TestReceivedSpace(t *testing.T) {
	b := newHarness(t)
	for _, space := range []string{"mine", "team"} {
		b.update(space, func(tx *store.Tx) error {
			expired := memtest.Fact("gone", "The offer ends in May")
			expired.SetExpiresAt(noon)
			if err := tx.Put(expired); err != nil {
				return err
			}
			for _, m := range harbour() {
				if err := tx.Put(m); err != nil {
					return err
				}
			}
			e := event("wrote the API guide")
			e.Time = "09:00:00"
			return tx.AppendEntry(b.date(40), &e)
		})
	}
	b.received = "team"
	revision := b.store.Space("team").Revision()
	done := map[string]archiver.Day{}
	for _, d := range b.run(archiver.Options{}).Days {
		done[d.Space] = d
	}
	if d := done["mine"]; d.Action != archiver.Archive {
		t.Errorf("the log of another space: %+v", d)
	}
	if d := done["team"]; d.Action != archiver.Postponed || !strings.Contains(d.Reason, "shared read-only") {
		t.Errorf("the log of the space that is only received: %+v", d)
	}
	a := archiver.New(archiver.Config{Store: b.store, Location: b.loc, Logger: slog.New(slog.DiscardHandler)})
	expired, err := a.Expire(t.Context(), archiver.ExpireOptions{})
	if err != nil || len(expired.Expired) != 1 || expired.Expired[0].Space != "mine" {
		t.Errorf("expired: %+v, %v; want that of the other space", expired, err)
	}
	merged := b.compress(archiver.CompressOptions{})
	if len(merged.Groups) != 1 || merged.Groups[0].Space != "mine" {
		t.Errorf("merged: %+v; want a group of the other space", merged)
	}
	if now := b.store.Space("team").Revision(); now != revision {
		t.Errorf("the space is at revision %d, was at %d", now, revision)
	}
}
