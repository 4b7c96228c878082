package journal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/strictjson"
)

// The records of the hot path are encoded by hand: encoding/json takes longer for one than all the rest of staging it, under the lock
// that all writers share. What is decoded is decoded by encoding/json, so the two must agree; a test fills every field.

// AppendJSON appends r as one JSON object.
func (r *Record) AppendJSON(dst []byte) ([]byte, error) {
	o := object{dst: append(dst, '{')}
	o.int("lsn", r.LSN)
	o.int("group", r.Group)
	o.int("op", r.Op)
	if r.Parts != 0 {
		o.int("parts", int64(r.Parts))
	}
	o.time("at", r.At)
	o.string("origin", r.Origin)
	o.string("space", r.Space)
	o.string("actor", r.Actor)
	o.text("reason", r.Reason)
	o.text("session", r.Session)
	if r.Undoes != 0 {
		o.int("undoes", r.Undoes)
	}
	if r.Receipt != nil {
		o.value("receipt", r.Receipt)
	}
	if r.Purge != nil {
		o.value("purge", r.Purge)
	}
	if len(r.Changes) > 0 {
		o.key("changes")
		for i := range r.Changes {
			o.dst = append(o.dst, "[,"[min(i, 1)])
			o.change(&r.Changes[i])
		}
		o.dst = append(o.dst, ']')
	}
	return append(o.dst, '}'), o.err
}

// MemoryLine is a memory that encodes itself the way records hold it.
type MemoryLine struct{ *memory.Memory }

// AppendJSON appends the memory as one JSON object.
func (m MemoryLine) AppendJSON(dst []byte) ([]byte, error) {
	o := object{dst: dst}
	o.memory(m.Memory)
	return o.dst, o.err
}

// object appends the members of one JSON object after another, keeping the first error.
type object struct {
	dst []byte
	err error
}

// change appends one change, a memory's by hand and the rarer ones by encoding/json.
func (o *object) change(c *Change) {
	if c.Memory == nil {
		o.marshal(c)
		return
	}
	o.dst = append(o.dst, `{"memory":{`...)
	o.string("id", c.Memory.ID)
	if c.Memory.Prior != 0 {
		o.int("prior", c.Memory.Prior)
	}
	if c.Memory.Before != nil {
		o.key("before")
		o.memory(c.Memory.Before)
	}
	if c.Memory.After != nil {
		o.key("after")
		o.memory(c.Memory.After)
	}
	if c.Memory.Purged {
		o.key("purged")
		o.dst = append(o.dst, "true"...)
	}
	o.dst = append(o.dst, "}}"...)
}

// memory appends m with the members, and the omissions, that its struct tags give it.
func (o *object) memory(m *memory.Memory) {
	o.dst = append(o.dst, '{')
	o.string("id", m.ID)
	o.string("category", m.Category)
	o.string("content", m.Content)
	o.float("salience", m.Salience)
	o.time("created_at", m.CreatedAt)
	o.timeUnlessZero("last_accessed", m.LastAccessed)
	o.int("access_count", m.AccessCount)
	o.string("source", m.Source)
	if m.Context != nil {
		o.value("context", m.Context)
	}
	o.timeUnlessZero("updated_at", m.UpdatedAt)
	if m.Revision != 0 {
		o.int("revision", m.Revision)
	}
	o.strings("tags", m.Tags)
	o.text("title", m.Title)
	if m.Pinned {
		o.key("pinned")
		o.dst = append(o.dst, "true"...)
	}
	if m.Confidence != 0 {
		o.float("confidence", m.Confidence)
	}
	o.timeUnlessZero("expires_at", m.ExpiresAt)
	o.text("status", string(m.Status))
	o.strings("supersedes", m.Supersedes)
	o.text("superseded_by", m.SupersededBy)
	if len(m.Relations) > 0 {
		o.value("relations", m.Relations)
	}
	if len(m.Evidence) > 0 {
		o.value("evidence", m.Evidence)
	}
	if len(m.StructuredData) > 0 {
		o.key("structured_data")
		o.compact(m.StructuredData)
	}
	if len(m.Extra) > 0 {
		o.value("extra", m.Extra)
	}
	o.dst = append(o.dst, '}')
}

// key appends the name of the next member, behind a comma unless it is the first.
func (o *object) key(name string) {
	if o.dst[len(o.dst)-1] != '{' {
		o.dst = append(o.dst, ',')
	}
	o.dst = append(append(append(o.dst, '"'), name...), '"', ':')
}

func (o *object) int(name string, v int64) {
	o.key(name)
	o.dst = strconv.AppendInt(o.dst, v, 10)
}

func (o *object) float(name string, v float64) {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		o.fail(fmt.Errorf("%s is not a number", name))
		v = 0
	}
	o.key(name)
	o.dst = strconv.AppendFloat(o.dst, v, 'g', -1, 64)
}

func (o *object) time(name string, t time.Time) {
	o.key(name)
	o.dst = append(t.AppendFormat(append(o.dst, '"'), time.RFC3339Nano), '"')
}

func (o *object) timeUnlessZero(name string, t time.Time) {
	if !t.IsZero() {
		o.time(name, t)
	}
}

func (o *object) string(name, s string) {
	o.key(name)
	o.dst = strictjson.AppendString(o.dst, s)
}

// text is a string that is left out when empty.
func (o *object) text(name, s string) {
	if s != "" {
		o.string(name, s)
	}
}

func (o *object) strings(name string, list []string) {
	if len(list) == 0 {
		return
	}
	o.key(name)
	for i, s := range list {
		o.dst = append(o.dst, "[,"[min(i, 1)])
		o.dst = strictjson.AppendString(o.dst, s)
	}
	o.dst = append(o.dst, ']')
}

func (o *object) value(name string, v any) {
	o.key(name)
	o.marshal(v)
}

func (o *object) marshal(v any) {
	raw, err := json.Marshal(v)
	o.fail(err)
	o.dst = append(o.dst, raw...)
}

// compact appends JSON without the white space, and so without the newlines, that it may hold.
func (o *object) compact(raw json.RawMessage) {
	b := bytes.NewBuffer(o.dst)
	o.fail(json.Compact(b, raw))
	o.dst = b.Bytes()
}

func (o *object) fail(err error) {
	if o.err == nil {
		o.err = err
	}
}
