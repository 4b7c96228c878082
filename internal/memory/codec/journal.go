package codec

import (
	"encoding/json"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/strictjson"
)

// AppendMemory appends m in the journal form: the members, and the omissions, that the struct tags of memory.Memory
// ask for. Errors: a number that JSON lacks, structured data or an unknown field that is not JSON.
//
// Writers call it under the lock that all of them share, which is why encoding/json does not do it
// (docs/decisions/0004). Context, relations and evidence are rare and small: encoding/json encodes those.
func AppendMemory(dst []byte, m *memory.Memory) ([]byte, error) {
	o := strictjson.NewObject(dst)
	for i := range memory.Fields {
		f := &memory.Fields[i]
		p := f.Pointer(m)
		if f.Presence != memory.Required && memory.IsZero(p) {
			continue
		}
		switch v := p.(type) {
		case *string:
			o.String(f.Name, *v)
		case *memory.Status:
			o.String(f.Name, string(*v))
		case *float64:
			o.Float(f.Name, *v)
		case *int64:
			o.Int(f.Name, *v)
		case *bool:
			o.Bool(f.Name, *v)
		case *time.Time:
			o.Time(f.Name, *v)
		case *[]string:
			o.Strings(f.Name, *v)
		case *json.RawMessage:
			o.Compact(f.Name, *v)
		default:
			o.Marshal(f.Name, v)
		}
	}
	if len(m.Extra()) > 0 {
		o.Marshal("extra", m.Extra())
	}
	return o.End()
}
