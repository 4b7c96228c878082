package pglog

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Space is a shared space as the database has it.
type Space struct {
	ID   int64
	Name string
	Log  string // identity of the log: two databases may both have a space of one name
	Head Head
}

// Head is a position in a log with the hash of the row there.
type Head struct {
	Seq  int64
	Hash []byte
}

// Equal reports whether two heads are the same position in the same log.
func (h Head) Equal(other Head) bool { return h.Seq == other.Seq && bytes.Equal(h.Hash, other.Hash) }

// Row is one operation. Epoch is the line of the origin, from a joining to the next one; in it, Op is there once.
type Row struct {
	Seq           int64
	Origin, Epoch string
	Op            int64
	At            time.Time
	Record        string
	Hash          []byte
	// Replaced is the hash of what a purge put in place of the record, nil for most rows. Hash stays that of the record
	// before, so the chain goes on.
	Replaced []byte
}

// Member is a machine that takes part.
type Member struct {
	Origin, Epoch, Host string
	Position            int64
}

// Start is the position before the first row.
func (s *Space) Start() Head { return Head{Hash: start(s.Log)} }

// start is the hash before the first row of a log.
func start(log string) []byte {
	sum := sha256.Sum256([]byte("memsidecar log " + log))
	return sum[:]
}

// hasher makes the hashes of rows. It uses one buffer for all of them.
type hasher struct{ text []byte }

// chain is the hash of a row behind a row with hash before.
func (h *hasher) chain(r *Row, before []byte) []byte {
	var number [32]byte
	h.text = h.text[:0]
	addPart(h, before)
	addPart(h, strconv.AppendInt(number[:0], r.Seq, 10))
	addPart(h, r.Origin)
	addPart(h, r.Epoch)
	addPart(h, strconv.AppendInt(number[:0], r.Op, 10))
	addPart(h, r.At.UTC().AppendFormat(make([]byte, 0, len(time.RFC3339Nano)), time.RFC3339Nano))
	addPart(h, r.Record)
	sum := sha256.Sum256(h.text)
	return sum[:]
}

// addPart adds a part of a row, behind its length.
func addPart[T []byte | string](h *hasher, part T) {
	h.text = append(binary.BigEndian.AppendUint64(h.text, uint64(len(part))), part...)
}

// replacement is the hash of a record that a purge put in place of another one.
func replacement(hash []byte, record string) []byte {
	sum := sha256.Sum256(append(append([]byte("replaced "), hash...), record...))
	return sum[:]
}

// matches reports whether a row, behind a row with hash before, is as it was appended or as a purge left it.
func (h *hasher) matches(r *Row, before []byte) bool {
	if r.Replaced != nil {
		return bytes.Equal(r.Replaced, replacement(r.Hash, r.Record))
	}
	return bytes.Equal(r.Hash, h.chain(r, before))
}

// Find returns a space by its name. Error: ErrNoSpace.
func (l *Log) Find(ctx context.Context, name string) (s Space, err error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	s.Name = name
	err = l.conn.QueryRow(ctx, "SELECT id, log, head, hash FROM memsidecar.space WHERE name = $1", name).
		Scan(&s.ID, &s.Log, &s.Head.Seq, &s.Head.Hash)
	if errors.Is(err, pgx.ErrNoRows) {
		return s, fmt.Errorf("space %q: %w", name, ErrNoSpace)
	}
	if err != nil {
		return s, fmt.Errorf("look for space %q: %w", name, err)
	}
	return s, nil
}

// CheckWrite tries whether the user may append to a space. It changes nothing. Error: ErrMayNotWrite.
func (l *Log) CheckWrite(ctx context.Context, space int64) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	var rights bool
	err := l.conn.QueryRow(ctx, "SELECT has_table_privilege('memsidecar.log', 'INSERT') AND "+
		"has_any_column_privilege('memsidecar.space', 'UPDATE')").Scan(&rights)
	if err != nil {
		return fmt.Errorf("look for rights: %w", err)
	}
	if !rights {
		return ErrMayNotWrite
	}
	// Row-level security may refuse one space. Only an attempt shows it.
	errTried := errors.New("tried")
	err = pgx.BeginFunc(ctx, l.conn, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "UPDATE memsidecar.space SET head = head WHERE id = $1", space); err != nil {
			return err
		}
		return errTried
	})
	switch {
	case errors.Is(err, errTried):
		return nil
	case IsForbidden(err):
		return ErrMayNotWrite
	}
	return fmt.Errorf("look for rights: %w", err)
}

