package rpc

import (
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
)

// TestGuard: a panic becomes an error, except that of a store which cannot read memories: it must end the process.
func TestGuard(t *testing.T) {
	m := NewMonitor(slog.New(slog.DiscardHandler), time.Now)
	guarded := func(thrown any) (through any, err error) {
		defer func() { through = recover() }()
		return nil, m.guard(m.begin("/x"), func() error { panic(thrown) })
	}
	for _, thrown := range []any{"text", errors.New("other")} {
		if through, err := guarded(thrown); err == nil || through != nil {
			t.Errorf("%v: error %v, panic %v; want an error", thrown, err, through)
		}
	}
	damage := fmt.Errorf("pack: %w", memory.ErrCorrupt)
	if through, err := guarded(damage); through != any(damage) {
		t.Errorf("error %v, panic %v; want the panic", err, through)
	}
}
