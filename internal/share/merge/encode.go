package merge

import (
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/memory/codec"
	"github.com/memsidecar/memsidecar/internal/strictjson"
)

// AppendJSON appends c as one JSON object, with the members that the struct tags name. Error: a memory that
// codec.AppendMemory refuses.
func (c *Change) AppendJSON(dst []byte) ([]byte, error) {
	o := strictjson.NewObject(dst)
	switch {
	case c.Memory != nil:
		o.Value("memory", c.Memory.appendJSON)
	case c.Access != nil:
		o.Marshal("access", c.Access)
	case c.Forgotten != nil:
		o.Marshal("forgotten", c.Forgotten)
	case c.Summary != nil:
		o.String("summary", *c.Summary)
	}
	return o.End()
}

// appendJSON appends v as one JSON object.
func (v *MemoryValue) appendJSON(dst []byte) ([]byte, error) {
	o := strictjson.NewObject(dst)
	o.String("id", v.ID)
	if v.Value != nil {
		o.Value("value", func(dst []byte) ([]byte, error) { return codec.AppendMemory(dst, v.Value) })
	}
	return o.End()
}

// AppendMemories appends memories as a part of a snapshot, for ReadPart, with what is shared of each. encoding/json
// would take three times as long. Error: a memory that codec.AppendMemory refuses.
func AppendMemories(dst []byte, memories []*memory.Memory) ([]byte, error) {
	o := strictjson.NewObject(dst)
	var shared memory.Memory
	o.Value("memories", func(dst []byte) (_ []byte, err error) {
		dst = append(dst, '{')
		for i, m := range memories {
			if i > 0 {
				dst = append(dst, ',')
			}
			shared = *m
			share(&shared)
			dst = append(strictjson.AppendString(dst, m.ID), ':')
			if dst, err = codec.AppendMemory(dst, &shared); err != nil {
				return dst, err
			}
		}
		return append(dst, '}'), nil
	})
	return o.End()
}
