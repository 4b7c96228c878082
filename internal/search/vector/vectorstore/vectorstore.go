// Package vectorstore keeps the vectors of stored texts, that of the whole text and those of its tokens, in one file a
// model and space: about 1.5 KB a text, appended as texts are embedded. Vectors of whole texts are read when a space
// is opened, token sets for the candidates of a search alone. Only keys and offsets are in RAM. The file is read with
// pread and not mapped, so that somebody who shortens it cannot end the process with SIGBUS.
//
// Vectors are derived data: a crash may lose those written since the last Retain or Sync, and damage may lose any, but
// what is returned is what Put stored. It does not embed and does not know which texts exist.
package vectorstore

import (
	"bufio"
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
//	"MSEV", version u32, length of the identity u32, identity, CRC-32C of everything before u32
//	per record: key of the text (16 bytes), dimensions u32, length of the token set u32,
//	  vector (one signed byte a dimension), CRC-32C of the record so far u32, token set, CRC-32C of the record so far u32
//
// A record whose key is all zeros was erased. Records end where the first checksum of one fails: a torn write.
const (
	magic      = "MSEV"
	version    = 1
	fixedSize  = 16 + 4 + 4 // of a record, before its vector
	sumSize    = 4
	maxSetSize = 1 << 20
)

// Erased records are reclaimed when they take this much and as much as half of the others.
const reclaimSize = 1 << 20

// scanBuffer is how much of a file is read at a time when it is opened.
const scanBuffer = 256 << 10

// crc32c is the CRC-32C of data.
func crc32c(data []byte) uint32 { return crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli)) }

// Store is one file. It is safe for concurrent use.
type Store struct {
	fsys     durable.FS
	name     string
	identity string

	mu       sync.RWMutex
	file     durable.File         // nil after Close, or when it could not be opened again; guarded by mu
	end      int64                // where the next record goes; guarded by mu
	erased   int64                // bytes of erased records; guarded by mu
	unusable int64                // bytes that were cut off when the file was opened; guarded by mu
	dirty    bool                 // something is not synced; guarded by mu
	unnamed  bool                 // the name of the file may not be synced; guarded by mu
	stray    bool                 // the file has bytes of records that are not in places, nor erased; guarded by mu
	places   map[vector.Key]place // guarded by mu
}

// place is where a record lies.
type place struct {
	offset int64
	dim    uint32 // of the vector
	set    uint32 // bytes of the token set
}

// headSize is the size of a record up to its token set.
func (p place) headSize() int64 { return fixedSize + int64(p.dim) + sumSize }

// size is the size of a record.
func (p place) size() int64 { return p.headSize() + int64(p.set) + sumSize }

