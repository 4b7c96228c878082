// Package filelock locks files between processes. The system releases a lock when the process that holds it ends,
// however it ends. The contents of a locked file can be read and written by everybody, on every system: who holds a
// lock may say so inside.
package filelock

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"
)

// ErrHeld is a lock that another process holds, or another Lock of this one.
var ErrHeld = errors.New("the lock is held by another process")

// Lock is a lock that is held until Release. It is not safe for concurrent use.
type Lock struct{ file *os.File }

// Try takes the lock of a file of its own at path, which is made with mode 0600 when it is missing, and never removed.
// A symbolic link is not followed. It does not wait. Error: ErrHeld.
func Try(path string) (*Lock, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|noFollow, 0o600)
	if err != nil {
		return nil, err
	}
	if err := TryFile(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &Lock{f}, nil
}

// Wait is Try, again every interval while the lock is held. Errors: ErrHeld and that of ctx, when it ends first.
func Wait(ctx context.Context, path string, interval time.Duration) (*Lock, error) {
	for {
		lock, err := Try(path)
		if !errors.Is(err, ErrHeld) {
			return lock, err
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(err, ctx.Err())
		case <-time.After(interval):
		}
	}
}

// Release gives the lock up. The lock of a nil *Lock, or one that was released, is nobody's.
func (l *Lock) Release() error {
	if l == nil || l.file == nil {
		return nil
	}
	f := l.file
	l.file = nil
	return f.Close()
}

// TryFile takes the lock of an open file, which holds it until it is closed. It does not wait. Error: ErrHeld.
func TryFile(f *os.File) error {
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var lockErr error
	if err := conn.Control(func(fd uintptr) { lockErr = lock(fd) }); err != nil {
		return err
	}
	if lockErr != nil && !errors.Is(lockErr, ErrHeld) {
		return fmt.Errorf("lock %s: %w", f.Name(), lockErr)
	}
	return lockErr
}
