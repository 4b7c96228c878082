package hook

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync/atomic"
	"syscall"
	"time"
)

// openLimit is how long a transcript may take to open. A file system that does not answer must not hold the agent up;
// what is there is read at the next event.
const openLimit = 80 * time.Millisecond

// Errors of a transcript that cannot be read now.
var (
	errNotRegular     = errors.New("the transcript is not a regular file")
	errTranscriptHung = errors.New("the file system of the transcript does not answer")
)

// Opens bounds what hangs in a process that handles many events: a file system that does not answer holds a thread for
// each file that is opened in it. It is safe for concurrent use.
type Opens struct{ hung atomic.Int32 }

// maxHung is how many files may hang while they are opened.
const maxHung = 4

// begin reports whether another file may be opened.
func (o *Opens) begin() bool { return o == nil || o.hung.Load() < maxHung }

// hang counts a file that takes too long, until the function that it returns is called.
func (o *Opens) hang() (over func()) {
	if o == nil {
		return func() {}
	}
	o.hung.Add(1)
	return func() { o.hung.Add(-1) }
}

// openTranscript opens a regular file within openLimit. A pipe or a device is refused without being opened, because
// that may block for ever, or do something.
func openTranscript(opens *Opens, path string) (*os.File, error) {
	return within(opens, openLimit, func() (*os.File, error) {
		info, err := os.Stat(path)
		if err != nil {
			return nil, err
		}
		if err := requireRegular(info); err != nil {
			return nil, err
		}
		// It may have been replaced since; without O_NONBLOCK, opening a pipe waits for a writer.
		f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
		if err != nil {
			return nil, err
		}
		if info, err = f.Stat(); err == nil {
			err = requireRegular(info)
		}
		if err != nil {
			_ = f.Close()
			return nil, err
		}
		return f, nil
	})
}

// requireRegular returns errNotRegular for anything but a regular file.
func requireRegular(info fs.FileInfo) error {
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%w but %v", errNotRegular, info.Mode().Type())
	}
	return nil
}

// within returns the result of open, or errTranscriptHung after limit. A call that hangs is left behind; what it opens
// later is closed.
func within(opens *Opens, limit time.Duration, open func() (*os.File, error)) (*os.File, error) {
	if !opens.begin() {
		return nil, errTranscriptHung
	}
	type opened struct {
		file *os.File
		err  error
	}
	result := make(chan opened, 1)
	go func() {
		f, err := open()
		result <- opened{f, err}
	}()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case o := <-result:
		return o.file, o.err
	case <-timer.C:
		over := opens.hang()
		go func() {
			defer over()
			if o := <-result; o.file != nil {
				_ = o.file.Close()
			}
		}()
		return nil, errTranscriptHung
	}
}
