package pglog

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

// keptSnapshots is how many snapshots of a space are kept: a machine that joins may be reading the one before.
const keptSnapshots = 2

// PutSnapshot stores the state of a space at a head that the log has, and removes old snapshots. When there is one at
// that position already, or a purge came after it, nothing changes.
func (l *Log) PutSnapshot(ctx context.Context, space int64, at Head, parts [][]byte) error {
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
func putSnapshot(ctx context.Context, tx pgx.Tx, space int64, at Head, parts [][]byte) error {
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
	p := tx.Conn().PgConn().StartPipeline(ctx)
	for i, part := range parts { // each is sent at once: a large space has many megabytes of them
		digest := sha256.Sum256(part)
		var v parameters
		v.number(space)
		v.number(at.Seq)
		v.number(int64(i))
		v.add(digest[:])
		v.add(part)
		p.SendQueryParams(insertPart, v, partTypes, []int16{pgtype.BinaryFormatCode}, nil)
		if err := p.Flush(); err != nil { // which closed the pipeline
			return err
		}
	}
	if err := p.Sync(); err != nil {
		return err
	}
	return p.Close()
}

// insertPart inserts a part of a snapshot, with parameters of partTypes.
const insertPart = "INSERT INTO memsidecar.snapshot_part (space, position, part, digest, data) VALUES ($1, $2, $3, $4, $5)"

var partTypes = []uint32{pgtype.Int8OID, pgtype.Int8OID, pgtype.Int8OID, pgtype.ByteaOID, pgtype.TextOID}

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

// Snapshot reads the newest snapshot and calls part for each of its parts, in order, as they arrive. The data is the
// caller's. Errors: ErrDamaged, also behind some parts; those of the driver.
func (l *Log) Snapshot(ctx context.Context, space int64, part func(data []byte)) (at Head, err error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	// One statement sees one state of the database.
	rows, err := l.conn.Query(ctx, "SELECT s.position, s.hash, s.parts, p.data, p.digest FROM memsidecar.snapshot s "+
		"LEFT JOIN memsidecar.snapshot_part p ON p.space = s.space AND p.position = s.position WHERE s.space = $1 AND "+
		"s.position = (SELECT max(position) FROM memsidecar.snapshot WHERE space = $1) ORDER BY p.part", space)
	if err != nil {
		return at, fmt.Errorf("read the snapshot: %w", err)
	}
	defer rows.Close()
	read, count := int64(0), int64(-1)
	for rows.Next() {
		var data, digest []byte
		if err := rows.Scan(&at.Seq, &at.Hash, &count, &data, &digest); err != nil {
			return at, fmt.Errorf("read the snapshot: %w", err)
		}
		if digest == nil { // there is no part
			continue
		}
		if sum := sha256.Sum256(data); !bytes.Equal(sum[:], digest) {
			return at, fmt.Errorf("part %d of the snapshot at row %d does not match its hash: %w", read, at.Seq, ErrDamaged)
		}
		part(data)
		read++
	}
	switch err := rows.Err(); {
	case err != nil:
		return at, fmt.Errorf("read the snapshot: %w", err)
	case count < 0:
		return at, fmt.Errorf("the space has no snapshot: %w", ErrDamaged)
	case read != count:
		return at, fmt.Errorf("the snapshot at row %d has %d of %d parts: %w", at.Seq, read, count, ErrDamaged)
	}
	return at, nil
}
