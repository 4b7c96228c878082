package socketpath_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

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

func TestDefaultPath(t *testing.T) {
	env := func(v string) func(string) string {
		return func(name string) string {
			if name != "XDG_RUNTIME_DIR" {
				t.Errorf("asked for %q", name)
			}
			return v
		}
	}
	got, err := socketpath.Default(env("/run/user/1000"))
	if want := "/run/user/1000/memsidecar/memsidecar.sock"; got != want || err != nil {
		t.Errorf("DefaultPath = %q, %v, want %q", got, err, want)
	}
	if _, err := socketpath.Default(env("/" + strings.Repeat("x", 100))); !errors.Is(err, socketpath.ErrTooLong) {
		t.Errorf("long runtime directory: %v, want ErrPathTooLong", err)
	}
	for _, v := range []string{"", "relative"} {
		got, err := socketpath.Default(env(v))
		if err == nil && !strings.HasPrefix(got, "/tmp/memsidecar-") {
			t.Errorf("DefaultPath with %q = %q, want a path in /tmp", v, got)
		}
	}
}

func TestCheckPrivate(t *testing.T) {
	tests := []struct {
		name string
		make func(dir string) error
		want error
	}{
		{"missing", func(string) error { return nil }, nil},
		{"private", func(d string) error { return os.Mkdir(d, 0o700) }, nil},
		{"open to the group", func(d string) error { return errors.Join(os.Mkdir(d, 0o700), os.Chmod(d, 0o750)) },
			socketpath.ErrUnsafeDir},
		{"file", func(d string) error { return os.WriteFile(d, nil, 0o600) }, socketpath.ErrUnsafeDir},
		{"symbolic link", func(d string) error {
			return errors.Join(os.Mkdir(d+"2", 0o700), os.Symlink(d+"2", d))
		}, socketpath.ErrUnsafeDir},
		{"foreign", func(d string) error {
			if os.Getuid() != 0 {
				return nil
			}
			return errors.Join(os.Mkdir(d, 0o700), os.Chown(d, 12345, -1))
		}, foreignWant()},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			dir := filepath.Join(shortDir(t), "d")
			if err := test.make(dir); err != nil {
				t.Fatal(err)
			}
			if err := socketpath.CheckPrivate(dir); !errors.Is(err, test.want) {
				t.Errorf("got %v, want %v", err, test.want)
			}
		})
	}
}

// foreignWant is nil where the test cannot give a directory away.
func foreignWant() error {
	if os.Getuid() != 0 {
		return nil
	}
	return socketpath.ErrUnsafeDir
}
