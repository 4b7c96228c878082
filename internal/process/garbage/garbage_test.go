package garbage

import "testing"

func TestPercentOf(t *testing.T) {
	for _, tt := range []struct {
		used uint64
		want int
	}{
		{0, 50}, {32 << 20, 50}, {100 << 20, 50}, {320 << 20, 30}, {1 << 30, 23}, {1 << 40, 20},
	} {
		if got := percentOf(tt.used); got != tt.want {
			t.Errorf("with %d MiB in use the share is %d %%, want %d %%", tt.used>>20, got, tt.want)
		}
	}
}
