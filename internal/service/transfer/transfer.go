// Package transfer moves the contents of spaces between stores: export as JSON lines or as a memory.json
// (export.go), and import of both (import*.go). An import is not a restore: ids, times and evidence are kept, but
// the operations are new, and what is there already stays as it is.
package transfer

import (
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/search"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/durable"
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

// Neighbours compares texts with memories.
type Neighbours interface {
	// Among returns a function that finds at most k of the memories that are most similar to a text, best first. A
	// score of 1 means the same text. Nil when there are no memories.
	Among(memories []*memory.Memory) func(text string, k int) []search.Hit
}

// New returns a Service on st, whose published files are in fsys. The location of now's times is the time zone of
// daily logs. A nil near restricts the search for duplicates, on imports from other systems, to equal texts.
func New(st *store.Store, fsys durable.FS, near Neighbours, now func() time.Time) *Service {
	return &Service{store: st, fs: fsys, near: near, now: now}
}

// The kinds of things, as counts and skipped things name them.
const (
	Memory      = "memory"
	Day         = "day"
	Entry       = "entry"
	Archived    = "archived" // the record of an archived log
	Session     = "session"
	Summary     = "summary"
	Forgotten   = "forgotten"
	message     = "message" // a part of a session
	unknownLine = "line"    // that could not be understood
)

// kinds is the order of kinds in reports.
var kinds = []string{Memory, Day, Entry, Archived, Session, Summary, Forgotten, unknownLine}
