package jsonstore

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"os"

	"github.com/memsidecar/memsidecar/internal/store/durable"
)

// scanBuffer is how many bytes of a file are read at once.
const scanBuffer = 64 << 10

// What Encode begins and ends the memories with, and each of them.
const (
	memoriesBegin = `  "memories": [`
	memoriesEnd   = "  ]"
	noMemories    = memoriesBegin + "]"
	memoryBegin   = "    {"
	memoryEnd     = "    }"
)

// publishedScan divides what Encode wrote into its memories and the rest, a line at a time: a string has no line break
// in JSON. Only fields that this version does not know are written as they are and may have some. They are behind the
// known ones, and where one of them looks like an end, what is before it is no whole value.
type publishedScan struct {
	memory func(value []byte) error // gets each memory; it must refuse what is no whole value

	place int    // header, memories, inMemory or footer
	value []byte // of the memory that has begun
	rest  []byte // the file with an empty list of memories
}

// Where a publishedScan is.
const (
	header = iota
	memories
	inMemory
	footer
)

// errOtherLayout means that a file is not laid out as Encode does it.
var errOtherLayout = errors.New("the file has another layout")

// line takes the next line, without its end. Errors: errOtherLayout, and those of memory.
func (s *publishedScan) line(line []byte) error {
	end := bytes.TrimSuffix(line, []byte(","))
	switch s.place {
	case inMemory:
		if string(end) == memoryEnd {
			s.place = memories
			return s.memory(append(s.value, end...))
		}
		s.value = append(append(s.value, line...), '\n')
		return nil
	case memories:
		if string(line) == memoryBegin {
			s.place = inMemory
			s.value = append(append(s.value[:0], line...), '\n')
			return nil
		}
		if string(end) != memoriesEnd {
			return errOtherLayout
		}
		s.place = footer
	case header:
		switch {
		case string(line) == memoriesBegin:
			s.place = memories
		case string(end) == noMemories:
			s.place = footer
		case string(line) != "{" && !isFileField(fieldOf(line)):
			return errOtherLayout
		}
	}
	s.rest = append(append(s.rest, line...), '\n')
	return nil
}

// fieldOf returns the name of the top-level field that begins in a line, "" when there is none.
func fieldOf(line []byte) string {
	name, isField := bytes.CutPrefix(line, []byte(`  "`))
	if !isField {
		return ""
	}
	name, _, _ = bytes.Cut(name, []byte(`": `))
	return string(name)
}

// scanPublished reads a memory.json whose SHA-256 is published, so that Encode wrote it, and returns the top-level
// fields that this version does not know. memory gets each memory, and must refuse what is no whole value; what it got
// is worth nothing unless ok. What is read is hashed through leisurely. The RAM that a scan takes does not grow with
// the number of memories. It is not ok when the file cannot be read, has other bytes, or when another version laid it
// out differently.
func scanPublished(
	fsys durable.FS, name, published string, leisurely func(io.Writer) io.Writer, memory func(value []byte) error,
) (extra map[string]json.RawMessage, ok bool) {
	file, err := fsys.OpenFile(name, os.O_RDONLY, 0)
	if err != nil {
		return nil, false
	}
	defer file.Close()
	sum := sha256.New()
	in := bufio.NewReaderSize(io.TeeReader(file, leisurely(sum)), scanBuffer)
	s := publishedScan{memory: memory}
	for line := []byte(nil); ; {
		line, err = appendLine(line[:0], in)
		if errors.Is(err, io.EOF) && len(line) == 0 {
			break
		}
		if err != nil || s.line(line) != nil {
			return nil, false
		}
	}
	if s.place != footer || hex.EncodeToString(sum.Sum(nil)) != published {
		return nil, false
	}
	extra, err = decodeExtra(s.rest)
	return extra, err == nil
}

// appendLine appends the next line to dst, without its end. Errors: those of the reader, also behind part of a line.
func appendLine(dst []byte, in *bufio.Reader) ([]byte, error) {
	for {
		part, err := in.ReadSlice('\n')
		dst = append(dst, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return bytes.TrimSuffix(dst, []byte("\n")), err
		}
	}
}
