package memory_test

import (
	"strings"
	"testing"
	"unicode"

	"github.com/memsidecar/memsidecar/internal/memory"
)

// FuzzNormalize: it is lower case, white space joined, closing full stops and exclamation marks removed.
func FuzzNormalize(f *testing.F) {
	for _, s := range []string{
		"", " ", "Deploy  on\tFriday!", "  部署　在周五。！ ", "A . .", "...", "İstanbul ẞ K", "a\xffb\xe4\xbd", "x 。!.",
		"\u0085line\u2028two",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		want := strings.TrimRight(strings.Join(strings.Fields(strings.ToLower(s)), " "), ".!。！")
		if got := memory.Normalize(s); got != want {
			t.Errorf("normal form of %q is %q, want %q", s, got, want)
		}
		if got := string(memory.AppendNormalized([]byte("x "), s)); got != "x "+want {
			t.Errorf("behind a text it is %q, want %q", got, want)
		}
	})
}

// TestNormalizeCharacters: every character alone is normalized as in a text.
func TestNormalizeCharacters(t *testing.T) {
	for r := range unicode.MaxRune + 1 {
		text := "x" + string(r) + "y"
		want := strings.Join(strings.Fields(strings.ToLower(text)), " ")
		if got := memory.Normalize(text); got != want {
			t.Errorf("normal form of %q is %q, want %q", text, got, want)
		}
	}
}
