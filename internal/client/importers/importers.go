// Package importers reads what other memory systems keep or export, and turns it into memories and entries of daily
// logs. It runs in the client, which may see files that the daemon may not. It never guesses about a store: what is
// there already, and what becomes of a thing, the import of the daemon decides.
//
// A reader never fails because of what a file holds. What it cannot take over it names: the file, the line or item,
// and why.
package importers

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/redact"
)

// The formats, as people name them.
const (
	Claude       = "claude"        // a memory folder: MEMORY.md as index, one Markdown file with front matter a memory
	Vibe         = "vibe"          // the same layout, of another program
	Nanobot      = "nanobot"       // MEMORY.md and HISTORY.md
	OpenClaw     = "openclaw"      // MEMORY.md and memory/DATE.md
	Mem0         = "mem0"          // the JSON of get_all or of an export
	Graph        = "mcp-memory"    // the JSON lines of the MCP reference server: entities and relations
	BasicMemory  = "basic-memory"  // Markdown notes with observations and relations
	Engram       = "engram"        // the JSON of engram export
	Letta        = "letta"         // an agent file, .af
	ChatGPT      = "chatgpt"       // a data export of ChatGPT
	ClaudeExport = "claude-export" // a data export of claude.ai
)

// readers of the formats, in the order in which help lists them.
var readers = []struct {
	name string
	read func(*reader) error
}{
	{Claude, (*reader).folder}, {Vibe, (*reader).folder}, {Nanobot, (*reader).nanobot}, {OpenClaw, (*reader).openClaw},
	{Mem0, (*reader).mem0}, {Graph, (*reader).graph}, {BasicMemory, (*reader).notes}, {Engram, (*reader).engram},
	{Letta, (*reader).letta}, {ChatGPT, (*reader).chatGPT}, {ClaudeExport, (*reader).claudeExport},
}

// Formats lists the names of the formats.
func Formats() []string {
	var names []string
	for _, f := range readers {
		names = append(names, f.name)
	}
	return names
}

// Place says where something stood.
type Place struct {
	File string // below the path that was opened, with slashes
	Line int    // from 1; 0 when that is not known
	Item string // what of the file, such as "item 3"; may be empty
}

// String is "notes/a.md line 3" or "export.json item 3 (line 40)".
func (p Place) String() string {
	s := p.File
	switch {
	case p.Item != "" && p.Line > 0:
		s += fmt.Sprintf(" %s (line %d)", p.Item, p.Line)
	case p.Item != "":
		s += " " + p.Item
	case p.Line > 0:
		s += " line " + strconv.Itoa(p.Line)
	}
	return s
}

// Item is one thing that was read: a memory, an entry of a daily log, or a remark about what was not taken over as it
// stood.
type Item struct {
	Place  Place
	Memory *memory.Memory // within all limits, cleaned of secrets; the same source gives the same id
	Entry  *memory.Entry  // the same
	Date   string         // of the daily log of Entry

	Remark string // for people; holds no text of the file
	Left   bool   // what Remark is about was left out; otherwise it was taken, but not as it stood
}

// Source is something that was opened for import. It is for one goroutine.
type Source struct {
	Format string // one of Formats
	Keep   bool   // what looks like a secret stays
	tree   *tree
}

// Open opens a directory, a zip archive, which is read where it is, or a file. format is one of Formats, or "" to
// find out. Errors: *UnknownError when the format cannot be found out, *memory.InvalidError for a format that does
// not exist, and those of reading.
func Open(path, format string) (*Source, error) {
	if err := checkFormat(format); err != nil {
		return nil, err
	}
	t, err := openTree(path)
	if err != nil {
		return nil, err
	}
	return newSource(t, path, format)
}

// OpenFS is Open for files that are somewhere else; name is for people.
func OpenFS(fsys fs.FS, name, format string) (*Source, error) {
	if err := checkFormat(format); err != nil {
		return nil, err
	}
	t := &tree{FS: fsys, name: name}
	if err := t.list(); err != nil {
		return nil, err
	}
	return newSource(t, name, format)
}

// checkFormat validates the name of a format; "" means detection. Error: *memory.InvalidError.
func checkFormat(format string) error {
	var check memory.Check
	if format != "" && !slices.Contains(Formats(), format) {
		check.Add("format", "UNKNOWN_VALUE", "is %q; it must be one of %s", format, strings.Join(Formats(), ", "))
	}
	return check.Err()
}

// newSource detects the format unless it is given. On an error the tree is closed. Error: *UnknownError.
func newSource(t *tree, name, format string) (*Source, error) {
	if format == "" {
		format = t.detect()
	}
	if format == "" {
		return nil, errors.Join(&UnknownError{Path: name}, t.Close())
	}
	return &Source{Format: format, tree: t}, nil
}

// UnknownError says that nothing in a path looks like a format that is known.
type UnknownError struct{ Path string }

func (e *UnknownError) Error() string { return e.Path + " holds no format that is known" }

// Close closes what Open opened.
func (s *Source) Close() error { return s.tree.Close() }

// Read yields everything that the source holds, in an order that is always the same. Times without a zone are times
// in loc, and the days of logs are those of loc. Errors: those of emit and ctx; what cannot be read is an item with a
// remark.
func (s *Source) Read(ctx context.Context, loc *time.Location, emit func(Item) error) error {
	i := slices.IndexFunc(readers, func(f struct {
		name string
		read func(*reader) error
	}) bool {
		return f.name == s.Format
	})
	r := &reader{ctx: ctx, tree: s.tree, format: s.Format, keep: s.Keep, loc: loc, emit: emit, emitted: map[string]int{}}
	for _, skipped := range s.tree.skipped {
		if err := r.skip(Place{File: skipped.name}, "%s", skipped.why); err != nil {
			return err
		}
	}
	if err := readers[i].read(r); err != nil {
		return err
	}
	if r.items == 0 {
		return r.skip(Place{File: s.tree.name}, "holds nothing that is read as %s", s.Format)
	}
	return nil
}

// reader reads one source.
type reader struct {
	ctx    context.Context
	tree   *tree
	format string
	keep   bool
	loc    *time.Location
	emit   func(Item) error

	mod     time.Time      // when the file that is read was changed last
	items   int            // emitted so far, remarks too
	emitted map[string]int // by id of an entry, how many said the same at the same time
}

// send passes one item on. It returns the error of the context when that has ended.
func (r *reader) send(it Item) error {
	if err := r.ctx.Err(); err != nil {
		return err
	}
	r.items++
	return r.emit(it)
}

// skip names something that was left out.
func (r *reader) skip(p Place, format string, args ...any) error {
	return r.send(Item{Place: p, Remark: fmt.Sprintf(format, args...), Left: true})
}

// clean takes out of a text what must not be stored, and says what that was and where. A text of which nothing is left
// was left out.
func (r *reader) clean(p Place, s string) (text string, taken bool, err error) {
	c := redact.Cleaner{Keep: r.keep}
	text = c.Text("the text", s)
	if len(c.Found) == 0 {
		return text, false, nil
	}
	said := memory.Redactions(c.Found)
	if strings.TrimSpace(text) == "" {
		return text, true, r.skip(p, "holds nothing but what must not be stored: %s", said)
	}
	return text, true, r.warn(p, "taken out: %s", said)
}

// warn names something that was taken over, but not as it stood.
func (r *reader) warn(p Place, format string, args ...any) error {
	return r.send(Item{Place: p, Remark: fmt.Sprintf(format, args...)})
}
