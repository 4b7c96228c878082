package merge

import (
	"bytes"

	"github.com/memsidecar/memsidecar/internal/memory/codec"
)

// Reader reads what Change.AppendJSON writes of memories several times as fast as encoding/json, for those who read
// many. The zero value is ready. It is for one goroutine.
type Reader struct{ json codec.JournalReader }

// Changes reads an array of changes of memories, which data begins with, and returns what follows it. ok is false when
// encoding/json has to read it.
func (r *Reader) Changes(data []byte) (out []Change, rest []byte, ok bool) {
	for before := "["; ; before = "," {
		var v MemoryValue
		rest, ok = bytes.CutPrefix(data, []byte(before+`{"memory":{"id":`))
		if !ok {
			return nil, data, false
		}
		if v.ID, rest, ok = r.json.Text(rest); !ok {
			return nil, data, false
		}
		if rest, ok = bytes.CutPrefix(rest, []byte(`,"value":`)); !ok {
			return nil, data, false
		}
		if v.Value, rest, ok = r.json.Memory(rest); !ok {
			return nil, data, false
		}
		if rest, ok = bytes.CutPrefix(rest, []byte("}}")); !ok {
			return nil, data, false
		}
		if v.Value.ID == v.ID {
			v.ID = v.Value.ID // one text
		}
		out, data = append(out, Change{Memory: &v}), rest
		if rest, ok = bytes.CutPrefix(rest, []byte("]")); ok {
			return out, rest, true
		}
	}
}

// Text reads a string, which data begins with, and returns what follows it. ok is false when encoding/json has to read
// it.
func (r *Reader) Text(data []byte) (text string, rest []byte, ok bool) { return r.json.Text(data) }
