package vector

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"iter"

	"github.com/memsidecar/memsidecar/internal/memory"
)

// A vector file, little-endian:
//
//	"MSVC", version u32, dimensions u32, rows u32, length of the identity u32
//	identity of the model
//	per row: key of the text (16 bytes), codes (one signed byte a dimension)
//	CRC-32C of everything before u32
const (
	fileMagic   = "MSVC"
	fileVersion = 1
	headerSize  = 20
)

// crc32c is the CRC-32C of data.
func crc32c(data []byte) uint32 { return crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli)) }

// ErrStale says that a file is undamaged but has another model's vectors, or another version.
var ErrStale = errors.New("the vectors are of another model or version")

// Encode returns the file of the rows, each of dim codes, of the model with this identity.
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
	return le.AppendUint32(data, crc32c(data))
}

// File is a decoded vector file.
type File struct {
	dim  int
	rows map[Key][]byte // codes, in the data that was decoded
}

// Decode reads a vector file of the model with this identity. It keeps data, which must not change. Errors: ErrStale,
// memory.ErrCorrupt.
func Decode(data []byte, identity string) (*File, error) {
	le := binary.LittleEndian
	if len(data) < headerSize+4 || string(data[:4]) != fileMagic {
		return nil, corrupt("it has no header")
	}
	body := data[:len(data)-4]
	if crc32c(body) != le.Uint32(data[len(body):]) {
		return nil, corrupt("the checksum is wrong")
	}
	if le.Uint32(data[4:]) != fileVersion {
		return nil, ErrStale
	}
	dim, n, name := int(le.Uint32(data[8:])), int(le.Uint32(data[12:])), int(le.Uint32(data[16:]))
	size := len(Key{}) + dim
	if dim > MaxDim || n > 0 && dim == 0 || headerSize+name+n*size != len(body) {
		return nil, corrupt("its sizes do not match")
	}
	if string(body[headerSize:headerSize+name]) != identity {
		return nil, ErrStale
	}
	s := &File{dim: dim, rows: make(map[Key][]byte, n)}
	for rest := body[headerSize+name:]; len(rest) > 0; rest = rest[size:] {
		s.rows[Key(rest[:len(Key{})])] = rest[len(Key{}):size]
	}
	return s, nil
}

// Get returns the vector of a text; false when the file has none.
func (s *File) Get(key Key) (Quantized, bool) {
	row, ok := s.rows[key]
	if !ok {
		return Quantized{}, false
	}
	return FromCodes(row)
}

// Len is the number of texts.
func (s *File) Len() int { return len(s.rows) }

// corrupt is the error of a file that cannot be read.
func corrupt(what string) error {
	return fmt.Errorf("vector file: %s: %w", what, memory.ErrCorrupt)
}
