package daemon

import (
	"fmt"
	"testing"

	"github.com/memsidecar/memsidecar/internal/search"
)

// TestOpenedAtStart: the largest spaces are opened at the start, of small ones few.
func TestOpenedAtStart(t *testing.T) {
	for name, tt := range map[string]struct {
		small, large int
		want         int
	}{
		"few":                {small: 2, large: 1, want: 3},
		"many small":         {small: 500, want: smallAtStart},
		"some are large":     {small: 500, large: 5, want: smallAtStart},
		"many are large":     {small: 10, large: 100, want: 100},
		"too many are large": {large: search.MaxOpen + 5, want: search.MaxOpen},
	} {
		t.Run(name, func(t *testing.T) {
			var names []string
			size := map[string]int{}
			add := func(n int, kind string, memories int) {
				for i := range n {
					space := fmt.Sprint(kind, i)
					names, size[space] = append(names, space), memories
				}
			}
			add(tt.small, "small", search.MaxSmall)
			add(tt.large, "large", search.MaxSmall+1)
			got := openedAtStart(names, size)
			if len(got) != tt.want {
				t.Errorf("%d spaces are opened, want %d", len(got), tt.want)
			}
			for _, space := range got[:min(tt.large, len(got))] {
				if size[space] <= search.MaxSmall {
					t.Errorf("%s is opened before a large space", space)
				}
			}
		})
	}
}
