package durable

import (
	"fmt"

	"github.com/memsidecar/memsidecar/internal/memory"
)

// unsupported is the error for dir on a file system of a kind that cannot keep the promises of this package.
func unsupported(dir, kind string) error {
	return fmt.Errorf("%s is on %s: %w; choose a data directory on a local disk", dir, kind, memory.ErrUnsupportedFS)
}
