package publish_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/memsidecar/memsidecar/internal/publish"
	"github.com/memsidecar/memsidecar/internal/store/durable"
	"github.com/memsidecar/memsidecar/internal/store/durable/crashfs"
)

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
	f.OnDisplaced = func(e publish.Edit) { told = append(told, e) }
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
				if errors.Is(err, publish.ErrEdited) { // it was written in place: not lost
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
	must(t, publish.Recover(fsys))
	if !safe(t, fsys, "memory.json", "late") {
		t.Errorf("edits %+v", edits(t, fsys))
	}
	for _, e := range edits(t, fsys) {
		if e.Writing || (e.Hash == hash("one")) != (e.Resolved == publish.Superseded) {
			t.Errorf("edit %+v", e)
		}
	}
}

// What an edit record is announced for survives any crash, although the editor synced nothing.
func TestDisplacedIsDurable(t *testing.T) {
	inner := crashfs.New()
	fsys := &watched{FS: inner}
	f := files(t, fsys)
	must(t, replace(f, "memory.json", 1, "one"))
	fsys.before = func(call string) {
		if strings.HasPrefix(call, "exchange memory.json.next memory.json") && content(inner, "memory.json") == "one" {
			late, err := inner.OpenFile("memory.json", os.O_RDWR, 0)
			must(t, err)
			_, err = late.WriteAt([]byte("mine, in a hurry"), 0)
			must(t, err)
			must(t, late.Close())
		}
	}
	announced := 0
	f.OnDisplaced = func(publish.Edit) {
		announced++
		for i, variant := range variants() {
			after := inner.Crash(variant, rand.New(rand.NewPCG(uint64(i), 3)))
			must(t, publish.Recover(after))
			if !safe(t, after, "memory.json", "mine, in a hurry") {
				t.Errorf("%v: lost", variant)
			}
		}
	}
	must(t, replace(f, "memory.json", 2, "two"))
	if announced != 1 {
		t.Errorf("announced %d times", announced)
	}
}
