package search

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"math"
	"strings"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/store/durable"
)

// The index file, little-endian:
//
//	"MSKW", version u32, tokenizer fingerprint u32, documents u32, terms u32, postings u32, bytes of names u32
//	per document: revision i64, fingerprint of the indexed text u32, length f32, bytes of the id u32
//	per term: postings u32, bytes of the term u32
//	postings: document number in this file << 8 | bits, u32 each
//	names: the ids, then the terms, in the order above
//	CRC-32C of everything before u32
//
// Documents are numbered in the order of the file.
const (
	fileMagic   = "MSKW"
	fileVersion = 1
	headerSize  = 28
	docSize     = 20
	termSize    = 8
)

// crc32c is the CRC-32C of data.
func crc32c(data []byte) uint32 { return crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli)) }

// errStale means a valid file of another tokenizer or version.
var errStale = errors.New("made by another version")

func indexFile(space string) string { return "index/" + space + ".keyword" }

// textChecksum identifies the indexed text of memories. It reuses its buffer.
type textChecksum struct{ buf []byte }

func (f *textChecksum) sum(m *memory.Memory) uint32 {
	f.buf = append(append(f.buf[:0], m.Content...), 0)
	f.buf = append(append(f.buf, m.Title...), 0)
	f.buf = append(append(f.buf, m.Description()...), 0)
	f.buf = append(append(f.buf, toolText(m)...), 0)
	for _, t := range m.Tags {
		f.buf = append(append(f.buf, t...), 0)
	}
	return crc32c(f.buf)
}

// With many spaces, the indexes of small ones are not saved: they are built anew in a few milliseconds, and a file and
// two syncs for each would keep a daemon from stopping.
const (
	manySpaces   = 64
	minSavedDocs = 200
)

// grownBy is the part of an index that must have changed for SaveGrown to write it: the files are written whole.
const grownBy = 4 // a fourth

// outgrown reports whether a file that was saved at one count of changes, 0 for never, is worth writing at another.
func outgrown(saved, changes uint64, docs int) bool {
	return saved == 0 || (changes-saved)*grownBy >= uint64(docs)
}

// Save writes the index of every changed space to index/SPACE.keyword below fsys, and the vectors as SaveVectors does.
// Durable on return. Searches continue meanwhile; a change of a space waits while its index is written, not while it is
// synced: 0.1 s for 100,000 memories.
func (e *Engine) Save(fsys durable.FS) error {
	if err := e.saveKeywords(fsys, false); err != nil {
		return err
	}
	return e.SaveVectors(fsys)
}

// SaveGrown is Save, but writes only the keyword indexes of which a fourth is new. A start after a crash makes again
// what they lack, so this is what a crash may cost; a file that is written for every few changes would cost more than
// anything else that is written.
func (e *Engine) SaveGrown(fsys durable.FS) error {
	if err := e.saveKeywords(fsys, true); err != nil {
		return err
	}
	return e.SaveVectors(fsys)
}

// saveKeywords writes the keyword index of every space that changed, or only of those that outgrew their files.
func (e *Engine) saveKeywords(fsys durable.FS, grown bool) error {
	e.saving.Lock()
	defer e.saving.Unlock()
	e.drain()
	if err := fsys.MkdirAll("index"); err != nil {
		return fmt.Errorf("make index directory: %w", err)
	}
	names := e.openNames()
	least := 0
	if len(names) > manySpaces {
		least = minSavedDocs
	}
	for _, name := range names {
		s := e.pinOpen(name)
		if s == nil {
			continue // it was closed, and saved
		}
		err := e.saveSpace(fsys, s, least, grown)
		e.releaseUnused(s)
		if err != nil {
			return err
		}
	}
	return nil
}

