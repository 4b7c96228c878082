package crashfs_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/memsidecar/memsidecar/internal/store/durable"
	"github.com/memsidecar/memsidecar/internal/store/durable/crashfs"
)

func seeded(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 1)) }

// crashes calls check with what every kind of crash leaves of fsys.
func crashes(fsys *crashfs.FS, check func(name string, after *crashfs.FS)) {
	check("lost", fsys.Crash(crashfs.Lost, nil))
	check("kept", fsys.Crash(crashfs.Kept, nil))
	for seed := range uint64(60) {
		check(fmt.Sprintf("torn %d", seed), fsys.Crash(crashfs.Torn, seeded(seed)))
	}
}

// outcomes collects what crashes may leave of a file; "-" is no file.
func outcomes(t *testing.T, fsys *crashfs.FS, name string) map[string]bool {
	t.Helper()
	got := map[string]bool{}
	crashes(fsys, func(_ string, after *crashfs.FS) { got[read(t, after, name)] = true })
	return got
}

func read(t *testing.T, fsys durable.FS, name string) string {
	t.Helper()
	data, err := durable.ReadFile(fsys, name)
	if errors.Is(err, fs.ErrNotExist) {
		return "-"
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func text(s string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, s)
		return err
	}
}

// must makes a test of file operations readable.
func must(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

func create(t *testing.T, fsys durable.FS, name, s string) durable.File {
	t.Helper()
	f, err := fsys.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	must(t, err)
	if s != "" {
		_, err = f.Write([]byte(s))
		must(t, err)
	}
	return f
}

// TestWriteFileSurvives crashes durable.WriteFile at each of its operations. A process that is killed proves nothing
// about syncing: what it wrote is in the page cache all the same.
func TestWriteFileSurvives(t *testing.T) {
	texts := map[string]string{"old": strings.Repeat("old text ", 3000), "new": strings.Repeat("new text! ", 4000)}
	start := crashfs.New()
	must(t, start.MkdirAll("d"), start.SyncDir("."), durable.WriteFile(start, "d/f", text(texts["old"])))
	start = start.Crash(crashfs.Lost, nil)

	whole := start.Clone()
	must(t, durable.WriteFile(whole, "d/f", text(texts["new"])))
	crashes(whole, func(name string, after *crashfs.FS) {
		if read(t, after, "d/f") != texts["new"] {
			t.Errorf("after WriteFile returned, %s: not the new text", name)
		}
	})

	seen := map[string]int{}
	for n := 1; n <= whole.Ops(); n++ {
		fsys := start.Clone()
		fsys.CrashAt(n)
		if err := durable.WriteFile(fsys, "d/f", text(texts["new"])); !errors.Is(err, crashfs.ErrCrashed) {
			t.Fatalf("crash at %d: WriteFile returned %v", n, err)
		}
		crashes(fsys, func(name string, after *crashfs.FS) {
			got := read(t, after, "d/f")
			switch got {
			case texts["old"]:
				seen["old"]++
			case texts["new"]:
				seen["new"]++
			default:
				t.Errorf("crash at %s, %s: %d bytes that are neither", whole.Trace()[n-1], name, len(got))
			}
			if _, err := durable.CleanTemp(after, "d"); err != nil {
				t.Error(err)
			}
			if diff := cmp.Diff([]string{"d/f"}, after.Names()); diff != "" {
				t.Errorf("files (-want +got):\n%s", diff)
			}
		})
	}
	if seen["old"] == 0 || seen["new"] == 0 {
		t.Errorf("saw %v, want both", seen)
	}
}

// TestFindsMissingSync replaces a file with one step left out, and expects the simulation to lose something.
func TestFindsMissingSync(t *testing.T) {
	for _, tt := range []struct {
		name          string
		sync, syncDir bool
		wrong         []string // must be among what is left
	}{
		{"nothing left out", true, true, nil},
		{"contents not synced", false, true, []string{"", "\x00\x00\x00"}},
		{"directory not synced", true, false, []string{"old"}},
		{"neither synced", false, false, []string{"old", ""}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			fsys := crashfs.New()
			must(t, fsys.WriteRaw("f", []byte("old")))
			f := create(t, fsys, "t", "new")
			if tt.sync {
				must(t, f.Sync())
			}
			must(t, f.Close(), fsys.Rename("t", "f"))
			if tt.syncDir {
				must(t, fsys.SyncDir("."))
			}
			got := outcomes(t, fsys, "f")
			for _, want := range append(tt.wrong, "new") {
				if !got[want] {
					t.Errorf("a crash never left %q", want)
				}
			}
			if tt.wrong == nil && len(got) > 1 {
				t.Errorf("a crash left %v", got)
			}
		})
	}
}

