package publish_test

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/memsidecar/memsidecar/internal/durable"
	"github.com/memsidecar/memsidecar/internal/durable/crashfs"
	"github.com/memsidecar/memsidecar/internal/publish"
)

const ledger = "index/published.json"

func now() time.Time { return time.Date(2026, 2, 21, 10, 0, 0, 0, time.UTC) }

func files(t testing.TB, fsys durable.FS) *publish.Files {
	return publish.NewFiles(fsys, ledger, now, slog.New(slog.NewTextHandler(t.Output(), nil)))
}

func replace(f *publish.Files, name string, revision int64, text string) error {
	_, err := f.Replace(name, revision, strings.HasPrefix(path.Base(name), "memory"), func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	})
	return err
}

// edit replaces a file as an editor does.
func edit(t testing.TB, fsys durable.FS, name, text string) {
	t.Helper()
	if err := durable.WriteFile(fsys, name, func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	}); err != nil {
		t.Fatal(err)
	}
}

func content(fsys durable.FS, name string) string {
	data, err := durable.ReadFile(fsys, name)
	if err != nil {
		return "error: " + err.Error()
	}
	return string(data)
}

// kept returns what is in quarantine/, the reasons left out.
func kept(t testing.TB, fsys durable.FS) []string {
	t.Helper()
	entries, err := fsys.ReadDir("quarantine")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	var list []string
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".reason.txt") && !strings.Contains(e.Name(), ".tmp-") {
			list = append(list, content(fsys, "quarantine/"+e.Name()))
		}
	}
	slices.Sort(list)
	return list
}

// onBoth runs a test in a real directory and on the simulated disk.
func onBoth(t *testing.T, test func(t *testing.T, fsys durable.FS)) {
	t.Run("directory", func(t *testing.T) {
		root, err := os.OpenRoot(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = root.Close() })
		test(t, durable.Dir(root))
	})
	t.Run("simulated", func(t *testing.T) { test(t, crashfs.New()) })
}