// Create creates a space whose state at position 0 is the snapshot. Error: ErrSpaceExists.
func (l *Log) Create(ctx context.Context, name, log string, snapshot [][]byte) (s Space, err error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	s = Space{Name: name, Log: log, Head: Head{Hash: start(log)}}
	err = pgx.BeginFunc(ctx, l.conn, func(tx pgx.Tx) error {
		err := tx.QueryRow(ctx, "INSERT INTO memsidecar.space (name, log, hash) VALUES ($1, $2, $3) RETURNING id", name, log, s.Head.Hash).
			Scan(&s.ID)
		if err != nil {
			return err
		}
		return putSnapshot(ctx, tx, s.ID, s.Head, snapshot)
	})
	if e, ok := errors.AsType[*pgconn.PgError](err); ok && e.Code == "23505" {
		return s, fmt.Errorf("space %q: %w", name, ErrSpaceExists)
	}
	if err != nil {
		return s, fmt.Errorf("create space %q: %w", name, err)
	}
	return s, nil
}

// Read returns the rows behind a head, at most limit, each checked against the chain of hashes. When there are none,
// the head of the log is compared too. Errors: ErrDamaged, ErrNoSpace.
func (l *Log) Read(ctx context.Context, space int64, after Head, limit int) ([]Row, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	rows, err := l.conn.Query(ctx, "SELECT seq, origin, epoch, op, at, record, hash, replaced FROM memsidecar.log "+
		"WHERE space = $1 AND seq > $2 ORDER BY seq LIMIT $3", l.often, space, after.Seq, int64(limit))
	if err != nil {
		return nil, fmt.Errorf("read the log: %w", err)
	}
	found, err := pgx.AppendRows(make([]Row, 0, 16), rows, func(row pgx.CollectableRow) (r Row, err error) {
		return r, row.Scan(&r.Seq, &r.Origin, &r.Epoch, &r.Op, &r.At, &r.Record, &r.Hash, &r.Replaced)
	})
	if err != nil {
		return nil, fmt.Errorf("read the log: %w", err)
	}
	var h hasher
	for i := range found {
		r := &found[i]
		r.At = r.At.UTC()
		if r.Seq != after.Seq+1 {
			return nil, fmt.Errorf("row %d of the log is missing: %w", after.Seq+1, ErrDamaged)
		}
		if !h.matches(r, after.Hash) {
			return nil, fmt.Errorf(
				"row %d of the log does not match its hash: somebody changed it, or the row before: %w",
				r.Seq,
				ErrDamaged,
			)
		}
		after = Head{r.Seq, r.Hash}
	}
	if len(found) == 0 {
		return nil, l.checkHead(ctx, space, after)
	}
	return found, nil
}

