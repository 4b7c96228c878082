package publish

import (
	"io"
	"time"

	"github.com/memsidecar/memsidecar/internal/process/background"
)

// What writes or reads a large file in the background works on it for seconds. A request that comes meanwhile waits
// until the system is asked for it, up to 10 ms while every processor computes, and again for each that takes part in
// the answer. So the background rests between some of the bytes.
const (
	bytesBeforeRest = 256 << 10 // which take a millisecond or two
	restOfWriter    = time.Millisecond
)

// AtLeisure returns a writer to w that rests now and then, for large files that are written, or read and hashed, in the
// background.
func AtLeisure(w io.Writer) io.Writer {
	return background.Writer(w, bytesBeforeRest, func() error {
		time.Sleep(restOfWriter)
		return nil
	})
}
