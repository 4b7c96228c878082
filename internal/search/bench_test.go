package search_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/search"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

var epoch = time.Date(2026, 2, 21, 12, 0, 0, 0, time.UTC)

// synthetic makes memories of about 300 characters whose words are spread as in natural text (Zipf).
func synthetic(n int) []*memory.Memory {
	r := rand.New(rand.NewPCG(1, 2))
	word := zipf(r, 60_000)
	all := make([]*memory.Memory, n)
	for i := range all {
		var text strings.Builder
		for text.Len() < 300 {
			text.WriteString(word())
			text.WriteByte(' ')
		}
		fmt.Fprintf(&text, "item_%d", i)
		all[i] = &memory.Memory{
			ID: fmt.Sprintf("m%07d", i), Category: memory.Facts, Content: text.String(), Salience: r.Float64(),
			Status:    memory.Active,
			CreatedAt: epoch.Add(-time.Duration(r.IntN(400*24)) * time.Hour), Source: memory.SourceUser,
			Revision: int64(i + 1),
		}
	}
	return all
}

// zipf draws words of a vocabulary, the n-th with a probability of about 1/n.
func zipf(r *rand.Rand, vocabulary int) func() string {
	const syllables = "ka lo mi ren tas vor pel dun shi gra bo ne ki ru tam sel fin wor ale ox"
	parts := strings.Fields(syllables)
	words := make([]string, vocabulary)
	for i := range words {
		var w strings.Builder
		for n := i + 7; n > 0; n /= len(parts) {
			w.WriteString(parts[n%len(parts)])
		}
		words[i] = w.String()
	}
	for i, w := range strings.Fields("the of and to in is that it was for on are as with his they at be this from " +
		"have or by one had not but what all were we when") {
		words[1+i] = w
	}
	return func() string { return words[int(math.Exp(r.Float64()*math.Log(float64(vocabulary))))%vocabulary] }
}

func loaded(tb testing.TB, memories []*memory.Memory) *search.Engine {
	tb.Helper()
	e := search.New(search.Config{Now: func() time.Time { return epoch }})
	for i, m := range memories {
		e.Apply(record(int64(i+1), "", journal.Change{Memory: &journal.MemoryChange{ID: m.ID, After: m}}))
	}
	return e
}

// questions ask with a few words of the vocabulary, common and rare.
func questions(memories []*memory.Memory) []string {
	r := rand.New(rand.NewPCG(3, 4))
	out := make([]string, 512)
	for i := range out {
		words := strings.Fields(memories[r.IntN(len(memories))].Content)
		var q []string
		for range 4 + r.IntN(8) {
			q = append(q, words[r.IntN(len(words)-1)]) // stop words among them, as in any text
		}
		out[i] = "what about the " + strings.Join(q, " ") + "?"
	}
	return out
}

const benchSize = 100_000

var corpus = sync.OnceValue(func() []*memory.Memory { return synthetic(benchSize) })

func BenchmarkSearch(b *testing.B) {
	e, qs := loaded(b, corpus()), questions(corpus())
	took := make([]time.Duration, 0, 1<<16)
	i := 0
	for b.Loop() {
		began := time.Now()
		if _, err := e.Search(b.Context(), search.Request{Query: qs[i%len(qs)]}); err != nil {
			b.Fatal(err)
		}
		took = append(took, time.Since(began))
		i++
	}
	percentiles(b, took)
}

// BenchmarkSearch8 is eight clients at once, beside a writer.
func BenchmarkSearch8(b *testing.B) {
	e, qs, memories := loaded(b, corpus()), questions(corpus()), corpus()
	var took []time.Duration
	for b.Loop() {
		var wg sync.WaitGroup
		var mu sync.Mutex
		for c := range 8 {
			wg.Go(func() {
				for i := range 50 {
					began := time.Now()
					if _, err := e.Search(b.Context(), search.Request{Query: qs[(c*50+i)%len(qs)]}); err != nil {
						b.Error(err)
						return
					}
					mu.Lock()
					took = append(took, time.Since(began))
					mu.Unlock()
					runtime.Gosched() // as a server does between requests
				}
			})
		}
		for i := range 50 {
			m := memories[i*1000].Clone()
			m.Content += " changed"
			e.Apply(record(int64(benchSize+i), "", journal.Change{Memory: &journal.MemoryChange{ID: m.ID, After: m}}))
		}
		wg.Wait()
	}
	percentiles(b, took)
}

func percentiles(b *testing.B, took []time.Duration) {
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
}

func BenchmarkApply(b *testing.B) {
	memories := corpus()[:20_000]
	e := loaded(b, corpus()[20_000:60_000])
	if _, err := e.Search(b.Context(), search.Request{Query: "warm"}); err != nil {
		b.Fatal(err)
	}
	defer processorTime(b)()
	i := 0
	for b.Loop() {
		m := memories[i%len(memories)].Clone()
		m.ID = fmt.Sprintf("%s-%d", m.ID, i)
		e.Apply(record(int64(benchSize+i), "", journal.Change{Memory: &journal.MemoryChange{ID: m.ID, After: m}}))
		i++
	}
}

func BenchmarkTouch(b *testing.B) {
	e := loaded(b, corpus()[:1000])
	for b.Loop() {
		e.Apply(record(9, "", journal.Change{Access: &journal.AccessChange{ID: "m0000007", Count: 1, At: epoch}}))
	}
}

func BenchmarkSimilar(b *testing.B) {
	e, memories := loaded(b, corpus()), corpus()
	i := 0
	for b.Loop() {
		if _, err := e.Similar(b.Context(), "", memories[i%len(memories)].Content, 5); err != nil {
			b.Fatal(err)
		}
		i += 37
	}
}

// BenchmarkResident reports the bytes the index holds per memory, the memories themselves not counted.
func BenchmarkResident(b *testing.B) {
	memories := corpus()
	for b.Loop() {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		e := loaded(b, memories)
		runtime.GC()
		runtime.ReadMemStats(&after)
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/float64(len(memories)), "B/memory")
		runtime.KeepAlive(e)
	}
}

func BenchmarkLoad(b *testing.B) {
	memories := corpus()
	fsys := newDir(b)
	if err := loaded(b, memories).Save(fsys); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		e := search.New(search.Config{})
		if err := e.Load("", memories, fsys); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkEncode is the part of Save during which changes wait.
func BenchmarkEncode(b *testing.B) {
	e := loaded(b, corpus())
	for b.Loop() {
		b.ReportMetric(float64(len(e.EncodeIndex("")))/1e6, "MB")
	}
}