// Open opens or makes the file of the model with this identity. A file of another identity or version is emptied, and
// one that is damaged is cut at the damage (see Unusable). Errors are those of the file system.
func Open(fsys durable.FS, name, identity string) (*Store, error) {
	s := &Store{fsys: fsys, name: name, identity: identity}
	if err := fsys.MkdirAll(path.Dir(name)); err != nil {
		return nil, fmt.Errorf("make directory of %s: %w", name, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.openLocked(); err != nil {
		return nil, err
	}
	return s, nil
}

// Unusable is the number of bytes that were cut off when the file was opened: vectors of another model or of another
// version of the format, or a torn write.
func (s *Store) Unusable() int64 {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.unusable
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
	s.file, s.places = file, map[vector.Key]place{}
	s.erased, s.unusable, s.dirty, s.unnamed, s.stray = 0, 0, false, false, false
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
		s.unusable = info.Size()
		if err := s.file.Truncate(0); err != nil {
			return err
		}
		_, err := s.file.WriteAt(want, 0)
		s.dirty, s.unnamed = true, true
		return err
	}
	if err := s.scanRecordsLocked(info.Size()); err != nil {
		return err
	}
	if s.end == info.Size() {
		return nil
	}
	s.dirty, s.unusable = true, info.Size()-s.end
	return s.file.Truncate(s.end)
}

// scanRecordsLocked finds the records behind the header of a file of this size, up to the first that is none.
func (s *Store) scanRecordsLocked(size int64) error {
	rest := io.NewSectionReader(s.file, s.end, size-s.end)
	r := bufio.NewReaderSize(rest, int(max(fixedSize, min(scanBuffer, rest.Size()))))
	var head []byte
	for {
		fixed, err := r.Peek(fixedSize)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		p, ok := decodeFixed(fixed)
		if p.offset = s.end; !ok || p.offset+p.size() > size {
			return nil
		}
		if need := int(p.headSize()); cap(head) < need {
			head = make([]byte, need)
		}
		head = head[:p.headSize()]
		if _, err := io.ReadFull(r, head); err != nil {
			return err
		}
		key, ok := checkHead(head)
		if !ok {
			return nil
		}
		if _, err := r.Discard(int(p.size() - p.headSize())); err != nil {
			return err
		}
		s.end += p.size()
		if key == (vector.Key{}) {
			s.erased += p.size()
			continue
		}
		_, twice := s.places[key] // the first was damaged
		s.stray = s.stray || twice
		s.places[key] = p
	}
}

// decodeFixed reads the sizes of a record. ok is false when no record has such sizes.
func decodeFixed(fixed []byte) (p place, ok bool) {
	le := binary.LittleEndian
	p.dim, p.set = le.Uint32(fixed[16:]), le.Uint32(fixed[20:])
	return p, p.dim <= vector.MaxDim && p.set <= maxSetSize
}

// checkHead returns the key of a record, whose head is all of head. ok is false when the checksum is wrong.
func checkHead(head []byte) (key vector.Key, ok bool) {
	body := head[:len(head)-sumSize]
	return vector.Key(head[:16]), crc32c(body) == binary.LittleEndian.Uint32(head[len(body):])
}

// appendRecord appends a record to dst.
func appendRecord(dst []byte, key vector.Key, codes []byte, set vector.TokenSet) []byte {
	le, first := binary.LittleEndian, len(dst)
	dst = le.AppendUint32(append(dst, key[:]...), uint32(len(codes)))
	dst = le.AppendUint32(dst, uint32(len(set)))
	dst = append(dst, codes...)
	dst = le.AppendUint32(dst, crc32c(dst[first:]))
	dst = append(dst, set...)
	return le.AppendUint32(dst, crc32c(dst[first:]))
}

// errClosed says that the store is closed.
var errClosed = errors.New("the store of vectors is closed")

// Put stores the vector of a text and its token set, which may be empty. It does nothing when the text has a vector of
// as many dimensions: the same text has the same vectors. It is not durable before Retain or Sync. After an error the
// text has none.
func (s *Store) Put(key vector.Key, v vector.Quantized, set vector.TokenSet) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	p, ok := s.places[key]
	if ok && int(p.dim) == v.Dim() || key == (vector.Key{}) {
		return nil
	}
	if s.file == nil {
		return errClosed
	}
	if len(set) > maxSetSize {
		return fmt.Errorf("a token set of %d bytes is too large for %s", len(set), s.name)
	}
	if ok {
		s.eraseLocked(key, p)
	}
	record := appendRecord(nil, key, v.AppendCodes(nil), set)
	s.dirty = true
	if _, err := s.file.WriteAt(record, s.end); err != nil {
		s.stray = true
		return fmt.Errorf("append to %s: %w", s.name, err)
	}
	s.places[key] = place{s.end, uint32(v.Dim()), uint32(len(set))}
	s.end += int64(len(record))
	return nil
}

// eraseLocked overwrites a record, so that nothing of its text is left.
func (s *Store) eraseLocked(key vector.Key, p place) {
	delete(s.places, key)
	s.dirty = true
	empty := appendRecord(nil, vector.Key{}, make([]byte, p.dim), make([]byte, p.set))
	if _, err := s.file.WriteAt(empty, p.offset); err != nil {
		s.stray = true
		return
	}
	s.erased += p.size()
}

// Has reports whether the vectors of a text are stored.
func (s *Store) Has(key vector.Key) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	_, ok := s.places[key]
	return ok
}

// Len is the number of texts.
func (s *Store) Len() int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return len(s.places)
}

