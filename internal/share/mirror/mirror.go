// Package mirror keeps the memories of shared spaces as rows in the database of their log, with terms and vectors, for
// SQL and for searches of more than one machine holds. The extension vector (pgvector) is needed.
//
// The mirror is derived from the log and may be dropped at any time. Each row of the log is mirrored once, whoever does
// it: the position of a space moves in the transaction that mirrors its rows, and one machine at a time does so.
// Vectors come later, when a machine has made them; the column pending says which are missing. What a purge erases from
// the log it erases here in the same transaction, see Eraser.Erase.
package mirror

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/share/merge"
	"github.com/memsidecar/memsidecar/internal/share/pglog"
)

// The errors of the package. Others are those of the driver and of the Format.
var (
	// ErrNoExtension says that the server cannot keep vectors.
	ErrNoExtension = errors.New("the PostgreSQL server has no extension vector (pgvector)")
	// ErrNoMirror says that a space is not mirrored, or that the mirror was dropped.
	ErrNoMirror = errors.New("the space has no mirror")
	// ErrOtherMaker says that terms or vectors were made by another version of the program.
	ErrOtherMaker = errors.New("the mirror was made by another version of memsidecar")
)

// callTimeout bounds one call, fillTimeout the mirroring of a snapshot.
const (
	callTimeout = 60 * time.Second
	fillTimeout = 30 * time.Minute
)

// Dim is the number of dimensions of a vector.
const Dim = 384

// Models are the models with a column.
var models = []string{"e5", "minilm"}

// Format turns what the log holds into memories, and says what a mirror has of a memory beside its fields.
type Format struct {
	// Changes are those of a row of the log.
	Changes func(row *pglog.Row) ([]merge.Change, error)
	// Values are those of a part of a snapshot.
	Values func(part string) (merge.Values, error)
	// Describe analyses a memory.
	Describe func(m *memory.Memory) Description
	// Makers name the versions of what analyses and embeds, as in the table mirror_maker. A model that is not named is
	// neither written nor read.
	Makers map[string]string
}

// Description is what a mirror has of a memory beside its fields.
type Description struct {
	Terms   []string // distinct, as they are searched
	Length  int64    // words, weighted
	Key     []byte   // of the text that is embedded
	Session string   // in which it was learnt, "" for none
}

// Mirror is a connection to a database with mirrors. It is used by one goroutine at a time. After an error of the
// network it is closed: Close it and Connect again.
type Mirror struct {
	conn   *pgx.Conn
	format *Format
}

// Connect opens a connection, see pglog.Connect.
func Connect(ctx context.Context, address string, format *Format) (*Mirror, error) {
	conn, err := pglog.Dial(ctx, address)
	if err != nil {
		return nil, err
	}
	return &Mirror{conn, format}, nil
}

// Close ends the connection.
func (m *Mirror) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	return m.conn.Close(ctx)
}

// IsDropped reports whether an error says that a table of the mirror is missing, or a space in it.
func IsDropped(err error) bool {
	e, ok := errors.AsType[*pgconn.PgError](err)
	return errors.Is(err, ErrNoMirror) || ok && (e.Code == "42P01" || e.Code == "3F000" || e.Code == "42703")
}

// ofMirror is what a refusal of the server says when it is about a mirror.
var ofMirror = regexp.MustCompile("mirror|memories|extension")

// Advice says what a person can do about an error, "" when there is nothing special.
func Advice(err error) string {
	switch {
	case errors.Is(err, ErrNoExtension):
		return "install it on the server, with `apt-get install postgresql-16-pgvector` (the number is the server's " +
			"version), `dnf install pgvector_16` or `brew install pgvector`, and try again; without it spaces are shared " +
			"as ever, and not mirrored"
	case errors.Is(err, ErrOtherMaker):
		return "update this program; when it is the newest, `memsidecar share vectors SPACE --rebuild` makes the mirror anew"
	}
	if e, ok := errors.AsType[*pgconn.PgError](err); ok && e.Code == "42501" && ofMirror.MatchString(e.Message) {
		return "the user lacks rights: let an administrator of the database run what `memsidecar share schema --vectors` " +
			"prints, and grant them"
	}
	return pglog.Advice(err)
}

// IsUnreachable reports whether an error of Connect says that nobody answered, or that the server takes no connections
// now: unlike after a refusal, waiting helps.
func IsUnreachable(err error) bool {
	_, tried := errors.AsType[*pgconn.ConnectError](err)
	answer, answered := errors.AsType[*pgconn.PgError](err)
	return tried && (!answered || strings.HasPrefix(answer.Code, "57P") || strings.HasPrefix(answer.Code, "53"))
}

// IsAway reports whether an error ended the connection.
func (m *Mirror) IsAway(err error) bool {
	return err != nil && m.conn.IsClosed() && !pglog.IsRefusal(err)
}

// quoted are terms as queries of full text.
func quoted(terms []string) []string {
	out := make([]string, len(terms))
	for i, t := range terms {
		out[i] = "'" + strings.NewReplacer(`\`, `\\`, `'`, `''`).Replace(t) + "'"
	}
	return out
}

// maxTerm is the longest term in bytes that a tsvector takes.
const maxTerm = 2046

// storable are the terms that a tsvector takes.
func storable(terms []string) []string {
	out := make([]string, 0, len(terms))
	for _, t := range terms {
		if t != "" && len(t) <= maxTerm && !strings.Contains(t, "\x00") {
			out = append(out, t)
		}
	}
	return out
}

// text is a string that PostgreSQL takes: it knows no character 0.
func text(s string) string { return strings.ReplaceAll(s, "\x00", "\uFFFD") }

// wrap says what was done when an error came; nil stays nil.
func wrap(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf(format+": %w", append(args, err)...)
}
