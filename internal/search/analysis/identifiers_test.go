package analysis_test

import (
	"testing"

	"github.com/memsidecar/memsidecar/internal/search/analysis"
)

func TestProseIsNoIdentifier(t *testing.T) {
	for text, want := range map[string]bool{
		"well-known": false, "and/or": false, "e.g": false, "U.S.A": false, "100km": false, "20th": false,
		"10:30": false, "3.5": false, "24/7": false,
		"GitHub": false, "iPhone": false, "don't": false, "state-of-the-art": false, "12,000": false, "COVID": false,
		"E0308": true, "ERR_CONN_RESET": true, "httpServer": true, "v1.26.8": true, "1.26.8": true, "127.0.0.1": true,
		"a/b/c": true, "main.go": true,
		"a1b2c3d4": true, "std::vector": true, "me@orchard.example": true, "0x1f": true, "TS2345": true,
		"worker.go:42": true,
	} {
		if got := analysis.IsIdentifier(text); got != want {
			t.Errorf("IsIdentifier(%q) = %v", text, got)
		}
	}
}
