package transfer

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/memsidecar/memsidecar/internal/dailylog"
	"github.com/memsidecar/memsidecar/internal/jsonstore"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/memory/codec"
	"github.com/memsidecar/memsidecar/internal/strictjson"
)

const (
	maxLine    = 32 << 20  // bytes of a line; a longer one is passed over
	maxFile    = 512 << 20 // bytes of a memory.json, which is read whole
	sniffBytes = 256       // bytes that tell one format from another
)

// item is one thing to import. Another format needs only another source of items.
type item struct {
	line    int64  // from 1; 0 when the format has no lines
	space   string // empty for the default
	kind    string
	id      string
	invalid string // why it cannot be imported; the rest may be empty then

	memory    *memory.Memory
	date      string // of the day or the entry
	day       *memory.Day
	entry     *memory.Entry
	archived  *memory.Archived
	session   *memory.Session
	messages  []*memory.Message
	message   *memory.Message
	text      string // summary
	forgotten jsonstore.Forgotten
}

// source yields the items of one format; io.EOF ends it. Any other error is a read error and ends the import.
type source interface {
	next() (*item, error)
}

// detect finds out the format of r by its first bytes and returns its source with a name for the reason of the
// operations.
func detect(r io.Reader, space string, loc *time.Location) (source, string, error) {
	b := bufio.NewReaderSize(r, 64<<10)
	start, err := b.Peek(sniffBytes)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, "", err
	}
	text := bytes.TrimLeft(bytes.TrimPrefix(start, []byte("\ufeff")), " \t\r\n")
	first := bytes.ReplaceAll(text, []byte(" "), nil)
	switch {
	case bytes.HasPrefix(first, []byte(`{"memsidecar":`)):
		s := &lines{r: b, loc: loc}
		err := s.header()
		if s.from != "" {
			return s, s.from, err
		}
		return s, "an export", err
	case len(text) > 0 && text[0] == '{':
		s, err := openFile(b, space, loc)
		return s, "a memory.json", err
	}
	return nil, "", invalid("UNKNOWN_FORMAT", "is neither an export of memsidecar (JSONL) nor a memory.json")
}

// invalid is an error about the imported file as a whole.
func invalid(reason, format string, args ...any) error {
	var check memory.Check
	check.Add("file", reason, format, args...)
	return check.Err()
}

// file is a memory.json, whose items are all in memory.
type file struct {
	items []*item
	notes []string // on what was brought within limits
}