func want(t *testing.T, fsys durable.FS, name, text string) {
	t.Helper()
	if got := content(fsys, name); got != text {
		t.Errorf("%s holds %q, want %q", name, got, text)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestReplace(t *testing.T) {
	onBoth(t, func(t *testing.T, fsys durable.FS) {
		f := files(t, fsys)
		for i, text := range []string{"one", "two", "three"} {
			must(t, replace(f, "memory.json", int64(i+1), text))
			must(t, replace(f, "logs/2026-02-21.json", 9, text))
		}
		f = files(t, fsys) // after a restart
		must(t, replace(f, "memory.json", 4, "four"))
		want(t, fsys, "memory.json", "four")
		want(t, fsys, "memory.json.bak", "three")
		want(t, fsys, "logs/2026-02-21.json", "three")
		if got := kept(t, fsys); len(got) > 0 {
			t.Errorf("kept %q", got)
		}
		if got, err := f.Revision("memory.json"); got != 4 || err != nil {
			t.Errorf("revision %d, %v", got, err)
		}
		entries, err := fsys.ReadDir(".")
		must(t, err)
		var names []string
		for _, e := range entries {
			names = append(names, e.Name())
		}
		if got := fmt.Sprint(names); got != "[index logs memory.json memory.json.bak]" {
			t.Errorf("left behind: %s", got)
		}
	})
}

func TestHandEditIsKept(t *testing.T) {
	for _, tt := range []struct {
		name    string
		restart bool
		ledger  string // what becomes of it
		want    []string
	}{
		{"running", false, "", []string{"by hand"}},
		{"after a restart", true, "", []string{"by hand"}},
		{"ledger lost", true, "lost", []string{"by hand", "one"}}, // the backup is not recognised either
		{"ledger damaged", true, "damaged", []string{"by hand", "one"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			onBoth(t, func(t *testing.T, fsys durable.FS) {
				f := files(t, fsys)
				must(t, replace(f, "memory.json", 1, "one"))
				must(t, replace(f, "memory.json", 2, "two"))
				edit(t, fsys, "memory.json", "by hand")
				if tt.restart {
					f = files(t, fsys)
				}
				switch tt.ledger {
				case "lost":
					must(t, fsys.Remove(ledger))
				case "damaged":
					edit(t, fsys, ledger, "{")
				}
				must(t, replace(f, "memory.json", 3, "three"))
				want(t, fsys, "memory.json", "three")
				must(t, replace(f, "memory.json", 4, "four"))
				must(t, replace(f, "memory.json", 5, "five"))
				want(t, fsys, "memory.json.bak", "four")
				if got := kept(t, fsys); !slices.Equal(got, tt.want) {
					t.Errorf("kept %q, want %q", got, tt.want)
				}
			})
		})
	}
}

// An editor that writes into the file it has open reaches the backup when the file was replaced meanwhile.
func TestEditThatReachedTheBackupIsKept(t *testing.T) {
	onBoth(t, func(t *testing.T, fsys durable.FS) {
		f := files(t, fsys)
		must(t, replace(f, "memory.json", 1, "one"))
		file, err := fsys.OpenFile("memory.json", os.O_WRONLY, 0)
		must(t, err)
		defer file.Close()
		must(t, replace(f, "memory.json", 2, "two"))
		_, err = file.WriteAt([]byte("late"), 0)
		must(t, err)
		must(t, replace(f, "memory.json", 3, "three"))
		want(t, fsys, "memory.json.bak", "two")
		if got := kept(t, fsys); !slices.Equal(got, []string{"late"}) {
			t.Errorf("kept %q", got)
		}
	})
}

func TestReasonSaysWhatToDo(t *testing.T) {
	fsys := crashfs.New()
	f := files(t, fsys)
	edit(t, fsys, "memory.json", "found")
	must(t, replace(f, "memory.json", 1, "one"))
	entries, err := fsys.ReadDir("quarantine")
	must(t, err)
	if len(entries) != 2 || entries[1].Name() != entries[0].Name()+".reason.txt" {
		t.Fatalf("quarantine holds %v", entries)
	}
	reason := content(fsys, "quarantine/"+entries[1].Name())
	for _, part := range []string{"memory.json was changed", "2026-02-21", "To bring them in"} {
		if !strings.Contains(reason, part) {
			t.Errorf("the reason lacks %q:\n%s", part, reason)
		}
	}
}

func TestRemove(t *testing.T) {
	const name = "logs/2026-02-21.json"
	for _, tt := range []struct {
		name   string
		change func(t *testing.T, fsys durable.FS)
		want   []string
	}{
		{"ours", func(*testing.T, durable.FS) {}, nil},
		{"changed", func(t *testing.T, fsys durable.FS) { edit(t, fsys, name, "by hand") }, []string{"by hand"}},
		{"gone", func(t *testing.T, fsys durable.FS) { must(t, fsys.Remove(name)) }, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			onBoth(t, func(t *testing.T, fsys durable.FS) {
				f := files(t, fsys)
				must(t, replace(f, name, 1, "one"))
				tt.change(t, fsys)
				must(t, f.Remove(name))
				if _, err := fsys.Lstat(name); !errors.Is(err, fs.ErrNotExist) {
					t.Errorf("still there: %v", err)
				}
				if got := kept(t, fsys); !slices.Equal(got, tt.want) {
					t.Errorf("kept %q, want %q", got, tt.want)
				}
				if names, err := f.Names(); len(names) > 0 || err != nil {
					t.Errorf("remembers %v, %v", names, err)
				}
			})
		})
	}
}

func TestNotRegularIsLeftAlone(t *testing.T) {
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	must(t, err)
	defer root.Close()
	must(t, os.WriteFile(filepath.Join(dir, "elsewhere.json"), []byte("mine"), 0o600))
	must(t, os.Symlink("elsewhere.json", filepath.Join(dir, "memory.json")))
	if err := replace(files(t, durable.Dir(root)), "memory.json", 1, "one"); !errors.Is(err, publish.ErrNotRegular) {
		t.Fatalf("got %v", err)
	}
	want(t, durable.Dir(root), "elsewhere.json", "mine")
	if _, err := root.Lstat("memory.json.next"); !errors.Is(err, fs.ErrNotExist) {
		t.Error("the temporary file was left")
	}
}

// An error anywhere leaves a whole file, and the next attempt succeeds without keeping our own file aside.
func TestErrorAtEveryOperation(t *testing.T) {
	base := crashfs.New()
	f := files(t, base)
	must(t, replace(f, "memory.json", 1, "one"))
	must(t, replace(f, "memory.json", 2, "two"))
	probe := base.Clone()
	must(t, replace(files(t, probe), "memory.json", 3, "three"))
	for _, fault := range []error{syscall.ENOSPC, syscall.EIO} {
		for n := base.Ops() + 1; n <= probe.Ops(); n++ {
			fsys := base.Clone()
			fsys.FailAt(n, fault)
			f := files(t, fsys)
			err := replace(f, "memory.json", 3, "three")
			if got := content(fsys, "memory.json"); got != "three" && (got != "two" || err == nil) {
				t.Fatalf("%v at operation %d: memory.json holds %q, %v", fault, n, got, err)
			}
			must(t, replace(f, "memory.json", 4, "four"))
			want(t, fsys, "memory.json", "four")
			if got := kept(t, fsys); len(got) > 0 {
				t.Fatalf("%v at operation %d: kept %q", fault, n, got)
			}
		}
	}
}

// The power fails at every operation of a publication, with and without an edit by hand before it.
func TestCrashAtEveryOperation(t *testing.T) {
	for _, edited := range []bool{false, true} {
		for _, variant := range []crashfs.Variant{crashfs.Lost, crashfs.Kept, crashfs.Torn} {
			t.Run(fmt.Sprintf("edited=%v/%v", edited, variant), func(t *testing.T) {
				base := crashfs.New()
				f := files(t, base)
				must(t, replace(f, "memory.json", 1, "one"))
				must(t, replace(f, "memory.json", 2, "two"))
				before := "two"
				if edited {
					before = "by hand"
					edit(t, base, "memory.json", before)
				}
				start := base.Ops()
				probe := base.Clone()
				must(t, replace(files(t, probe), "memory.json", 3, "three"))
				for n := start + 1; n <= probe.Ops()+1; n++ {
					for seed := range uint64(4) {
						fsys := base.Clone()
						fsys.CrashAt(n)
						acknowledged := replace(files(t, fsys), "memory.json", 3, "three") == nil
						checkAfterCrash(t, fsys.Crash(variant, rand.New(rand.NewPCG(seed, 1))), before, edited, acknowledged)
						if t.Failed() {
							t.Fatalf("crash at operation %d: %v", n, fsys.Trace()[start:])
						}
					}
				}
			})
		}
	}
}

func checkAfterCrash(t *testing.T, fsys durable.FS, before string, edited, acknowledged bool) {
	t.Helper()
	got := content(fsys, "memory.json")
	if got != "three" && (got != before || acknowledged) {
		t.Errorf("after the crash memory.json holds %q", got)
	}
	if bak := content(fsys, "memory.json.bak"); bak != "one" && (edited || bak != before) {
		t.Errorf("after the crash memory.json.bak holds %q", bak)
	}
	if held := kept(t, fsys); edited && got == "three" && !slices.Equal(held, []string{"by hand"}) {
		t.Errorf("the edit was replaced; kept %q", held)
	}
	must(t, publish.Clean(fsys))
	f := files(t, fsys)
	revision, err := f.Revision("memory.json")
	if err != nil || got == "three" && revision != 3 || got == "two" && revision == 3 {
		t.Errorf("memory.json holds %q, said to be revision %d, %v", got, revision, err)
	}
	must(t, replace(f, "memory.json", 4, "four"))
	want(t, fsys, "memory.json", "four")
	var hand []string
	if edited {
		hand = []string{"by hand"}
	}
	if held := kept(t, fsys); !slices.Equal(held, hand) {
		t.Errorf("kept %q, want %q", held, hand)
	}
	for _, dir := range []string{".", "index", "quarantine"} {
		entries, err := fsys.ReadDir(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		for _, e := range entries {
			if strings.Contains(e.Name(), ".tmp-") || strings.Contains(e.Name(), ".next") {
				t.Errorf("left behind: %s/%s", dir, e.Name())
			}
		}
	}
}
