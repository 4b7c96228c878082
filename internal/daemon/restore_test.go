package daemon

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestFailedRestoreLeavesNothing: neither the directory, nor those above it, nor a lock, stay behind.
func TestFailedRestoreLeavesNothing(t *testing.T) {
	for name, prepare := range map[string]func(base string) []string{
		"missing":            func(string) []string { return nil },
		"missing with above": func(string) []string { return nil },
		"empty": func(base string) []string {
			if err := os.Mkdir(filepath.Join(base, "data"), 0o700); err != nil {
				t.Fatal(err)
			}
			return []string{"data"}
		},
	} {
		base := t.TempDir()
		want := prepare(base)
		data := filepath.Join(base, "data")
		if name == "missing with above" {
			data = filepath.Join(base, "a", "b", "data")
		}
		_, err := Restore(t.Context(), data, strings.NewReader("this is no archive"), "x.tar.gz", time.Now())
		if err == nil {
			t.Fatal("it was restored")
		}
		var got []string
		err = filepath.WalkDir(base, func(path string, _ os.DirEntry, err error) error {
			if rel, _ := filepath.Rel(base, path); rel != "." {
				got = append(got, rel)
			}
			return err
		})
		if err != nil || strings.Join(got, " ") != strings.Join(want, " ") {
			t.Errorf("%s: left %v, want %v, %v", name, got, want, err)
		}
	}
}
