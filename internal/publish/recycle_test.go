package publish_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/memsidecar/memsidecar/internal/publish"
	"github.com/memsidecar/memsidecar/internal/store/durable"
	"github.com/memsidecar/memsidecar/internal/store/durable/crashfs"
)

// grown is a file like memory.json of n items: a header that changes each time, and items that are appended.
func grown(revision, n int) []byte {
	b := fmt.Appendf(nil, "{\"revision\": %08d,\n", revision)
	for i := range n {
		b = fmt.Appendf(b, "  {\"id\": %d, \"content\": \"the backup server number %d is at rack %d\"},\n", i, i, i*7)
	}
	return append(b, "}\n"...)
}

// publishBytes publishes data as memory.json.
func publishBytes(t *testing.T, f *publish.Files, revision int, data []byte) publish.Written {
	t.Helper()
	done, err := f.Replace("memory.json", int64(revision), true, func(w io.Writer) error {
		for _, part := range bytes.SplitAfter(data, []byte("\n")) { // as an encoder does
			if _, err := w.Write(part); err != nil {
				return err
			}
		}
		return nil
	})
	must(t, err)
	return done
}

// TestAppendingWritesWhatIsNew: a file that grows at its end costs what is new, not its size; a file that changes
// everywhere, or shrinks, is right all the same; and the backup is always the version before.
func TestAppendingWritesWhatIsNew(t *testing.T) {
	fsys := crashfs.New()
	f := files(t, fsys)
	rng := rand.New(rand.NewPCG(1, 2))
	var previous []byte
	for revision := 1; revision < 60; revision++ {
		n := 20_000 + revision*10
		if revision%10 == 0 {
			n = rng.IntN(3000) // it shrinks
		}
		data := grown(revision, n)
		if revision%7 == 0 {
			data[rng.IntN(len(data))] = '#'
		}
		done := publishBytes(t, f, revision, data)
		if got, err := durable.ReadFile(fsys, "memory.json"); err != nil || !bytes.Equal(got, data) {
			t.Fatalf("revision %d: %d bytes, want %d, %v", revision, len(got), len(data), err)
		}
		if got, err := durable.ReadFile(fsys, "memory.json.bak"); revision > 1 && (err != nil || !bytes.Equal(got, previous)) {
			t.Fatalf("revision %d: the backup has %d bytes, want %d, %v", revision, len(got), len(previous), err)
		}
		previous = data
		steady := revision > 3 && revision%10 > 2 // the backup was shorter, or did not exist
		if limit := int64(32 << 10); done.Bytes != int64(len(data)) || steady && done.Changed > limit {
			t.Errorf("revision %d: wrote %d of %d bytes, want at most %d", revision, done.Changed, done.Bytes, limit)
		}
	}
}

// TestSharedBackupIsLeftAlone: whoever has the backup open, or linked it, goes on seeing its bytes.
func TestSharedBackupIsLeftAlone(t *testing.T) {
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	must(t, err)
	defer root.Close()
	fsys := durable.Dir(root)
	if alone, err := unshared(fsys); err != nil || !alone {
		t.Skipf("this file system cannot tell who has a file open, so nothing is overwritten: %v, %v", alone, err)
	}
	for name, share := range map[string]func() (read func() ([]byte, error)){
		"open": func() func() ([]byte, error) {
			file, err := os.Open(filepath.Join(dir, "memory.json.bak"))
			must(t, err)
			t.Cleanup(func() { _ = file.Close() })
			return func() ([]byte, error) { return io.ReadAll(file) }
		},
		"linked": func() func() ([]byte, error) {
			link := filepath.Join(dir, "link")
			must(t, os.Link(filepath.Join(dir, "memory.json.bak"), link))
			return func() ([]byte, error) { return os.ReadFile(link) }
		},
	} {
		f := filesAt(t, fsys, func() time.Time { return time.Now().Add(time.Hour) })
		first := publishBytes(t, f, 1, grown(1, 5000))
		publishBytes(t, f, 2, grown(2, 5000))
		if done := publishBytes(t, f, 3, grown(3, 5000)); done.Changed >= first.Bytes/2 {
			t.Fatalf("%s: %d of %d bytes were written: the test overwrites nothing", name, done.Changed, done.Bytes)
		}
		before, err := os.ReadFile(filepath.Join(dir, "memory.json.bak"))
		must(t, err)
		read := share()
		if done := publishBytes(t, f, 4, grown(4, 5000)); done.Changed != done.Bytes {
			t.Errorf("%s: %d of %d bytes were written", name, done.Changed, done.Bytes)
		}
		if got, err := read(); err != nil || !bytes.Equal(got, before) {
			t.Errorf("%s: its bytes changed: %v", name, err)
		}
		for _, name := range []string{"memory.json", "memory.json.bak", "link"} {
			if err := os.Remove(filepath.Join(dir, name)); err != nil && !errors.Is(err, os.ErrNotExist) {
				t.Fatal(err)
			}
		}
		must(t, os.RemoveAll(filepath.Join(dir, "index")))
	}
}

// unshared asks about a file of its own.
func unshared(fsys durable.FS) (bool, error) {
	err := durable.WriteFile(fsys, "alone", func(w io.Writer) error {
		_, err := io.Copy(w, strings.NewReader("x"))
		return err
	})
	if err != nil {
		return false, err
	}
	return fsys.Unshared("alone")
}