func TestCrashOutcomes(t *testing.T) {
	for _, tt := range []struct {
		name string
		run  func(t *testing.T, fsys *crashfs.FS) // f holds "base" when it starts
		want []string                             // exactly what may be left of f
	}{
		{"synced", func(t *testing.T, fsys *crashfs.FS) {
			must(t, create(t, fsys, "f", "next").Datasync())
		}, []string{"next"}},
		{"removal not synced", func(t *testing.T, fsys *crashfs.FS) {
			must(t, fsys.Remove("f"))
		}, []string{"base", "-"}},
		{"removal synced", func(t *testing.T, fsys *crashfs.FS) { must(t, fsys.Remove("f"), fsys.SyncDir(".")) },
			[]string{"-"}},
		{"overwritten, not synced", func(t *testing.T, fsys *crashfs.FS) {
			create(t, fsys, "f", "next")
		}, []string{"base", "next"}},
		{"extended, not synced", func(t *testing.T, fsys *crashfs.FS) {
			f := create(t, fsys, "f", "")
			_, err := f.WriteAt([]byte("more"), 4)
			must(t, err)
		}, []string{"base", "base\x00\x00\x00\x00", "basemore"}},
		{"extended, synced by another handle", func(t *testing.T, fsys *crashfs.FS) {
			create(t, fsys, "f", "longer")
			must(t, create(t, fsys, "f", "").Sync())
		}, []string{"longer"}},
		{"truncated", func(t *testing.T, fsys *crashfs.FS) { must(t, create(t, fsys, "f", "").Truncate(2)) },
			[]string{"base", "ba", "ba\x00\x00"}},
		{"allocated", func(t *testing.T, fsys *crashfs.FS) { must(t, create(t, fsys, "f", "").Allocate(6)) },
			[]string{"base", "base\x00\x00"}},
		{"one part of a rename between directories synced", func(t *testing.T, fsys *crashfs.FS) {
			must(t, fsys.Rename("f", "d/g"), fsys.SyncDir("d"))
		}, []string{"-"}},
		{"link not synced, removal synced", func(t *testing.T, fsys *crashfs.FS) {
			must(t, fsys.Link("f", "d/g"), fsys.Remove("f"), fsys.SyncDir("."))
		}, []string{"-"}},
		{"sync failed, next sync succeeds", func(t *testing.T, fsys *crashfs.FS) {
			f := create(t, fsys, "f", "next")
			fsys.FailAt(fsys.Ops()+1, syscall.EIO)
			if err := f.Sync(); !errors.Is(err, syscall.EIO) {
				t.Errorf("got %v, want EIO", err)
			}
			must(t, f.Sync())
		}, []string{"base", "next"}},
		{"sync failed, written again", func(t *testing.T, fsys *crashfs.FS) {
			f := create(t, fsys, "f", "gone")
			fsys.FailAt(fsys.Ops()+1, syscall.EIO)
			_ = f.Sync()
			_, err := f.WriteAt([]byte("next"), 0)
			must(t, err, f.Sync())
		}, []string{"next"}},
		{"sync of directory failed, next one succeeds", func(t *testing.T, fsys *crashfs.FS) {
			must(t, fsys.Remove("f"))
			fsys.FailAt(fsys.Ops()+1, syscall.EIO)
			_ = fsys.SyncDir(".")
			must(t, fsys.SyncDir("."))
		}, []string{"base", "-"}},
		{"crash at a sync", func(t *testing.T, fsys *crashfs.FS) {
			f := create(t, fsys, "f", "next")
			fsys.CrashAt(fsys.Ops() + 1)
			if err := f.Sync(); !errors.Is(err, crashfs.ErrCrashed) {
				t.Errorf("got %v, want ErrCrashed", err)
			}
		}, []string{"base", "next"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			fsys := crashfs.New()
			must(t, fsys.WriteRaw("f", []byte("base")), fsys.WriteRaw("d/other", nil))
			tt.run(t, fsys)
			want := map[string]bool{}
			for _, s := range tt.want {
				want[s] = true
			}
			if diff := cmp.Diff(want, outcomes(t, fsys, "f")); diff != "" {
				t.Errorf("after a crash (-want +got):\n%s", diff)
			}
		})
	}
}

// TestRenameBetweenDirectories checks that a crash never leaves both names, or none.
func TestRenameBetweenDirectories(t *testing.T) {
	fsys := crashfs.New()
	must(t, fsys.WriteRaw("a/f", []byte("x")), fsys.WriteRaw("b/other", nil))
	create(t, fsys, "a/1", "")
	create(t, fsys, "b/1", "")
	must(t, fsys.Rename("a/f", "b/f"))
	create(t, fsys, "b/2", "")
	seen := map[string]bool{}
	crashes(fsys, func(name string, after *crashfs.FS) {
		places := read(t, after, "a/f") + read(t, after, "b/f")
		if places != "x-" && places != "-x" {
			t.Errorf("%s: in a and b: %s", name, places)
		}
		seen[places] = true
		if read(t, after, "b/2") == "" && (read(t, after, "b/1") != "" || places != "-x") {
			t.Errorf("%s: a later name survived and an earlier one did not: %v", name, after.Names())
		}
	})
	if len(seen) != 2 {
		t.Errorf("saw only %v", seen)
	}
}

