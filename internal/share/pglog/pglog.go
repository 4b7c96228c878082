// Package pglog keeps the logs of shared spaces in PostgreSQL: schema, append, read, snapshots, notifications. It knows
// rows, and not what their records mean.
//
// A Log is one connection and is used by one goroutine at a time. After an error of the network it is closed: Close it
// and Connect again. A commit whose reply was lost may have happened; the reader of the log sees whether it did.
package pglog

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// The errors of the package. Others are those of the driver.
var (
	ErrNoSchema    = errors.New("the database has no schema of memsidecar")
	ErrOldSchema   = errors.New("the database has an older schema of memsidecar")
	ErrNoSpace     = errors.New("the database has no such space")
	ErrSpaceExists = errors.New("the database has a space of this name")
	// ErrBehind means that others appended since the head that the caller knows.
	ErrBehind = errors.New("others appended first")
	// ErrMayNotWrite means that the user may read a space and not write to it.
	ErrMayNotWrite = errors.New("this user may not write to the space")
	ErrDamaged     = errors.New("the log is damaged")
	// ErrTaken means that the log has another row for an operation.
	ErrTaken = errors.New("the log has this operation of this machine already, as another row")
)

// connectTimeout bounds a connection attempt, callTimeout one call.
const (
	connectTimeout = 10 * time.Second
	callTimeout    = 60 * time.Second
)

// channel is where a commit is announced; the payload is the number of the space, and of the newest row where rows were
// appended.
const channel = "memsidecar"

// Log is a connection to a database with logs.
type Log struct {
	conn *pgx.Conn
	// often is how the statements of each exchange are executed.
	often pgx.QueryExecMode
	// prepared says that the session has the statement of Append.
	prepared bool
	// heard is what was announced and not returned by Wait or Heard yet: the newest row by the number of the space.
	heard map[int64]int64
}

// Connect opens a connection. For a host that is not this machine TLS with a checked certificate and name is required,
// unless the address, its service file or PGSSLMODE chooses another mode; in a service file "prefer" is no choice.
// Errors never contain the password.
func Connect(ctx context.Context, address string) (*Log, error) {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	l := &Log{heard: map[int64]int64{}}
	var err error
	if l.conn, err = dial(ctx, address, l.hear); err != nil {
		return nil, err
	}
	if err := l.listen(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("listen at %s: %w", Shown(address), err), l.conn.Close(ctx))
	}
	return l, nil
}

// listen asks for announcements, and finds out whether the session is the server's: a pooler gives its clients other
// numbers. Only the server's keeps a prepared statement, which saves half of the time of an append.
func (l *Log) listen(ctx context.Context) error {
	var session uint32
	batch := &pgx.Batch{}
	batch.Queue("LISTEN " + channel)
	batch.Queue("SELECT pg_backend_pid()").QueryRow(func(row pgx.Row) error { return row.Scan(&session) })
	err := l.conn.SendBatch(ctx, batch).Close()
	l.often = pgx.QueryExecModeExec
	if session == l.conn.PgConn().PID() {
		l.often = pgx.QueryExecModeCacheStatement
	}
	return err
}

// ownSession reports whether the session is the server's.
func (l *Log) ownSession() bool { return l.often == pgx.QueryExecModeCacheStatement }

// hear notes an announcement.
func (l *Log) hear(_ *pgconn.PgConn, n *pgconn.Notification) {
	var space, seq int64
	if read, _ := fmt.Sscan(n.Payload, &space, &seq); read < 2 {
		seq = math.MaxInt64
	}
	l.heard[space] = max(l.heard[space], seq)
}

// Dial opens a connection as Connect does, for another table of the database.
func Dial(ctx context.Context, address string) (*pgx.Conn, error) { return dial(ctx, address, nil) }

// dial opens a connection with a handler of announcements.
func dial(ctx context.Context, address string, hear pgconn.NotificationHandler) (*pgx.Conn, error) {
	cfg, err := config(address)
	if err != nil {
		return nil, err
	}
	cfg.OnNotification = hear
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	conn, err := pgx.ConnectConfig(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", Shown(address), err)
	}
	return conn, nil
}

// config parses an address.
func config(address string) (*pgx.ConnConfig, error) {
	cfg, err := pgx.ParseConfig(address)
	if err != nil {
		return nil, fmt.Errorf("the address of the database: %w", err) // the driver leaves the password out
	}
	if isRemote(cfg) && isOpportunistic(cfg) && !names(address, "sslmode") && os.Getenv("PGSSLMODE") == "" {
		if cfg, err = pgx.ParseConfig(withVerification(address)); err != nil {
			return nil, fmt.Errorf("the address of the database: %w", err)
		}
	}
	// Poolers in front of a server may give every transaction another session, which knows no prepared statements.
	cfg.DefaultQueryExecMode = pgx.QueryExecModeExec
	if cfg.RuntimeParams["application_name"] == "" {
		cfg.RuntimeParams["application_name"] = "memsidecar"
	}
	return cfg, nil
}

