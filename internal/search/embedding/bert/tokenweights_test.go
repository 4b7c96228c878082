package bert_test

import (
	"flag"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/memsidecar/memsidecar/internal/search/embedding/bert"
)

var update = flag.Bool("update", false, "write the weights of tokens")

// The weight of a token is its inverse document frequency in a store of weightTexts texts, from 0 to 1. Its document
// frequency is the mean of that in testdata/memories.txt, which is small, and that which its probability in the
// vocabulary implies for a text of weightTokens tokens.
const (
	weightTexts  = 2400
	weightTokens = 20
	measuredPart = 0.5
)

// bert.E5Boost and miniLMBoost are how many times more probable a token is in memories than in its vocabulary: that
// of e5 covers 100 languages, and both cover all kinds of text. They were fitted to counts in other collections of
// memories.
const miniLMBoost = 4

// TestTokenWeights computes the weights of all tokens and compares them with the files that are embedded.
func TestTokenWeights(t *testing.T) {
	text, err := os.ReadFile("testdata/memories.txt")
	if err != nil {
		t.Fatal(err)
	}
	memories := strings.Split(strings.TrimSpace(string(text)), "\n")
	for _, m := range []struct {
		e           *bert.Encoder
		probability func(id int) float64
		name        string
	}{
		{newE5(t), newE5(t).PieceProbability, "e5_token_weights.bin"},
		{newMiniLM(t), wordProbability, "minilm_token_weights.bin"},
	} {
		want := tokenWeights(m.e, memories, m.probability)
		if *update {
			if err := os.WriteFile(m.name, want, 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		got, err := os.ReadFile(m.name)
		if err != nil {
			t.Fatal(err)
		}
		for id := range want {
			// Logarithms of another machine may round otherwise.
			if len(got) != len(want) || math.Abs(float64(got[id])-float64(want[id])) > 1 {
				t.Fatalf("%s: the weight of token %d is not %d: run go test -run TokenWeights -update", m.name, id,
					want[id])
			}
		}
	}
}

// tokenWeights returns 255 times the weight of each token.
func tokenWeights(e *bert.Encoder, memories []string, probability func(id int) float64) []byte {
	counts := make([]float64, e.VocabularySize())
	for _, memory := range memories {
		seen := map[int32]bool{}
		for _, id := range e.Tokens(memory) {
			if !seen[id] {
				seen[id] = true
				counts[id]++
			}
		}
	}
	out := make([]byte, len(counts))
	for id, n := range counts {
		implied := 1 - math.Pow(1-min(probability(id), 0.5), weightTokens)
		df := weightTexts * (measuredPart*n/float64(len(memories)) + (1-measuredPart)*implied)
		out[id] = byte(math.Round(255 * math.Log(1+weightTexts/(1+df)) / math.Log(1+weightTexts)))
	}
	return out
}

// wordProbability estimates the probability of a token of BERT: words and continuations are sorted by frequency from
// firstWord on, and word frequencies follow Zipf's law as Mandelbrot corrected it. Before them are single characters
// and unused tokens.
func wordProbability(id int) float64 {
	const (
		firstCharacter = 999 // "!"
		firstDigit     = 1014
		lastDigit      = 1023
		lastSymbol     = 1036 // "`"
		firstWord      = 1996
	)
	switch {
	case id < firstCharacter:
		return 0
	case firstDigit <= id && id <= lastDigit:
		return 0.003 * miniLMBoost
	case id <= lastSymbol:
		return 0.01 * miniLMBoost
	case id < firstWord:
		return 0.1 / 3000 * miniLMBoost
	}
	return 0.1 / (float64(id-firstWord) + 3.7) * miniLMBoost
}
