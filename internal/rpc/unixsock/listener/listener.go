// Package listener creates the Unix socket that a server of memsidecar listens on, and keeps its path: a lock beside
// the socket refuses a second server, and Watch binds the path again when its file disappears.
package listener

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/process"
	"github.com/memsidecar/memsidecar/internal/process/filelock"
	"github.com/memsidecar/memsidecar/internal/rpc/unixsock/socketpath"
)

// checkEvery is how often Watch compares the socket file, in addition to file system events.
const checkEvery = 3 * time.Second

// Errors of this package.
var (
	// ErrNotSocket is a path at which something other than a socket exists.
	ErrNotSocket = errors.New("path exists and is not a socket")
	// ErrInherited is a socket that was passed on and is not the one to listen on.
	ErrInherited = errors.New("the service manager passed on something else than the configured socket")
)

// InUseError reports a socket that another process serves. It is a memory.ErrLocked.
type InUseError struct {
	Path  string
	Owner string // as the other process described itself to Listen; "" when unknown
	PID   string // "" when unknown
}

// Error names the socket and the process that serves it, as far as they are known.
func (e *InUseError) Error() string {
	owner := e.Owner
	if owner == "" {
		owner = "another process"
	}
	if e.PID != "" {
		owner += " (process id " + e.PID + ")"
	}
	return fmt.Sprintf("socket %s is in use by %s", e.Path, owner)
}

// Is makes errors.Is(err, memory.ErrLocked) true.
func (e *InUseError) Is(target error) bool { return target == memory.ErrLocked }

// Listener is a listening Unix socket whose path belongs to this process until Close. It is safe for concurrent use.
type Listener struct {
	path, owner string

	mu     sync.Mutex
	socket *net.UnixListener // the present socket; guarded by mu
	file   os.FileInfo       // of the present socket; guarded by mu
	lock   *filelock.Lock    // guarded by mu
	closed bool              // guarded by mu

	restored   int       // how often the socket was created again; guarded by mu
	restoredAt time.Time // guarded by mu
}

// Listen creates the socket with mode 0600, and its directory with mode 0700 if that is missing; on Windows, which has
// no modes, the directory is made for the user alone, and what is in it is.
//
// The lock PATH.lock is held until Close or the end of the process. A socket left by a process that has died is
// replaced; a socket whose lock is held, or on which a process answers, is not. owner describes this process to others,
// such as "the daemon of data directory /x".
//
// Errors: *InUseError, ErrNotSocket, socketpath.ErrTooLong, socketpath.ErrNotAbsolute, socketpath.ErrUnsafeDir.
func Listen(ctx context.Context, path, owner string) (*Listener, error) {
	if err := socketpath.Check(path); err != nil {
		return nil, err
	}
	l := &Listener{path: path, owner: owner}
	if err := l.bind(ctx); err != nil {
		return nil, err
	}
	return l, nil
}

// bind takes the lock and creates the socket. On an error the lock is released. The caller holds l.mu or is Listen.
func (l *Listener) bind(ctx context.Context) (err error) {
	dir := filepath.Dir(l.path)
	if err := socketpath.MakeDir(dir); err != nil {
		return fmt.Errorf("make socket directory: %w", err)
	}
	if err := socketpath.CheckDir(dir); err != nil {
		return err
	}
	lock, err := lockPath(l.path, l.owner)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, lock.Release())
		}
	}()
	if err := removeStale(ctx, l.path); err != nil {
		return err
	}
	// The mode is set before the socket gets its name, so other users can never connect. The umask would do the same,
	// but it belongs to the whole process.
	config := net.ListenConfig{Control: func(_, _ string, conn syscall.RawConn) error {
		var err error
		if ctlErr := conn.Control(func(fd uintptr) { err = restrictUnbound(fd) }); ctlErr != nil {
			return ctlErr
		}
		return err
	}}
	listener, err := config.Listen(ctx, "unix", l.path)
	if err != nil {
		return fmt.Errorf("listen on %q: %w", l.path, err)
	}
	socket := listener.(*net.UnixListener)
	socket.SetUnlinkOnClose(false) // Close removes the file only while it is this socket
	err = os.Chmod(l.path, 0o600)
	var file os.FileInfo
	if err == nil {
		file, err = os.Lstat(l.path)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("restrict socket: %w", err), socket.Close())
	}
	l.lock, l.socket, l.file = lock, socket, file
	return nil
}

