package embedding_test

import (
	"math"
	"strings"
	"testing"

	"github.com/memsidecar/memsidecar/internal/search/embedding"
)

func TestEmphasis(t *testing.T) {
	for _, c := range []struct {
		text, word string
		want       float64
	}{
		{"Which tea do I like?", "Which", 1},
		{"I was at the market. Which tea do I like?", "market", 0.6},
		{"I was at the market. Which tea do I like?", "tea", 1},
		{"我去了市场。我喜欢什么茶？", "市场", 0.6},
		{"我去了市场。我喜欢什么茶？", "茶", 1},
		{"One! Two? Three... Four.", "One", 0.216},
		{"Zero. One. Two. Three. Four.", "Zero", 0.216}, // those far back weigh the same
		{"Set it to 3.5 in main.go please", "Set", 1},
		{`She said "Stop." Then she left`, "She", 0.6},
		{"", "", 1},
	} {
		got := embedding.EmphasisOf(c.text).At(strings.Index(c.text, c.word))
		if math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%q weighs %g in %q, want %g", c.word, got, c.text, c.want)
		}
	}
}
