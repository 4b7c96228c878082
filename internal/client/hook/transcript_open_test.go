package hook

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/memsidecar/memsidecar/internal/memtest"
)

// TestOpenTranscript: only a regular file is opened, also behind a link, and nothing blocks.
func TestOpenTranscript(t *testing.T) {
	dir := t.TempDir()
	file, fifo, link := filepath.Join(dir, "file"), filepath.Join(dir, "fifo"), filepath.Join(dir, "link")
	if err := errors.Join(os.WriteFile(file, []byte("x"), 0o600), os.Symlink(file, link)); err != nil {
		t.Fatal(err)
	}
	want := map[string]error{file: nil, link: nil, dir: errNotRegular, filepath.Join(dir, "none"): fs.ErrNotExist}
	if memtest.Fifo(t, fifo) {
		want[fifo], want[os.DevNull] = errNotRegular, errNotRegular
	}
	for path, want := range want {
		f, err := openTranscript(nil, path)
		if !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", path, err, want)
		}
		if err == nil {
			_ = f.Close()
		}
	}
}

// TestWithin: a file system that does not answer is given up on.
func TestWithin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		_, err := within(nil, openLimit, func() (*os.File, error) {
			time.Sleep(time.Minute)
			return nil, nil
		})
		if took := time.Since(start); !errors.Is(err, errTranscriptHung) || took != openLimit {
			t.Errorf("%v after %v", err, took)
		}
		time.Sleep(time.Minute) // the call that was left behind
	})
}

// TestOpensAreBounded: in a process that handles many events, only so many files hang at a time.
func TestOpensAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		opens := new(Opens)
		var begun atomic.Int32 // what hangs is never waited for
		hang := func() (*os.File, error) {
			begun.Add(1)
			time.Sleep(time.Minute)
			return nil, nil
		}
		for range 2 * maxHung {
			if _, err := within(opens, openLimit, hang); !errors.Is(err, errTranscriptHung) {
				t.Error(err)
			}
		}
		if n := begun.Load(); n != maxHung {
			t.Errorf("%d were begun, want %d", n, maxHung)
		}
		time.Sleep(2 * time.Minute)
		if _, err := within(opens, openLimit, func() (*os.File, error) { return nil, nil }); err != nil {
			t.Errorf("when they have ended: %v", err)
		}
	})
}
