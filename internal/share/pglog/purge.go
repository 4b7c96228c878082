package pglog

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// purgeTimeout bounds a purge, which reads the log of a space. cleanAtOnce is how many rows it reads at a time, and
// recentPurges how many purges are listed.
const (
	purgeTimeout = 30 * time.Minute
	cleanAtOnce  = 200
	recentPurges = 20
)

// Eraser knows what a purge erases. Data is a record, or a part of a snapshot.
type Eraser interface {
	// IDs are the memories whose versions Collect wants to see.
	IDs() []string
	// Collect notes the texts of the memories in data.
	Collect(data string, part bool) error
	// Clean returns data without them.
	Clean(data string, part bool) (clean string, changed bool, err error)
	// Texts are those that other machines are to erase, once Clean saw everything.
	Texts() []string
	// Needless says that the log holds nothing that is erased, and that nothing but the log would.
	Needless() bool
}

// errNeedless ends the transaction of a purge that the log does not need.
var errNeedless = errors.New("the log holds nothing of it")

// Also erases from another table in the transaction of a purge, with what the purge erases.
type Also func(ctx context.Context, tx pgx.Tx, space int64, e Eraser) error

// Purge erases from the log of a space up to head, from its snapshots and by also, and appends a row that says so, as
// one transaction; announced is false when the eraser calls it needless, and nothing changed. Error: ErrBehind; after
// any other, it may have happened.
func (l *Log) Purge(
	ctx context.Context, space int64, head Head, id string, row Row, e Eraser, also Also,
) (announced bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, purgeTimeout)
	defer cancel()
	row.Seq = head.Seq + 1
	row.Hash = (&hasher{}).chain(&row, head.Hash)
	err = pgx.BeginFunc(ctx, l.conn, func(tx pgx.Tx) error {
		if err := move(ctx, tx, space, head, Head{row.Seq, row.Hash}); err != nil {
			return err
		}
		if err := collect(ctx, tx, space, e); err != nil {
			return err
		}
		if err := errors.Join(cleanRows(ctx, tx, space, e), cleanParts(ctx, tx, space, e)); err != nil {
			return err
		}
		if e.Needless() {
			return errNeedless
		}
		if err := also(ctx, tx, space, e); err != nil {
			return err
		}
		texts, err := json.Marshal(e.Texts())
		if err != nil {
			return err
		}
		batch := &pgx.Batch{}
		row.insert(batch, space)
		batch.Queue("INSERT INTO memsidecar.purge (space, seq, id, at, ids, texts) VALUES ($1, $2, $3, $4, $5, $6)",
			space, row.Seq, id, row.At, e.IDs(), string(texts))
		announce(batch, space)
		return tx.SendBatch(ctx, batch).Close()
	})
	if errors.Is(err, errNeedless) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("erase from the log: %w", err)
	}
	return true, nil
}

// collect shows the eraser everything that names the memories.
func collect(ctx context.Context, tx pgx.Tx, space int64, e Eraser) error {
	if len(e.IDs()) == 0 {
		return nil
	}
	names, err := formsOf(e.IDs())
	if err != nil {
		return err
	}
	for _, from := range []struct {
		table, column string
		part          bool
	}{{"log", "record", false}, {"snapshot_part", "data", true}} {
		rows, err := tx.Query(ctx, "SELECT "+from.column+" FROM memsidecar."+from.table+" WHERE space = $1 AND "+
			"EXISTS (SELECT FROM unnest($2::text[]) AS i WHERE position(i in "+from.column+") > 0)", space, names)
		if err != nil {
			return err
		}
		var data string
		collect := func() error { return e.Collect(data, from.part) }
		if _, err := pgx.ForEachRow(rows, []any{&data}, collect); err != nil {
			return err
		}
	}
	return nil
}

// formsOf lists the forms that ids have in records and parts: encoding/json escapes <, > and &, and what the daemon
// encodes itself does not.
func formsOf(ids []string) (forms []string, err error) {
	for _, id := range ids {
		for _, escape := range []bool{true, false} {
			var form strings.Builder
			e := json.NewEncoder(&form)
			e.SetEscapeHTML(escape)
			if err := e.Encode(id); err != nil {
				return nil, err
			}
			forms = append(forms, strings.TrimSuffix(form.String(), "\n"))
		}
	}
	return forms, nil
}

