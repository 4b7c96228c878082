package publish_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/memsidecar/memsidecar/internal/memtest"
	"github.com/memsidecar/memsidecar/internal/publish"
	"github.com/memsidecar/memsidecar/internal/store/durable"
	"github.com/memsidecar/memsidecar/internal/store/durable/crashfs"
)

// scene is a publication and what went before it.
type scene struct {
	name   string
	file   string
	backup bool
	before func(t *testing.T, fsys durable.FS, f *publish.Files)
	old    []string // what may be under the name when it did not come to the publication; "" for no file
	edit   string   // what somebody else wrote, and that must be safe whatever happens
	remove bool     // it is a removal
}

func (s scene) run(f *publish.Files, revision int64, text string) error {
	if s.remove {
		return f.Remove(s.file)
	}
	return publishAs(f, s.file, s.backup, revision, text)
}

// scenes are those of a crash and of a failure.
func scenes() []scene {
	twice := func(t *testing.T, f *publish.Files, file string, backup bool) {
		must(t, publishAs(f, file, backup, 1, "one"))
		must(t, publishAs(f, file, backup, 2, "two"))
	}
	const memories, log = "memory.json", "logs/2026-02-21.json"
	return []scene{
		{name: "first publication", file: memories, backup: true, old: []string{""}, before: func(*testing.T, durable.FS, *publish.Files) {}},
		{name: "first log", file: log, old: []string{""}, before: func(*testing.T, durable.FS, *publish.Files) {}},
		{name: "second publication", file: memories, backup: true, old: []string{"one"}, before: func(t *testing.T, _ durable.FS, f *publish.Files) {
			must(t, publishAs(f, memories, true, 1, "one"))
		}},
		{name: "with a backup", file: memories, backup: true, old: []string{"two"}, before: func(t *testing.T, _ durable.FS, f *publish.Files) {
			twice(t, f, memories, true)
		}},
		{name: "a log", file: log, old: []string{"two"}, before: func(t *testing.T, _ durable.FS, f *publish.Files) { twice(t, f, log, false) }},
		{name: "removal", file: log, remove: true, old: []string{"two", ""}, before: func(t *testing.T, _ durable.FS, f *publish.Files) { twice(t, f, log, false) }},
		{name: "the backup was changed", file: memories, backup: true, old: []string{"two"}, edit: "mine, in the backup", before: func(t *testing.T, fsys durable.FS, f *publish.Files) {
			twice(t, f, memories, true)
			must(t, editors["in place"](fsys, memories+".bak", "mine, in the backup"))
		}},
		{name: "claimed", file: memories, backup: true, old: []string{"mine, taken over"}, before: func(t *testing.T, fsys durable.FS, f *publish.Files) {
			twice(t, f, memories, true)
			must(t, editors["by rename"](fsys, memories, "mine, taken over"))
			must(t, f.Claim(memories, hash("mine, taken over")))
		}},
		{name: "changed and not claimed", file: memories, backup: true, old: []string{"mine, foreign"}, edit: "mine, foreign", before: func(t *testing.T, fsys durable.FS, f *publish.Files) {
			twice(t, f, memories, true)
			must(t, editors["truncating"](fsys, memories, "mine, foreign"))
		}},
	}
}

func variants() []crashfs.CrashMode {
	return []crashfs.CrashMode{crashfs.Lost, crashfs.Kept, crashfs.Torn, crashfs.Torn, crashfs.Torn}
}

