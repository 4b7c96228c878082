package filelock_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/memsidecar/memsidecar/internal/process/filelock"
)

// A lock keeps a second one out, until it is released, and keeps nobody from the contents.
func TestTry(t *testing.T) {
	path := filepath.Join(t.TempDir(), "LOCK")
	lock, err := filelock.Try(path)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := filelock.Try(path); !errors.Is(err, filelock.ErrHeld) || again != nil {
		t.Errorf("the second got %v, %v", again, err)
	}
	if err := os.WriteFile(path, []byte("me"), 0o600); err != nil {
		t.Errorf("its holder cannot be named: %v", err)
	}
	if held, err := os.ReadFile(path); string(held) != "me" || err != nil {
		t.Errorf("its holder cannot be read: %q, %v", held, err)
	}
	for range 2 { // the second one does nothing
		if err := lock.Release(); err != nil {
			t.Error(err)
		}
	}
	again, err := filelock.Try(path)
	if err != nil {
		t.Fatalf("after the release: %v", err)
	}
	if err := again.Release(); err != nil {
		t.Error(err)
	}
}

// TryFile and Try exclude one another.
func TestTryFile(t *testing.T) {
	f, err := os.OpenFile(filepath.Join(t.TempDir(), "f"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if err := filelock.TryFile(f); err != nil {
		t.Fatal(err)
	}
	if _, err := filelock.Try(f.Name()); !errors.Is(err, filelock.ErrHeld) {
		t.Errorf("got %v", err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if err := filelock.TryFile(f); err == nil || errors.Is(err, filelock.ErrHeld) {
		t.Errorf("a closed file: %v", err)
	}
	lock, err := filelock.Try(f.Name())
	if err != nil {
		t.Fatal(err)
	}
	_ = lock.Release()
}

// Wait gets the lock when it is free, and ends with its context before.
func TestWait(t *testing.T) {
	path := filepath.Join(t.TempDir(), "LOCK")
	held, err := filelock.Try(path)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = filelock.Wait(ctx, path, time.Hour)
	if !errors.Is(err, context.Canceled) || !errors.Is(err, filelock.ErrHeld) {
		t.Errorf("got %v", err)
	}
	go func() { _ = held.Release() }()
	lock, err := filelock.Wait(t.Context(), path, time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	_ = lock.Release()
}

// A link beside the socket could have any file of the user's locked, and written to.
func TestLinkIsNotFollowed(t *testing.T) {
	dir := t.TempDir()
	target, link := filepath.Join(dir, "target"), filepath.Join(dir, "LOCK")
	if err := os.Symlink(target, link); err != nil {
		t.Skipf("symbolic links cannot be made here: %v", err)
	}
	if lock, err := filelock.Try(link); err == nil {
		_ = lock.Release()
		if _, err := os.Stat(target); err == nil {
			t.Error("the target of a link was made")
		}
	}
}