// cleanRows replaces the records that hold what is erased.
func cleanRows(ctx context.Context, tx pgx.Tx, space int64, e Eraser) error {
	type found struct {
		Seq    int64
		Record string
		Hash   []byte
	}
	for after := int64(0); ; {
		rows, err := tx.Query(ctx, "SELECT seq, record, hash FROM memsidecar.log WHERE space = $1 AND seq > $2 "+
			"ORDER BY seq LIMIT $3", space, after, int64(cleanAtOnce))
		if err != nil {
			return err
		}
		some, err := pgx.CollectRows(rows, pgx.RowToStructByPos[found])
		if err != nil || len(some) == 0 {
			return err
		}
		batch := &pgx.Batch{}
		for _, r := range some {
			clean, changed, err := e.Clean(r.Record, false)
			if err != nil {
				return fmt.Errorf("row %d of the log: %w", r.Seq, err)
			}
			if changed {
				batch.Queue("UPDATE memsidecar.log SET record = $1, replaced = $2 WHERE space = $3 AND seq = $4",
					clean, replacement(r.Hash, clean), space, r.Seq)
			}
		}
		if err := tx.SendBatch(ctx, batch).Close(); err != nil {
			return err
		}
		after = some[len(some)-1].Seq
	}
}

// cleanParts replaces the parts of snapshots that hold what is erased.
func cleanParts(ctx context.Context, tx pgx.Tx, space int64, e Eraser) error {
	type name struct{ Position, Part int64 }
	rows, err := tx.Query(ctx, "SELECT position, part FROM memsidecar.snapshot_part WHERE space = $1", space)
	if err != nil {
		return err
	}
	names, err := pgx.CollectRows(rows, pgx.RowToStructByPos[name])
	if err != nil {
		return err
	}
	for _, n := range names { // one at a time, because a part holds hundreds of memories
		const where = " WHERE space = $1 AND position = $2 AND part = $3"
		var data string
		if err := tx.QueryRow(ctx, "SELECT data FROM memsidecar.snapshot_part"+where, space, n.Position, n.Part).
			Scan(&data); err != nil {
			return err
		}
		clean, changed, err := e.Clean(data, true)
		if err != nil {
			return fmt.Errorf("part %d of the snapshot at row %d: %w", n.Part, n.Position, err)
		}
		if !changed {
			continue
		}
		digest := sha256.Sum256([]byte(clean))
		if _, err := tx.Exec(ctx, "UPDATE memsidecar.snapshot_part SET data = $4, digest = $5"+where,
			space, n.Position, n.Part, clean, digest[:]); err != nil {
			return err
		}
	}
	return nil
}

// beforePurge reports whether the log has a purge behind a position: what is from before then must not come back. Until
// the transaction ends, no purge begins.
func beforePurge(ctx context.Context, tx pgx.Tx, space int64, at Head) (old bool, err error) {
	if _, err := tx.Exec(ctx, "SELECT FROM memsidecar.space WHERE id = $1 FOR UPDATE", space); err != nil {
		return false, err
	}
	err = tx.QueryRow(ctx, "SELECT EXISTS (SELECT FROM memsidecar.purge WHERE space = $1 AND seq > $2)", space, at.Seq).
		Scan(&old)
	return old, err
}

// Purge is a purge in the log, with the machines by whether they have erased it.
type Purge struct {
	Seq int64
	ID  string
	At  time.Time
	// Confirmed and Missing are names of machines, for people.
	Confirmed, Missing []string
}

// ForgetTexts removes the texts of purges that no machine needs any more.
func (l *Log) ForgetTexts(ctx context.Context, space int64) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	if _, err := l.conn.Exec(ctx, "UPDATE memsidecar.purge p SET texts = NULL WHERE space = $1 AND texts IS NOT NULL AND "+
		"NOT EXISTS (SELECT FROM memsidecar.member m WHERE m.space = p.space AND m.position < p.seq)", space); err != nil {
		return fmt.Errorf("forget the texts of purges: %w", err)
	}
	return nil
}

