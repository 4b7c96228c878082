package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/memsidecar/memsidecar/internal/store/durable"
)

// outputFile is a file that is being written. It is NAME.partial until commit renames it, and never replaces an
// existing file.
type outputFile struct {
	f       *os.File
	partial string
	written int64
	noted   time.Time // time of the last progress note
	app     *app
	what    string
}

// create starts an output file named base.partial.
func (a *app) create(what, base string) (*outputFile, error) {
	if _, err := os.Lstat(base); err == nil {
		return nil, existsError(base)
	}
	partial := base + ".partial"
	f, err := os.OpenFile(partial, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil, &cliError{what: partial + " exists: another command is writing it, or was killed", cause: err,
			hint: "Remove it if no other command is running, or choose another name."}
	}
	if err != nil {
		return nil, &cliError{what: "cannot write " + base + ": " + err.Error(), cause: err}
	}
	return &outputFile{f: f, partial: partial, app: a, what: what, noted: a.now()}, nil
}

// existsError is the error for an output file that already exists.
func existsError(name string) error {
	return &cliError{what: name + " already exists", code: exitUsage, hint: "Choose another name, or remove the file."}
}

// Write writes to the partial file and notes progress once a second.
func (t *outputFile) Write(p []byte) (int, error) {
	n, err := t.f.Write(p)
	t.written += int64(n)
	if now := t.app.now(); now.Sub(t.noted) > time.Second {
		t.noted = now
		t.app.out.note("%s: %s so far …", t.what, size(t.written))
	}
	return n, err
}

// discard removes the partial file. After commit it does nothing.
func (t *outputFile) discard() {
	if t.f != nil {
		_ = t.f.Close()
		_ = os.Remove(t.partial)
		t.f = nil
	}
}

// sync makes the content durable.
func (t *outputFile) sync() error {
	if err := t.f.Sync(); err != nil {
		return fmt.Errorf("write %s: %w", t.partial, err)
	}
	return nil
}

// commit renames the file to name. The name is durable on return.
func (t *outputFile) commit(name string) error {
	// A hard link fails if the name exists, unlike a rename. Some file systems have no hard links.
	err := os.Link(t.partial, name)
	switch {
	case errors.Is(err, fs.ErrExist):
		return existsError(name)
	case err == nil:
		err = os.Remove(t.partial)
	default:
		if _, statErr := os.Lstat(name); statErr == nil {
			return existsError(name)
		}
		err = os.Rename(t.partial, name)
	}
	if err != nil {
		return fmt.Errorf("name %s: %w", name, err)
	}
	err = t.f.Close()
	t.f = nil
	if err = errors.Join(err, durable.SyncDir(filepath.Dir(name))); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}

// writesToStdout turns a closed pipe into a write error that can be reported, instead of SIGPIPE.
func writesToStdout() { signal.Ignore(syscall.SIGPIPE) }

// outputError explains a failed write to the output.
func outputError(what string, err error) error {
	if errors.Is(err, syscall.EPIPE) {
		return &cliError{what: "standard output was closed before the " + what + " was complete", cause: err}
	}
	return fmt.Errorf("write the %s: %w", what, err)
}

// size formats a number of bytes.
func size(n int64) string {
	switch {
	case n < 1<<10:
		return fmt.Sprintf("%d bytes", n)
	case n < 1<<20:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
}
