package search_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/memsidecar/memsidecar/internal/search"
)

// Stems are the same whoever asks for them, side by side, and whatever was forgotten meanwhile.
func TestStemsAreShared(t *testing.T) {
	lexicon := search.NewStems()
	word := func(i int) string {
		w := fmt.Sprintf("running%d", i)
		switch i % 4 {
		case 0:
			w = strings.Repeat("x", 20+i%8) + "ings"
		case 1:
			w = fmt.Sprintf("%c%c%cings", 'a'+i%26, 'a'+i/26%26, 'a'+i/676%26)
		}
		return w
	}
	want, once := make([]string, 2000), search.NewStems()
	for i := range want {
		want[i] = once(word(i))
	}
	var wg sync.WaitGroup
	for c := range 4 {
		wg.Go(func() {
			for i := range 4 * len(want) {
				n := (i*7 + c*31) % len(want)
				if got := lexicon(word(n)); got != want[n] {
					t.Errorf("%s becomes %q, want %q", word(n), got, want[n])
					return
				}
			}
		})
	}
	wg.Wait()
}
