package publish_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/memsidecar/memsidecar/internal/durable"
	"github.com/memsidecar/memsidecar/internal/durable/crashfs"
	"github.com/memsidecar/memsidecar/internal/publish"
)

// publishAs publishes with a backup or without.
func publishAs(f *publish.Files, name string, backup bool, revision int64, text string) error {
	_, err := f.Replace(name, revision, backup, func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	})
	return err
}

// calls lists the calls of one publication.
func calls(t *testing.T, fsys *watched, op func() error) []string {
	t.Helper()
	var list []string
	fsys.before = func(call string) { list = append(list, call) }
	must(t, op())
	fsys.before = nil
	return list
}

// What nobody touched is recognised by its size and time: a large file is read neither when it is replaced nor when it is looked at.
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
		if err := replace(f, "memory.json", 10, "published"); !errors.Is(err, publish.ErrForeign) {
			t.Errorf("got %v", err)
		}
		return f.Claim("memory.json", look(t, f, "memory.json").Hash)
	}) {
		if strings.HasPrefix(call, "read memory.json") {
			t.Error(call)
		}
	}
}

// Somebody else writes the file, in every way, between any two calls of a publication. Whatever Replace says, their bytes are under
// the name or an edit; nothing is lost, and nothing is said twice.
func TestEditorAtEveryCall(t *testing.T) {
	for _, backup := range []bool{true, false} {
		for how, write := range editors {
			t.Run(fmt.Sprintf("%s/backup=%v", how, backup), func(t *testing.T) {
				if !backup {
					editorAtEveryCall(t, crashfs.New(), backup, write)
					return
				}
				onBoth(t, func(t *testing.T, fsys durable.FS) { editorAtEveryCall(t, fsys, backup, write) })
			})
		}
	}
}

func editorAtEveryCall(t *testing.T, inner durable.FS, backup bool, write func(durable.FS, string, string) error) {
	fsys := &watched{FS: inner}
	f := files(t, fsys)
	var told []publish.Edit
	f.Displaced = func(e publish.Edit) { told = append(told, e) }
	const name = "memory.json"
	must(t, publishAs(f, name, backup, 1, "published at first"))
	must(t, publishAs(f, name, backup, 2, "published at second"))
	steps := calls(t, fsys, func() error { return publishAs(f, name, backup, 3, "published at third") })
	places := map[string]int{}
	for at := range steps {
		mine, text := fmt.Sprintf("mine, before call %d", at), fmt.Sprintf("published while call %d", at)
		told = nil
		n := 0
		fsys.before = func(string) {
			if n++; n-1 == at {
				must(t, write(inner, name, mine))
			}
		}
		err := publishAs(f, name, backup, int64(10+at), text)
		fsys.before = nil
		switch {
		case err != nil && !errors.Is(err, publish.ErrForeign) && !errors.Is(err, publish.ErrBusyFile):
			t.Fatalf("before %s: %v", steps[at], err)
		case content(inner, name) == mine:
			places["in place"]++
			if err := publishAs(f, name, backup, 99, "over it"); !errors.Is(err, publish.ErrForeign) {
				t.Fatalf("before %s: the next publication returned %v", steps[at], err)
			}
			want(t, inner, name, mine)
			must(t, f.Claim(name, hash(mine)))
		case !safe(t, inner, name, mine):
			t.Fatalf("before %s: %q is lost; Replace returned %v", steps[at], mine, err)
		case len(told) != 1 || told[0].Hash != hash(mine) || told[0].File != name:
			t.Fatalf("before %s: told of %+v", steps[at], told)
		default:
			places["edit"]++
		}
		must(t, publishAs(f, name, backup, int64(50+at), "published after it"))
		want(t, inner, name, "published after it")
		tidy(t, inner)
	}
	if places["in place"] == 0 || places["edit"] == 0 {
		t.Errorf("saw %v of %d calls", places, len(steps))
	}
}

// Without an exchange there is one call before which a file put under the name is lost. Everything else is not.
func TestEditorWithoutExchange(t *testing.T) {
	for _, links := range []bool{true, false} {
		for how, write := range editors {
			t.Run(fmt.Sprintf("%s/links=%v", how, links), func(t *testing.T) {
				inner := crashfs.New()
				fsys := &watched{FS: inner, noExchange: true, noLinks: !links, noLeases: true}
				f := files(t, fsys)
				const name = "memory.json"
				must(t, publishAs(f, name, true, 1, "published at first"))
				must(t, publishAs(f, name, true, 2, "published at second"))
				steps := calls(t, fsys, func() error { return publishAs(f, name, true, 3, "published at third") })
				for at, step := range steps {
					mine, n := fmt.Sprintf("mine, before call %d", at), 0
					fsys.before = func(string) {
						if n++; n-1 == at {
							must(t, write(inner, name, mine))
						}
					}
					err := publishAs(f, name, true, int64(10+at), "published meanwhile")
					fsys.before = nil
					window := strings.HasPrefix(step, "rename memory.json.tmp-") || // and the second half of the look before it
						at+1 < len(steps) && strings.HasPrefix(steps[at+1], "rename memory.json.tmp-")
					inPlace := how == "in place" || how == "truncating"
					switch {
					case content(inner, name) == mine:
						must(t, f.Claim(name, hash(mine)))
					case !safe(t, inner, name, mine) && (!window || inPlace && links):
						t.Fatalf("before %s: %q is lost; Replace returned %v", step, mine, err)
					}
					must(t, publishAs(f, name, true, int64(50+at), "published after it"))
					tidy(t, inner)
				}
			})
		}
	}
}

