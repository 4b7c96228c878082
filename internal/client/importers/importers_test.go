package importers_test

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/memsidecar/memsidecar/internal/client/importers"
)

var update = flag.Bool("update", false, "write the golden files anew")

// changed is when all files of samples were changed last.
var changed = time.Date(2026, 2, 21, 12, 0, 0, 0, time.UTC)

// sample is the committed sample of a format.
func sample(t testing.TB, format string) fstest.MapFS {
	t.Helper()
	files := fstest.MapFS{}
	dir := os.DirFS(filepath.Join("testdata", format))
	err := fs.WalkDir(dir, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(dir, name)
		files[name] = &fstest.MapFile{Data: data, ModTime: changed, Mode: 0o600}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func read(t testing.TB, source *importers.Source) []importers.Item {
	t.Helper()
	var items []importers.Item
	err := source.Read(t.Context(), time.UTC, func(it importers.Item) error {
		items = append(items, it)
		return nil
	})
	if err = errors.Join(err, source.Close()); err != nil {
		t.Fatal(err)
	}
	return items
}

func open(t testing.TB, files fs.FS, format string) *importers.Source {
	t.Helper()
	source, err := importers.OpenFS(files, "sample", format)
	if err != nil {
		t.Fatal(err)
	}
	return source
}

// dump writes items for people to compare.
func dump(format string, items []importers.Item) string {
	var b strings.Builder
	fmt.Fprintf(&b, "format %s\n", format)
	for _, it := range items {
		fmt.Fprintf(&b, "\n%s\n", it.Place)
		switch {
		case it.Memory != nil:
			raw, _ := json.MarshalIndent(it.Memory, "  ", "  ")
			fmt.Fprintf(&b, "  %s\n", raw)
		case it.Entry != nil:
			raw, _ := json.MarshalIndent(it.Entry, "  ", "  ")
			fmt.Fprintf(&b, "  in the log of %s: %s\n", it.Date, raw)
		case it.Left:
			fmt.Fprintf(&b, "  left out: %s\n", it.Remark)
		default:
			fmt.Fprintf(&b, "  note: %s\n", it.Remark)
		}
	}
	return b.String()
}

// TestSamples reads the sample of every format, without being told which it is, and compares what comes out with a
// file.
func TestSamples(t *testing.T) {
	for _, format := range importers.Formats() {
		t.Run(format, func(t *testing.T) {
			name := format
			if format == importers.Vibe { // cannot be told from the other
				name = importers.Claude
			}
			source := open(t, sample(t, format), "")
			if source.Format != name {
				t.Errorf("found out to be %s", source.Format)
			}
			got := dump(source.Format, read(t, source))
			golden := filepath.Join("testdata", "golden", format+".txt")
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("items (-want +got):\n%s", diff)
			}
		})
	}
}

// TestCategories: the categories of one source are named in the singular; those of the others stay as they are.
func TestCategories(t *testing.T) {
	for name, want := range map[string]string{
		"preference": "preferences", "fact": "facts", "pattern": "patterns", "skill": "procedural", "Patterns": "patterns",
		"user": "user", "feedback": "feedback", "project": "project", "reference": "reference",
		"preferences": "preferences", "facts": "facts", "procedural": "procedural", "recipes": "recipes",
	} {
		if got := importers.CategoryOf(name); got != want {
			t.Errorf("%q became %q, want %q", name, got, want)
		}
	}
}
