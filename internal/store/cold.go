package store

import (
	"bytes"
	"fmt"
	"slices"
	"sync"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/store/compressed"
	"github.com/memsidecar/memsidecar/internal/store/durable"
)

// A cold space is a small one whose memories are in RAM as the pack of the newest snapshot has them: compressed, with
// those of its neighbours. Spaces are cold from the start, and from the snapshot that put them into a pack. A reader of
// a cold space decodes its memories and changes nothing; the first transaction makes it warm. Everything else of a space
// is the same whether it is cold or warm.
//
// What is kept is no file: it was read or written whole, so that nothing of the disk can fail or be missing later.

// coldMemories are the memories of a cold space. They never change.
type coldMemories struct {
	pack *pack
	// at is where the lines of the space begin in the pack, decompressed: its header, and a line for each memory.
	at    int
	bytes int // of these lines
	count int // of memories
	// expiring says that some have a time at which they expire.
	expiring bool
}

// pack is the compressed file of a pack in RAM.
type pack struct {
	file     string
	interned *interner
	mu       sync.Mutex
	lines    *compressed.File // guarded by mu
}

// newPack makes a pack of the contents of a compressed file, whose lines were verified or have just been made.
func (s *Store) newPack(file string, data []byte) *pack {
	return &pack{file: file, interned: &s.interned, lines: compressed.Open(data)}
}

// has returns the memories of a space, which the pack has.
func (p *pack) has(in spaceInFile, memories []*memory.Memory) *coldMemories {
	return &coldMemories{pack: p, at: int(in.Offset), bytes: int(in.Bytes), count: len(memories),
		expiring: slices.ContainsFunc(memories, hasExpiry)}
}

// lines returns the lines of the memories, without the header.
func (c *coldMemories) lines() []byte {
	lines := make([]byte, c.bytes)
	c.pack.mu.Lock()
	_, err := c.pack.lines.ReadAt(lines, int64(c.at))
	c.pack.mu.Unlock()
	if err != nil {
		panic(fmt.Sprintf("store: %s in RAM ends before byte %d: %v", c.pack.file, c.at+c.bytes, err))
	}
	return lines[bytes.IndexByte(lines, '\n')+1:]
}

// memories decodes the memories.
func (c *coldMemories) memories() []*memory.Memory {
	out := make([]*memory.Memory, 0, c.count)
	for line := range bytes.Lines(c.lines()) {
		m := new(memory.Memory)
		// The line was decoded before, when it was read from the disk, or encoded, when it was written.
		if err := durable.DecodeLine(line[:len(line)-1], m); err != nil {
			panic(fmt.Sprintf("store: a memory of %s in RAM cannot be decoded: %v", c.pack.file, err))
		}
		c.pack.interned.memory(m)
		out = append(out, m)
	}
	return out
}

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
// staged, so that it changes no other way meanwhile.
func (s *Store) warm(name string) {
	s.mu.RLock()
	sp := s.visible.spaces[name]
	s.mu.RUnlock()
	if sp == nil || sp.cold == nil {
		return
	}
	memories := s.recent.memories(sp.cold) // readers do not wait for it
	s.mu.Lock()
	sp.fill(memories)
	s.mu.Unlock()
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
			sp.warm()
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

// memories returns the memories of a cold space, which the caller must not change, nor the slice.
func (r *recentMemories) memories(c *coldMemories) []*memory.Memory {
	r.mu.Lock()
	for i := range r.kept {
		if r.kept[i].of == c {
			defer r.mu.Unlock()
			return r.kept[i].memories
		}
	}
	r.mu.Unlock()
	d := decodedMemories{c, c.memories()}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.kept[r.newer] = d
	r.newer = (r.newer + 1) % recentlyRead
	return d.memories
}

// clear drops what is kept: another snapshot has the spaces, or a purge erases some of it.
func (r *recentMemories) clear() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.kept = [recentlyRead]decodedMemories{}
}
