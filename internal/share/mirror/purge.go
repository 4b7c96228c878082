package mirror

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/share/pglog"
)

// cleanAtOnce is how many rows a purge reads at a time.
const cleanAtOnce = 200

// Erase returns what erases from the mirror of a space in the transaction of a purge, see pglog.Log.Purge. It waits for
// a machine that is mirroring; one that mirrors later reads what the purge left in the log.
func (f *Format) Erase() pglog.Also {
	return func(ctx context.Context, tx pgx.Tx, space int64, e pglog.Eraser) error {
		is, err := inspect(ctx, tx)
		if err != nil || is == none {
			return err
		}
		if is == broken { // a machine that keeps the mirror makes it again
			_, err := tx.Exec(ctx, "DELETE FROM memsidecar.memories WHERE space = $1", space)
			return wrap(err, "erase from the mirror")
		}
		tag, err := tx.Exec(ctx, "SELECT FROM memsidecar.mirror WHERE space = $1 FOR UPDATE", space)
		if err != nil || tag.RowsAffected() == 0 {
			return wrap(err, "erase from the mirror")
		}
		m := &Mirror{format: f}
		for after := ""; err == nil; {
			if after, err = m.erase(ctx, tx, space, after, e); after == "" {
				break
			}
		}
		return wrap(err, "erase from the mirror")
	}
}

// erase cleans some rows behind an id and returns the last one's, "" when none is left.
func (m *Mirror) erase(ctx context.Context, tx pgx.Tx, space int64, after string, e pglog.Eraser) (last string, err error) {
	type found struct{ ID, Data string }
	rows, err := tx.Query(ctx, "SELECT id, data FROM memsidecar.memories WHERE space = $1 AND id > $2 ORDER BY id LIMIT $3",
		space, after, int64(cleanAtOnce))
	if err != nil {
		return "", err
	}
	some, err := pgx.CollectRows(rows, pgx.RowToStructByPos[found])
	if err != nil {
		return "", err
	}
	changed := edit{put: map[string]*memory.Memory{}}
	for _, r := range some {
		last = r.ID
		part, err := json.Marshal(map[string]any{"memories": map[string]json.RawMessage{r.ID: json.RawMessage(r.Data)}})
		if err != nil {
			return "", fmt.Errorf("memory %s in the mirror: %w", r.ID, err)
		}
		clean, did, err := e.Clean(string(part), true)
		if err != nil {
			return "", fmt.Errorf("memory %s in the mirror: %w", r.ID, err)
		}
		if !did {
			continue
		}
		values, err := m.format.Values(clean)
		if err != nil {
			return "", fmt.Errorf("memory %s in the mirror: %w", r.ID, err)
		}
		changed.put[r.ID] = values.Memories[r.ID]
	}
	if len(changed.put) == 0 {
		return last, nil
	}
	if err := m.keepAccesses(ctx, tx, space, &changed); err != nil {
		return "", err
	}
	return last, m.apply(ctx, tx, space, &changed)
}

// keepAccesses gives memories the accesses that the table has of them: their data is older.
func (m *Mirror) keepAccesses(ctx context.Context, tx pgx.Tx, space int64, changed *edit) error {
	rows, err := tx.Query(ctx, "SELECT id, access_count, coalesce(accessed_at, '-infinity') = '-infinity', "+
		"coalesce(accessed_at, now()) FROM memsidecar.memories WHERE space = $1 AND id = ANY($2::text[])", space, changed.ids())
	if err != nil {
		return err
	}
	var id string
	var count int64
	var last time.Time
	never := false
	_, err = pgx.ForEachRow(rows, []any{&id, &count, &never, &last}, func() error {
		if value := changed.put[id]; value != nil {
			accessed := *value
			if never {
				last = accessed.LastAccessed()
			}
			accessed.SetAccesses(count, last.UTC())
			changed.put[id] = &accessed
		}
		return nil
	})
	return err
}
