package pglog

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// keptSnapshots is how many snapshots of a space are kept: a machine that joins may be reading the one before.
const keptSnapshots = 2

// PutSnapshot stores the state of a space at a head that the log has, and removes old snapshots. When there is one at
// that position already, or a purge came after it, nothing changes.
func (l *Log) PutSnapshot(ctx context.Context, space int64, at Head, parts []string) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	err := pgx.BeginFunc(ctx, l.conn, func(tx pgx.Tx) error {
		if old, err := beforePurge(ctx, tx, space, at); err != nil || old {
			return err
		}
		if err := putSnapshot(ctx, tx, space, at, parts); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, "DELETE FROM memsidecar.snapshot WHERE space = $1 AND position NOT IN "+
			"(SELECT position FROM memsidecar.snapshot WHERE space = $1 ORDER BY position DESC LIMIT $2)", space, int64(keptSnapshots))
		return err
	})
	if err != nil {
		return fmt.Errorf("store a snapshot: %w", err)
	}
	return nil
}

// putSnapshot inserts a snapshot unless there is one at its position.
func putSnapshot(ctx context.Context, tx pgx.Tx, space int64, at Head, parts []string) error {
	tag, err := tx.Exec(
		ctx,
		"INSERT INTO memsidecar.snapshot (space, position, hash, parts) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING",
		space,
		at.Seq,
		at.Hash,
		int64(len(parts)),
	)
	if err != nil || tag.RowsAffected() == 0 {
		return err
	}
	batch := &pgx.Batch{}
	for i, part := range parts {
		digest := sha256.Sum256([]byte(part))
		batch.Queue(
			"INSERT INTO memsidecar.snapshot_part (space, position, part, data, digest) VALUES ($1, $2, $3, $4, $5)",
			space,
			at.Seq,
			int64(i),
			part,
			digest[:],
		)
	}
	return tx.SendBatch(ctx, batch).Close()
}

// SnapshotPosition is the position of the newest snapshot.
func (l *Log) SnapshotPosition(ctx context.Context, space int64) (position int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	err = l.conn.QueryRow(ctx, "SELECT coalesce(max(position), -1) FROM memsidecar.snapshot WHERE space = $1", space).
		Scan(&position)
	if err != nil {
		return 0, fmt.Errorf("look for a snapshot: %w", err)
	}
	return position, nil
}

// Snapshot reads the newest snapshot and calls part for each of its parts, in order, as they arrive. Errors: ErrDamaged,
// also behind some parts; those of the driver.
func (l *Log) Snapshot(ctx context.Context, space int64, part func(data string)) (at Head, err error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	err = pgx.BeginTxFunc(
		ctx,
		l.conn,
		pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly},
		func(tx pgx.Tx) error {
			var count int64
			err := tx.QueryRow(ctx, "SELECT position, hash, parts FROM memsidecar.snapshot WHERE space = $1 ORDER BY position DESC LIMIT 1", space).
				Scan(&at.Seq, &at.Hash, &count)
			if errors.Is(err, pgx.ErrNoRows) {
				return fmt.Errorf("the space has no snapshot: %w", ErrDamaged)
			} else if err != nil {
				return err
			}
			rows, err := tx.Query(
				ctx,
				"SELECT data, digest FROM memsidecar.snapshot_part WHERE space = $1 AND position = $2 ORDER BY part",
				space,
				at.Seq,
			)
			if err != nil {
				return err
			}
			read := 0
			for ; rows.Next(); read++ {
				var data string
				var digest []byte
				if err := rows.Scan(&data, &digest); err != nil {
					return err
				}
				if sum := sha256.Sum256([]byte(data)); !bytes.Equal(sum[:], digest) {
					rows.Close()
					return fmt.Errorf(
						"part %d of the snapshot at row %d does not match its hash: %w",
						read,
						at.Seq,
						ErrDamaged,
					)
				}
				part(data)
			}
			if rows.Err() == nil && int64(read) != count {
				return fmt.Errorf(
					"the snapshot at row %d has %d of %d parts: %w",
					at.Seq,
					read,
					count,
					ErrDamaged,
				)
			}
			return rows.Err()
		},
	)
	if err != nil {
		return at, fmt.Errorf("read the snapshot: %w", err)
	}
	return at, nil
}
