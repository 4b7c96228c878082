package vector_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/memsidecar/memsidecar/internal/search/vector"
)

// exactMaxSim is MaxSim by definition, over float vectors that were not packed.
func exactMaxSim(query [][]float32, weights []float32, stored [][]float32) float64 {
	total, sum := 0.0, 0.0
	for i, q := range query {
		best := -1.0
		for _, s := range stored {
			best = max(best, exact(q, s))
		}
		total += best * float64(weights[i]) * float64(weights[i])
		sum += float64(weights[i]) * float64(weights[i])
	}
	return total / sum
}

func TestMaxSim(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 14))
	for _, tokens := range []int{1, 10, 64, 65, 150} {
		var query, stored [][]float32
		var weights []float32
		var set vector.TokenSet
		for range tokens {
			v := random(r, 384)
			stored, set = append(stored, v), set.AppendToken(v)
		}
		for i := range 100 {
			v := random(r, 384)
			for j := range v {
				v[j] += 2 * stored[i%tokens][j]
			}
			query, weights = append(query, v), append(weights, r.Float32())
		}
		if len(set) != tokens*vector.TokenBytes(384) {
			t.Errorf("%d tokens take %d bytes", tokens, len(set))
		}
		q := vector.NewTokenQuery(query, weights)
		if got, want := q.MaxSim(set), exactMaxSim(query, weights, stored); math.Abs(got-want*0.935) > 0.015 {
			// 2 bits keep about .935 of a Gaussian's cosine
			t.Errorf("%d tokens: similarity %.4f, exactly %.4f", tokens, got, want)
		}
	}
}

func TestMaxSimOfNothing(t *testing.T) {
	v := random(rand.New(rand.NewPCG(1, 1)), 384)
	var none *vector.TokenQuery
	q := vector.NewTokenQuery([][]float32{make([]float32, 384), v}, []float32{1, 0.5})
	if q.Len() != 1 || none.Len() != 0 {
		t.Errorf("a vector of zeros is a token of %d", q.Len())
	}
	set := vector.TokenSet(nil).AppendToken(v)
	if none.MaxSim(set) != 0 || q.MaxSim(nil) != 0 || q.MaxSim(set[:50]) != 0 {
		t.Error("nothing is similar to something")
	}
	if got := q.MaxSim(set); got < 0.9 {
		t.Errorf("similarity with itself is %.3f", got)
	}
}

// BenchmarkMaxSim scores 30 memories of 10 tokens against a query of 12 tokens, for one model.
func BenchmarkMaxSim(b *testing.B) {
	r := rand.New(rand.NewPCG(15, 16))
	var query [][]float32
	weights := make([]float32, 12)
	for i := range weights {
		query, weights[i] = append(query, random(r, 384)), 1
	}
	sets := make([]vector.TokenSet, 30)
	for i := range sets {
		for range 10 {
			sets[i] = sets[i].AppendToken(random(r, 384))
		}
	}
	q := vector.NewTokenQuery(query, weights)
	b.ReportAllocs()
	for b.Loop() {
		for _, set := range sets {
			q.MaxSim(set)
		}
	}
}
