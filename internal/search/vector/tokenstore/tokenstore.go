// Package tokenstore keeps the token sets of stored texts in one file a model and space: about 1 KB a text, appended
// as texts are embedded, read for the candidates of a search alone. Only keys and offsets are in RAM. The file is
// read with pread and not mapped, so that somebody who shortens it cannot end the process with SIGBUS.
//
// Token sets are derived data: a crash may lose those written since the last Retain, and damage may lose any, but
// every set that Get returns is what Put stored. It does not embed and does not know which texts exist.
package tokenstore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path"
	"sync"

	"github.com/memsidecar/memsidecar/internal/search/vector"
	"github.com/memsidecar/memsidecar/internal/store/durable"
)

// The file, little-endian:
//
//	"MSTS", version u32, length of the identity u32, identity, CRC-32C of everything before u32
//	per record: key of the text (16 bytes), length of the set u32, CRC-32C of these two u32, set, CRC-32C of the record so far u32
//
// A record whose key is all zeros was erased. Records end where the first checksum of one fails: a torn write.
const (
	magic      = "MSTS"
	version    = 1
	headSize   = 16 + 4 + 4 // of a record, before its set
	tailSize   = 4          // after it
	maxSetSize = 1 << 20
)

// Erased records are reclaimed when they take this much and as much as half of the others.
const reclaimSize = 1 << 20

// crc32c is the CRC-32C of data.
func crc32c(data []byte) uint32 { return crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli)) }

// Store is one file. It is safe for concurrent use.
type Store struct {
	fsys     durable.FS
	name     string
	identity string

	mu     sync.RWMutex
	file   durable.File         // nil after Close, or when it could not be opened again; guarded by mu
	end    int64                // where the next record goes; guarded by mu
	erased int64                // bytes of erased records; guarded by mu
	dirty  bool                 // something is not synced; guarded by mu
	stray  bool                 // the file has bytes of records that are not in places, nor erased; guarded by mu
	places map[vector.Key]place // guarded by mu
}

// place is where a record lies.
type place struct {
	offset int64
	size   uint32 // of the set
}

// Open opens or makes the file of the model with this identity. A file of another identity or version is emptied, and
// one that is damaged is cut at the damage. Errors are those of the file system.
func Open(fsys durable.FS, name, identity string) (*Store, error) {
	s := &Store{fsys: fsys, name: name, identity: identity}
	if err := fsys.MkdirAll(path.Dir(name)); err != nil {
		return nil, fmt.Errorf("make directory of %s: %w", name, err)
	}
	if err := fsys.SyncDir(path.Dir(path.Dir(name))); err != nil {
		return nil, fmt.Errorf("sync parent directory of %s: %w", name, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.openLocked(); err != nil {
		return nil, err
	}
	return s, nil
}

// Remove removes the file of a store that is not open; a file that does not exist is no error. It is durable after
// SyncDir of the directory.
func Remove(fsys durable.FS, name string) error {
	if err := fsys.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove %s: %w", name, err)
	}
	return nil
}

// openLocked opens the file and finds its records.
func (s *Store) openLocked() error {
	file, err := s.fsys.OpenFile(s.name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("open %s: %w", s.name, err)
	}
	s.file, s.places, s.erased, s.dirty, s.stray = file, map[vector.Key]place{}, 0, false, false
	if err := s.scanLocked(); err != nil {
		s.file = nil
		return errors.Join(fmt.Errorf("read %s: %w", s.name, err), file.Close())
	}
	return nil
}

// header returns the start of the file.
func (s *Store) header() []byte {
	le := binary.LittleEndian
	out := le.AppendUint32([]byte(magic), version)
	out = le.AppendUint32(out, uint32(len(s.identity)))
	out = append(out, s.identity...)
	return le.AppendUint32(out, crc32c(out))
}

// scanLocked finds the records of the open file and cuts off what is none.
func (s *Store) scanLocked() error {
	info, err := s.file.Stat()
	if err != nil {
		return err
	}
	want := s.header()
	got := make([]byte, len(want))
	if _, err := s.file.ReadAt(got, 0); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	s.end = int64(len(want))
	if string(got) != string(want) {
		if err := s.file.Truncate(0); err != nil {
			return err
		}
		_, err := s.file.WriteAt(want, 0)
		s.dirty = true
		return err
	}
	var head [headSize]byte
	for s.end+headSize+tailSize <= info.Size() {
		if _, err := s.file.ReadAt(head[:], s.end); err != nil {
			return err
		}
		key, size, ok := decodeHead(head[:])
		next := s.end + recordSize(size)
		if !ok || next > info.Size() {
			break
		}
		if key == (vector.Key{}) {
			s.erased += next - s.end
		} else {
			_, twice := s.places[key] // the first was damaged
			s.stray = s.stray || twice
			s.places[key] = place{s.end, size}
		}
		s.end = next
	}
	if s.end == info.Size() {
		return nil
	}
	s.dirty = true
	return s.file.Truncate(s.end)
}

// recordSize is the size of a record with a set of so many bytes.
func recordSize(set uint32) int64 { return headSize + int64(set) + tailSize }

// decodeHead reads the head of a record.
func decodeHead(head []byte) (key vector.Key, size uint32, ok bool) {
	le := binary.LittleEndian
	size = le.Uint32(head[16:])
	ok = crc32c(head[:20]) == le.Uint32(head[20:]) && size <= maxSetSize
	return vector.Key(head[:16]), size, ok
}

// appendRecord appends a record.
func appendRecord(dst []byte, key vector.Key, set vector.TokenSet) []byte {
	le, first := binary.LittleEndian, len(dst)
	dst = le.AppendUint32(append(dst, key[:]...), uint32(len(set)))
	dst = le.AppendUint32(dst, crc32c(dst[first:]))
	dst = append(dst, set...)
	return le.AppendUint32(dst, crc32c(dst[first:]))
}

// errClosed says that the store is closed.
var errClosed = errors.New("the store of token sets is closed")

// Put stores the set of a text, which may be empty. It does nothing when the text has one: the same text has the same
// set. It is not durable before Retain. After an error the text has none.
func (s *Store) Put(key vector.Key, set vector.TokenSet) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.places[key]; ok || key == (vector.Key{}) {
		return nil
	}
	if s.file == nil {
		return errClosed
	}
	if len(set) > maxSetSize {
		return fmt.Errorf("a token set of %d bytes is too large for %s", len(set), s.name)
	}
	record := appendRecord(nil, key, set)
	s.dirty = true
	if _, err := s.file.WriteAt(record, s.end); err != nil {
		s.stray = true
		return fmt.Errorf("append to %s: %w", s.name, err)
	}
	s.places[key] = place{s.end, uint32(len(set))}
	s.end += int64(len(record))
	return nil
}