// lockPath takes the lock beside path and writes who holds it. It does not wait. Error: *InUseError.
func lockPath(path, owner string) (*filelock.Lock, error) {
	name := path + ".lock"
	lock, err := filelock.Try(name)
	switch {
	case errors.Is(err, filelock.ErrHeld):
		pid, other := holderOf(name)
		return nil, &InUseError{Path: path, PID: pid, Owner: other}
	case err != nil:
		return nil, fmt.Errorf("lock socket: %w", err)
	}
	if err := os.WriteFile(name, fmt.Appendf(nil, "%d\n%s\n", os.Getpid(), owner), 0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("lock socket: %w", err), lock.Release())
	}
	return lock, nil
}

// How often a process that finds the lock taken looks for the name of its holder, and the pause between.
const (
	holderTries = 100
	holderPause = 5 * time.Millisecond
)

// holderOf returns who holds a lock, "" for what is unknown. A process that has just taken the lock writes its name a
// moment later; until then the file is empty or names one that has ended.
func holderOf(name string) (pid, owner string) {
	for range holderTries {
		raw, _ := os.ReadFile(name)
		pid, owner, _ = strings.Cut(string(raw), "\n")
		id, err := strconv.Atoi(pid)
		alive := err == nil && id > 0 && !process.Ended(id)
		if complete := strings.HasSuffix(owner, "\n"); complete && alive {
			break
		}
		time.Sleep(holderPause)
	}
	return pid, strings.TrimSpace(owner)
}

// removeStale removes a socket on which nobody answers. Errors: *InUseError, ErrNotSocket.
func removeStale(ctx context.Context, path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("look at socket: %w", err)
	case info.Mode().Type() != fs.ModeSocket:
		return fmt.Errorf("%w: %q; remove it, or use another path", ErrNotSocket, path)
	}
	// A server without the lock, such as another program or a socket that a service manager holds.
	if conn, err := new(net.Dialer).DialContext(ctx, "unix", path); err == nil {
		return errors.Join(&InUseError{Path: path}, conn.Close())
	}
	if err := os.Remove(path); err != nil {
		return fmt.Errorf("remove stale socket: %w", err)
	}
	return nil
}

// Addr returns the socket's address.
func (l *Listener) Addr() net.Addr { return &net.UnixAddr{Name: l.path, Net: "unix"} }

// Accept waits for the next connection. It goes on with the new socket when Watch had to bind again.
func (l *Listener) Accept() (net.Conn, error) {
	for {
		socket := l.present()
		conn, err := socket.Accept()
		if err != nil && socket != l.present() {
			continue
		}
		return conn, err
	}
}

// present is the socket that clients reach now; watch may replace it.
func (l *Listener) present() *net.UnixListener {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.socket
}

// Close stops listening, removes the socket file if it is still this socket, and releases the lock.
func (l *Listener) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return net.ErrClosed
	}
	l.closed = true
	var removed error
	if l.ownsFile() {
		removed = os.Remove(l.path)
	}
	return errors.Join(removed, l.socket.Close(), l.lock.Release())
}

// ownsFile reports whether the file at path is the present socket. The caller holds l.mu.
func (l *Listener) ownsFile() bool {
	info, err := os.Lstat(l.path)
	// No other file can get its inode, which the bound socket holds. Its times prove nothing: people touch sockets in
	// /tmp so that cleaners leave them alone.
	return err == nil && os.SameFile(info, l.file)
}

// Watch notices when the socket file is removed, renamed or replaced, after which no client can connect any more, and
// binds the path again. It returns nil when ctx ends or the listener is closed, and an error when the path cannot be
// had: nobody can reach this process then.
func (l *Listener) Watch(ctx context.Context, logger *slog.Logger) error {
	var events <-chan fsnotify.Event
	if watcher, err := fsnotify.NewWatcher(); err == nil { // without events, the interval alone decides
		defer watcher.Close()
		if watcher.Add(filepath.Dir(l.path)) == nil {
			events = watcher.Events
		}
	}
	ticker := time.NewTicker(checkEvery)
	defer ticker.Stop()
	for {
		if err := l.restore(ctx, logger); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		case _, ok := <-events:
			if !ok {
				events = nil
			}
		}
	}
}

// restore binds the path again if its file is not the present socket.
func (l *Listener) restore(ctx context.Context, logger *slog.Logger) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || l.ownsFile() {
		return nil
	}
	old, lock := l.socket, l.lock
	// The lock file may be gone with the socket, so that another process could hold a lock of the same name.
	if err := errors.Join(lock.Release(), l.bind(ctx)); err != nil {
		return fmt.Errorf("the socket file was removed or replaced and cannot be created again: %w", err)
	}
	l.restored++
	l.restoredAt = l.file.ModTime()
	logger.WarnContext(ctx, "the socket file was removed or replaced; it was created again", "socket", l.path)
	return old.Close() // after the new socket is in place, so that Accept finds it
}

// Restored returns how often Watch had to create the socket again, and when it did last.
func (l *Listener) Restored() (n int, last time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.restored, l.restoredAt
}