// The power fails at every operation of a publication, then at every operation of what a start does about it.
func TestCrashAtEveryOperation(t *testing.T) {
	for _, s := range scenes() {
		for _, disk := range []struct{ exchange, shortLog bool }{{true, false}, {true, true}, {false, false}} {
			t.Run(fmt.Sprintf("%s/exchange=%v,shortLog=%v", s.name, disk.exchange, disk.shortLog), func(t *testing.T) {
				exchange := disk.exchange
				open := func(fsys durable.FS) *publish.Files {
					f := files(t, &watched{FS: fsys, noExchange: !exchange})
					if disk.shortLog { // whole manifests are written between; and no backup is overwritten
						f.SetMaxLog(0)
						f.SetRecycleFrom(1 << 20)
					}
					return f
				}
				base := crashfs.New()
				s.before(t, base, open(base))
				start := base.Ops()
				probe := base.Clone()
				if err := s.run(open(probe), 3, "three"); err != nil && !errors.Is(err, publish.ErrEdited) {
					t.Fatal(err)
				}
				reused := strings.Contains(strings.Join(probe.Trace()[start:], "\n"), "rename memory.json.bak memory.json.tmp")
				if s.name == "with a backup" && reused == disk.shortLog {
					t.Errorf("the backup was overwritten: %v: %v", reused, probe.Trace()[start:])
				}
				crashes, starts := 0, 0
				for n := start + 1; n <= probe.Ops()+1; n++ {
					if memtest.SkipSample(n, 5) {
						continue
					}
					for i, variant := range variants() {
						fsys := base.Clone()
						fsys.CrashAt(n)
						done := s.run(open(fsys), 3, "three") == nil
						rng := rand.New(rand.NewPCG(uint64(i), 1))
						after := fsys.Crash(variant, rng)
						if i < 3 && exchange {
							starts += crashedStart(t, s, after, rng)
						}
						crashes++
						s.check(t, after, done)
						if t.Failed() {
							t.Fatalf("crash at operation %d, %v: %v", n, variant, fsys.Trace()[start:])
						}
					}
				}
				t.Logf("%d operations, %d crashes, %d of the start after one", probe.Ops()-start, crashes, starts)
			})
		}
	}
}

// crashedStart crashes what a start does at each of its operations, and checks what the next one makes of it. It
// returns how often.
func crashedStart(t *testing.T, s scene, fsys *crashfs.FS, rng *rand.Rand) (crashes int) {
	t.Helper()
	probe := fsys.Clone()
	must(t, publish.Recover(probe))
	for n := fsys.Ops() + 1; n <= probe.Ops(); n++ {
		for _, variant := range variants()[:3] {
			crashes++
			again := fsys.Clone()
			again.CrashAt(n)
			_ = publish.Recover(again)
			s.check(t, again.Crash(variant, rng), false)
			if t.Failed() {
				t.Fatalf("the start crashed at operation %d, %v: %v", n, variant, again.Trace())
			}
		}
	}
	return crashes
}

// check starts on what a crash left, and publishes again.
func (s scene) check(t *testing.T, fsys durable.FS, done bool) {
	t.Helper()
	must(t, publish.Recover(fsys))
	tidy(t, fsys)
	got := content(fsys, s.file)
	if strings.HasPrefix(got, "error: ") {
		got = ""
	}
	came := got == "three" || s.remove && got == ""
	if !came && (done || !slices.Contains(s.old, got)) {
		t.Errorf("after the crash %s holds %q", s.file, got)
	}
	f := files(t, fsys)
	revision, err := f.Revision(s.file)
	if err != nil || (revision == 3) != (got == "three") {
		t.Errorf("%s holds %q, said to be revision %d, %v", s.file, got, revision, err)
	}
	k, ok, err := f.Published(s.file)
	if err != nil || got == "three" && k.Revision != 3 || got != "three" && k.Revision == 3 || !s.remove && got == "" && ok {
		t.Errorf("%s holds %q, known is %+v %v, %v", s.file, got, k, ok, err)
	}
	if s.edit != "" && got != s.edit && content(fsys, s.file+".bak") != s.edit && !safe(t, fsys, s.file, s.edit) {
		t.Errorf("%q is lost; edits %+v", s.edit, edits(t, fsys))
	}
	s.again(t, fsys, f)
}

// again publishes what follows; an edit that stands in place is not published over.
func (s scene) again(t *testing.T, fsys durable.FS, f *publish.Files) {
	t.Helper()
	err := s.run(f, 4, "four")
	if s.edit != "" && content(fsys, s.file) == s.edit {
		if !errors.Is(err, publish.ErrEdited) {
			t.Errorf("published over an edit: %v", err)
		}
		return
	}
	must(t, err)
	if !s.remove {
		want(t, fsys, s.file, "four")
		must(t, s.run(f, 5, "five"))
		want(t, fsys, s.file, "five")
	}
	if s.backup {
		want(t, fsys, s.file+".bak", "four")
	}
	var mine []string
	if s.edit != "" {
		mine = []string{s.edit}
		if !safe(t, fsys, s.file, s.edit) {
			t.Errorf("%q is lost; edits %+v", s.edit, edits(t, fsys))
		}
	}
	if got := kept(t, fsys); !slices.Equal(got, mine) {
		t.Errorf("kept %q, want %q", got, mine)
	}
	tidy(t, fsys)
}

