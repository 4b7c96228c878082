package journal

import (
	"bytes"
	"time"

	"github.com/memsidecar/memsidecar/internal/store/durable"
)

// recordHead is what recovery needs of a record. These fields come first in every line, so that they can be read
// without decoding JSON, and from a line that is cut off behind them.
type recordHead struct {
	lsn, group, op int64
	parts          int64
}

// parseRecordHead reads the leading numbers of a record's line. ok is false for anything else.
func parseRecordHead(line []byte) (h recordHead, ok bool) {
	h, _, ok = cutRecordHead(line)
	return h, ok
}

// cutRecordHead is parseRecordHead that also returns what follows the numbers.
func cutRecordHead(line []byte) (h recordHead, rest []byte, ok bool) {
	rest = line
	for _, f := range []struct {
		label string
		to    *int64
	}{{`{"lsn":`, &h.lsn}, {`,"group":`, &h.group}, {`,"op":`, &h.op}, {`,"parts":`, &h.parts}} {
		after, found := bytes.CutPrefix(rest, []byte(f.label))
		if !found {
			return h, rest, f.to == &h.parts // parts is the only optional one
		}
		n := 0
		for n < len(after) && after[n] >= '0' && after[n] <= '9' && n < 19 {
			*f.to = *f.to*10 + int64(after[n]-'0')
			n++
		}
		if n == 0 {
			return h, rest, false
		}
		rest = after[n:]
	}
	return h, rest, true
}

// last is the LSN of the operation's last record.
func (h recordHead) last() int64 { return h.op + max(h.parts, 1) - 1 }

// decoder decodes a line whose checksum was verified.
type decoder func(line []byte) (*Record, error)

// decodeTime decodes the numbers and the time of a record, which every line begins with.
func decodeTime(line []byte) (*Record, error) {
	h, rest, ok := cutRecordHead(line)
	rest, found := bytes.CutPrefix(rest, []byte(`,"at":"`))
	end := bytes.IndexByte(rest, '"')
	if !ok || !found || end < 0 {
		return decodeLine(line) // another program wrote the members in another order
	}
	at, err := time.Parse(time.RFC3339Nano, string(rest[:end]))
	if err != nil {
		return decodeLine(line)
	}
	return &Record{LSN: h.lsn, Group: h.group, Op: h.op, Parts: int(h.parts), At: at}, nil
}

// decodeLine decodes a line whose checksum was verified. Error: memory.ErrNewerVersion for a member, or a kind of
// change, that this version does not know.
func decodeLine(line []byte) (*Record, error) {
	rec := new(Record)
	if err := durable.DecodeLine(line, rec); err != nil {
		return nil, err
	}
	return rec, nil
}

// header is the first line of a segment.
type header struct {
	Kind string `json:"memsidecar"`
	Format
	Store string `json:"store"`
	Epoch string `json:"epoch,omitempty"` // "" for the first one, which is that of the store
	First int64  `json:"first"`
	// Begun is when the epoch began; zero for the first one.
	Begun time.Time `json:"begun,omitzero"`
}

// Last is the LSN of the operation's last record.
func (r *Record) Last() int64 { return r.Op + int64(max(r.Parts, 1)) - 1 }

// joinParts makes one record of the parts of an operation.
func joinParts(parts []*Record) *Record {
	if len(parts) == 1 {
		return parts[0]
	}
	whole := *parts[0]
	whole.Changes = nil
	for _, p := range parts {
		whole.Changes = append(whole.Changes, p.Changes...)
	}
	return &whole
}
