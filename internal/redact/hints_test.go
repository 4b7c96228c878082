package redact

import (
	"bufio"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestHintsLoseNothing: with its hints and traits a shape finds in every text of the corpora what it finds without.
func TestHintsLoseNothing(t *testing.T) {
	if RaceDetector {
		t.Skip("computes in one goroutine for minutes under the race detector; run it without -race")
	}
	files, _ := filepath.Glob("testdata/*.txt")
	if len(files) < 10 {
		t.Fatalf("found only %v", files)
	}
	r := rules()
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		for sc := bufio.NewScanner(f); sc.Scan(); {
			text := strings.NewReplacer(`\n`, "\n", "«", "", "»", "", "{weak}", "gskdjt42", "{pw}", "Pxkwd!73fhu",
				"{digits:4}", "8264", "{digits:6}", "826491").Replace(sc.Text())
			v := traitsOf(text)
			var all []Finding
			for i := range r.shapes {
				all = r.shapes[i].find(all, text, window{0, len(text)})
			}
			if got, want := union(r.findInSmall(text, &v)), union(all); !slices.Equal(got, want) {
				t.Errorf("%q: found %v, without hints %v", text, got, want)
			}
		}
	}
}