// openFile reads a whole memory.json and brings it within the limits of memories.
func openFile(r io.Reader, space string, loc *time.Location) (*file, error) {
	// One byte more than allowed shows that the file is too long without reading all of it.
	data, err := io.ReadAll(io.LimitReader(r, maxFile+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxFile {
		return nil, invalid(
			"TOO_LONG",
			"has more than %d bytes; a memory.json this large must be imported as JSONL",
			maxFile,
		)
	}
	f, err := jsonstore.Decode(data, loc)
	if wrong, ok := errors.AsType[*strictjson.Error](err); ok {
		return nil, invalid("INVALID_FILE", "is not a whole memory.json: %v", wrong)
	}
	if err != nil {
		return nil, err
	}
	// A file of another program may exceed the limits of a memory; it is cut here and reported, not refused.
	s := &file{notes: f.Sanitize()}
	for _, m := range f.Memories {
		s.items = append(s.items, &item{space: space, kind: Memory, id: m.ID, memory: m})
	}
	if f.RollingSummary != "" {
		s.items = append(s.items, &item{space: space, kind: Summary, text: f.RollingSummary})
	}
	for _, g := range f.Forgotten {
		s.items = append(s.items, &item{space: space, kind: Forgotten, id: g.Hash, forgotten: g})
	}
	return s, nil
}

// next returns the next item.
func (s *file) next() (*item, error) {
	if len(s.items) == 0 {
		return nil, io.EOF
	}
	it := s.items[0]
	s.items = s.items[1:]
	return it, nil
}

// lines is an export, read line by line.
type lines struct {
	r    *bufio.Reader
	loc  *time.Location
	n    int64  // number of the last line
	from string // the other system that the lines were made of, "" for an export of ours
}

// read returns the next line that is not blank. Of a line that is too long only the number is kept, so that the
// rest can be imported.
func (s *lines) read() (line []byte, tooLong bool, err error) {
	for {
		line, tooLong = nil, false
		for {
			part, err := s.r.ReadSlice('\n')
			if err != nil && !errors.Is(err, bufio.ErrBufferFull) && !errors.Is(err, io.EOF) {
				return nil, false, err
			}
			if len(line)+len(part) > maxLine {
				// The rest of the line is skipped, not kept: its length is not bounded.
				tooLong, line = true, nil
			} else if !tooLong {
				line = append(line, part...)
			}
			if errors.Is(err, io.EOF) && len(line) == 0 && !tooLong {
				return nil, false, io.EOF
			}
			if err == nil || errors.Is(err, io.EOF) {
				break
			}
		}
		s.n++
		if line = bytes.TrimSpace(bytes.TrimPrefix(line, []byte("\ufeff"))); len(line) > 0 || tooLong {
			return line, tooLong, nil
		}
	}
}

// header validates the first line.
func (s *lines) header() error {
	line, _, err := s.read()
	if err != nil {
		return err
	}
	d, err := strictjson.NewDecoder(line)
	if err != nil {
		return invalid("INVALID_FILE", "has a first line that is not JSON: %v", err)
	}
	what, version := "", int64(0)
	err = d.Object(func(key []byte) (err error) {
		switch string(key) {
		case "memsidecar":
			what, err = d.String()
		case "version":
			version, err = d.Int()
		case "from":
			s.from, err = d.String()
		default:
			err = d.Skip()
		}
		return err
	})
	switch {
	case err != nil:
		return invalid("INVALID_FILE", "has a first line that is not that of an export: %v", err)
	// The header of a backup looks like that of an export; say which command reads it.
	case what == "backup":
		return invalid("UNKNOWN_FORMAT", "is part of a backup; restore the archive instead")
	case what != kindExport || version < 1:
		return invalid("UNKNOWN_FORMAT", "is %q and not an export", what)
	case s.from != "" && (!memory.IsSlug(s.from) || len(s.from) > memory.MaxSlug):
		return invalid("INVALID_FILE", "names a system that it was made of, but not by a lower-case name")
	case version > Version:
		return fmt.Errorf(
			"the export has format %d, this memsidecar knows %d: %w",
			version,
			Version,
			memory.ErrNewerVersion,
		)
	}
	return nil
}

// next returns the next line as an item; a line that cannot be decoded becomes an invalid item, not an error.
func (s *lines) next() (*item, error) {
	line, tooLong, err := s.read()
	if err != nil {
		return nil, err
	}
	it := &item{line: s.n, kind: unknownLine}
	if tooLong {
		it.invalid = fmt.Sprintf("has more than %d bytes", maxLine)
		return it, nil
	}
	if err := s.decode(it, line); err != nil {
		it.invalid = strings.TrimPrefix(err.Error(), "line 1, ")
	}
	return it, nil
}

// decode reads one line. What was read before an error stays in the item, so that the report can name it.
func (s *lines) decode(it *item, line []byte) error {
	d, err := strictjson.NewDecoder(line)
	if err != nil {
		return err
	}
	if err := d.Object(func(key []byte) error { return s.member(it, d, string(key)) }); err != nil {
		return err
	}
	if err := d.End(); err != nil {
		return err
	}
	if it.kind == unknownLine {
		return errors.New("holds nothing that this version knows")
	}
	return nil
}

// member reads one member of a line.
func (s *lines) member(it *item, d *strictjson.Decoder, key string) (err error) {
	is := func(kind string) {
		if it.kind != unknownLine {
			err = d.Fail("is a second thing in one line")
		}
		it.kind = kind
	}
	switch key {
	case "space":
		it.space, err = d.String()
	case "date":
		it.date, err = d.String()
	case "session_id":
		it.id, err = d.String()
	case Memory:
		if is(key); err == nil {
			it.memory, err = codec.DecodeMemory(d, s.loc, memory.SourceUser)
		}
		if err == nil {
			it.id = it.memory.ID
		}
	case Day:
		if is(key); err == nil {
			it.day, err = dailylog.DecodeDay(d, s.loc)
		}
		if err == nil {
			it.id, it.date = it.day.Date, it.day.Date
		}
	case Entry:
		if is(key); err == nil {
			it.entry, err = codec.DecodeEntry(d, s.loc)
		}
		if err == nil {
			it.id = it.entry.ID
		}
	case Archived:
		if is(key); err == nil {
			it.archived, err = dailylog.DecodeArchived(d, s.loc)
		}
		if err == nil {
			it.id, it.date = it.archived.ID, it.archived.Date
		}
	case Session:
		it.session = new(memory.Session)
		if is(key); err == nil {
			err = decodeJSON(d, it.session)
		}
		it.id = it.session.ID
	case message:
		it.message = new(memory.Message)
		if is(key); err == nil {
			err = decodeJSON(d, it.message)
		}
	case Summary:
		if is(key); err == nil {
			it.text, err = d.String()
		}
	case Forgotten:
		if is(key); err == nil {
			err = s.forgotten(it, d)
		}
	default:
		err = d.Fail("is not known here")
	}
	return err
}
