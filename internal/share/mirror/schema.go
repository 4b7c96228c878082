package mirror

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/share/pglog"
)

//go:embed migrations/*.sql
var migrations embed.FS

//go:embed rights.sql
var rights string

// Rights returns the SQL that gives the roles of pglog.Roles their rights on the tables of mirrors, and puts these under
// row-level security where it is on. It can be run at any time, again too, and belongs behind pglog.Roles.
func Rights() string { return rights }

// versions are the migrations in order, apart from those of the log: a database need not have a mirror.
var versions = []string{"0001_memories.sql"}

// prelude creates what every migration needs. It can be repeated.
const prelude = `CREATE TABLE IF NOT EXISTS memsidecar.mirror_migration (
  version    bigint PRIMARY KEY,
  applied_at timestamptz NOT NULL DEFAULT now()
);
`

// dropAll removes the tables of mirrors, or what somebody left of them.
const dropAll = "DROP TABLE IF EXISTS memsidecar.memories, memsidecar.mirror, memsidecar.mirror_maker, " +
	"memsidecar.mirror_migration;\n"

// What tables and columns there must be.
const (
	hasMemories = "to_regclass('memsidecar.memories') IS NOT NULL"
	hasRest     = "to_regclass('memsidecar.mirror') IS NOT NULL AND to_regclass('memsidecar.mirror_maker') IS NOT NULL AND " +
		"(SELECT count(*) = 2 FROM pg_attribute WHERE attrelid = to_regclass('memsidecar.memories') AND " +
		"attname IN ('e5', 'minilm') AND NOT attisdropped)"
)

// lockKey is the advisory lock that migrations of one database take turns with.
const lockKey = 0x6d656d6d6972726f

// Schema returns the SQL that creates the tables of mirrors beside those of the log, with Rights, as one transaction. It
// can be run again, and does what Migrate does.
func Schema() string {
	var b strings.Builder
	b.WriteString("BEGIN;\nDO $mirror$ BEGIN\nIF NOT (" + hasMemories + " AND " + hasRest + ") THEN\n" + dropAll +
		"END IF;\nEND $mirror$;\n" + prelude)
	for i := range versions {
		fmt.Fprintf(&b, "\nDO $mirror$ BEGIN\nIF NOT EXISTS (SELECT FROM memsidecar.mirror_migration WHERE version = %d) THEN\n"+
			"%sEND IF;\nEND $mirror$;\n", i+1, migration(i))
	}
	b.WriteString("\n" + rights + "\nCOMMIT;\n")
	return b.String()
}

// migration is the SQL of one version with the row that records it.
func migration(i int) string {
	sql, err := migrations.ReadFile("migrations/" + versions[i])
	if err != nil {
		panic(err) // it is embedded
	}
	return fmt.Sprintf("%s\nINSERT INTO memsidecar.mirror_migration (version) VALUES (%d);\n", sql, i+1)
}

// querier is a connection or a transaction.
type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// condition is what somebody left of the tables.
type condition int

const (
	none   condition = iota
	broken           // some of them, or not all columns: DROP EXTENSION takes those of its types
	whole
)

// inspect looks at the tables of mirrors.
func inspect(ctx context.Context, conn querier) (condition, error) {
	var memories, rest bool
	err := conn.QueryRow(ctx, "SELECT "+hasMemories+", "+hasRest).Scan(&memories, &rest)
	switch {
	case err != nil:
		return none, wrap(err, "look for the mirror")
	case memories && rest:
		return whole, nil
	case memories:
		return broken, nil
	}
	return none, nil
}

// Migrate creates the tables, again where some of them were dropped. Errors: ErrNoExtension, memory.ErrNewerVersion.
func (m *Mirror) Migrate(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	is, err := inspect(ctx, m.conn)
	if err != nil {
		return err
	}
	if version, err := m.version(ctx); err != nil || is == whole && version == len(versions) {
		return err
	}
	if err := m.CheckExtension(ctx); err != nil {
		return err
	}
	return pgx.BeginFunc(ctx, m.conn, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock($1)", int64(lockKey)); err != nil {
			return wrap(err, "wait for other migrations")
		}
		is, err := inspect(ctx, tx)
		if err != nil {
			return err
		}
		sql := prelude
		if is != whole { // somebody dropped what was there, or some of it
			sql = dropAll + prelude
		}
		if _, err := tx.Conn().PgConn().Exec(ctx, sql).ReadAll(); err != nil {
			return wrap(err, "create the mirror")
		}
		version := 0
		if err := tx.QueryRow(ctx, "SELECT coalesce(max(version), 0) FROM memsidecar.mirror_migration").Scan(&version); err != nil {
			return wrap(err, "read the version of the mirror")
		}
		for i := version; i < len(versions); i++ {
			if _, err := tx.Conn().PgConn().Exec(ctx, migration(i)).ReadAll(); err != nil {
				return wrap(err, "create the mirror")
			}
		}
		_, err = tx.Conn().PgConn().Exec(ctx, rights).ReadAll()
		return wrap(err, "give rights on the mirror")
	})
}

