package redact_test

import (
	"strings"
	"testing"

	"github.com/memsidecar/memsidecar/internal/memtest"
	"github.com/memsidecar/memsidecar/internal/redact"
)

// TestCorpus: of 2,000 made-up secrets none is left, wherever in a text they stand; of 5,000 identifiers, hashes,
// UUIDs and paths none is taken.
func TestCorpus(t *testing.T) {
	for _, s := range memtest.Secrets(1, 2000) {
		for _, text := range []string{s.Text, "So: " + s.Text + "\nThat is all.", `{"out":"` +
			strings.ReplaceAll(strings.ReplaceAll(s.Text, `"`, `\"`), "\n", `\n`) + `"}`} {
			if got, n := redact.Text(text); strings.Contains(got, s.Value) || n == 0 {
				t.Errorf("%q became %q (%d)", text, got, n)
			}
		}
	}
	for _, text := range memtest.HarmlessTexts(1, 5000) {
		if got, n := redact.Text(text); got != text || n != 0 {
			t.Errorf("%q became %q (%d)", text, got, n)
		}
	}
}