// Heads returns the heads of the logs of some spaces, by the numbers of the spaces. One that was removed, or that this
// user may not see, is not among them.
func (l *Log) Heads(ctx context.Context, spaces []int64) (map[int64]Head, error) {
	if len(spaces) == 0 {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	rows, err := l.conn.Query(ctx, "SELECT id, head, hash FROM memsidecar.space WHERE id = ANY($1)", spaces)
	if err != nil {
		return nil, fmt.Errorf("read the heads of the logs: %w", err)
	}
	heads := make(map[int64]Head, len(spaces))
	var id int64
	var head Head
	_, err = pgx.ForEachRow(rows, []any{&id, &head.Seq, &head.Hash}, func() error {
		heads[id] = Head{head.Seq, bytes.Clone(head.Hash)}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the heads of the logs: %w", err)
	}
	return heads, nil
}

// checkHead compares the head of a log with what the caller has received, when nothing is behind it.
func (l *Log) checkHead(ctx context.Context, space int64, known Head) error {
	var head Head
	err := l.conn.QueryRow(ctx, "SELECT head, hash FROM memsidecar.space WHERE id = $1", space).
		Scan(&head.Seq, &head.Hash)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return fmt.Errorf("it was removed from the database, or this user may not see it any more: %w", ErrNoSpace)
	case err != nil:
		return fmt.Errorf("read the head of the log: %w", err)
	case head.Seq < known.Seq:
		return fmt.Errorf(
			"the log ends at row %d, and row %d was received from it before: the database is older: %w",
			head.Seq,
			known.Seq,
			ErrDamaged,
		)
	case head.Seq == known.Seq && !bytes.Equal(head.Hash, known.Hash):
		return fmt.Errorf(
			"row %d is not the one that was received before: the log was replaced: %w",
			known.Seq,
			ErrDamaged,
		)
	}
	return nil
}

// move moves the head of a space, which keeps others from appending until the transaction ends. Error: ErrBehind.
func move(ctx context.Context, tx pgx.Tx, space int64, from, to Head) error {
	tag, err := tx.Exec(
		ctx,
		"UPDATE memsidecar.space SET head = $1, hash = $2 WHERE id = $3 AND head = $4 AND hash = $5",
		to.Seq,
		to.Hash,
		space,
		from.Seq,
		from.Hash,
	)
	if err == nil && tag.RowsAffected() == 0 {
		return ErrBehind
	}
	return err
}

// insert queues the insertion of a row.
func (r *Row) insert(batch *pgx.Batch, space int64) {
	batch.Queue(
		"INSERT INTO memsidecar.log (space, seq, origin, epoch, op, at, record, hash) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
		space,
		r.Seq,
		r.Origin,
		r.Epoch,
		r.Op,
		r.At,
		r.Record,
		r.Hash,
	)
}

// announce queues the waking of everybody who follows a space.
func announce(batch *pgx.Batch, space int64) {
	batch.Queue("SELECT pg_notify($1, $2)", channel, strconv.FormatInt(space, 10))
}

// Newest returns the number of the newest operation of a line in the rows up to seq, 0 for none.
func (l *Log) Newest(ctx context.Context, space int64, origin, epoch string, seq int64) (op int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	err = l.conn.QueryRow(ctx, "SELECT coalesce(max(op), 0) FROM memsidecar.log WHERE space = $1 AND origin = $2 AND "+
		"epoch = $3 AND seq <= $4", space, origin, epoch, seq).Scan(&op)
	if err != nil {
		return 0, fmt.Errorf("look for the operations of another machine: %w", err)
	}
	return op, nil
}

// SetMember records how far a machine has received.
func (l *Log) SetMember(ctx context.Context, space int64, m Member) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	_, err := l.conn.Exec(
		ctx,
		"INSERT INTO memsidecar.member (space, origin, epoch, host, position) VALUES ($1, $2, $3, $4, $5) "+
			"ON CONFLICT (space, origin, epoch) DO UPDATE SET host = excluded.host, position = excluded.position, seen_at = now()",
		space,
		m.Origin,
		m.Epoch,
		m.Host,
		m.Position,
	)
	if err != nil {
		return fmt.Errorf("record the position of this machine: %w", err)
	}
	return nil
}

// RemoveMember removes a machine that leaves.
func (l *Log) RemoveMember(ctx context.Context, space int64, origin, epoch string) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	if _, err := l.conn.Exec(ctx, "DELETE FROM memsidecar.member WHERE space = $1 AND origin = $2 AND epoch = $3",
		space, origin, epoch); err != nil {
		return fmt.Errorf("remove this machine from the space: %w", err)
	}
	return nil
}

// FormerMember returns how far a store had received in its earlier lines, the lowest of them; known is false when it
// has none.
func (l *Log) FormerMember(ctx context.Context, space int64, origin, epoch string) (position int64, known bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	var lowest *int64
	err = l.conn.QueryRow(ctx, "SELECT min(position) FROM memsidecar.member WHERE space = $1 AND origin = $2 AND "+
		"epoch <> $3", space, origin, epoch).Scan(&lowest)
	if err != nil {
		return 0, false, fmt.Errorf("look for earlier positions of this machine: %w", err)
	}
	if lowest == nil {
		return 0, false, nil
	}
	return *lowest, true, nil
}

// RemoveFormer removes the earlier lines of a store from the list of a space.
func (l *Log) RemoveFormer(ctx context.Context, space int64, origin, epoch string) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	if _, err := l.conn.Exec(ctx, "DELETE FROM memsidecar.member WHERE space = $1 AND origin = $2 AND epoch <> $3",
		space, origin, epoch); err != nil {
		return fmt.Errorf("remove earlier positions of this machine: %w", err)
	}
	return nil
}
