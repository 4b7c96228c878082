package listener_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/process/filelock"
	"github.com/memsidecar/memsidecar/internal/rpc/unixsock/listener"
	"github.com/memsidecar/memsidecar/internal/rpc/unixsock/socketpath"
)

// shortDir is short whatever the test is called: a socket's path has few bytes.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "ms")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func TestListenModes(t *testing.T) {
	path := filepath.Join(shortDir(t), "a", "s")
	socket, err := listener.Listen(t.Context(), path, "the test")
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]fs.FileMode{path: 0o600 | fs.ModeSocket, filepath.Dir(path): 0o700 | fs.ModeDir} {
		info, err := os.Lstat(name)
		if err != nil || info.Mode() != want {
			t.Errorf("mode of %s = %v, %v, want %v", name, info.Mode(), err, want)
		}
	}
	if err := socket.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("socket after Close: %v, want none", err)
	}
}

func TestListenReplacesOnlyASocket(t *testing.T) {
	path := filepath.Join(shortDir(t), "s")
	if err := deadSocket(path); err != nil {
		t.Fatal(err)
	}
	socket, err := listener.Listen(t.Context(), path, "the test")
	if err != nil {
		t.Fatalf("over a leftover socket: %v", err)
	}
	socket.Close()

	if err := os.WriteFile(path, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := listener.Listen(t.Context(), path, "the test"); !errors.Is(err, listener.ErrNotSocket) {
		t.Errorf("over a file: %v, want ErrNotSocket", err)
	}
	if data, _ := os.ReadFile(path); string(data) != "precious" {
		t.Errorf("file now holds %q", data)
	}
}

func TestListenRefuses(t *testing.T) {
	open := filepath.Join(shortDir(t), "open")
	if err := errors.Join(os.Mkdir(open, 0o700), os.Chmod(open, 0o777)); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name, path string
		want       error
	}{
		{"too long", "/tmp/" + strings.Repeat("x", socketpath.Max-4), socketpath.ErrTooLong},
		{"relative", "s", socketpath.ErrNotAbsolute},
		{"abstract", "@s", socketpath.ErrNotAbsolute},
		{"writable by all", filepath.Join(open, "s"), socketpath.ErrUnsafeDir},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if _, err := listener.Listen(t.Context(), test.path, "the test"); !errors.Is(err, test.want) {
				t.Errorf("got %v, want %v", err, test.want)
			}
		})
	}
}

func TestLongestPathWorks(t *testing.T) {
	dir := shortDir(t)
	path := filepath.Join(dir, strings.Repeat("x", socketpath.Max-len(dir)-1))
	socket, err := listener.Listen(t.Context(), path, "the test")
	if err != nil {
		t.Fatalf("path of %d bytes: %v", len(path), err)
	}
	socket.Close()
}

// plain listens without a lock, as another program does.
func plain(t *testing.T, path string) {
	t.Helper()
	socket, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { socket.Close() })
}

func TestInUse(t *testing.T) {
	path := filepath.Join(shortDir(t), "s")
	first, err := listener.Listen(t.Context(), path, "the daemon of data directory /x")
	if err != nil {
		t.Fatal(err)
	}
	_, err = listener.Listen(t.Context(), path, "the daemon of data directory /y")
	inUse, ok := errors.AsType[*listener.InUseError](err)
	if !ok || !errors.Is(err, memory.ErrLocked) || !strings.Contains(inUse.Error(), "/x") || inUse.PID == "" {
		t.Errorf("second listener: %v, want an *InUseError that names /x and the process", err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	second, err := listener.Listen(t.Context(), path, "the daemon of data directory /y")
	if err != nil {
		t.Fatalf("after the first has closed: %v", err)
	}
	second.Close()
}

func TestAnsweredWithoutLock(t *testing.T) {
	path := filepath.Join(shortDir(t), "s")
	plain(t, path)
	if _, err := listener.Listen(t.Context(), path, "the test"); !errors.Is(err, memory.ErrLocked) {
		t.Errorf("over a socket that answers: %v, want ErrLocked", err)
	}
	if conn, err := net.Dial("unix", path); err != nil {
		t.Errorf("the other socket does not answer any more: %v", err)
	} else {
		conn.Close()
	}
}

func TestWatchRestores(t *testing.T) {
	for _, tt := range []struct {
		name string
		lose func(path string) error
	}{
		{"removed", os.Remove},
		{"renamed", func(path string) error { return os.Rename(path, path+".old") }},
		{"replaced by a dead socket", func(path string) error {
			return errors.Join(deadSocket(path+".dead"), os.Rename(path+".dead", path)) // in one step, as Watch looks on
		}},
		{"removed with its lock", func(path string) error {
			return errors.Join(os.Remove(path), os.Remove(path+".lock"))
		}},
		{"removed with its directory", removeDir},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(shortDir(t), "d", "s")
			socket, err := listener.Listen(t.Context(), path, "the test")
			if err != nil {
				t.Fatal(err)
			}
			defer socket.Close()
			accepted := make(chan error, 8)
			go func() {
				for {
					conn, err := socket.Accept()
					accepted <- err
					if err != nil {
						return
					}
					conn.Close()
				}
			}()
			watched := make(chan error, 1)
			go func() { watched <- socket.Watch(t.Context(), slog.New(slog.DiscardHandler)) }()
			if err := tt.lose(path); err != nil {
				t.Fatal(err)
			}
			for until := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
				if conn, err := net.Dial("unix", path); err == nil {
					conn.Close()
					break
				} else if time.Now().After(until) {
					t.Fatalf("not restored: %v", err)
				}
				select {
				case err := <-watched:
					t.Fatalf("Watch ended: %v", err)
				default:
				}
			}
			if err := <-accepted; err != nil {
				t.Errorf("Accept after the restoration: %v", err)
			}
			if n, at := socket.Restored(); n != 1 || at.IsZero() {
				t.Errorf("restored %d times, last %v", n, at)
			}
			if _, err := listener.Listen(t.Context(), path, "another"); !errors.Is(err, memory.ErrLocked) {
				t.Errorf("another listener after the restoration: %v, want ErrLocked", err)
			}
		})
	}
}

