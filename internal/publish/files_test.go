package publish_test

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/memsidecar/memsidecar/internal/publish"
	"github.com/memsidecar/memsidecar/internal/store/durable"
	"github.com/memsidecar/memsidecar/internal/store/durable/crashfs"
)

const manifest = "index/published.json"

func now() time.Time { return time.Date(2026, 2, 21, 10, 0, 0, 0, time.UTC) }

func files(t testing.TB, fsys durable.FS) *publish.Files { return filesAt(t, fsys, now) }

func filesAt(t testing.TB, fsys durable.FS, now func() time.Time) *publish.Files {
	f := publish.NewFiles(fsys, manifest, now, slog.New(slog.DiscardHandler))
	f.SetRecycleFrom(0) // so that short files take that way, too
	return f
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

// kept returns what is in quarantine/, the reasons and records left out.
func kept(t testing.TB, fsys durable.FS) []string {
	t.Helper()
	entries, err := fsys.ReadDir("quarantine")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	var list []string
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".reason.txt") && !strings.HasSuffix(e.Name(), ".edit.json") && !strings.Contains(e.Name(), ".tmp-") {
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
		test(t, unsynced{durable.Dir(root)})
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

// A file that somebody else changed is not published over before it was claimed.
func TestForeignIsLeftAlone(t *testing.T) {
	for _, tt := range []struct {
		name     string
		restart  bool
		manifest string // what becomes of it
	}{
		{"running", false, ""},
		{"after a restart", true, ""},
		{"manifest lost", true, "lost"},
		{"manifest damaged", true, "damaged"},
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
				switch tt.manifest {
				case "lost":
					must(t, fsys.Remove(manifest))
				case "damaged":
					edit(t, fsys, manifest, "{")
				}
				var foreign *publish.EditedError
				err := replace(f, "memory.json", 3, "three")
				if !errors.Is(err, publish.ErrEdited) || !errors.As(err, &foreign) || foreign.Name != "memory.json" || foreign.Hash != hash("by hand") {
					t.Fatalf("got %v", err)
				}
				if err := f.Remove("memory.json"); !errors.Is(err, publish.ErrEdited) {
					t.Fatalf("Remove: %v", err)
				}
				want(t, fsys, "memory.json", "by hand")
				if found := look(t, f, "memory.json"); found.Ours || found.Hash != foreign.Hash || found.Size != 7 || !found.Exists {
					t.Errorf("found %+v", found)
				}
				must(t, f.Claim("memory.json", foreign.Hash))
				if !look(t, f, "memory.json").Ours {
					t.Error("it was claimed and is not ours")
				}
				if revision, err := f.Revision("memory.json"); revision != 0 || err != nil {
					t.Errorf("revision %d, %v: what was claimed is to be published again", revision, err)
				}
				if k, ok, err := f.Published("memory.json"); err != nil || tt.manifest == "" && (!ok || k.Revision != 2 || k.Hash != hash("two")) {
					t.Errorf("known %+v %v %v", k, ok, err)
				}
				if tt.restart {
					f = files(t, fsys)
				}
				must(t, replace(f, "memory.json", 3, "three"))
				want(t, fsys, "memory.json.bak", "by hand")
				must(t, replace(f, "memory.json", 4, "four"))
				want(t, fsys, "memory.json", "four")
				want(t, fsys, "memory.json.bak", "three")
				var strange []string
				if tt.manifest != "" {
					strange = []string{"one"} // the backup is not recognised either
				}
				if got := kept(t, fsys); !slices.Equal(got, strange) {
					t.Errorf("kept %q", got)
				}
			})
		})
	}
}

// Without anybody to take edits over they are kept aside, and published over.
func TestYield(t *testing.T) {
	fsys := crashfs.New()
	f := files(t, fsys)
	var told []string
	f.OnDisplaced = func(e publish.Edit) { told = append(told, e.File) }
	edit(t, fsys, "memory.json", "by hand")
	again := func() error { return replace(f, "memory.json", 1, "one") }
	if err := f.UnlessEdited("memory.json", func(name string) { told = append(told, "foreign "+name) }, again); !errors.Is(err, publish.ErrBlocked) {
		t.Fatalf("got %v", err)
	}
	want(t, fsys, "memory.json", "by hand")
	must(t, f.UnlessEdited("memory.json", nil, again))
	want(t, fsys, "memory.json", "one")
	if got := kept(t, fsys); !slices.Equal(got, []string{"by hand"}) || fmt.Sprint(told) != "[foreign memory.json memory.json]" {
		t.Errorf("kept %q, told %q", got, told)
	}
	if e := edits(t, fsys); len(e) != 1 || e[0].Kind != publish.Pending || e[0].InPlace || e[0].Resolved != "" {
		t.Errorf("edits %+v", e)
	}
}

func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

func look(t testing.TB, f *publish.Files, name string) publish.Inspection {
	t.Helper()
	found, err := f.Inspect(name)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func edits(t testing.TB, fsys durable.FS) []publish.Edit {
	t.Helper()
	list, err := publish.Edits(fsys)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func TestRemove(t *testing.T) {
	const name = "logs/2026-02-21.json"
	for _, tt := range []struct {
		name   string
		change func(t *testing.T, fsys durable.FS)
	}{
		{"ours", func(*testing.T, durable.FS) {}},
		{"gone", func(t *testing.T, fsys durable.FS) { must(t, fsys.Remove(name)) }},
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
				if got := kept(t, fsys); len(got) > 0 {
					t.Errorf("kept %q", got)
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

// A link that somebody puts under the name in the last moment is put back.
func TestNotRegularInTheLastMoment(t *testing.T) {
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	must(t, err)
	defer root.Close()
	must(t, os.WriteFile(filepath.Join(dir, "elsewhere.json"), []byte("mine"), 0o600))
	fsys := &watched{FS: durable.Dir(root)}
	f := files(t, fsys)
	must(t, replace(f, "memory.json", 1, "one"))
	fsys.before = func(call string) {
		if once := strings.HasPrefix(call, "exchange memory.json.next") && content(fsys, "memory.json") == "one"; once {
			must(t, root.Remove("memory.json"))
			must(t, os.Symlink("elsewhere.json", filepath.Join(dir, "memory.json")))
		}
	}
	for range 2 {
		if err := replace(f, "memory.json", 2, "two"); !errors.Is(err, publish.ErrNotRegular) {
			t.Fatalf("got %v", err)
		}
		want(t, fsys, "elsewhere.json", "mine")
		if info, err := root.Lstat("memory.json"); err != nil || info.Mode().IsRegular() {
			t.Errorf("the link is gone: %v %v", info, err)
		}
		fsys.before = nil
	}
	tidy(t, fsys)
	must(t, publish.Recover(fsys))
	must(t, root.Remove("memory.json"))
	must(t, replace(files(t, fsys), "memory.json", 3, "three"))
	want(t, fsys, "memory.json", "three")
}
