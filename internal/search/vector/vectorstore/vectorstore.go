// Package vectorstore keeps the vectors of stored texts, that of the whole text and those of its tokens, in one file a
// model and space: about 1.5 KB a text, appended as texts are embedded. Vectors of whole texts are read when a space
// is opened, token sets for the candidates of a search alone. Only halves of keys and offsets are in RAM. The file is
// read with pread and not mapped, so that somebody who shortens it cannot end the process with SIGBUS.
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
	"iter"
	"os"
	"path"
	"slices"
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
	file     durable.File // nil after Close, or when it could not be opened again; guarded by mu
	end      int64        // where the next record goes; guarded by mu
	erased   int64        // bytes of erased records; guarded by mu
	unusable int64        // bytes that were cut off when the file was opened; guarded by mu
	dirty    bool         // something is not synced; guarded by mu
	unnamed  bool         // the name of the file may not be synced; guarded by mu
	stray    bool         // the file has bytes of records that are not in places, nor erased; guarded by mu
	places   places       // guarded by mu
}

// sizes are those of a record.
type sizes struct {
	dim uint32 // of the vector
	set uint32 // bytes of the token set
}

// head is the size of the record up to its token set.
func (s sizes) head() int64 { return fixedSize + int64(s.dim) + sumSize }

// all is the size of the record.
func (s sizes) all() int64 { return s.head() + int64(s.set) + sumSize }

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
	s.file, s.places = file, places{}
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
		of, ok := decodeFixed(fixed)
		if !ok || s.end+of.all() > min(size, maxEnd) {
			return nil
		}
		if need := int(of.head()); cap(head) < need {
			head = make([]byte, need)
		}
		head = head[:of.head()]
		if _, err := io.ReadFull(r, head); err != nil {
			return err
		}
		key, ok := checkHead(head)
		if !ok {
			return nil
		}
		if _, err := r.Discard(int(of.all() - of.head())); err != nil {
			return err
		}
		at := placeAt(s.end, of.all())
		s.end += of.all()
		if key == (vector.Key{}) {
			s.erased += of.all()
			continue
		}
		twice := s.places.set(key, at) // the first was damaged
		s.stray = s.stray || twice
	}
}

// decodeFixed reads the sizes of a record. ok is false when no record has such sizes.
func decodeFixed(fixed []byte) (of sizes, ok bool) {
	le := binary.LittleEndian
	of.dim, of.set = le.Uint32(fixed[16:]), le.Uint32(fixed[20:])
	return of, of.dim <= vector.MaxDim && of.set <= maxSetSize
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
	if key == (vector.Key{}) {
		return nil
	}
	if s.file == nil {
		return errClosed
	}
	if len(set) > maxSetSize {
		return fmt.Errorf("a token set of %d bytes is too large for %s", len(set), s.name)
	}
	if at, ok := s.places.find(hashOf(key)); ok {
		if old, sound := s.sizesLocked(s.places.entries[at].place); sound && int(old.dim) == v.Dim() {
			return nil
		}
		s.eraseLocked(at)
	}
	record := appendRecord(nil, key, v.AppendCodes(nil), set)
	if s.end+int64(len(record)) > maxEnd {
		return fmt.Errorf("%s is too large for more vectors", s.name)
	}
	s.dirty = true
	if _, err := s.file.WriteAt(record, s.end); err != nil {
		s.stray = true
		return fmt.Errorf("append to %s: %w", s.name, err)
	}
	s.places.set(key, placeAt(s.end, int64(len(record))))
	s.end += int64(len(record))
	return nil
}

// sizesLocked reads the sizes of a record; ok is false when they cannot be read or are damaged.
func (s *Store) sizesLocked(p place) (of sizes, ok bool) {
	var fixed [fixedSize]byte
	if _, ok = s.readLocked(p.offset(), len(fixed), fixed[:]); ok {
		of, ok = decodeFixed(fixed[:])
	}
	return of, ok && of.all() == p.size()
}

// eraseLocked overwrites the record of an entry, so that nothing of its text is left, and removes the entry.
func (s *Store) eraseLocked(at int) {
	p := s.places.entries[at].place
	s.places.remove(at)
	s.dirty = true
	of, ok := s.sizesLocked(p)
	if !ok {
		s.stray = true
		return
	}
	empty := appendRecord(nil, vector.Key{}, make([]byte, of.dim), make([]byte, of.set))
	if _, err := s.file.WriteAt(empty, p.offset()); err != nil {
		s.stray = true
		return
	}
	s.erased += p.size()
}

// Len is the number of texts.
func (s *Store) Len() int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.places.count
}

// Vector returns the vector of a whole text. It uses buf when its capacity suffices, as Tokens does, but the vector is
// a copy. ok is false when there is none, as for Tokens.
func (s *Store) Vector(key vector.Key, buf []byte) (v vector.Quantized, ok bool) {
	record, of, p, ok := s.read(key, buf)
	if !ok {
		return v, false
	}
	head := record[:of.head()]
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
	record, of, p, ok := s.read(key, buf)
	if !ok {
		return nil, false
	}
	if !isSound(record) || vector.Key(record[:16]) != key {
		s.forget(key, p)
		return nil, false
	}
	return vector.TokenSet(record[of.head() : len(record)-sumSize]), true
}

// isSound checks the checksum of a record.
func isSound(record []byte) bool {
	body := record[:len(record)-sumSize]
	return crc32c(body) == binary.LittleEndian.Uint32(record[len(body):])
}

// read reads the record of a text, whose sizes fit its length. What cannot be read is forgotten.
func (s *Store) read(key vector.Key, buf []byte) (record []byte, of sizes, p place, ok bool) {
	s.mu.RLock()
	p, known := s.places.get(key)
	if known {
		record, ok = s.readLocked(p.offset(), int(p.size()), buf)
	}
	s.mu.RUnlock()
	if ok {
		of, ok = decodeFixed(record)
		ok = ok && of.all() == p.size()
	}
	if known && !ok {
		s.forget(key, p)
	}
	return record, of, p, ok
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
	if at, ok := s.places.find(hashOf(key)); ok && s.places.entries[at].place == p {
		s.places.remove(at)
		s.stray = true
	}
}

// Retain removes the vectors of all texts but these, so that nothing of them is left in the file, and makes the others
// durable. It erases in place; when much was erased, it writes the file anew, which keeps Vector and Tokens waiting.
// live is read before anybody waits.
func (s *Store) Retain(live iter.Seq[vector.Key]) error {
	var hashes []uint64 // a map would take five times the memory
	for key := range live {
		hashes = append(hashes, hashOf(key))
	}
	slices.Sort(hashes)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file == nil {
		return errClosed
	}
	var dead []uint64
	for _, e := range s.places.entries {
		if _, lives := slices.BinarySearch(hashes, e.hash); e.place != 0 && !lives {
			dead = append(dead, e.hash)
		}
	}
	for _, hash := range dead {
		if at, ok := s.places.find(hash); ok {
			s.eraseLocked(at)
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
		for _, e := range s.places.entries {
			if e.place == 0 {
				continue
			}
			record, ok := s.readLocked(e.place.offset(), int(e.place.size()), buf)
			buf = record
			if !ok || !isSound(record) || hashOf(vector.Key(record[:16])) != e.hash {
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
	s.file, s.places = nil, places{}
	return err
}
