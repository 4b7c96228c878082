// Package transfer takes what spaces hold out of a store and into another: export as lines of JSON or as a memory.json, and import of both. An import is
// never a restore: ids, times and evidence are kept, but the operations are new ones, and what is there already is left as it is.
package transfer

import (
	"context"
	"time"

	"github.com/memsidecar/memsidecar/internal/durable"
	"github.com/memsidecar/memsidecar/internal/search"
	"github.com/memsidecar/memsidecar/internal/store"
)

// Version of the line format. A newer one is refused.
const Version = 1

// kindExport marks the first line of an export.
const kindExport = "export"

// Service exports and imports. It is safe for concurrent use.
type Service struct {
	store *store.Store
	fs    durable.FS
	near  Neighbours
	now   func() time.Time
}

// Neighbours finds the memories of a space that say nearly the same as a text, best first; a score of 1 means the same text.
type Neighbours interface {
	Similar(ctx context.Context, space, text string, k int) ([]search.Hit, error)
}

// New returns a Service on st, whose published files are in fsys. The location of now's times is the time zone of daily logs. Without near, an import from
// another system recognises only what is the same to the letter.
func New(st *store.Store, fsys durable.FS, near Neighbours, now func() time.Time) *Service {
	return &Service{store: st, fs: fsys, near: near, now: now}
}

// The kinds of things, as counts and skipped things name them.
const (
	Memory    = "memory"
	Day       = "day"
	Entry     = "entry"
	Archived  = "archived" // the record of an archived log
	Session   = "session"
	Summary   = "summary"
	Forgotten = "forgotten"
	message   = "message" // a part of a session
	unknown   = "line"    // that could not be understood
)

// kinds is the order of reports.
var kinds = []string{Memory, Day, Entry, Archived, Session, Summary, Forgotten, unknown}
