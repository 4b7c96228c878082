package hook

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
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

// openTranscript opens a regular file within openLimit. A pipe or a device is refused without being opened, because that
// may block for ever, or do something.
func openTranscript(path string) (*os.File, error) {
	return within(openLimit, func() (*os.File, error) {
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

// within returns the result of open, or errTranscriptHung after limit. A call that hangs is left behind, with the file
// that it may yet open: the process of a hook ends soon.
func within(limit time.Duration, open func() (*os.File, error)) (*os.File, error) {
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
		return nil, errTranscriptHung
	}
}
