package search

import (
	"encoding/binary"
	"hash/crc32"
	"time"
)

// Tokens analyses a text as memories and queries are.
func Tokens(text string) []string {
	a := newAnalyzer(newLexicon())
	var out []string
	for _, t := range a.tokenize(normalize(text)) {
		out = append(out, t.term)
	}
	return out
}

// Dates resolves the dates of a query, as "from to" with the day after the last.
func Dates(query string, now time.Time) []string {
	var out []string
	for _, s := range dates(normalize(query), now) {
		out = append(out, s.from.Format(time.DateOnly)+" "+s.to.Format(time.DateOnly))
	}
	return out
}

// Decode decodes an index file whatever analyzer made it, and uses what it got.
func Decode(data []byte) error {
	stamp := uint32(0)
	if len(data) >= 12 {
		stamp = uint32(data[8]) | uint32(data[9])<<8 | uint32(data[10])<<16 | uint32(data[11])<<24
	}
	x, saved, err := decodeIndex(data, stamp)
	if err != nil {
		return err
	}
	x.adopt(saved, nil)
	return nil
}

// Encode returns the index of a space as Save would write it.
func (e *Engine) Encode(space string) []byte {
	e.catchUp()
	s := e.space(space)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.index.saved = s.index.changes + 1
	data, _ := s.index.encode(e.stamp)
	return data
}

// Postings lists every term with the ids, frequencies and fields of its memories, which two equal indexes have in common whatever
// the order of their changes was.
func (e *Engine) Postings(space string) map[string]map[string]uint8 {
	e.catchUp()
	x := e.reader(space)
	x.mu.RLock()
	defer x.mu.RUnlock()
	out := map[string]map[string]uint8{}
	for term, n := range x.terms {
		out[term] = map[string]uint8{}
		for _, p := range x.lists[n] {
			out[term][x.docs[p.doc()].ID] = uint8(p)
		}
	}
	return out
}

// Checksummed puts the right magic, version and checksum on data.
func Checksummed(data []byte) []byte {
	if len(data) < headerSize {
		return data
	}
	out := append([]byte(fileMagic), data[4:]...)
	binary.LittleEndian.PutUint32(out[4:], fileVersion)
	return binary.LittleEndian.AppendUint32(out, crc32.Checksum(out, castagnoli))
}
