package vector

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"iter"

	"github.com/memsidecar/memsidecar/internal/memory"
)

// The file of vectors, little-endian:
//
//	"MSVC", version u32, dimensions u32, rows u32, bytes of the identity u32
//	identity of the embedder
//	per row: key of the text (16 bytes), its codes (a signed byte for each dimension)
//	CRC-32C of everything before u32
const (
	fileMagic   = "MSVC"
	fileVersion = 1
	headerSize  = 20
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// ErrStale says that a file is sound but is of another embedder or version.
var ErrStale = errors.New("made by another embedder or version")

// Encode returns the file of rows that an embedder made, all of dim codes.
func Encode(identity string, dim int, rows iter.Seq2[Key, []int8]) []byte {
	le := binary.LittleEndian
	data := append([]byte(fileMagic), make([]byte, headerSize-len(fileMagic))...)
	data = append(data, identity...)
	n := 0
	for key, codes := range rows {
		data = append(data, key[:]...)
		for _, c := range codes[:dim] {
			data = append(data, byte(c))
		}
		n++
	}
	le.PutUint32(data[4:], fileVersion)
	le.PutUint32(data[8:], uint32(dim))
	le.PutUint32(data[12:], uint32(n))
	le.PutUint32(data[16:], uint32(len(identity)))
	return le.AppendUint32(data, crc32.Checksum(data, castagnoli))
}

// Saved are the vectors of a file, by the text they are of.
type Saved struct {
	dim  int
	rows map[Key][]byte // parts of the file
}

// Decode reads a file, which it keeps. Errors: ErrStale, memory.ErrCorrupt.
func Decode(data []byte, identity string) (*Saved, error) {
	le := binary.LittleEndian
	if len(data) < headerSize+4 || string(data[:4]) != fileMagic {
		return nil, damaged("no header")
	}
	body := data[:len(data)-4]
	if crc32.Checksum(body, castagnoli) != le.Uint32(data[len(body):]) {
		return nil, damaged("checksum differs")
	}
	if le.Uint32(data[4:]) != fileVersion {
		return nil, ErrStale
	}
	dim, n, name := int(le.Uint32(data[8:])), int(le.Uint32(data[12:])), int(le.Uint32(data[16:]))
	size := len(Key{}) + dim
	if dim > MaxDim || n > 0 && dim == 0 || headerSize+name+n*size != len(body) {
		return nil, damaged("sizes do not add up")
	}
	if string(body[headerSize:headerSize+name]) != identity {
		return nil, ErrStale
	}
	s := &Saved{dim: dim, rows: make(map[Key][]byte, n)}
	for rest := body[headerSize+name:]; len(rest) > 0; rest = rest[size:] {
		s.rows[Key(rest[:len(Key{})])] = rest[len(Key{}):size]
	}
	return s, nil
}

// Get returns the direction of a text; false when the file has none.
func (s *Saved) Get(key Key) (Direction, bool) {
	row, ok := s.rows[key]
	if !ok {
		return Direction{}, false
	}
	codes := make([]int8, stride(s.dim))
	for i, c := range row {
		codes[i] = int8(c)
	}
	return direction(s.dim, codes)
}

// Len is the number of texts.
func (s *Saved) Len() int { return len(s.rows) }

func damaged(what string) error {
	return fmt.Errorf("file of vectors: %s: %w", what, memory.ErrCorrupt)
}