// Somebody has the file open before, during or after a publication and writes when it is long over.
func TestLateWriter(t *testing.T) {
	for _, backup := range []bool{true, false} {
		for _, leases := range []bool{true, false} {
			if !backup && !leases {
				continue // what is removed at once can be reached by nobody who can be known
			}
			t.Run(fmt.Sprintf("backup=%v/leases=%v", backup, leases), func(t *testing.T) {
				if backup != leases {
					lateWriter(t, crashfs.New(), backup, leases)
					return
				}
				onBoth(t, func(t *testing.T, fsys durable.FS) { lateWriter(t, fsys, backup, leases && runtime.GOOS == "linux") })
			})
		}
	}
}

func lateWriter(t *testing.T, inner durable.FS, backup, leases bool) {
	fsys := &watched{FS: inner, noLeases: !leases}
	clock := now()
	f := filesAt(t, fsys, func() time.Time { return clock })
	var told []publish.Edit
	f.Displaced = func(e publish.Edit) { told = append(told, e) }
	const name = "memory.json"
	must(t, publishAs(f, name, backup, 1, "published at first"))
	must(t, publishAs(f, name, backup, 2, "published at second"))
	steps := calls(t, fsys, func() error { return publishAs(f, name, backup, 3, "published at third") })
	for at := 0; at <= len(steps); at++ {
		for _, done := range []bool{true, false} { // closed before the next publication, or only after more of them
			told = nil
			var late durable.File
			open := func() {
				file, err := inner.OpenFile(name, os.O_RDWR, 0)
				must(t, err)
				late = file
			}
			n := 0
			fsys.before = func(string) {
				if n++; n-1 == at {
					open()
				}
			}
			err := publishAs(f, name, backup, 10, "published meanwhile")
			fsys.before = nil
			if late == nil {
				open()
			}
			if err != nil && !errors.Is(err, publish.ErrBusyFile) {
				t.Fatal(err)
			}
			mine := fmt.Sprintf("late, opened before call %d, %v", at, done)
			_, err = late.WriteAt([]byte(mine), 0)
			must(t, err)
			must(t, late.Truncate(int64(len(mine))))
			if done {
				must(t, late.Close())
			}
			for i := range 5 {
				clock = clock.Add(2 * time.Minute)
				err := publishAs(f, name, backup, int64(20+i), fmt.Sprintf("published later, %d", i))
				if errors.Is(err, publish.ErrForeign) { // it was written in place: not lost
					if content(inner, name) != mine {
						t.Fatalf("%s: foreign, and it is %q", mine, content(inner, name))
					}
					break
				}
				if err != nil && !errors.Is(err, publish.ErrBusyFile) {
					t.Fatal(err)
				}
			}
			if !done {
				must(t, late.Close())
			}
			look(t, f, name) // the copies that were being written are looked at, too
			if !safe(t, inner, name, mine) {
				t.Fatalf("%q is lost; edits %+v", mine, edits(t, inner))
			}
			if content(inner, name) == mine {
				must(t, f.Claim(name, hash(mine)))
			} else if !slices.ContainsFunc(told, func(e publish.Edit) bool { return e.Hash == hash(mine) }) {
				t.Fatalf("%q was not announced: %+v", mine, told)
			}
			must(t, publishAs(f, name, backup, 90, "published at last"))
			tidy(t, inner)
		}
	}
}

// What is written to a copy while the daemon is down is found at the next start.
func TestLateWriterAcrossRestart(t *testing.T) {
	fsys := crashfs.New()
	clock := now()
	f := filesAt(t, fsys, func() time.Time { return clock })
	must(t, replace(f, "memory.json", 1, "one"))
	late, err := fsys.OpenFile("memory.json", os.O_RDWR, 0)
	must(t, err)
	if err := replace(f, "memory.json", 2, "two"); !errors.Is(err, publish.ErrBusyFile) {
		t.Fatalf("got %v", err)
	}
	clock = clock.Add(time.Hour)
	must(t, replace(f, "memory.json", 2, "two"))
	if e := edits(t, fsys); len(e) != 1 || !e[0].Writing || e[0].Hash != hash("one") {
		t.Fatalf("edits %+v", e)
	}
	_, err = late.WriteAt([]byte("late"), 0)
	must(t, err)
	must(t, late.Close())
	must(t, publish.Clean(fsys))
	if !safe(t, fsys, "memory.json", "late") {
		t.Errorf("edits %+v", edits(t, fsys))
	}
	for _, e := range edits(t, fsys) {
		if e.Writing || (e.Hash == hash("one")) != (e.Resolved == publish.Superseded) {
			t.Errorf("edit %+v", e)
		}
	}
}