// Purges lists the newest purges of a space, newest first.
func (l *Log) Purges(ctx context.Context, space int64) ([]Purge, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	const machines = "(SELECT coalesce(array_agg(host ORDER BY host), '{}') FROM memsidecar.member m " +
		"WHERE m.space = p.space "
	rows, err := l.conn.Query(ctx, "SELECT seq, id, at, "+machines+"AND m.position >= p.seq), "+machines+
		"AND m.position < p.seq) FROM memsidecar.purge p WHERE space = $1 ORDER BY seq DESC LIMIT $2",
		space, int64(recentPurges))
	if err != nil {
		return nil, fmt.Errorf("list purges: %w", err)
	}
	out, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Purge])
	if err != nil {
		return nil, fmt.Errorf("list purges: %w", err)
	}
	return out, nil
}

// Erased returns what the purges of a space erased: all memories, and the texts that some machine still needs.
func (l *Log) Erased(ctx context.Context, space int64) (ids, texts []string, err error) {
	return l.erased(ctx, "space = $1", space)
}

// ErasedSince returns what the purges behind a position of a space erased.
func (l *Log) ErasedSince(ctx context.Context, space, seq int64) (ids, texts []string, err error) {
	return l.erased(ctx, "space = $1 AND seq > $2", space, seq)
}

// erased returns what some purges erased.
func (l *Log) erased(ctx context.Context, where string, args ...any) (ids, texts []string, err error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	rows, err := l.conn.Query(ctx, "SELECT ids, texts FROM memsidecar.purge WHERE "+where, args...)
	if err != nil {
		return nil, nil, fmt.Errorf("read what was purged: %w", err)
	}
	var some []string
	var raw *string
	_, err = pgx.ForEachRow(rows, []any{&some, &raw}, func() error {
		more, err := decodeTexts(raw)
		ids, texts = append(ids, some...), append(texts, more...)
		return err
	})
	if err != nil {
		return nil, nil, fmt.Errorf("read what was purged: %w", err)
	}
	return ids, texts, nil
}

// Unconfirmed lists the names of the spaces with a purge that a store has not confirmed.
func (l *Log) Unconfirmed(ctx context.Context, origin string) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	rows, err := l.conn.Query(ctx, "SELECT DISTINCT s.name FROM memsidecar.purge p "+
		"JOIN memsidecar.member m ON m.space = p.space AND m.origin = $1 AND m.position < p.seq "+
		"JOIN memsidecar.space s ON s.id = p.space", origin)
	if err != nil {
		return nil, fmt.Errorf("look for purges: %w", err)
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, fmt.Errorf("look for purges: %w", err)
	}
	return names, nil
}

// PurgeTexts returns the texts of the purge that a row announces, nil when no machine needs them any more.
func (l *Log) PurgeTexts(ctx context.Context, space, seq int64) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	var raw *string
	err := l.conn.QueryRow(ctx, "SELECT texts FROM memsidecar.purge WHERE space = $1 AND seq = $2", space, seq).Scan(&raw)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, fmt.Errorf("what row %d of the log erases is missing: %w", seq, ErrDamaged)
	}
	if err != nil {
		return nil, fmt.Errorf("read what row %d of the log erases: %w", seq, err)
	}
	return decodeTexts(raw)
}

// decodeTexts reads the texts of a purge.
func decodeTexts(raw *string) (texts []string, err error) {
	if raw == nil {
		return nil, nil
	}
	if err := json.Unmarshal([]byte(*raw), &texts); err != nil {
		return nil, fmt.Errorf("the texts of a purge: %w", ErrDamaged)
	}
	return texts, nil
}

// Wake wakes everybody who follows a space.
func (l *Log) Wake(ctx context.Context, space int64) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	batch := &pgx.Batch{}
	announce(batch, space)
	if err := l.conn.SendBatch(ctx, batch).Close(); err != nil {
		return fmt.Errorf("wake the other machines: %w", err)
	}
	return nil
}
