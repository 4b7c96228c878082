package daemon

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/process/filelock"
)

// lockName is the lock file in the data directory.
const lockName = "LOCK"

// LockedError names the process that uses the data directory. It matches memory.ErrLocked.
type LockedError struct {
	Data string
	// written by the other daemon; "" if unknown
	PID string
}

// Error names the owner of the directory where its lock file tells it, and both ways out.
func (e *LockedError) Error() string {
	who := "another memsidecar"
	if e.PID != "" {
		who = "the memsidecar with process id " + e.PID
	}
	return fmt.Sprintf("data directory %s is in use by %s; stop it with `memsidecar daemon stop`, or use another "+
		"directory "+
		"with --data", e.Data, who)
}

// Is makes errors.Is(err, memory.ErrLocked) true.
func (e *LockedError) Is(target error) bool { return target == memory.ErrLocked }

// Lock locks a data directory, which must exist, and writes the process id into the lock file. It does not wait. The
// lock ends with release or with the process. Error: *LockedError.
func Lock(data string) (release func() error, err error) {
	path := filepath.Join(data, lockName)
	lock, err := filelock.Try(path)
	switch {
	case errors.Is(err, filelock.ErrHeld):
		pid, _ := os.ReadFile(path)
		return nil, &LockedError{Data: data, PID: strings.TrimSpace(string(pid))}
	case err != nil:
		return nil, fmt.Errorf("lock data directory: %w; it must be writable for you, or use another with --data", err)
	}
	if err := os.WriteFile(path, fmt.Appendf(nil, "%d\n", os.Getpid()), 0o600); err != nil {
		_ = lock.Release()
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return lock.Release, nil
}
