package publish_test

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/memsidecar/memsidecar/internal/publish"
)

// manyKeys makes keys of 11 bytes.
func manyKeys(n int) (keys []string) {
	for i := range n {
		keys = append(keys, fmt.Sprintf("space%06d", i))
	}
	return keys
}

// TestWaitingFilesCostLittle: a file that waits after a start is its key, 16 bytes here, and 24 bytes of a list.
func TestWaitingFilesCostLittle(t *testing.T) {
	const files, most = 20_000, 80
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		p := publish.NewScheduler(publish.SchedulerConfig{
			Outdated: func() ([]string, error) { return manyKeys(files), nil },
			Now:      func() time.Time { return start }, // so nothing becomes due
			Logger:   slog.New(slog.DiscardHandler),
		})
		ctx, cancel := context.WithCancel(t.Context())
		before := heapInUse()
		done := make(chan error)
		go func() { done <- p.Run(ctx) }()
		synctest.Wait()
		if each := (heapInUse() - before) / files; each < 16 || each > most {
			t.Errorf("a file that waits takes %d bytes, not 16 to %d", each, most)
		}
		if s := p.Status(); len(s) != files || !s[0].Pending || !s[0].Since.Equal(start) {
			t.Errorf("%d files in the status, the first is %+v", len(s), s[0])
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// heapInUse is the number of bytes of what is reachable.
func heapInUse() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC() // what has a finalizer is freed by the second
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestWaitingFileThatIsUsed: one of those that wait goes before the others when it changes, and one that is read keeps
// its turn. Each is published once.
func TestWaitingFileThatIsUsed(t *testing.T) {
	r := &recorder{takes: 10 * time.Millisecond}
	waiting := manyKeys(1000)
	used, read := waiting[500], waiting[700]
	published, _ := inBubble(t, r, waiting, func(p *publish.Scheduler) {
		time.Sleep(2 * time.Second)
		p.InvalidateDeferred(read)
		p.Invalidate(used)
		pending := 0
		for _, s := range p.Status() {
			if s.Pending {
				pending++
				if !s.Since.Equal(r.start) {
					t.Errorf("while it waits, its status is %+v", s)
				}
			}
		}
		if pending < 900 || pending == 1000 {
			t.Errorf("%d of 1000 wait after 1.5 s", pending)
		}
		time.Sleep(time.Minute)
	})
	before, _, ok := strings.Cut(published, used+"@")
	if n := strings.Count(before, " "); !ok || n > 150 {
		t.Errorf("%d files were published before the one that changed", n)
	}
	for _, key := range waiting {
		if n := strings.Count(published, key); n != 1 {
			t.Errorf("%s was published %d times", key, n)
		}
	}
}

// TestPublishAllOfWaitingFiles publishes what waits, whether it has changed or not, and what was found since, once.
func TestPublishAllOfWaitingFiles(t *testing.T) {
	r := &recorder{}
	published, _ := inBubble(t, r, []string{"c", "a", "b"}, func(p *publish.Scheduler) {
		p.Invalidate("b")
		p.Invalidate("d")
		if err := p.PublishAll(t.Context()); err != nil {
			t.Error(err)
		}
		if n := len(p.Status()); n != 4 {
			t.Errorf("%d files in the status", n)
		}
		time.Sleep(time.Minute)
	})
	if want := "a@0s b@0s c@0s d@0s"; published != want {
		t.Errorf("published %s, want %s", published, want)
	}
}