// deadSocket leaves a socket file as a killed process does.
func deadSocket(path string) error {
	socket, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return err
	}
	socket.SetUnlinkOnClose(false)
	return socket.Close()
}

// TestTouchedIsOurs: a socket file with new times is still ours.
func TestTouchedIsOurs(t *testing.T) {
	path := filepath.Join(shortDir(t), "s")
	socket, err := listener.Listen(t.Context(), path, "the test")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(path, time.Now(), time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel() // Watch looks once before it ends
	if err := socket.Watch(ended, slog.New(slog.DiscardHandler)); err != nil {
		t.Errorf("Watch: %v", err)
	}
	if n, _ := socket.Restored(); n != 0 {
		t.Errorf("created again %d times", n)
	}
	if err := socket.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("socket after Close: %v, want none", err)
	}
}

func TestWatchGivesUp(t *testing.T) {
	for _, tt := range []struct {
		name    string
		replace func(t *testing.T, path string) error
	}{
		{"file", func(_ *testing.T, path string) error { return os.WriteFile(path, []byte("precious"), 0o600) }},
		{"directory", func(_ *testing.T, path string) error { return os.Mkdir(path, 0o700) }},
		{"symbolic link", func(_ *testing.T, path string) error { return os.Symlink("/dev/null", path) }},
		{"another server", func(t *testing.T, path string) error { plain(t, path); return nil }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(shortDir(t), "s")
			socket, err := listener.Listen(t.Context(), path, "the test")
			if err != nil {
				t.Fatal(err)
			}
			if err := os.Rename(path, path+".old"); err != nil {
				t.Fatal(err)
			}
			if err := tt.replace(t, path); err != nil {
				t.Fatal(err)
			}
			before, err := os.Lstat(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := socket.Watch(t.Context(), slog.New(slog.DiscardHandler)); err == nil {
				t.Error("Watch ended without an error")
			}
			if err := socket.Close(); err != nil {
				t.Errorf("Close: %v", err)
			}
			if after, err := os.Lstat(path); err != nil || !os.SameFile(before, after) {
				t.Errorf("what took the path is gone: %v", err)
			}
		})
	}
}

// removeDir removes the directory of a path in one step: Watch may create it again at once.
func removeDir(path string) error {
	gone := filepath.Dir(path) + ".gone"
	if err := os.Rename(filepath.Dir(path), gone); err != nil {
		return err
	}
	return os.RemoveAll(gone)
}

// TestInUseNamesWhoHasJustStarted: between the lock and the name in it there is a moment, in which the file is empty or
// names a process that has ended.
func TestInUseNamesWhoHasJustStarted(t *testing.T) {
	for name, before := range map[string]string{"empty": "", "of a process that has ended": "999999999\n/old\n"} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(shortDir(t), "s")
			if err := os.WriteFile(path+".lock", []byte(before), 0o600); err != nil {
				t.Fatal(err)
			}
			lock, err := filelock.Try(path + ".lock")
			if err != nil {
				t.Fatal(err)
			}
			defer lock.Release() //nolint:errcheck // the directory goes away
			refused := make(chan error, 1)
			go func() {
				_, err := listener.Listen(t.Context(), path, "/second")
				refused <- err
			}()
			select {
			case err := <-refused:
				t.Fatalf("refused before the holder had a name: %v", err)
			case <-time.After(50 * time.Millisecond):
			}
			if err := os.WriteFile(path+".lock", fmt.Appendf(nil, "%d\n/first\n", os.Getpid()), 0o600); err != nil {
				t.Fatal(err)
			}
			if inUse, ok := errors.AsType[*listener.InUseError](<-refused); !ok || inUse.Owner != "/first" {
				t.Errorf("refused with %v", inUse)
			}
		})
	}
}