// Vector returns the vector of a whole text. ok is false when there is none, as for Tokens.
func (s *Store) Vector(key vector.Key) (v vector.Quantized, ok bool) {
	head, p, ok := s.read(key, nil, place.headSize)
	if !ok {
		return v, false
	}
	if got, sound := checkHead(head); sound && got == key {
		if v, ok = vector.FromCodes(head[fixedSize : len(head)-sumSize]); ok {
			return v, true
		}
	}
	s.forget(key, p)
	return vector.Quantized{}, false
}

// Tokens returns the token set of a text. It uses buf when its capacity suffices, 3 KB for most texts; the set is valid
// until buf is used again. ok is false when there is none, or when the record is damaged or cannot be read; then it is
// forgotten, so that it can be stored again.
func (s *Store) Tokens(key vector.Key, buf []byte) (set vector.TokenSet, ok bool) {
	record, p, ok := s.read(key, buf, place.size)
	if !ok {
		return nil, false
	}
	body := record[:len(record)-sumSize]
	if crc32c(body) != binary.LittleEndian.Uint32(record[len(body):]) || vector.Key(body[:16]) != key {
		s.forget(key, p)
		return nil, false
	}
	return body[p.headSize():], true
}

// read reads the record of a text from its start, as much of it as size says. What cannot be read is forgotten.
func (s *Store) read(key vector.Key, buf []byte, size func(place) int64) (data []byte, p place, ok bool) {
	s.mu.RLock()
	if p, ok = s.places[key]; ok {
		data, ok = s.readLocked(p.offset, int(size(p)), buf)
		s.mu.RUnlock()
		if !ok {
			s.forget(key, p)
		}
		return data, p, ok
	}
	s.mu.RUnlock()
	return nil, p, false
}

// readLocked reads n bytes of the file.
func (s *Store) readLocked(offset int64, n int, buf []byte) ([]byte, bool) {
	if s.file == nil {
		return nil, false
	}
	if cap(buf) < n {
		buf = make([]byte, n)
	}
	buf = buf[:n]
	_, err := s.file.ReadAt(buf, offset)
	return buf, err == nil
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

// Retain removes the vectors of all texts for which live is false, so that nothing of them is left in the file, and
// makes the others durable. It erases in place; when much was erased, it writes the file anew, which keeps Vector and
// Tokens waiting.
func (s *Store) Retain(live func(vector.Key) bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file == nil {
		return errClosed
	}
	for key, p := range s.places {
		if !live(key) {
			s.eraseLocked(key, p)
		}
	}
	return s.syncLocked()
}

// Sync makes what is stored durable.
func (s *Store) Sync() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file == nil {
		return errClosed
	}
	return s.syncLocked()
}

func (s *Store) syncLocked() error {
	if s.stray || s.erased > reclaimSize && 3*s.erased > s.end {
		return s.rewriteLocked()
	}
	if !s.dirty {
		return nil
	}
	if err := s.file.Sync(); err != nil {
		return fmt.Errorf("sync %s: %w", s.name, err)
	}
	s.dirty = false
	if !s.unnamed {
		return nil
	}
	for _, dir := range []string{path.Dir(s.name), path.Dir(path.Dir(s.name))} {
		if err := s.fsys.SyncDir(dir); err != nil {
			s.dirty = true
			return fmt.Errorf("sync directory of %s: %w", s.name, err)
		}
	}
	s.unnamed = false
	return nil
}

// rewriteLocked writes the file anew with the records of places alone.
func (s *Store) rewriteLocked() error {
	err := durable.WriteFile(s.fsys, s.name, func(w io.Writer) error {
		if _, err := w.Write(s.header()); err != nil {
			return err
		}
		var buf []byte
		for key, p := range s.places {
			record, ok := s.readLocked(p.offset, int(p.size()), buf)
			buf = record
			if body := record[:max(0, len(record)-sumSize)]; !ok || vector.Key(body[:16]) != key ||
				crc32c(body) != binary.LittleEndian.Uint32(record[len(body):]) {
				continue
			}
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

// Close closes the file without making it durable. The store then has no vectors.
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
