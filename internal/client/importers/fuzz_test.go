package importers_test

import (
	"path"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/memsidecar/memsidecar/internal/client/importers"
	"github.com/memsidecar/memsidecar/internal/memory"
)

// FuzzRead gives any bytes to the reader of any format, under the name of a file of its sample. Whatever it makes of
// them is within all limits, and the same the next time.
func FuzzRead(f *testing.F) {
	formats := importers.Formats()
	for i, format := range formats {
		for name, file := range sample(f, format) {
			f.Add(byte(i), name, file.Data)
		}
	}
	f.Fuzz(func(t *testing.T, n byte, name string, data []byte) {
		format := formats[int(n)%len(formats)]
		if !valid(name) {
			name = "MEMORY.md"
		}
		files := fstest.MapFS{name: &fstest.MapFile{Data: data, ModTime: changed, Mode: 0o600}}
		first := read(t, open(t, files, format))
		for _, it := range first {
			var check memory.Check
			switch {
			case it.Memory != nil:
				check.Memory("", it.Memory)
			case it.Entry != nil:
				check.Entry("", it.Entry)
				check.Date("date", it.Date)
				if it.Entry.At.IsZero() || it.Entry.At.In(time.UTC).Format(memory.DateLayout) != it.Date {
					t.Errorf("an entry of %s in the log of %s", it.Entry.At, it.Date)
				}
			case it.Remark == "":
				t.Error("an item that is nothing")
			}
			if err := check.Err(); err != nil {
				t.Errorf("%s: %v", it.Place, err)
			}
		}
		if diff := cmp.Diff(dump(format, first), dump(format, read(t, open(t, files, format)))); diff != "" {
			t.Errorf("read again (-first +again):\n%s", diff)
		}
	})
}

// FuzzDetect opens any bytes without saying what they are.
func FuzzDetect(f *testing.F) {
	for _, format := range importers.Formats() {
		for name, file := range sample(f, format) {
			f.Add(name, file.Data)
		}
	}
	f.Fuzz(func(t *testing.T, name string, data []byte) {
		if !valid(name) {
			return
		}
		source, err := importers.OpenFS(fstest.MapFS{name: &fstest.MapFile{Data: data, ModTime: changed}}, "sample", "")
		if err == nil {
			read(t, source)
		}
	})
}

// valid reports whether a file can have this name.
func valid(name string) bool {
	for _, part := range []string{name, path.Base(name)} {
		if part == "" || part == "." || part[0] == '.' || path.IsAbs(part) || path.Clean(part) != part ||
			len(part) > 100 {
			return false
		}
	}
	return true
}
