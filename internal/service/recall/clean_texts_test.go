package recall

import (
	"fmt"
	"strings"
	"testing"
)

// TestCleanTexts: a text is examined once, one with a secret every time, and the memory of it is bounded.
func TestCleanTexts(t *testing.T) {
	c := newCleanTexts()
	for range 2 {
		if got := c.sanitize("a <b> text\n\n "); got != "a &lt;b> text" {
			t.Errorf("got %q", got)
		}
		if got := c.sanitize("the password is kwuzdp84"); strings.Contains(got, "kwuzdp84") {
			t.Errorf("got %q", got)
		}
	}
	if !c.known("a <b> text\n\n ") || c.known("the password is kwuzdp84") || len(c.hashes) != 1 {
		t.Errorf("knows %d texts", len(c.hashes))
	}
	for i := range 3 * maxCleanTexts {
		c.remember(fmt.Sprint(i))
	}
	if len(c.hashes) > maxCleanTexts || !c.known(fmt.Sprint(3*maxCleanTexts-1)) {
		t.Errorf("knows %d texts", len(c.hashes))
	}
}

// BenchmarkSanitize is the time for a text that was examined before.
func BenchmarkSanitize(b *testing.B) {
	c := newCleanTexts()
	b.ReportAllocs()
	for b.Loop() {
		c.sanitize("The staging database listens on port 6543 on deb-12; passwords are kept in the vault.")
	}
}