// isRemote reports whether one of the hosts is not this machine, which is a directory of a Unix socket, or a loopback
// name.
func isRemote(cfg *pgx.ConnConfig) bool {
	local := func(host string) bool {
		return host == "" || strings.HasPrefix(host, "/") || strings.HasPrefix(host, "@") || host == "localhost" ||
			host == "127.0.0.1" || host == "::1"
	}
	return !local(cfg.Host) ||
		slices.ContainsFunc(cfg.Fallbacks, func(f *pgconn.FallbackConfig) bool { return !local(f.Host) })
}

// isOpportunistic reports whether a connection would do with TLS and without: the driver's default, sslmode=prefer.
func isOpportunistic(cfg *pgx.ConnConfig) bool {
	return cfg.TLSConfig != nil &&
		slices.ContainsFunc(cfg.Fallbacks, func(f *pgconn.FallbackConfig) bool { return f.TLSConfig == nil }) ||
		cfg.TLSConfig == nil && slices.ContainsFunc(cfg.Fallbacks, func(f *pgconn.FallbackConfig) bool { return f.TLSConfig != nil })
}

var keyword = regexp.MustCompile(`(?:^|\s)(\w+)\s*=`)

// names reports whether an address in either form has a parameter, whatever its hosts are called.
func names(address, parameter string) bool {
	if u, err := url.Parse(address); err == nil && u.Scheme != "" {
		return u.Query().Has(parameter)
	}
	return slices.ContainsFunc(
		keyword.FindAllStringSubmatch(address, -1),
		func(m []string) bool { return m[1] == parameter },
	)
}

// withVerification adds sslmode=verify-full to an address in either form.
func withVerification(address string) string {
	if u, err := url.Parse(address); err == nil && u.Scheme != "" {
		q := u.Query()
		q.Set("sslmode", "verify-full")
		u.RawQuery = q.Encode()
		return u.String()
	}
	return address + " sslmode=verify-full"
}

// Shown is an address as people may see it: user, host and database, without a password.
func Shown(address string) string {
	cfg, err := pgx.ParseConfig(address)
	if err != nil {
		return "the database"
	}
	host := cfg.Host
	if !strings.HasPrefix(host, "/") {
		host = fmt.Sprintf("%s:%d", host, cfg.Port)
	}
	return fmt.Sprintf("%s@%s/%s", cfg.User, host, cfg.Database)
}

// Close ends the connection.
func (l *Log) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	return l.conn.Close(ctx)
}

// CheckSchema says whether the schema is the one of this program. Errors: ErrNoSchema, ErrOldSchema,
// memory.ErrNewerVersion.
func (l *Log) CheckSchema(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	_, err := l.checkSchema(ctx)
	return err
}

// Wait returns the numbers of spaces about which something was announced: up to which row somebody appended, and
// math.MaxInt64 for something else. There are none when ctx ended first. Behind some poolers nothing is ever announced,
// so callers also poll.
func (l *Log) Wait(ctx context.Context) (rows map[int64]int64, err error) {
	if len(l.heard) == 0 {
		err = l.conn.PgConn().WaitForNotification(ctx)
	}
	if err != nil && (ctx.Err() == nil || l.conn.IsClosed()) {
		return nil, fmt.Errorf("wait for the database: %w", err)
	}
	return l.Heard(), nil
}

// Heard is Wait without waiting: it returns what was announced meanwhile.
func (l *Log) Heard() (rows map[int64]int64) {
	rows, l.heard = l.heard, map[int64]int64{}
	return rows
}

// IsRefusal reports whether the server answered and said no, so that trying again soon is of no use: a wrong password,
// no rights, no such database.
func IsRefusal(err error) bool {
	e, ok := errors.AsType[*pgconn.PgError](err)
	return ok && (strings.HasPrefix(e.Code, "28") || e.Code == "42501" || e.Code == "3D000")
}

// IsForbidden reports whether the user lacks a right, for a table or for a row.
func IsForbidden(err error) bool {
	e, ok := errors.AsType[*pgconn.PgError](err)
	return ok && e.Code == "42501"
}

// Advice says what a person can do about an error of the database, "" when there is nothing special.
func Advice(err error) string {
	e, ok := errors.AsType[*pgconn.PgError](err)
	switch {
	case errors.Is(err, ErrNoSchema), errors.Is(err, ErrOldSchema):
		return "let an administrator of the database run what `memsidecar share schema` prints"
	case errors.Is(err, ErrMayNotWrite):
		return "join with --read-only to receive the space without writing to it, or let an administrator of the database " +
			"grant the rights; see `memsidecar share schema --roles`"
	case !ok:
		return ""
	case strings.HasPrefix(e.Code, "28"):
		return "check the user and the password: in the URL, in ~/.pgpass or in a service file"
	case e.Code == "42501":
		return "the user lacks rights: let an administrator of the database grant them; see `memsidecar share schema --roles`"
	case e.Code == "3D000":
		return "create the database first"
	case strings.HasPrefix(e.Code, "53"):
		return "the server is out of disk space, memory or connections; sharing goes on by itself when it is not"
	}
	return ""
}
