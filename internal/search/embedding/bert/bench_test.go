//go:build unix

package bert_test

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/memsidecar/memsidecar/internal/search/embedding/bert"
)

// storedText has 16 tokens of MiniLM and 17 of e5, its prefix left out.
const storedText = "The deploy failed because the migration had locked the table for ten minutes."

// BenchmarkEncode embeds 64 stored texts of 16 tokens, a query, a text of 90 tokens and one of 256. texts/CPU-s
// counts the seconds of processors that this process used, whatever else the machine did.
func BenchmarkEncode(b *testing.B) {
	for _, model := range []struct {
		name string
		open func(testing.TB) *bert.Encoder
	}{{"minilm", newMiniLM}, {"e5", newE5}} {
		for _, c := range []struct {
			name  string
			texts []string
		}{
			{"stored", slices.Repeat([]string{storedText}, 64)},
			{"query", []string{"what did we decide about the retries"}},
			{"paragraph", []string{strings.Repeat("and the old tables stay until the end of the month ", 8)}},
			{"long", []string{strings.Repeat("all of this counts ", 64)}},
		} {
			e := model.open(b)
			b.Run(model.name+"/"+c.name, func(b *testing.B) {
				tokens := len(e.Tokens(c.texts[0]))
				if _, err := e.Encode(b.Context(), c.texts[:1]); err != nil { // the weights are loaded once
					b.Fatal(err)
				}
				b.ReportAllocs()
				before := cpuSeconds(b)
				for b.Loop() {
					if _, err := e.Encode(b.Context(), c.texts); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(len(c.texts)*b.N)/(cpuSeconds(b)-before), "texts/CPU-s")
				b.ReportMetric(float64(tokens), "tokens")
			})
		}
	}
}

// cpuSeconds is the processor time of this process.
func cpuSeconds(b *testing.B) float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}

// BenchmarkQuery embeds one question of 14 or 15 tokens after the other, with a second processor if there is one.
func BenchmarkQuery(b *testing.B) {
	for _, e := range []*bert.Encoder{newMiniLM(b), newE5(b)} {
		e.SetQueryTimeout(time.Hour)
		b.Run(e.Name(), func(b *testing.B) {
			before := cpuSeconds(b)
			for n := 0; b.Loop(); n++ {
				e.ClearCache()
				if _, err := e.EmbedQuery(b.Context(), "when were the retries of booking-api "+strconv.Itoa(n)); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric((cpuSeconds(b)-before)*1e6/float64(b.N), "CPU-µs")
		})
	}
}

// BenchmarkQueryWhileEmbedding embeds one query after the other while texts are embedded in the background.
func BenchmarkQueryWhileEmbedding(b *testing.B) {
	e := newMiniLM(b)
	e.SetQueryTimeout(time.Hour)
	ctx, cancel := context.WithCancel(b.Context())
	texts := slices.Repeat([]string{storedText}, 64)
	var background sync.WaitGroup
	background.Go(func() {
		for ctx.Err() == nil {
			_, _ = e.EmbedDocuments(ctx, texts)
		}
	})
	slowest, n := time.Duration(0), 0
	for b.Loop() {
		n++
		before := time.Now()
		if _, err := e.EmbedQuery(ctx, "what did we decide about the retries "+strconv.Itoa(n)); err != nil {
			b.Fatal(err)
		}
		slowest = max(slowest, time.Since(before))
	}
	cancel()
	background.Wait()
	b.ReportMetric(float64(slowest.Milliseconds()), "slowest-ms")
}

// BenchmarkLoad reads both models.
func BenchmarkLoad(b *testing.B) {
	newMiniLM(b)
	for name, load := range map[string]func() error{
		"minilm": func() error { return bert.LoadMiniLM(bert.MiniLMFile()) },
		"e5":     func() error { return bert.LoadE5(bert.E5File()) },
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := load(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkTokenSets reports how large the token sets of memories of 22 to 24 words are, on the mean.
func BenchmarkTokenSets(b *testing.B) {
	texts := []string{
		"The user's daughter started violin lessons with Mr Okafor on Thursdays and needs a ride home at half past five " +
			"every week.",
		"Deploys of the billing service go through the staging cluster first, and two people from the platform team must " +
			"approve the release.",
		"The weekly report is sent to the finance department as a spreadsheet before noon on Monday, never as a scanned " +
			"document or a picture.",
		"Booking-api listens on port 7420 behind the proxy, and its health check is answered at the path healthz within " +
			"two hundred milliseconds always.",
	}
	for _, e := range []*bert.Encoder{newMiniLM(b), newE5(b)} {
		b.Run(e.Name(), func(b *testing.B) {
			size := 0
			for b.Loop() {
				docs, err := e.EmbedDocuments(b.Context(), texts)
				if err != nil {
					b.Fatal(err)
				}
				size = 0
				for i := range docs {
					size += len(docs[i].Tokens)
				}
			}
			b.ReportMetric(float64(size)/float64(len(texts)), "B/memory")
		})
	}
}
