package publish

import (
	"context"
	"io"
	"time"

	"github.com/memsidecar/memsidecar/internal/process/background"
)

// What writes or reads a large file in the background works on it for seconds. A request that comes meanwhile waits
// until the system is asked for it, up to 10 ms while every processor computes, and again for each that takes part in
// the answer. So the background rests between some of the bytes, and steps aside while requests are answered.
const (
	bytesBeforeRest = 256 << 10 // which take a millisecond or two
	restOfWriter    = time.Millisecond
	bytesAStep      = 16 << 10 // which take less than half a millisecond
)

// AtLeisure returns a writer to w that lets others have the processor now and then, for large files that are written,
// or read and hashed, in the background. It is faster while somebody waits for the files.
func (f *Files) AtLeisure(w io.Writer) io.Writer {
	pace := background.Pace{Busy: f.Busy, Urgent: f.waiting.Urgent}
	aside := background.Writer(w, bytesAStep, func() error {
		return f.rest(func() error { return pace.Step(context.Background()) })
	})
	return background.Writer(aside, bytesBeforeRest, func() error {
		return f.rest(func() error { time.Sleep(restOfWriter); return nil })
	})
}

// rest calls wait, and counts how long it takes: that is no time in which a file is written.
func (f *Files) rest(wait func() error) error {
	began := f.now()
	defer func() { f.rested.Add(int64(f.now().Sub(began))) }()
	return wait()
}
