package durable

import (
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"
	"strconv"
	"strings"
	"sync"

	"github.com/memsidecar/memsidecar/internal/memory"
)

// crc32c is CRC-32C (RFC 3720, appendix B.4), which common processors compute in hardware. The table is made when it
// is first asked for: as a variable it would cost every start of the program a fifth of a millisecond.
func crc32c(data []byte) uint32 { return crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli)) }

// crcField begins the checksum of a line; crcTail is its length with the eight hexadecimal digits and the closing
// brace.
const (
	crcField = `,"crc":"`
	crcTail  = len(crcField) + 8 + len(`"}`)
)

// AppendLine appends the JSON object of v as one line, with an additional last field "crc": the CRC-32C of everything
// before that field. v must encode to an object with at least one field and without newlines. Its method AppendJSON(dst
// []byte) ([]byte, error) is used if it has one, else encoding/json. After an error dst is as before.
func AppendLine(dst []byte, v any) ([]byte, error) {
	start := len(dst)
	line, err := appendJSON(dst, v)
	if err != nil {
		return dst[:start], err
	}
	line = line[:len(line)-1]
	return fmt.Appendf(line, "%s%08x\"}\n", crcField, crc32c(line[start:])), nil
}

// appendJSON appends the JSON of v.
func appendJSON(dst []byte, v any) ([]byte, error) {
	if a, ok := v.(interface {
		AppendJSON(dst []byte) ([]byte, error)
	}); ok {
		return a.AppendJSON(dst)
	}
	raw, err := json.Marshal(v)
	return append(dst, raw...), err
}

// AppendBody appends to dst what AppendLine encoded into a line, which has no newline here.
func AppendBody(dst, line []byte) []byte {
	return append(append(dst, line[:len(line)-crcTail]...), '}')
}

// DecodeLine decodes a line of AppendLine, without its newline, whose checksum was verified, into v. A member that v
// does not have is a memory.ErrNewerVersion: a newer version wrote it, and what it means must not be ignored.
func DecodeLine(line []byte, v any) error {
	d := lineDecoders.Get().(*lineDecoder)
	d.body, d.end = line[:len(line)-crcTail], "}"
	err := d.Decode(v)
	d.body = nil
	if err == nil {
		lineDecoders.Put(d) // after an error its buffer may hold a rest
		return nil
	}
	// encoding/json has no type for this error.
	if what, unknown := strings.CutPrefix(err.Error(), "json: unknown field "); unknown {
		return fmt.Errorf("%w: field %s is not known", memory.ErrNewerVersion, what)
	}
	return err
}

// lineDecoder is a strict decoder that reads one line after another, so that its buffer is reused: a start decodes
// every line of a snapshot. It reads body, and then end, which stands for the checksum that the line had there.
type lineDecoder struct {
	*json.Decoder

	body []byte
	end  string
}

// lineDecoders holds decoders between lines.
var lineDecoders = sync.Pool{New: func() any {
	d := new(lineDecoder)
	d.Decoder = json.NewDecoder(d)
	d.DisallowUnknownFields()
	return d
}}

// Read is for the Decoder.
func (d *lineDecoder) Read(p []byte) (n int, err error) {
	n = copy(p, d.body)
	d.body = d.body[n:]
	if len(d.body) == 0 {
		m := copy(p[n:], d.end)
		n, d.end = n+m, d.end[m:]
	}
	if n == 0 && len(p) > 0 {
		return 0, io.EOF
	}
	return n, nil
}

// ValidLine reports whether line, without its newline, has a correct checksum of AppendLine.
func ValidLine(line []byte) bool {
	if len(line) < crcTail+1 || line[0] != '{' {
		return false
	}
	body, tail := line[:len(line)-crcTail], line[len(line)-crcTail:]
	if string(tail[:len(crcField)]) != crcField || string(tail[crcTail-2:]) != `"}` {
		return false
	}
	sum, err := strconv.ParseUint(string(tail[len(crcField):crcTail-2]), 16, 32)
	return err == nil && uint32(sum) == crc32c(body)
}