// Has reports whether the set of a text is stored.
func (s *Store) Has(key vector.Key) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	_, ok := s.places[key]
	return ok
}

// Len is the number of stored sets.
func (s *Store) Len() int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return len(s.places)
}

// Get returns the set of a text. It uses buf when its capacity suffices, 2 KB for most texts; the set is valid until
// buf is used again. ok is false when there is none, or when the record is damaged or cannot be read; then it is
// forgotten, so that it can be stored again.
func (s *Store) Get(key vector.Key, buf []byte) (set vector.TokenSet, ok bool) {
	s.mu.RLock()
	p, ok := s.places[key]
	if ok {
		set, ok = s.readLocked(key, p, buf)
		s.mu.RUnlock()
		if !ok {
			s.forget(key, p)
		}
		return set, ok
	}
	s.mu.RUnlock()
	return nil, false
}

// readLocked reads and checks one record.
func (s *Store) readLocked(key vector.Key, p place, buf []byte) (vector.TokenSet, bool) {
	size := int(recordSize(p.size))
	if cap(buf) < size {
		buf = make([]byte, size)
	}
	buf = buf[:size]
	if s.file == nil {
		return nil, false
	}
	if _, err := s.file.ReadAt(buf, p.offset); err != nil {
		return nil, false
	}
	body, sum := buf[:size-tailSize], binary.LittleEndian.Uint32(buf[size-tailSize:])
	if crc32c(body) != sum || vector.Key(body[:16]) != key {
		return nil, false
	}
	return body[headSize:], true
}

// forget drops a record that cannot be read from the index.
func (s *Store) forget(key vector.Key, p place) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.places[key] == p {
		delete(s.places, key)
		s.stray = true
	}
}

// Retain removes the sets of all texts for which live is false, so that nothing of them is left in the file, and
// makes the others durable. It erases in place; when much was erased, it writes the file anew, which keeps Get
// waiting.
func (s *Store) Retain(live func(vector.Key) bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file == nil {
		return errClosed
	}
	for key, p := range s.places {
		if live(key) {
			continue
		}
		delete(s.places, key)
		s.dirty = true
		if _, err := s.file.WriteAt(appendRecord(nil, vector.Key{}, make([]byte, p.size)), p.offset); err != nil {
			s.stray = true
			continue
		}
		s.erased += recordSize(p.size)
	}
	if s.stray || s.erased > reclaimSize && 3*s.erased > s.end {
		return s.rewriteLocked()
	}
	if !s.dirty {
		return nil
	}
	if err := s.file.Sync(); err != nil {
		return fmt.Errorf("sync %s: %w", s.name, err)
	}
	if err := s.fsys.SyncDir(path.Dir(s.name)); err != nil {
		return fmt.Errorf("sync directory of %s: %w", s.name, err)
	}
	s.dirty = false
	return nil
}

// rewriteLocked writes the file anew with the records of places alone.
func (s *Store) rewriteLocked() error {
	err := durable.WriteFile(s.fsys, s.name, func(w io.Writer) error {
		if _, err := w.Write(s.header()); err != nil {
			return err
		}
		var buf, record []byte
		for key, p := range s.places {
			if need := int(recordSize(p.size)); cap(buf) < need {
				buf = make([]byte, need)
			}
			set, ok := s.readLocked(key, p, buf)
			if !ok {
				continue
			}
			record = appendRecord(record[:0], key, set)
			if _, err := w.Write(record); err != nil {
				return err
			}
		}
		return nil
	})
	// Also after an error: a failed sync of the directory leaves the new file in place.
	old := s.file
	s.file = nil
	if err := errors.Join(err, old.Close(), s.openLocked()); err != nil {
		return fmt.Errorf("rewrite %s: %w", s.name, err)
	}
	return nil
}

// Close closes the file without making it durable. The store then has no sets.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file == nil {
		return nil
	}
	err := s.file.Close()
	s.file, s.places = nil, nil
	return err
}
