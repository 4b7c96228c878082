package publish_test

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/memsidecar/memsidecar/internal/publish"
	"github.com/memsidecar/memsidecar/internal/store/durable/crashfs"
)

// TestAtLeisure: what is written at leisure is what was given, and of megabytes others have the processor in between,
// for longer while requests are answered, unless somebody waits for the file.
func TestAtLeisure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		busy := false
		f := publish.NewFiles(crashfs.New(), "index/published.json", time.Now, slog.New(slog.DiscardHandler))
		f.Busy = func() bool { return busy }
		write := func(size int) time.Duration {
			t.Helper()
			want := bytes.Repeat([]byte("memories"), size/8)
			var got bytes.Buffer
			w, began := f.AtLeisure(&got), time.Now()
			for part := range bytes.SplitAfterSeq(want, []byte("s")) {
				if n, err := w.Write(part); n != len(part) || err != nil {
					t.Fatalf("wrote %d of %d bytes: %v", n, len(part), err)
				}
			}
			if !bytes.Equal(got.Bytes(), want) {
				t.Errorf("%d bytes are not what was written", size)
			}
			return time.Since(began)
		}
		if rested := write(32 << 10); rested > 0 {
			t.Errorf("rested for %v while it wrote a small file", rested)
		}
		calm := write(8 << 20)
		busy = true
		aside := write(8 << 20)
		done := f.Wait()
		hurried := write(8 << 20)
		done()
		if calm == 0 || aside < 5*calm || hurried != calm {
			t.Errorf("rested for %v while nobody asked, %v while requests were answered, and %v while one waited", calm, aside,
				hurried)
		}
	})
}

// TestRested: a file that is replaced says how long others had the processor.
func TestRested(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := publish.NewFiles(crashfs.New(), "index/published.json", time.Now, slog.New(slog.DiscardHandler))
		f.Busy = func() bool { return true }
		for range 2 {
			began := time.Now()
			done, err := f.Replace("memory.json", 1, true, func(w io.Writer) error {
				for range 100 {
					if _, err := w.Write(make([]byte, 64<<10)); err != nil {
						return err
					}
				}
				return nil
			})
			if took := time.Since(began); err != nil || took < 100*time.Millisecond || done.Rested != took {
				t.Errorf("it rested for %v of %v: %v", done.Rested, took, err)
			}
		}
	})
}

// TestFilesWaiting: who asks for a file makes what is written hurry, also when it is another file.
func TestFilesWaiting(t *testing.T) {
	f := publish.NewFiles(crashfs.New(), "index/published.json", time.Now, slog.New(slog.DiscardHandler))
	asked := make(chan error, 1)
	_, err := f.Replace("memory.json", 1, true, func(io.Writer) error {
		go func() {
			_, err := f.Revision("other.json")
			asked <- err
		}()
		<-f.Urgent()
		return nil
	})
	if err := errors.Join(err, <-asked); err != nil {
		t.Error(err)
	}
}
