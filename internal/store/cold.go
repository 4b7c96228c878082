package store

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"os"
	"sync"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/store/compressed"
	"github.com/memsidecar/memsidecar/internal/store/durable"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

// A cold space is a small one whose memories are not in RAM: they are in a pack of the newest snapshot, with those of
// its neighbours. Spaces are cold from the start, and from the snapshot that put them into a pack. A reader of a cold
// space reads its memories there, and changes nothing; the first transaction makes it warm. Everything else of a space
// is the same whether it is cold or warm.
//
// A pack was verified whole when it was opened, or has just been written, and stays open while spaces are in it. So its
// memories can only be missing later when the disk fails or somebody writes into the file; see lost.

// coldMemories are the memories of a cold space. They never change.
type coldMemories struct {
	pack *pack
	// at is where the lines of the space begin in the pack, decompressed: its header, and a line for each memory.
	at    int64
	bytes uint32 // of these lines
	sum   uint32 // their CRC-32C
	count uint32 // of memories
	// expiring says that some have a time at which they expire.
	expiring bool
}

// pack is an open file of a snapshot with many spaces.
type pack struct {
	store  *Store
	file   string // in the snapshot directory
	places compressed.Places
	from   durable.File
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// openPack opens a pack, of which data is the content. Its lines were verified or have just been made.
func (s *Store) openPack(file string, data []byte) (*pack, error) {
	p := &pack{store: s, file: file}
	whole := false
	if p.places, whole = compressed.PlacesOf(data); !whole {
		return nil, p.damaged(compressed.ErrDamaged)
	}
	var err error
	if p.from, err = s.fs.OpenFile(snapshotDir+"/"+file, os.O_RDONLY, 0); err != nil {
		return nil, fmt.Errorf("open %s/%s: %w", snapshotDir, file, err)
	}
	return p, nil
}

// damaged is the error for a pack that cannot be read any more.
func (p *pack) damaged(err error) error {
	return fmt.Errorf("%w (%w)", &journal.CorruptError{File: snapshotDir + "/" + p.file,
		Detail: "memories of it cannot be read"}, err)
}

// lines reads the lines of the memories, without the header. Error: *journal.CorruptError.
func (c *coldMemories) lines() ([]byte, error) {
	lines, err := c.pack.places.Read(c.pack.from, int(c.at), int(c.bytes))
	if err == nil && crc32.Checksum(lines, castagnoli) != c.sum {
		err = compressed.ErrDamaged
	}
	if err != nil {
		return nil, c.pack.damaged(err)
	}
	return lines[bytes.IndexByte(lines, '\n')+1:], nil
}

// read reads and decodes the memories. Error: *journal.CorruptError.
func (c *coldMemories) read() ([]*memory.Memory, error) {
	lines, err := c.lines()
	if err != nil {
		return nil, err
	}
	return c.decode(lines)
}

// decode decodes the lines of the memories.
func (c *coldMemories) decode(lines []byte) ([]*memory.Memory, error) {
	out := make([]*memory.Memory, 0, c.count)
	var d memoryDecoder
	for line := range bytes.Lines(lines) {
		m, err := d.decode(line[:len(line)-1])
		if err != nil {
			return nil, c.pack.damaged(err)
		}
		c.pack.store.interned.memory(m)
		out = append(out, m)
	}
	return out, nil
}

// memories is read for somebody who cannot go on without them.
func (c *coldMemories) memories() []*memory.Memory {
	memories, err := c.read()
	if err != nil {
		lost(err)
	}
	return memories
}

// lost ends the process, because acknowledged memories cannot be read: the space must not look empty. The next start
// reads every pack, and refuses a damaged one by its name.
func lost(err error) { panic(err) }

// warm keeps the memories decoded from now on.
func (sp *spaceState) warm() {
	if sp.cold != nil {
		sp.fill(sp.cold.memories())
	}
}

// fill makes a space warm. It copies memories, those of the space.
func (sp *spaceState) fill(memories []*memory.Memory) {
	sp.slots, sp.holes, sp.byID, sp.cold = withRoom(memories), 0, nil, nil
	sp.indexIDs()
}

// cool makes a space cold.
func (sp *spaceState) cool(c *coldMemories) { sp.slots, sp.holes, sp.byID, sp.cold = nil, 0, nil, c }

// filled returns the space, or what it would be if it was filled with memories, for reading only.
func (sp *spaceState) filled(memories []*memory.Memory) *spaceState {
	if sp.cold == nil {
		return sp
	}
	c := *sp
	c.slots, c.cold = memories, nil
	return &c
}

// warm makes a visible space warm before a transaction uses it. The caller holds stageMu, and nothing of the space is
// staged, so that it changes no other way meanwhile. Error: *journal.CorruptError.
func (s *Store) warm(name string) error {
	s.mu.RLock()
	sp := s.visible.spaces[name]
	s.mu.RUnlock()
	if sp == nil || sp.cold == nil {
		return nil
	}
	memories, err := s.recent.memories(sp.cold) // readers do not wait for it
	if err != nil {
		return err
	}
	s.mu.Lock()
	sp.fill(memories)
	s.mu.Unlock()
	return nil
}

// coolWritten makes spaces cold that a snapshot has put into packs, and those warm that were cold and have files of
// their own now, so that no pack stays in RAM that the snapshot does not name. The caller holds snapshots.writing.
func (s *Store) coolWritten(some []*spaceCapture) {
	s.stageMu.Lock()
	defer s.stageMu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range some {
		sp := s.visible.spaces[c.header.Space]
		staged := s.staged.spaces[c.header.Space]
		switch {
		case sp == nil: // dropped meanwhile
		case c.packed == nil:
			if sp.cold != nil {
				sp.fill(c.memories)
			}
		case sp.cold != nil && sp.cold == c.cold: // whatever else changed, its memories are the same
			sp.cool(c.packed)
		case sp.changed == c.header.Changed && (staged == nil || staged.changed <= sp.changed):
			sp.cool(c.packed)
			delete(s.staged.spaces, c.header.Space) // nothing is staged that is not visible
		}
	}
}

// recentlyRead is how many cold spaces keep what was decoded.
const recentlyRead = 64

// recentMemories keeps the memories of cold spaces that were read last: an agent reads its own again and again. It is
// safe for concurrent use. The zero value is ready.
type recentMemories struct {
	mu    sync.Mutex
	kept  [recentlyRead]decodedMemories // guarded by mu
	newer int                           // the next to be replaced; guarded by mu
}

// decodedMemories are the memories of a cold space.
type decodedMemories struct {
	of       *coldMemories
	memories []*memory.Memory
}

// memories returns the memories of a cold space, which the caller must not change, nor the slice. Error:
// *journal.CorruptError, also when the pack was closed, because no space is in it any more.
func (r *recentMemories) memories(c *coldMemories) ([]*memory.Memory, error) {
	r.mu.Lock()
	for i := range r.kept {
		if r.kept[i].of == c {
			defer r.mu.Unlock()
			return r.kept[i].memories, nil
		}
	}
	r.mu.Unlock()
	memories, err := c.read()
	if err != nil {
		return nil, err
	}
	d := decodedMemories{c, memories}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.kept[r.newer] = d
	r.newer = (r.newer + 1) % recentlyRead
	return memories, nil
}

// clear drops what is kept: another snapshot has the spaces, or a purge erases some of it.
func (r *recentMemories) clear() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.kept = [recentlyRead]decodedMemories{}
}
