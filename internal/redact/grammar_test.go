package redact_test

import (
	"strings"
	"testing"

	"github.com/memsidecar/memsidecar/internal/redact"
)

// TestGrammar puts values that are drawn by lot, and values that people choose, into every sentence with every name of
// a secret. It shows that the rules know the grammar and not sentences.
func TestGrammar(t *testing.T) {
	values := []string{"qzkvtx83", "Sunflower42", "P@ssw0rd9", "Kd7!wq92xzt", "hunter2024", "x7Gq2LmP9w"}
	for _, language := range []string{"en", "zh"} {
		missed, all := map[string]int{}, 0
		for _, name := range lines(t, "nouns_"+language+".txt") {
			for _, sentence := range lines(t, "sentences_"+language+".txt") {
				for _, value := range values {
					all++
					text := strings.NewReplacer("{name}", name, "{value}", value).Replace(sentence)
					if clean, _ := redact.Text(text); strings.Contains(clean, value) {
						missed[sentence]++
					}
				}
			}
		}
		total := 0
		for sentence, n := range missed {
			total += n
			t.Logf("%d stay in %q", n, sentence)
		}
		t.Logf("%s: %d of %d sentences keep their value", language, total, all)
		if total*100 > all {
			t.Errorf("%s: more than one of a hundred keeps its value", language)
		}
	}
}
