//go:build unix

package encoder_test

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/memsidecar/memsidecar/internal/encoder"
)

// BenchmarkEncode makes vectors of texts of 16 tokens, as for what is stored, of a query, and of a text that has all the tokens that count. The
// seconds of texts/CPU-s are those in which a processor worked for it, whatever else the machine did.
func BenchmarkEncode(b *testing.B) {
	e := newEncoder(b)
	for _, c := range []struct {
		name   string
		texts  []string
		tokens int
	}{
		{"stored", slices.Repeat([]string{"The deploy failed because the migration had locked the table for ten minutes."}, 64), 16},
		{"query", []string{"what did we decide about the retries"}, 10},
		{"paragraph", []string{strings.Repeat("and the old tables stay until the end of the month ", 8)}, 90},
		{"long", []string{strings.Repeat("all of this counts ", 64)}, 256},
	} {
		b.Run(c.name, func(b *testing.B) {
			if n := len(e.Tokens(c.texts[0])); n != c.tokens {
				b.Fatalf("%d tokens", n)
			}
			b.ReportAllocs()
			before := worked(b)
			for b.Loop() {
				if _, err := e.Encode(b.Context(), c.texts); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(len(c.texts)*b.N)/(worked(b)-before), "texts/CPU-s")
		})
	}
}

// worked is for how many seconds processors have worked for this process.
func worked(b *testing.B) float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}

// BenchmarkQueryBeside answers one query after the other while as many texts as possible are stored.
func BenchmarkQueryBeside(b *testing.B) {
	e := newEncoder(b)
	e.SetPatience(time.Hour)
	ctx, cancel := context.WithCancel(b.Context())
	texts := slices.Repeat([]string{"The deploy failed because the migration had locked the table for ten minutes."}, 64)
	var storing sync.WaitGroup
	storing.Go(func() {
		for ctx.Err() == nil {
			_, _ = e.Embed(ctx, texts)
		}
	})
	slowest, n := time.Duration(0), 0
	for b.Loop() {
		n++
		before := time.Now()
		if _, err := e.Query(ctx, "what did we decide about the retries "+strconv.Itoa(n)); err != nil {
			b.Fatal(err)
		}
		slowest = max(slowest, time.Since(before))
	}
	cancel()
	storing.Wait()
	b.ReportMetric(float64(slowest.Milliseconds()), "slowest-ms")
}

func BenchmarkNew(b *testing.B) {
	newEncoder(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := encoder.New(); err != nil {
			b.Fatal(err)
		}
	}
}
