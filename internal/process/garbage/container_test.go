package garbage

import (
	"errors"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

func TestHeapLimit(t *testing.T) {
	const mib = 1 << 20
	for _, tt := range []struct {
		name      string
		container uint64
		use       use
		want      uint64
	}{
		{"all of it", 512 * mib, use{resident: 100 * mib, runtime: 100 * mib, live: 60 * mib}, 512 * mib},
		{"vectors are outside", 512 * mib, use{resident: 300 * mib, runtime: 100 * mib, live: 60 * mib}, 312 * mib},
		{"what the runtime has is not resident yet", 512 * mib, use{resident: 50 * mib, runtime: 100 * mib}, 512 * mib},
		{"too small for what is used", 64 * mib, use{resident: 90 * mib, runtime: 90 * mib, live: 75 * mib}, 100 * mib},
		{"too small for what is outside", 64 * mib, use{resident: 900 * mib, runtime: 90 * mib, live: 75 * mib}, 100 * mib},
	} {
		if got := heapLimit(tt.container, tt.use); got != tt.want {
			t.Errorf("%s: %d MiB, want %d", tt.name, got/mib, tt.want/mib)
		}
	}
}

func TestResidentOf(t *testing.T) {
	if got := residentOf([]byte("VmRSS:\t  9000 kB\nRssAnon:\t  1234 kB\nRssFile:\t 5 kB\n"), nil); got != 1234<<10 {
		t.Errorf("%d bytes, want %d", got, 1234<<10)
	}
	for _, text := range []string{"", "\nRssAnon:\n", "\nRssAnon: x kB\n"} {
		if got := residentOf([]byte(text), nil); got != 0 {
			t.Errorf("%q has %d bytes, want none", text, got)
		}
	}
	if got := residentOf(nil, errors.ErrUnsupported); got != 0 {
		t.Errorf("%d bytes without a status, want none", got)
	}
	if got := residentOf(os.ReadFile("/proc/self/status")); runtime.GOOS == "linux" && got < 1<<16 {
		t.Errorf("this process has %d bytes", got)
	}
}

func TestOfHeap(t *testing.T) {
	damaged := errors.New("no number")
	for _, tt := range []struct {
		limit     uint64
		err, want error
	}{
		{err: memlimit.ErrNoCgroup, want: memlimit.ErrNoLimit},
		{err: memlimit.ErrCgroupsNotSupported, want: memlimit.ErrNoLimit},
		{err: memlimit.ErrNoLimit, want: memlimit.ErrNoLimit},
		{err: damaged, want: damaged},
		{limit: 1 << 40},
	} {
		got, err := ofHeap(func() (uint64, error) { return tt.limit, tt.err })()
		if !errors.Is(err, tt.want) || got > tt.limit || got < tt.limit/2 {
			t.Errorf("of %d and %v the heap has %d and %v, want %v", tt.limit, tt.err, got, err, tt.want)
		}
	}
}

// TestLimitTo: the heap gets nine tenths of what a container leaves it, and no limit where there is none.
func TestLimitTo(t *testing.T) {
	t.Setenv("GOMEMLIMIT", "") // restores it
	if err := os.Unsetenv("GOMEMLIMIT"); err != nil {
		t.Fatal(err)
	}
	before := debug.SetMemoryLimit(-1)
	defer debug.SetMemoryLimit(before)
	const container = 8 << 30
	if err := limitTo(t.Context(), memlimit.Limit(container)); err != nil {
		t.Fatal(err)
	}
	if got := debug.SetMemoryLimit(-1); got > container*9/10 || got < container/2 {
		t.Errorf("the limit is %d of %d bytes", got, container)
	}
	if err := limitTo(t.Context(), func() (uint64, error) { return 0, memlimit.ErrNoCgroup }); err != nil {
		t.Fatal(err)
	}
	if got := debug.SetMemoryLimit(-1); got != math.MaxInt64 {
		t.Errorf("without a container the limit is %d", got)
	}
}
