package durable

import (
	"encoding/json"
	"fmt"
	"hash/crc32"
	"strconv"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

const (
	crcField = `,"crc":"`
	crcTail  = len(crcField) + 8 + len(`"}`)
)

// AppendLine appends the JSON object of v as one line whose last field, "crc", is the CRC-32C of all before it. v must
// encode to an object with at least one field, without newlines: by its method AppendJSON(dst []byte) ([]byte, error) when it has
// one, else by encoding/json. After an error dst is as it was.
func AppendLine(dst []byte, v any) ([]byte, error) {
	start := len(dst)
	line, err := appendJSON(dst, v)
	if err != nil {
		return dst[:start], err
	}
	line = line[:len(line)-1]
	return fmt.Appendf(line, "%s%08x\"}\n", crcField, crc32.Checksum(line[start:], castagnoli)), nil
}

func appendJSON(dst []byte, v any) ([]byte, error) {
	if a, ok := v.(interface {
		AppendJSON(dst []byte) ([]byte, error)
	}); ok {
		return a.AppendJSON(dst)
	}
	raw, err := json.Marshal(v)
	return append(dst, raw...), err
}

// LineGood reports whether line, without its newline, is one that AppendLine wrote.
func LineGood(line []byte) bool {
	if len(line) < crcTail+1 || line[0] != '{' {
		return false
	}
	body, tail := line[:len(line)-crcTail], line[len(line)-crcTail:]
	if string(tail[:len(crcField)]) != crcField || string(tail[crcTail-2:]) != `"}` {
		return false
	}
	sum, err := strconv.ParseUint(string(tail[len(crcField):crcTail-2]), 16, 32)
	return err == nil && uint32(sum) == crc32.Checksum(body, castagnoli)
}
