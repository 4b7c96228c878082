package pglog

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/memsidecar/memsidecar/internal/memory"
)

//go:embed migrations/*.sql
var migrations embed.FS

//go:embed roles/*.sql
var roles embed.FS

// versions are the migrations in order; the version of a schema is how many of them it has.
var versions = []string{"0001_log.sql", "0002_purge.sql"}

// prelude creates what every migration needs. It can be repeated.
const prelude = `CREATE SCHEMA IF NOT EXISTS memsidecar;
CREATE TABLE IF NOT EXISTS memsidecar.migration (
  version    bigint PRIMARY KEY,
  applied_at timestamptz NOT NULL DEFAULT now()
);
`

// lockKey is the advisory lock that migrations of one database take turns with.
const lockKey = 0x6d656d7369646563

// Version is the newest version of the schema.
func Version() int { return len(versions) }

// Schema returns the SQL that brings a database from a version, 0 for none, to the newest one, as one transaction. It
// can be run again.
func Schema(from int) string {
	var b strings.Builder
	b.WriteString("BEGIN;\n" + prelude)
	for i := from; i < len(versions); i++ {
		fmt.Fprintf(&b, "\nDO $log$ BEGIN\nIF NOT EXISTS (SELECT FROM memsidecar.migration WHERE version = %d) THEN\n"+
			"%sEND IF;\nEND $log$;\n", i+1, migration(i))
	}
	b.WriteString("\nCOMMIT;\n")
	return b.String()
}

// Roles returns the SQL of the roles reader, writer and administrator; with bySpace also that of row-level security, by
// which an administrator decides who sees which space. The schema must be there. It can be run again, with and without
// bySpace, and leaves the permissions that were given.
func Roles(bySpace bool) string {
	names := []string{"roles/roles.sql", "roles/by_space.sql"}
	if !bySpace {
		names = names[:1]
	}
	var b strings.Builder
	for _, name := range names {
		text, err := roles.ReadFile(name)
		if err != nil {
			panic(err) // it is embedded
		}
		b.Write(text)
	}
	return b.String()
}

// migration is the SQL of one version with the row that records it.
func migration(i int) string {
	text, err := migrations.ReadFile("migrations/" + versions[i])
	if err != nil {
		panic(err) // it is embedded
	}
	return fmt.Sprintf("%s\nINSERT INTO memsidecar.migration (version) VALUES (%d);\n", text, i+1)
}

// checkSchema compares the version of the database's schema with the program's. Errors: ErrNoSchema, ErrOldSchema,
// memory.ErrNewerVersion.
func (l *Log) checkSchema(ctx context.Context) (version int, err error) {
	var there bool
	err = l.conn.QueryRow(ctx, "SELECT to_regclass('memsidecar.migration') IS NOT NULL").Scan(&there)
	switch {
	case err != nil:
		return 0, fmt.Errorf("look for the schema: %w", err)
	case !there:
		return 0, ErrNoSchema
	}
	if err := l.conn.QueryRow(ctx, "SELECT coalesce(max(version), 0) FROM memsidecar.migration").Scan(&version); err != nil {
		return 0, fmt.Errorf("read the version of the schema: %w", err)
	}
	switch {
	case version > len(versions):
		return version, fmt.Errorf(
			"the database has version %d of the schema, and this program knows %d: %w; update this program",
			version,
			len(versions),
			memory.ErrNewerVersion,
		)
	case version < len(versions):
		return version, ErrOldSchema
	}
	return version, nil
}

// Migrate creates the schema, or brings it to the newest version. Programs that do so at the same time take turns.
func (l *Log) Migrate(ctx context.Context) error {
	_, err := l.checkSchema(ctx)
	if !errors.Is(err, ErrNoSchema) && !errors.Is(err, ErrOldSchema) {
		return err
	}
	return pgx.BeginFunc(ctx, l.conn, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock($1)", int64(lockKey)); err != nil {
			return fmt.Errorf("wait for other migrations: %w", err)
		}
		if _, err := tx.Conn().PgConn().Exec(ctx, prelude).ReadAll(); err != nil {
			return fmt.Errorf("create the schema: %w", err)
		}
		version := 0
		if err := tx.QueryRow(ctx, "SELECT coalesce(max(version), 0) FROM memsidecar.migration").Scan(&version); err != nil {
			return fmt.Errorf("read the version of the schema: %w", err)
		}
		for i := version; i < len(versions); i++ {
			if _, err := tx.Conn().PgConn().Exec(ctx, migration(i)).ReadAll(); err != nil {
				return fmt.Errorf("bring the schema to version %d: %w", i+1, err)
			}
		}
		return nil
	})
}
