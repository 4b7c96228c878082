package jsonstore

import (
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/strictjson"
)

// EncodeMemory writes one memory in the form it has in memory.json.
func EncodeMemory(e *strictjson.Encoder, m *memory.Memory) { encodeMemory(e, m) }

// DecodeMemory reads one memory in the form it has in memory.json, with the defaults of Decode. Times without a zone are times in loc.
// Errors: a *strictjson.Error.
func DecodeMemory(d *strictjson.Decoder, loc *time.Location) (*memory.Memory, error) {
	c := &codec{Decoder: d, loc: loc}
	return c.memory()
}
