package codec

import (
	"encoding/json"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/strictjson"
)

// EncodeMemory writes m in the published form. e keeps the first error: a number or time that JSON cannot hold,
// structured data or an unknown field that is not JSON.
func EncodeMemory(e *strictjson.Encoder, m *memory.Memory) {
	e.Begin('{')
	encodeFields(e, memory.Fields, m)
	e.Extra(m.Extra(), known(memoryFields))
	e.End('}')
}

// EncodeEntry writes a log entry in the published form. Errors as of EncodeMemory.
func EncodeEntry(e *strictjson.Encoder, entry *memory.Entry) {
	e.Begin('{')
	encodeFields(e, memory.EntryFields, entry)
	e.Extra(entry.Extra, known(entryFields))
	e.End('}')
}

// encodeFields writes the members of an object that is open, without those that have their default.
func encodeFields[T any](e *strictjson.Encoder, fields []memory.Field[T], v *T) {
	for i := range fields {
		f := &fields[i]
		if f.Presence == memory.Optional && f.IsDefault(v) {
			continue
		}
		p := f.Pointer(v)
		if f.Fallback != nil && memory.IsZero(p) {
			p = f.Fallback(v)
		}
		e.Field(f.Name)
		encodeValue(e, p, f.Zoned)
	}
}

// encodeValue writes what a result of Field.Pointer points to.
func encodeValue(e *strictjson.Encoder, pointer any, zoned bool) {
	switch p := pointer.(type) {
	case *string:
		e.String(*p)
	case *memory.Status:
		e.String(string(*p))
	case *float64:
		e.Float(*p)
	case *int64:
		e.Int(*p)
	case *bool:
		e.Bool(*p)
	case *time.Time:
		if zoned {
			e.Time(*p)
		} else {
			e.Time(p.UTC())
		}
	case *[]string:
		e.Strings(*p)
	case *json.RawMessage:
		e.Raw(*p)
	case **memory.Context:
		e.Begin('{')
		encodeFields(e, memory.ContextFields, *p)
		e.Extra((*p).Extra, known(contextFields))
		e.End('}')
	case *[]memory.Relation:
		encodeList(e, memory.RelationFields, *p)
	case *[]memory.Evidence:
		encodeList(e, memory.EvidenceFields, *p)
	}
}

// encodeList writes an array with one object a line.
func encodeList[T any](e *strictjson.Encoder, fields []memory.Field[T], list []T) {
	e.Begin('[')
	for i := range list {
		e.Item()
		e.BeginInline('{')
		encodeFields(e, fields, &list[i])
		e.End('}')
	}
	e.End(']')
}
