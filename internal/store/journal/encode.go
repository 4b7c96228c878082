package journal

import (
	"encoding/json"
	"strconv"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/memory/codec"
	"github.com/memsidecar/memsidecar/internal/strictjson"
)

// Records of the hot path are appended member by member: encoding/json takes longer for one record than the rest of
// staging it, under the lock that all writers share (docs/decisions/0004). Decoding is left to encoding/json, so the
// struct tags and this file must agree; a test fills every field and compares.

// AppendJSON appends r as one JSON object.
func (r *Record) AppendJSON(dst []byte) ([]byte, error) {
	o := strictjson.NewObject(dst)
	o.Int("lsn", r.LSN)
	o.Int("group", r.Group)
	o.Int("op", r.Op)
	if r.Parts != 0 {
		o.Int("parts", int64(r.Parts))
	}
	o.Time("at", r.At)
	o.String("origin", r.Origin)
	o.String("space", r.Space)
	o.String("actor", r.Actor)
	if r.Reason != "" {
		o.String("reason", r.Reason)
	}
	if r.Session != "" {
		o.String("session", r.Session)
	}
	if r.Undoes != 0 {
		o.Int("undoes", r.Undoes)
	}
	if r.Receipt != nil {
		o.Marshal("receipt", r.Receipt)
	}
	if r.Purge != nil {
		o.Marshal("purge", r.Purge)
	}
	if len(r.Changes) > 0 {
		o.Value("changes", r.appendChanges)
	}
	return o.End()
}

// appendChanges appends the array of changes.
func (r *Record) appendChanges(dst []byte) (_ []byte, err error) {
	dst = append(dst, '[')
	for i := range r.Changes {
		if i > 0 {
			dst = append(dst, ',')
		}
		if dst, err = r.Changes[i].appendJSON(dst); err != nil {
			return dst, err
		}
	}
	return append(dst, ']'), nil
}

// appendJSON appends one change: a memory's member by member, the rarer kinds by encoding/json.
func (c *Change) appendJSON(dst []byte) ([]byte, error) {
	if c.Memory == nil {
		raw, err := json.Marshal(c)
		return append(dst, raw...), err
	}
	dst, err := c.Memory.appendJSON(append(dst, `{"memory":`...))
	return append(dst, '}'), err
}

// appendJSON appends a change of a memory with both states.
func (c *MemoryChange) appendJSON(dst []byte) ([]byte, error) {
	o := strictjson.NewObject(dst)
	o.String("id", c.ID)
	if c.Prior != 0 {
		o.Int("prior", c.Prior)
	}
	if c.Before != nil {
		o.Value("before", MemoryLine{c.Before}.AppendJSON)
	}
	switch {
	case c.Text != nil:
		o.Value("after", c.appendText)
	case c.After != nil:
		o.Value("after", MemoryLine{c.After}.AppendJSON)
	}
	if c.Purged {
		o.Bool("purged", true)
	}
	return o.End()
}

// appendText appends Text with the revision of After. The order of members says nothing.
func (c *MemoryChange) appendText(dst []byte) ([]byte, error) {
	dst = append(append(dst, c.Text[:len(c.Text)-1]...), `,"revision":`...)
	return append(strconv.AppendInt(dst, c.After.Revision, 10), '}'), nil
}

// MemoryLine is a memory as one line of a snapshot, in the form that records hold it in.
type MemoryLine struct{ *memory.Memory }

// AppendJSON appends the memory as one JSON object.
func (m MemoryLine) AppendJSON(dst []byte) ([]byte, error) { return codec.AppendMemory(dst, m.Memory) }
