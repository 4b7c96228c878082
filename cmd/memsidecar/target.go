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
)

// target is a file that is being written. It gets its name only when it is whole; until then it is called NAME.partial. A file that is
// there already is never replaced.
type target struct {
	f       *os.File
	partial string
	written int64
	shown   time.Time // when progress was last told
	app     *app
	what    string
}

// create begins a file. Without base the name is decided at the end.
func (a *app) create(what, base string) (*target, error) {
	if _, err := os.Lstat(base); err == nil {
		return nil, existsError(base)
	}
	partial := base + ".partial"
	f, err := os.OpenFile(partial, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil, &cliError{what: partial + " is there already: somebody writes it, or a command that was killed left it", cause: err,
			hint: "Remove it when nobody does, or choose another name."}
	}
	if err != nil {
		return nil, &cliError{what: "cannot write " + base + ": " + err.Error(), cause: err}
	}
	return &target{f: f, partial: partial, app: a, what: what, shown: a.now()}, nil
}

func existsError(name string) error {
	return &cliError{what: name + " is there already and is not overwritten", code: exitUsage, hint: "Choose another name, or move it away."}
}

func (t *target) Write(p []byte) (int, error) {
	n, err := t.f.Write(p)
	t.written += int64(n)
	if now := t.app.now(); now.Sub(t.shown) > time.Second {
		t.shown = now
		t.app.out.note("%s: %s so far …", t.what, size(t.written))
	}
	return n, err
}

// discard removes what was written. After commit it does nothing.
func (t *target) discard() {
	if t.f != nil {
		_ = t.f.Close()
		_ = os.Remove(t.partial)
		t.f = nil
	}
}

// sync makes what was written durable.
func (t *target) sync() error {
	if err := t.f.Sync(); err != nil {
		return fmt.Errorf("write %s: %w", t.partial, err)
	}
	return nil
}

// commit gives the file its name. Durable on return.
func (t *target) commit(name string) error {
	// A link fails when the name is taken, and a rename would not. Some file systems have no links.
	err := os.Link(t.partial, name)
	switch {
	case errors.Is(err, fs.ErrExist):
		return existsError(name)
	case err == nil:
		err = os.Remove(t.partial)
	default:
		if _, there := os.Lstat(name); there == nil {
			return existsError(name)
		}
		err = os.Rename(t.partial, name)
	}
	if err != nil {
		return fmt.Errorf("name %s: %w", name, err)
	}
	err = t.f.Close()
	t.f = nil
	dir, openErr := os.Open(filepath.Dir(name))
	if openErr == nil {
		openErr = errors.Join(dir.Sync(), dir.Close())
	}
	if err = errors.Join(err, openErr); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}

// writesToStdout makes a reader that goes away an error of writing, of which something can be said, instead of a signal.
func writesToStdout() { signal.Ignore(syscall.SIGPIPE) }

// outputError says what became of a result on standard output.
func outputError(what string, err error) error {
	if errors.Is(err, syscall.EPIPE) {
		return &cliError{what: "standard output was closed before the " + what + " was complete", cause: err}
	}
	return fmt.Errorf("write the %s: %w", what, err)
}

// size is a number of bytes for people.
func size(n int64) string {
	switch {
	case n < 1<<10:
		return fmt.Sprintf("%d bytes", n)
	case n < 1<<20:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
}
