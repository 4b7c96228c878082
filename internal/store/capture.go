package store

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/memsidecar/memsidecar/internal/durable"
	"github.com/memsidecar/memsidecar/internal/journal"
	"github.com/memsidecar/memsidecar/internal/memory"
)

// pendingDoc is a daily log or session whose file must be written anew.
type pendingDoc struct {
	name  string // in file names
	base  doc    // as captured
	file  string // the new one
	items int
	bytes int64
	write func(fs durable.FS, d *pendingDoc) error
	// done puts the new file in the place of the base and of the captured tail; under the store's lock.
	done func(*spaceState)
}

// captured is one space at one LSN.
type captured struct {
	file     string // of the space
	header   spaceHeader
	memories []*memory.Memory
	docs     []*pendingDoc
}

// capture takes the spaces that changed since the old snapshot, at one LSN. failures is the number of attempts since then.
func (s *Store) capture(old manifest, failures int) (lsn int64, changed []*captured) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, sp := range s.visible.spaces {
		lsn = max(lsn, sp.changed)
	}
	stamp := fmt.Sprint(lsn)
	if failures > 0 {
		stamp = fmt.Sprintf("%d-%d", lsn, failures)
	}
	for _, sp := range s.visible.spaces {
		i := slices.IndexFunc(old.Spaces, func(f spaceInFile) bool { return f.Name == sp.name })
		if i < 0 || old.Spaces[i].LSN < sp.changed {
			changed = append(changed, sp.capture(stamp))
		}
	}
	return lsn, changed
}

// capture takes one space; stamp is part of the names of its files.
func (sp *spaceState) capture(stamp string) *captured {
	c := &captured{memories: sp.memories(), file: fmt.Sprintf("%s.space.%s.jsonl", sp.name, stamp)}
	c.header = spaceHeader{
		Version: snapshotVersion, Space: sp.name, Revision: sp.revision, Changed: sp.changed, Memories: len(c.memories), Summary: sp.summary,
		Forgotten: maps.Clone(sp.forgotten), Removed: maps.Clone(sp.removed), Archive: sp.archived(), ArchiveRevision: sp.archiveRevision,
	}
	for _, r := range sp.receipts {
		c.header.Receipts = append(c.header.Receipts, r)
	}
	slices.SortFunc(c.header.Receipts, func(a, b receipt) int { return strings.Compare(a.Key, b.Key) })
	for _, header := range sp.dayHeaders() {
		in := captureDoc(c, sp.name, "log-"+header.Date, stamp, sp.days[header.Date].doc, entriesOf(sp.name, header.Date), func(sp *spaceState) *doc {
			if d := sp.days[header.Date]; d != nil {
				return &d.doc
			}
			return nil
		})
		c.header.Days = append(c.header.Days, dayInFile{Header: header, docInFile: in})
	}
	for _, header := range sp.sessionHeaders() {
		in := captureDoc(c, sp.name, "session-"+shortHash(header.ID), stamp, sp.sessions[header.ID].doc, messagesOf(sp.name, header.ID), func(sp *spaceState) *doc {
			if d := sp.sessions[header.ID]; d != nil {
				return &d.doc
			}
			return nil
		})
		c.header.Sessions = append(c.header.Sessions, sessionInFile{Header: header, docInFile: in})
	}
	return c
}

// captureDoc says where the body of a daily log or session will be, and notes what must be written for it.
func captureDoc[T any](c *captured, space, name, stamp string, d doc, body bodyOf[T], find func(*spaceState) *doc) docInFile {
	if len(d.tail) == 0 && (d.scrub == nil || d.file == "") {
		return docInFile{File: d.file, Items: d.items, Bytes: d.bytes}
	}
	p := &pendingDoc{name: name, base: d, file: fmt.Sprintf("%s.%s.%s.jsonl", space, name, stamp)}
	p.base.tail = d.tail[:len(d.tail):len(d.tail)]
	p.write = func(fsys durable.FS, p *pendingDoc) error {
		items, cleaned, err := body.file(fsys, &p.base)
		if err != nil {
			return err
		}
		if len(p.base.tail) == 0 && !cleaned { // it was only to be looked at
			p.file, p.items = p.base.file, p.base.items
			return nil
		}
		items = body.apply(items, p.base.tail)
		p.items = len(items)
		return writeLines(fsys, p.file, docHeader{Version: snapshotVersion, Name: p.name, Items: len(items)}, items)
	}
	p.done = func(sp *spaceState) {
		// A body that was removed and made again meanwhile is another one.
		if d := find(sp); d != nil && d.file == p.base.file && len(d.tail) >= len(p.base.tail) && sameTail(d.tail, p.base.tail) {
			*d = doc{file: p.file, items: p.items, bytes: p.bytes, tail: d.tail[len(p.base.tail):]}
		}
	}
	c.docs = append(c.docs, p)
	return docInFile{File: p.file, Items: -1} // the number is known once it is written
}

func sameTail(have, captured []journal.Change) bool {
	return len(captured) == 0 || &have[0] == &captured[0] || have[0] == captured[0]
}

func shortHash(id string) string {
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:10])
}
