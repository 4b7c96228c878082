// Package view keeps a directory of Markdown files in step with the memories of one space, in both directions: changes
// of the store are written into the files, and edits of the files become changes of the store. The layouts are those
// that agents already read.
//
// The store is the truth. A directory may be deleted and is written again. Text that is only in the directory is never
// overwritten before it is adopted or copied aside. The package reaches the store through the interface Store.
package view

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/memsidecar/memsidecar/internal/memory"
)

// Store is where the memories are. Its calls may take long and may fail; a failed one may be repeated.
type Store interface {
	// Snapshot returns the active memories at one moment, and with logs the daily logs, oldest first.
	Snapshot(ctx context.Context, logs bool) (*Snapshot, error)
	// Apply makes changes as one operation, whose number it returns, 0 when nothing changed. There is one outcome per
	// change; a change of a memory that has another revision by now is refused. reason must not hold memory text.
	Apply(ctx context.Context, reason string, changes []Change) (op string, outcomes []Outcome, err error)
	// Append adds an entry to a daily log, of now when it names no time, and returns its id. The same key appends once.
	Append(ctx context.Context, key string, e memory.Entry) (op, id string, err error)
	// Watch calls changed whenever something changed, at first once, until ctx ends or the store cannot be reached.
	Watch(ctx context.Context, changed func()) error
}

// Snapshot is what a space holds. Its values are shared and must not be changed.
type Snapshot struct {
	Store    string // identity of the store
	Epoch    string // revisions mean something within one epoch only
	Memories []*memory.Memory
	Days     []Day
}

// Day is a daily log.
type Day struct {
	Date    string // 2026-02-21
	Entries []*memory.Entry
}

// Kind says what a Change does.
type Kind string

// The kinds of changes.
const (
	Add    Kind = "add"
	Update Kind = "update"
	Remove Kind = "remove" // retires: it can be restored, and is not learnt again by itself
)

// Change is one thing to do to one memory.
type Change struct {
	Kind     Kind
	File     string         // that asks for it
	ID       string         // of the memory; "" to add one
	Revision int64          // that the memory must have, to update or remove it
	Memory   *memory.Memory // what to add

	// What to update; nil leaves it as it is.
	Title, Description, Category, Content *string
	Tags                                  *[]string

	Both bool // added beside a memory that it contradicts, because both sides changed
}

// Outcome is what became of a Change.
type Outcome struct {
	ID      string // of the memory that says it now
	Applied bool
	Reason  string // UPPER_SNAKE; why it was refused or what is to be known of it
}

// Format names a layout.
type Format string

// The layouts.
const (
	Claude   Format = "claude"   // MEMORY.md is an index of one file per memory
	Vibe     Format = "vibe"     // the same
	Nanobot  Format = "nanobot"  // MEMORY.md holds all memories, HISTORY.md the daily logs
	OpenClaw Format = "openclaw" // MEMORY.md holds all memories, memory/DATE.md the daily logs
	Context  Format = "context"  // memory.md holds what is known, learnings.md how things are done
)

// Formats lists the layouts.
func Formats() []Format { return []Format{Claude, Nanobot, Vibe, OpenClaw, Context} }

// ParseFormat returns the layout of that name.
func ParseFormat(name string) (Format, error) {
	f := Format(strings.ToLower(name))
	if !slices.Contains(Formats(), f) {
		return "", fmt.Errorf("%q is not a format: it must be claude, nanobot, vibe, openclaw or context", name)
	}
	return f, nil
}

// layout says which files a format has.
type layout struct {
	index   string // of the entry files, "" when there are none
	lists   []listFile
	history string // one file for all days, "" for none
	daily   string // directory of a file for each day, "" for none
}

// listFile is a file that holds memories themselves, as a list.
type listFile struct {
	name       string
	en, zh     string                     // title
	holds      func(category string) bool // nil for all
	lines, max int                        // bounds, 0 for none
}

// Bounds of what agents put into every prompt.
const (
	MaxLines = 200
	MaxBytes = 25_000
)

// isLearning reports whether memories of a category go into learnings.md.
func isLearning(category string) bool {
	return category == memory.Procedural || category == memory.Reflections
}

// layoutOf returns the files of a format.
func layoutOf(f Format) layout {
	all := []listFile{{name: "MEMORY.md", en: "Long-term Memory", zh: "长期记忆", lines: MaxLines, max: MaxBytes}}
	switch f {
	case Nanobot:
		return layout{lists: all, history: "HISTORY.md"}
	case OpenClaw:
		return layout{lists: all, daily: "memory"}
	case Context:
		return layout{lists: []listFile{
			{name: "memory.md", en: "Memory", zh: "记忆", holds: func(c string) bool { return !isLearning(c) }},
			{name: "learnings.md", en: "Learnings", zh: "经验", holds: isLearning},
		}}
	}
	return layout{index: "MEMORY.md"}
}

// logs reports whether the layout shows daily logs.
func (l *layout) logs() bool { return l.history != "" || l.daily != "" }