// saveSpace saves the index of a space that has at least that many documents and, if grown is set, outgrew its file.
func (e *Engine) saveSpace(fsys durable.FS, s *space, least int, grown bool) error {
	s.mu.Lock()
	x := s.index
	if x.docIDs.Len() < least {
		changed, changes := x.saved != x.changes, x.changes
		s.mu.Unlock()
		if changed && !grown {
			return s.removeIndexFile(fsys, x, changes)
		}
		return nil
	}
	if grown && !outgrown(x.saved, x.changes, x.docIDs.Len()) {
		s.mu.Unlock()
		return nil
	}
	changed := x.saved != x.changes
	s.mu.Unlock()
	if !changed {
		return nil
	}
	changes := uint64(0)
	err := durable.WriteFile(fsys, indexFile(s.name), func(w io.Writer) error {
		s.mu.Lock()
		defer s.mu.Unlock()
		changes = x.changes
		return x.encode(w, e.fingerprint)
	})
	if err != nil {
		return fmt.Errorf("save search index of space %q: %w", s.name, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	x.saved = changes
	return nil
}

// removeIndexFile removes the file of a space that is small now: what was erased since would still be in it.
func (s *space) removeIndexFile(fsys durable.FS, x *invertedIndex, changes uint64) error {
	err := fsys.Remove(indexFile(s.name))
	if err == nil {
		err = fsys.SyncDir("index")
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove search index of space %q: %w", s.name, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	x.saved = changes
	return nil
}

// encodeBuffer is how many bytes of an index are encoded before they are written: the file of a million memories has
// 135 MB, which should not be in the heap at once.
const encodeBuffer = 256 << 10

// indexEncoder writes an index file. buf is what is not written yet.
type indexEncoder struct {
	w   io.Writer
	buf []byte
	sum uint32 // of what is written
	err error
}

// flush writes the buffer once there are so many bytes in it.
func (e *indexEncoder) flush(least int) {
	if len(e.buf) < least {
		return
	}
	e.sum = crc32.Update(e.sum, crc32.MakeTable(crc32.Castagnoli), e.buf)
	if e.err == nil {
		_, e.err = e.w.Write(e.buf)
	}
	e.buf = e.buf[:0]
}

// encode writes the index file. The caller holds space.mu, which excludes changes but not searches. Error: that of w.
func (x *invertedIndex) encode(w io.Writer, fingerprint uint32) error {
	names, postings := 0, 0
	for id, t := range x.terms.all() {
		names += len(t)
		postings += len(x.postings.of(id))
	}
	for _, m := range x.docs {
		if m != nil {
			names += len(m.ID)
		}
	}
	le := binary.LittleEndian
	e := &indexEncoder{w: w, buf: make([]byte, 0, encodeBuffer+4<<10)}
	e.buf = append(e.buf, fileMagic...)
	for _, n := range []int{fileVersion, int(fingerprint), x.docIDs.Len(), x.terms.len(), postings, names} {
		e.buf = le.AppendUint32(e.buf, uint32(n))
	}
	x.encodeTables(e)
	for _, m := range x.docs {
		if m != nil {
			e.buf = append(e.buf, m.ID...)
			e.flush(encodeBuffer)
		}
	}
	for _, t := range x.terms.all() {
		e.buf = append(e.buf, t...)
		e.flush(encodeBuffer)
	}
	e.flush(0)
	e.buf = le.AppendUint32(e.buf, e.sum)
	e.flush(0)
	return e.err
}

// encodeTables encodes the tables of documents and terms, and the postings.
func (x *invertedIndex) encodeTables(e *indexEncoder) {
	le := binary.LittleEndian
	renumbered := make([]uint32, len(x.docs))
	next := uint32(0)
	var checksum textChecksum
	for doc, m := range x.docs {
		if m == nil {
			continue
		}
		renumbered[doc] = next
		next++
		e.buf = le.AppendUint64(e.buf, uint64(m.Revision))
		e.buf = le.AppendUint32(e.buf, checksum.sum(m))
		e.buf = le.AppendUint32(e.buf, math.Float32bits(x.lengths[doc]))
		e.buf = le.AppendUint32(e.buf, uint32(len(m.ID)))
		e.flush(encodeBuffer)
	}
	for id, t := range x.terms.all() {
		e.buf = le.AppendUint32(e.buf, uint32(len(x.postings.of(id))))
		e.buf = le.AppendUint32(e.buf, uint32(len(t)))
		e.flush(encodeBuffer)
	}
	for id := range x.terms.all() {
		for _, p := range x.postings.of(id) {
			e.buf = le.AppendUint32(e.buf, renumbered[p.doc()]<<8|uint32(p&0xff))
		}
		e.flush(encodeBuffer)
	}
}

// savedDoc is a document of an index file.
type savedDoc struct {
	id       string
	revision int64
	checksum uint32
	length   float32
}

// decodeIndex decodes an index file. The index has terms and postings, but no memories yet. Errors: errStale or
// memory.ErrCorrupt.
func decodeIndex(data []byte, fingerprint uint32) (*invertedIndex, []savedDoc, error) {
	le := binary.LittleEndian
	if len(data) < headerSize+4 || string(data[:4]) != fileMagic {
		return nil, nil, corrupt("no header")
	}
	if le.Uint32(data[4:]) != fileVersion || le.Uint32(data[8:]) != fingerprint {
		return nil, nil, errStale
	}
	body := data[:len(data)-4]
	if crc32c(body) != le.Uint32(data[len(body):]) {
		return nil, nil, corrupt("checksum differs")
	}
	docs, terms := int(le.Uint32(data[12:])), int(le.Uint32(data[16:]))
	postings, names := int(le.Uint32(data[20:])), int(le.Uint32(data[24:]))
	if headerSize+docSize*docs+termSize*terms+4*postings+names != len(body) {
		return nil, nil, corrupt("sizes do not add up")
	}
	docTable := body[headerSize:]
	termTable := docTable[docSize*docs:]
	postingTable := termTable[termSize*terms:]
	text := string(postingTable[4*postings:])
	saved := make([]savedDoc, docs)
	for i := range saved {
		d := docTable[docSize*i:]
		n := int(le.Uint32(d[16:]))
		if n > len(text) {
			return nil, nil, corrupt("names are too short")
		}
		saved[i] = savedDoc{text[:n], int64(le.Uint64(d)), le.Uint32(d[8:]), math.Float32frombits(le.Uint32(d[12:]))}
		if !(saved[i].length >= 0 && saved[i].length < 1e9) {
			return nil, nil, corrupt("impossible length")
		}
		text = text[n:]
	}
	ofTerms := strings.Clone(text) // they are parts of it as long as the index lives, which needs no ids beside them
	x, err := decodePostings(termTable[:termSize*terms], postingTable[:4*postings], ofTerms, docs)
	return x, saved, err
}

// decodePostings decodes the terms and their posting lists.
func decodePostings(termTable, postingTable []byte, text string, docs int) (*invertedIndex, error) {
	le := binary.LittleEndian
	terms, postings := len(termTable)/termSize, len(postingTable)/4
	x := newInvertedIndex(0)
	x.terms, x.postings = newFileDictionary(terms, text), newPostingLists(terms)
	short := 0 // postings of lists that are not long
	for i := range terms {
		if n := int(le.Uint32(termTable[termSize*i:])); n > 1 && n < longFrom {
			short += n
		}
	}
	arena, alone := make(postingList, min(short, postings)), make(postingList, 1)
	for i := range terms {
		n, size := int(le.Uint32(termTable[termSize*i:])), int(le.Uint32(termTable[termSize*i+4:]))
		if n == 0 || 4*n > len(postingTable) || size > len(text) {
			return nil, corrupt("lists are too short")
		}
		list := alone
		switch {
		case n >= longFrom: // the first additions would copy it, and nothing of the arena could be given back
			list = withRoom(postingList(nil), n)[:n]
		case n > 1:
			list, arena = arena[:n:n], arena[n:]
		}
		for j := range list {
			list[j] = posting(le.Uint32(postingTable[4*j:]))
		}
		postingTable = postingTable[4*n:]
		if !list.valid(docs) {
			return nil, corrupt("list out of order")
		}
		x.postings.set(uint32(i), list)
		if !x.terms.addNext(size) {
			return nil, corrupt("a term is empty or comes twice")
		}
		text = text[size:]
	}
	if len(postingTable) > 0 || len(text) > 0 {
		return nil, corrupt("sizes do not add up")
	}
	return x, nil
}

func corrupt(what string) error { return fmt.Errorf("search index: %s: %w", what, memory.ErrCorrupt) }