// TestTornPages expects pages of a long write to survive without each other, and sectors too.
func TestTornPages(t *testing.T) {
	const size = 8 * 4096
	fsys := crashfs.New()
	must(t, fsys.WriteRaw("f", bytes.Repeat([]byte("."), size)))
	create(t, fsys, "f", strings.Repeat("#", size))
	holes, sectors := false, false
	crashes(fsys, func(name string, after *crashfs.FS) {
		got := read(t, after, "f")
		if len(got) != size {
			t.Fatalf("%s: size %d", name, len(got))
		}
		for at := 0; at < size; at += 512 {
			s := got[at : at+512]
			if strings.Count(s, s[:1]) != 512 {
				t.Fatalf("%s: torn inside the sector at %d", name, at)
			}
		}
		holes = holes || strings.Contains(got, "#.") && strings.Contains(got, ".#")
		for at := 0; at < size; at += 4096 {
			p := got[at : at+4096]
			sectors = sectors || strings.Contains(p, "#") && strings.Contains(p, ".")
		}
	})
	if !holes || !sectors {
		t.Errorf("saw holes: %v, torn sectors: %v", holes, sectors)
	}
}

// TestFailedSyncTears expects what a failed sync forgot to survive in part.
func TestFailedSyncTears(t *testing.T) {
	const size = 4 * 4096
	fsys := crashfs.New()
	must(t, fsys.WriteRaw("f", bytes.Repeat([]byte("."), size)))
	f := create(t, fsys, "f", strings.Repeat("#", size))
	fsys.FailAt(fsys.Ops()+1, syscall.EIO)
	if err := f.Sync(); err == nil {
		t.Fatal("sync succeeded")
	}
	must(t, f.Sync())
	mixed := 0
	for got := range outcomes(t, fsys, "f") {
		if strings.Contains(got, "#") && strings.Contains(got, ".") {
			mixed++
		}
	}
	if mixed == 0 {
		t.Error("saw all or nothing only")
	}
}

// TestNothingBeyondTheEnd extends what a crash left: the new bytes must be zeros, not what had been there once.
func TestNothingBeyondTheEnd(t *testing.T) {
	fsys := crashfs.New()
	must(t, fsys.WriteRaw("f", []byte("base")))
	f := create(t, fsys, "f", "longer text")
	crashes(fsys, func(name string, after *crashfs.FS) {
		left := read(t, after, "f")
		must(t, create(t, after, "f", "").Truncate(20))
		if got, want := read(t, after, "f"), left+strings.Repeat("\x00", 20-len(left)); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	})
	must(t, f.Close())
}

func TestCrashAtStopsEverything(t *testing.T) {
	fsys := crashfs.New()
	f := create(t, fsys, "f", "text")
	fsys.CrashAt(fsys.Ops() + 1)
	if fsys.Crashed() {
		t.Error("crashed too early")
	}
	_, writeErr := f.Write([]byte("x"))
	_, readErr := f.ReadAt(make([]byte, 1), 0)
	_, openErr := fsys.OpenFile("f", os.O_RDONLY, 0)
	_, listErr := fsys.ReadDir(".")
	_, statErr := f.Stat()
	for i, err := range []error{writeErr, readErr, openErr, listErr, statErr, f.Sync(), f.Truncate(0), f.Allocate(9),
		fsys.SyncDir("."), fsys.Rename("f", "g"), fsys.Remove("f"), fsys.Link("f", "g"), fsys.MkdirAll("d")} {
		if !errors.Is(err, crashfs.ErrCrashed) {
			t.Errorf("call %d returned %v", i, err)
		}
	}
	if err := f.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	if !fsys.Crashed() || fsys.Ops() != 3 {
		t.Errorf("crashed %v after %d operations: %q", fsys.Crashed(), fsys.Ops(), fsys.Trace())
	}
	after := fsys.Crash(crashfs.Kept, nil)
	if got := read(t, after, "f"); got != "textx" {
		t.Errorf("kept %q, want the write that crashed too", got)
	}
	if after.Ops() != 0 {
		t.Errorf("restart has %d operations", after.Ops())
	}
	create(t, after, "g", "goes on")
}

func TestConcurrentUse(t *testing.T) {
	fsys := crashfs.New()
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			name := fmt.Sprint("f", i%4)
			for range 20 {
				if err := durable.WriteFile(fsys, name, text(name)); err != nil {
					t.Error(err)
				}
				if got, err := durable.ReadFile(fsys, name); err != nil || string(got) != name {
					t.Errorf("%q, %v", got, err)
				}
				fsys.Crash(crashfs.Torn, seeded(uint64(i)))
				fsys.Clone()
			}
		})
	}
	wg.Wait()
	if diff := cmp.Diff([]string{"f0", "f1", "f2", "f3"}, fsys.Names()); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}
