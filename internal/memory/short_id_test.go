package memory_test

import (
	"testing"

	"github.com/memsidecar/memsidecar/internal/memory"
)

func TestAnswersTo(t *testing.T) {
	const id = "019a1b2c-3d4e-7f50-8a6b-deadbeef0123"
	for _, tt := range []struct {
		id, typed string
		want      bool
	}{
		{id, id, true},
		{id, "dead", true},
		{id, "deadbeef0123", true},
		{id, "dea", false},
		{id, "019a1b2c", false}, // the time, which all of a day share
		{id, "beef", false},
		{id, "DEAD", false},
		{id, "", false},
		{"mem0-1", "mem0", false},
		{"beefbeef", "beef", false}, // nobody generated it
		{"beefbeef", "beefbeef", true},
		{"mine-deadbeefs", "dead", false},
	} {
		if got := memory.AnswersTo(tt.id, tt.typed); got != tt.want {
			t.Errorf("AnswersTo(%q, %q) = %v", tt.id, tt.typed, got)
		}
	}
}
