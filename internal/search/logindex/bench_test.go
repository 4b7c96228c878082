package logindex_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/search"
	"github.com/memsidecar/memsidecar/internal/search/logindex"
	"github.com/memsidecar/memsidecar/internal/store"
)

// years fills ten years of 200 entries of 150 characters a day; most of it lies in the files of a snapshot.
func years(b *testing.B, days int) *world {
	w := open(b, logindex.Limits{})
	r := rand.New(rand.NewPCG(1, 2))
	words := make([]string, 20_000)
	for i := range words {
		words[i] = fmt.Sprintf("%c%c%s", 'a'+i%26, 'a'+i/26%26,
			[]string{"lor", "men", "tas", "vik"}[i%4]+fmt.Sprint(i/676))
	}
	for ago := days - 1; ago >= 0; ago-- {
		w.update("", func(tx *store.Tx) error {
			for i := range 200 {
				var text strings.Builder
				for text.Len() < 150 {
					text.WriteString(words[int(math.Exp(r.Float64()*math.Log(float64(len(words)))))%len(words)])
					text.WriteByte(' ')
				}
				at := w.clock.Now().AddDate(0, 0, -ago).Add(-time.Duration(i) * time.Minute / 4)
				e := &memory.Entry{ID: fmt.Sprint("e", i), At: at, Time: at.Format(time.TimeOnly),
					Type: memory.EntryEvent, Content: text.String(), Session: fmt.Sprint("s", ago, i/50)}
				if err := tx.AppendEntry(w.date(ago), e); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if _, err := w.store.Checkpoint(b.Context()); err != nil {
		b.Fatal(err)
	}
	return w
}

func heap() float64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc) / (1 << 20)
}

// BenchmarkLogs is a search of ten years of logs: the first one, one more, one after an entry was added, one of what
// is older, and one of a week of long ago.
func BenchmarkLogs(b *testing.B) {
	w := years(b, 3650)
	before := heap()
	ask := func(b *testing.B, req search.Request) {
		req.Query = "aalor3 bbmen1 cctas2"
		if _, err := w.index.Search(b.Context(), req); err != nil {
			b.Fatal(err)
		}
	}
	b.Run("first", func(b *testing.B) {
		for b.Loop() {
			w.clock.Advance(time.Hour)
			w.index.ReleaseIdle()
			ask(b, search.Request{})
		}
		b.ReportMetric(heap()-before, "MB")
		b.ReportMetric(float64(w.index.IndexedTexts("")), "entries")
	})
	b.Run("again", func(b *testing.B) {
		for b.Loop() {
			ask(b, search.Request{})
		}
	})
	b.Run("after", func(b *testing.B) {
		n := 0
		for b.Loop() {
			n++
			w.log("", 0, entry(fmt.Sprint("new", n), "one entry more"))
			ask(b, search.Request{})
		}
	})
	b.Run("old", func(b *testing.B) {
		for b.Loop() {
			ask(b, search.Request{Filter: memory.Filter{CreatedBefore: w.clock.Now().AddDate(-3, 0, 0)}})
		}
	})
	b.Run("week", func(b *testing.B) {
		for b.Loop() {
			to := w.clock.Now().AddDate(-3, 0, 0)
			ask(b, search.Request{Filter: memory.Filter{CreatedFrom: to.AddDate(0, 0, -7), CreatedBefore: to}})
		}
	})
}