// An error anywhere loses nothing, and the next attempt succeeds, with the same Files or after a restart.
func TestErrorAtEveryOperation(t *testing.T) {
	for _, s := range scenes() {
		for _, exchange := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s/exchange=%v", s.name, exchange), func(t *testing.T) {
				base := crashfs.New()
				s.before(t, base, files(t, base))
				probe := base.Clone()
				_ = s.run(files(t, &watched{FS: probe, noExchange: !exchange}), 3, "three")
				for n := base.Ops() + 1; n <= probe.Ops(); n++ {
					if memtest.SkipSample(n, 5) {
						continue
					}
					for _, fault := range []error{syscall.EIO, syscall.ENOSPC} {
						for i := range 4 {
							fsys := base.Clone()
							if i%2 == 0 {
								fsys.FailAt(n, fault)
							} else {
								fsys.FailPartial(n, fault)
							}
							f := files(t, &watched{FS: fsys, noExchange: !exchange})
							err := s.run(f, 3, "three")
							got := content(fsys, s.file)
							if got != "three" && !(strings.HasPrefix(got, "error: ") && slices.Contains(s.old, "")) && (err == nil || !slices.Contains(s.old, got)) {
								t.Errorf("%s holds %q, %v", s.file, got, err)
							}
							if i < 2 {
								f = files(t, fsys)
							}
							for _, dir := range []string{".", "logs", "index", "quarantine"} { // their removal may be what failed
								_, err := durable.CleanTemp(fsys, dir)
								must(t, err)
							}
							s.again(t, fsys, f)
							if t.Failed() {
								t.Fatalf("%v at operation %d: %v", fault, n, fsys.Trace()[base.Ops():])
							}
						}
					}
				}
			})
		}
	}
}

// Somebody writes the file between any two calls of a publication, and the power fails at any operation after that.
func TestCrashAfterEditorAtEveryCall(t *testing.T) {
	for how, write := range editors {
		t.Run(how, func(t *testing.T) {
			const name, mine = "memory.json", "mine, written meanwhile"
			base := crashfs.New()
			f := files(t, base)
			must(t, publishAs(f, name, true, 1, "one"))
			must(t, publishAs(f, name, true, 2, "two"))
			publish3 := func(fsys *watched, at int) (wrote int, err error) {
				n, inner := 0, fsys.FS.(*crashfs.FS)
				fsys.before = func(string) {
					if n++; n-1 == at && write(inner, name, mine) == nil {
						wrote = inner.Ops()
					}
				}
				err = publishAs(files(t, fsys), name, true, 3, "three")
				fsys.before = nil
				return wrote, err
			}
			probe := &watched{FS: base.Clone()}
			steps := calls(t, probe, func() error { return publishAs(files(t, probe), name, true, 3, "three") })
			crashes := 0
			for at := range steps {
				whole := base.Clone()
				wrote, _ := publish3(&watched{FS: whole}, at)
				for n := wrote + 1; n <= whole.Ops()+1; n++ {
					if memtest.SkipSample(n, 5) {
						continue
					}
					for i, variant := range variants() {
						fsys := base.Clone()
						fsys.CrashAt(n)
						_, _ = publish3(&watched{FS: fsys}, at)
						after := fsys.Crash(variant, rand.New(rand.NewPCG(uint64(i), 2)))
						must(t, publish.Recover(after))
						tidy(t, after)
						if !safe(t, after, name, mine) {
							t.Fatalf("before %s, crash at operation %d, %v: lost; %v", steps[at], n, variant, fsys.Trace()[base.Ops():])
						}
						crashes++
					}
				}
			}
			t.Logf("%d calls, %d crashes, 0 edits lost", len(steps), crashes)
		})
	}
}
