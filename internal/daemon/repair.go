package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/memsidecar/memsidecar/internal/jsonstore"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/durable"
)

// Repair moves damaged parts of a data directory to its quarantine, keeps the rest, and recovers what the published
// files hold of the operations that are lost. It returns what it did, one line each; nothing for a directory without
// damage. The caller holds the lock of the directory. After an error or a crash, it may be called again.
func Repair(ctx context.Context, fsys durable.FS, now func() time.Time, loc *time.Location) ([]string, error) {
	done, err := store.Repair(fsys, now())
	if err != nil {
		return done, err
	}
	unfinished, err := store.RepairUnfinished(fsys)
	if err != nil || !unfinished {
		return done, err
	}
	taken, err := recoverPublished(ctx, fsys, now, loc)
	done = append(done, taken...)
	if err != nil {
		return done, fmt.Errorf("repair: %w", err)
	}
	return done, store.EndRepair(fsys)
}

// recoverPublished stores what the published files hold of lost operations. Of a journal that begins anew it stores
// nothing: the next start adopts all published files.
func recoverPublished(ctx context.Context, fsys durable.FS, now func() time.Time, loc *time.Location) (done []string,
	err error) {
	st, err := store.Open(store.Config{FS: fsys, Now: now, Logger: slog.New(slog.DiscardHandler), Repairing: true})
	if err != nil {
		return nil, err
	}
	if st.LSN() > 0 {
		before := st.LSN()
		done, err = jsonstore.Salvage(ctx, st, fsys, now, loc)
		if err == nil && st.LSN() > before {
			done = append(done, fmt.Sprintf("`memsidecar ops list` shows what was recovered as operations %d to %d, "+
				"and each can be undone", before+1, st.LSN()))
		}
		done = append(done, "sessions and history are in no published file; what the damaged part alone held of them is "+
			"lost")
	}
	return done, errors.Join(err, st.Close(context.WithoutCancel(ctx)))
}
