package journal

import (
	"bytes"
	"encoding/json"
	"time"
)

// head is what recovery needs of a record, at fixed places at the start of its line.
type head struct {
	lsn, group, op int64
	parts          int64
}

// parseHead reads the leading numbers of a record's line; ok is false for anything else.
func parseHead(line []byte) (h head, ok bool) {
	rest := line
	for _, f := range []struct {
		label string
		to    *int64
	}{{`{"lsn":`, &h.lsn}, {`,"group":`, &h.group}, {`,"op":`, &h.op}, {`,"parts":`, &h.parts}} {
		after, found := bytes.CutPrefix(rest, []byte(f.label))
		if !found {
			return h, f.to == &h.parts // parts is the only optional one
		}
		n := 0
		for n < len(after) && after[n] >= '0' && after[n] <= '9' && n < 19 {
			*f.to = *f.to*10 + int64(after[n]-'0')
			n++
		}
		if n == 0 {
			return h, false
		}
		rest = after[n:]
	}
	return h, true
}

// last is the LSN of the operation's last record.
func (h head) last() int64 { return h.op + max(h.parts, 1) - 1 }

// decodeLine decodes a good line.
func decodeLine(line []byte) (*Record, error) {
	rec := new(Record)
	if err := json.Unmarshal(line, rec); err != nil {
		return nil, err
	}
	return rec, nil
}

// header is the first line of a segment.
type header struct {
	Kind    string `json:"memsidecar"`
	Version int    `json:"version"`
	Store   string `json:"store"`
	Epoch   string `json:"epoch,omitempty"` // "" for the first one, which is that of the store
	First   int64  `json:"first"`
	// Begun is when the epoch began; zero for the first one.
	Begun time.Time `json:"begun,omitzero"`
}

// Last is the LSN of the operation's last record.
func (r *Record) Last() int64 { return r.Op + int64(max(r.Parts, 1)) - 1 }

// join makes one record of an operation's parts.
func join(parts []*Record) *Record {
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
