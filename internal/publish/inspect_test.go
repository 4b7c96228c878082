package publish_test

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"time"

	"github.com/memsidecar/memsidecar/internal/publish"
	"github.com/memsidecar/memsidecar/internal/store/durable"
	"github.com/memsidecar/memsidecar/internal/store/durable/crashfs"
)

// What nobody touched is recognised by its size and time: a large file is read neither when it is replaced nor when
// it is looked at.
func TestUndisturbedIsNotRead(t *testing.T) {
	fsys := &watched{FS: crashfs.New()}
	f := files(t, fsys)
	for i := range 3 {
		must(t, replace(f, "memory.json", int64(i), fmt.Sprint("published ", i)))
	}
	f = files(t, fsys) // after a restart
	look(t, f, "memory.json")
	for _, call := range calls(t, fsys, func() error {
		look(t, f, "memory.json")
		return replace(f, "memory.json", 9, "published again")
	}) {
		if strings.HasPrefix(call, "read memory.json") {
			t.Error(call)
		}
	}
	// What was read once and is in place is not read again either.
	edit(t, fsys, "memory.json", "by hand")
	look(t, f, "memory.json")
	for _, call := range calls(t, fsys, func() error {
		if err := replace(f, "memory.json", 10, "published"); !errors.Is(err, publish.ErrEdited) {
			t.Errorf("got %v", err)
		}
		return f.Claim("memory.json", look(t, f, "memory.json").Hash)
	}) {
		if strings.HasPrefix(call, "read memory.json") {
			t.Error(call)
		}
	}
}

// frozen is an FS whose clock stands still: it has one time for every file.
type frozen struct {
	durable.FS
	at time.Time
}

func (f *frozen) Lstat(name string) (fs.FileInfo, error) {
	info, err := f.FS.Lstat(name)
	if err != nil {
		return nil, err
	}
	return frozenInfo{info, f.at}, nil
}

type frozenInfo struct {
	fs.FileInfo
	at time.Time
}

func (i frozenInfo) ModTime() time.Time { return i.at }

// A file whose time is in the future is read, and published over like any other, with an exchange or without.
func TestTimeInTheFuture(t *testing.T) {
	for _, noExchange := range []bool{false, true} {
		fsys := &watched{FS: &frozen{crashfs.New(), now().Add(time.Hour)}, noExchange: noExchange}
		f := files(t, fsys)
		for i, text := range []string{"one", "two", "three"} {
			must(t, replace(f, "memory.json", int64(i), text))
		}
		want(t, fsys, "memory.json", "three")
		want(t, fsys, "memory.json.bak", "two")
		tidy(t, fsys)
	}
}

// An edit of the same length in the same step of the file system's clock is seen all the same.
func TestEditThatItsTimeDoesNotShow(t *testing.T) {
	inner := crashfs.New()
	clock := now()
	fsys := &watched{FS: &frozen{inner, now()}}
	f := filesAt(t, fsys, func() time.Time { return clock })
	clock = clock.Add(time.Millisecond)
	must(t, replace(f, "memory.json", 1, "one"))
	must(t, editors["in place"](inner, "memory.json", "1st"))
	clock = clock.Add(time.Hour)
	if found := look(t, f, "memory.json"); found.Ours {
		t.Errorf("taken for ours: %+v", found)
	}

	must(t, f.Claim("memory.json", hash("1st")))
	clock = now().Add(time.Millisecond)
	fsys.before = func(call string) {
		if strings.HasPrefix(call, "exchange memory.json.next memory.json") && content(inner, "memory.json") == "1st" {
			must(t, editors["in place"](inner, "memory.json", "2nd"))
		}
	}
	must(t, replace(f, "memory.json", 2, "two"))
	fsys.before = nil
	if !safe(t, inner, "memory.json", "2nd") {
		t.Errorf("lost; edits %+v", edits(t, inner))
	}
}
