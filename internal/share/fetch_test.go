package share

import (
	"encoding/json"
	"errors"
	"iter"
	"testing"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/share/merge"
)

// TestEarlyMemories: the memories of the first part are there while the second is decoded, and when that cannot be
// read, its error is the last.
func TestEarlyMemories(t *testing.T) {
	var v merge.Values
	v.SetMemory("m1", &memory.Memory{ID: "m1", Category: memory.Facts, Content: "Tea", CreatedAt: time.Unix(1, 0).UTC()})
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	r := &received{parts: []*part{{done: make(chan struct{})}, {done: make(chan struct{})}}}
	if r.parts[0].Part, err = merge.ReadPart(raw); err != nil {
		t.Fatal(err)
	}
	close(r.parts[0].done)
	next, stop := iter.Pull2(r.memories())
	defer stop()
	if some, err, more := next(); !more || err != nil || len(some) != 1 || some[0].ID != "m1" {
		t.Errorf("first %v, %v, %v", some, err, more)
	}
	r.parts[1].err = errRecord
	close(r.parts[1].done)
	if some, err, more := next(); !more || !errors.Is(err, errRecord) || some != nil {
		t.Errorf("then %v, %v, %v", some, err, more)
	}
	if _, _, more := next(); more {
		t.Error("something follows the error")
	}
}
