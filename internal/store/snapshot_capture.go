package store

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/store/durable"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

// bodyWrite is a daily log or session whose file must be written.
type bodyWrite struct {
	name string // in file names
	// base is the body as captured; file, items and bytes are those of the new file.
	base  body
	file  string
	items int
	bytes int64
	write func(fs durable.FS, d *bodyWrite) error
	// install replaces the base and the captured tail by the new file. The caller holds the store's lock.
	install func(*spaceState)
}

// spaceCapture is one space at one LSN. It shares the values of the state, which never change, so that readers and
// writers go on while it is written.
type spaceCapture struct {
	file     string        // of the space
	small    bool          // it may share its file
	cold     *coldMemories // has the memories of a cold space
	packed   *coldMemories // what was written, when it shares its file
	header   spaceHeader
	memories []*memory.Memory
	bodies   []*bodyWrite
}

// capture captures the spaces that changed since the old snapshot, and those whose files must be written with them, all
// at one LSN. kept are the spaces of the old snapshot that are still there. stamp becomes part of file names; failures
// is the number of failed attempts since then.
func (s *Store) capture(old manifest, failures int) (
	lsn int64, stamp string, kept []spaceInFile, changed []*spaceCapture,
) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	lsn = s.visible.newest()
	for _, f := range old.Spaces {
		if s.visible.spaces[f.Name] != nil {
			kept = append(kept, f)
		}
	}
	stamp = fmt.Sprint(lsn)
	if failures > 0 {
		stamp = fmt.Sprintf("%d-%d", lsn, failures)
	}
	for _, name := range outdatedSpaces(s.visible, old, s.packFrom) {
		changed = append(changed, s.visible.spaces[name].capture(stamp))
	}
	return lsn, stamp, kept, changed
}

// capture captures one space. stamp becomes part of the names of its files.
func (sp *spaceState) capture(stamp string) *spaceCapture {
	c := &spaceCapture{small: sp.isSmall(), cold: sp.cold,
		file: fmt.Sprintf("%s.space.%s.jsonl", sp.name, stamp)}
	if c.cold == nil { // else their lines are copied
		c.memories = sp.memories()
	}
	c.header = spaceHeader{
		Format: journal.CurrentFormat(), Space: sp.name, Revision: sp.revision, Changed: sp.changed, Memories: sp.count(),
		Summary:   sp.summary,
		Forgotten: maps.Clone(sp.forgotten), Removed: maps.Clone(sp.removed), Archive: sp.archived(),
		ArchiveRevision: sp.archiveRevision,
	}
	for _, r := range sp.receipts {
		c.header.Receipts = append(c.header.Receipts, *r)
	}
	// Sorted, so that equal states make equal files.
	slices.SortFunc(c.header.Receipts, func(a, b receipt) int { return strings.Compare(a.Key, b.Key) })
	for _, header := range sp.dayHeaders() {
		in := captureBody(c, sp.name, "log-"+header.Date, stamp, sp.days[header.Date].body,
			entriesOf(sp.name, header.Date), func(sp *spaceState) *body {
				if d := sp.days[header.Date]; d != nil {
					return &d.body
				}
				return nil
			})
		c.header.Days = append(c.header.Days, dayInFile{Header: header, bodyInFile: in})
	}
	for _, header := range sp.sessionHeaders() {
		in := captureBody(c, sp.name, "session-"+shortHash(header.ID), stamp, sp.sessions[header.ID].body,
			messagesOf(sp.name, header.ID), func(sp *spaceState) *body {
				if d := sp.sessions[header.ID]; d != nil {
					return &d.body
				}
				return nil
			})
		c.header.Sessions = append(c.header.Sessions, sessionInFile{Header: header, bodyInFile: in})
	}
	return c
}

// expiring reports whether a memory has a time at which it expires.
func (c *spaceCapture) expiring() bool {
	if c.cold != nil {
		return c.cold.expiring
	}
	return slices.ContainsFunc(c.memories, hasExpiry)
}

// writeLines writes the space, and returns how many bytes that are. The lines of the memories of a cold one are copied.
func (c *spaceCapture) writeLines(w io.Writer) (int64, error) {
	if c.cold == nil {
		lines := make([]journal.MemoryLine, len(c.memories))
		for i, m := range c.memories {
			lines[i] = journal.MemoryLine{Memory: m}
		}
		return encodeLines(w, c.header, lines)
	}
	lines, err := c.cold.lines()
	if err != nil {
		return 0, err
	}
	n, err := encodeLines[journal.MemoryLine](w, c.header, nil)
	for line := range bytes.Lines(lines) {
		if err == nil {
			_, err = w.Write(line)
		}
	}
	return n + int64(len(lines)), err
}

// captureBody returns where the body of a daily log or session will be, and adds a bodyWrite if its file must be
// written.
func captureBody[T any](c *spaceCapture, space, name, stamp string, d body, kind bodyKind[T],
	find func(*spaceState) *body) bodyInFile {
	if len(d.tail) == 0 && (d.scrub == nil || d.file == "") {
		return bodyInFile{File: d.file, Items: d.items, Bytes: d.bytes}
	}
	p := &bodyWrite{name: name, base: d, file: fmt.Sprintf("%s.%s.%s.jsonl", space, name, stamp)}
	p.base.tail = d.tail[:len(d.tail):len(d.tail)]
	p.write = func(fsys durable.FS, p *bodyWrite) error {
		items, cleaned, err := kind.file(fsys, &p.base)
		if err != nil {
			return err
		}
		if len(p.base.tail) == 0 && !cleaned { // it was read only to look for purged text, and there is none
			p.file, p.items = p.base.file, p.base.items
			return nil
		}
		items = kind.apply(items, p.base.tail)
		p.items = len(items)
		return writeLines(fsys, p.file, bodyHeader{Format: journal.CurrentFormat(), Name: p.name, Items: len(items)}, items)
	}
	p.install = func(sp *spaceState) {
		// A body that was removed and created again in the meantime is a different one.
		if d := find(sp); d != nil && d.file == p.base.file && len(d.tail) >= len(p.base.tail) &&
			sameTail(d.tail, p.base.tail) {
			*d = body{file: p.file, items: p.items, bytes: p.bytes, tail: d.tail[len(p.base.tail):]}
		}
	}
	c.bodies = append(c.bodies, p)
	return bodyInFile{File: p.file, Items: -1} // the number is known once it is written
}

// sameTail reports whether captured is the beginning of have: the same array, or the same first change.
func sameTail(have, captured []journal.Change) bool {
	return len(captured) == 0 || &have[0] == &captured[0] || have[0] == captured[0]
}

// shortHash makes a file name of a session id, which clients choose.
func shortHash(id string) string {
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:10])
}