// version is the version of the tables, 0 when there are none. Error: memory.ErrNewerVersion.
func (m *Mirror) version(ctx context.Context) (version int, err error) {
	var there bool
	err = m.conn.QueryRow(ctx, "SELECT to_regclass('memsidecar.mirror_migration') IS NOT NULL").Scan(&there)
	if err != nil || !there {
		return 0, wrap(err, "look for the mirror")
	}
	err = m.conn.QueryRow(ctx, "SELECT coalesce(max(version), 0) FROM memsidecar.mirror_migration").Scan(&version)
	if err == nil && version > len(versions) {
		err = fmt.Errorf("the mirror has version %d, and this program knows %d: %w; update this program", version,
			len(versions), memory.ErrNewerVersion)
	}
	return version, wrap(err, "read the version of the mirror")
}

// CheckExtension says whether the server can keep vectors. Error: ErrNoExtension.
func (m *Mirror) CheckExtension(ctx context.Context) error {
	var known bool
	err := m.conn.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_available_extensions WHERE name = 'vector')").Scan(&known)
	if err == nil && !known {
		err = ErrNoExtension
	}
	return wrap(err, "create the mirror")
}

// Begin has a space mirrored from now on; Follow does the rest. What is mirrored already stays. Errors: those of
// Migrate, pglog.ErrNoSpace, ErrOtherMaker.
func (m *Mirror) Begin(ctx context.Context, space int64) error {
	if err := m.Migrate(ctx); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	return pgx.BeginFunc(ctx, m.conn, func(tx pgx.Tx) error {
		// A purge that does not know of the mirror must have ended before a snapshot is read.
		tag, err := tx.Exec(ctx, "SELECT FROM memsidecar.space WHERE id = $1 FOR UPDATE", space)
		if err == nil && tag.RowsAffected() == 0 {
			err = pglog.ErrNoSpace
		}
		if err != nil {
			return wrap(err, "begin the mirror")
		}
		if _, err := tx.Exec(ctx, "INSERT INTO memsidecar.mirror (space) VALUES ($1) ON CONFLICT DO NOTHING", space); err != nil {
			return wrap(err, "begin the mirror")
		}
		return m.setMakers(ctx, tx, "ON CONFLICT DO NOTHING")
	})
}

// setMakers records the versions of what analyses and embeds, and compares them. Error: ErrOtherMaker.
func (m *Mirror) setMakers(ctx context.Context, tx pgx.Tx, conflict string) error {
	for _, name := range slices.Sorted(maps.Keys(m.format.Makers)) {
		identity := ""
		_, err := tx.Exec(ctx, "INSERT INTO memsidecar.mirror_maker (name, identity) VALUES ($1, $2) "+conflict, name,
			m.format.Makers[name])
		if err == nil {
			err = tx.QueryRow(ctx, "SELECT identity FROM memsidecar.mirror_maker WHERE name = $1", name).Scan(&identity)
		}
		if err == nil && identity != m.format.Makers[name] {
			err = fmt.Errorf("%s: %w", name, ErrOtherMaker)
		}
		if err != nil {
			return wrap(err, "compare the versions of the mirror")
		}
	}
	return nil
}

// Rebuild makes the mirror of a space anew. With own, one of another version is given up: all mirrors of the database
// are made anew by this version. Errors are those of Begin.
func (m *Mirror) Rebuild(ctx context.Context, space int64, own bool) error {
	if err := m.Migrate(ctx); err != nil {
		return err
	}
	if err := m.empty(ctx, space, own); err != nil {
		return wrap(err, "empty the mirror")
	}
	return m.Begin(ctx, space)
}

// empty removes the mirror of a space, or of all when another version made them and that one is given up.
func (m *Mirror) empty(ctx context.Context, space int64, own bool) error {
	ctx, cancel := context.WithTimeout(ctx, fillTimeout)
	defer cancel()
	return pgx.BeginFunc(ctx, m.conn, func(tx pgx.Tx) error {
		err := m.setMakers(ctx, tx, "ON CONFLICT DO NOTHING")
		if own && errors.Is(err, ErrOtherMaker) {
			if _, err := tx.Exec(ctx, "DELETE FROM memsidecar.mirror"); err != nil {
				return err
			}
			return m.setMakers(ctx, tx, "ON CONFLICT (name) DO UPDATE SET identity = excluded.identity")
		}
		if err == nil {
			_, err = tx.Exec(ctx, "DELETE FROM memsidecar.mirror WHERE space = $1", space)
		}
		return err
	})
}
