package garbage

import (
	"runtime/debug"
	"runtime/metrics"
	"testing"
)

func TestPercentOf(t *testing.T) {
	for _, tt := range []struct {
		used, collections uint64
		want              int
	}{
		{0, 0, 50}, {32 << 20, 1, 50}, {100 << 20, 1, 28}, {320 << 20, 1, 11}, {1 << 30, 0, 6}, {1 << 40, 1, 4},
		{0, 2, 50}, {32 << 20, 9, 50}, {100 << 20, 2, 50}, {320 << 20, 2, 30}, {1 << 30, 9, 23}, {1 << 40, 2, 20},
	} {
		if got := percentOf(tt.used, tt.collections); got != tt.want {
			t.Errorf("with %d MiB in use, after %d collections, the share is %d %%, want %d %%", tt.used>>20,
				tt.collections, got, tt.want)
		}
	}
}

func TestGivesBack(t *testing.T) {
	for _, tt := range []struct {
		unused, collections uint64
		looks               int
		want                bool
	}{
		{100 << 20, 0, 4, true}, {100 << 20, 1, 60, true},
		{100 << 20, 2, 4, false}, // it is needed again
		{100 << 20, 0, 3, false}, // it was done a moment ago
		{10 << 20, 0, 60, false},
	} {
		if got := givesBack(tt.unused, tt.collections, tt.looks); got != tt.want {
			t.Errorf("%d MiB after %d collections and %d looks: %v, want %v", tt.unused>>20, tt.collections, tt.looks, got,
				tt.want)
		}
	}
}

func TestLoadingPercent(t *testing.T) {
	for _, tt := range []struct {
		percent int
		used    uint64
		want    int
	}{{50, 0, 200}, {50, 32 << 20, 200}, {50, 128 << 20, 100}, {20, 512 << 20, 25}, {13, 1 << 30, 13}} {
		if got := loadingPercent(tt.percent, tt.used); got != tt.want {
			t.Errorf("instead of %d %%, with %d MiB in use, it is %d %%, want %d %%", tt.percent, tt.used>>20, got, tt.want)
		}
	}
}

// TestLoading: the heap may hold more garbage while anything is loaded, if there is a limit at all.
func TestLoading(t *testing.T) {
	before := debug.SetGCPercent(77)
	defer debug.SetGCPercent(before)
	shares := []metrics.Sample{{Name: "/gc/gogc:percent"}}
	share := func() uint64 {
		metrics.Read(shares)
		return shares[0].Value.Uint64()
	}
	var l Limiter
	l.Loading()()
	if got := share(); got != 77 {
		t.Errorf("without a limit the share is %d %%", got)
	}
	l.fit(10)
	one, two := l.Loading(), l.Loading()
	if got := share(); got <= 10 {
		t.Errorf("while two things are loaded, it is %d %%", got)
	}
	one()
	if got := share(); got <= 10 {
		t.Errorf("while one thing is loaded, it is %d %%", got)
	}
	l.fit(11)
	two()
	if got := share(); got != 11 {
		t.Errorf("when nothing is loaded, it is %d %%", got)
	}
}
