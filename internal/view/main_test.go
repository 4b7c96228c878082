package view_test

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"github.com/memsidecar/memsidecar/internal/memtest"
)

// What is made at random runs one goroutine after the other, so the race detector sees fewer of it. -rapid.checks says otherwise.
func TestMain(m *testing.M) {
	if memtest.RaceDetector {
		if err := flag.Set("rapid.checks", "25"); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	os.Exit(m.Run())
}
