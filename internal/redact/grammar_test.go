package redact_test

import (
	"strings"
	"testing"

	"github.com/memsidecar/memsidecar/internal/redact"
)

// TestGrammar puts values that are drawn by lot, and values that people choose, into every sentence with every name of
// a secret. It shows that the rules know the grammar and not sentences.
func TestGrammar(t *testing.T) {
	skipUnderRaceDetector(t)
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

// TestAccounts does the same with accounts: a service, somebody who signs in there, and the password. It reads like
// other lists, so some values that people choose stay.
func TestAccounts(t *testing.T) {
	skipUnderRaceDetector(t)
	missed, all := 0, 0
	services := []string{"NAS", "Grafana", "staging database", "router", "Jira", "10.0.0.7", "db7.example.com"}
	for _, sentence := range lines(t, "sentences_accounts.txt") {
		for _, service := range services {
			for _, user := range []string{"admin", "kim", "svc-build", "kim@example.org"} {
				for _, value := range []string{"qzkvtx83", "Sunflower42", "P@ssw0rd9", "Kd7!wq92xzt", "x7Gq2LmP9w"} {
					all++
					text := strings.NewReplacer("{service}", service, "{user}", user, "{value}", value).Replace(sentence)
					if clean, _ := redact.Text(text); strings.Contains(clean, value) {
						missed++
					}
				}
			}
		}
	}
	t.Logf("%d of %d keep their value", missed, all)
	if missed*100 > 4*all {
		t.Error("more than four of a hundred keep their value")
	}
}

// TestNumbers does the same with numbers that open something.
func TestNumbers(t *testing.T) {
	skipUnderRaceDetector(t)
	missed, all := 0, 0
	for _, sentence := range lines(t, "sentences_numbers.txt") {
		for _, thing := range lines(t, "nouns_things.txt") {
			for _, value := range []string{"6413", "641327"} {
				all++
				text := strings.NewReplacer("{thing}", thing, "{value}", value).Replace(sentence)
				if clean, _ := redact.Text(text); strings.Contains(clean, value) {
					missed++
				}
			}
		}
	}
	t.Logf("%d of %d keep their number", missed, all)
	if missed*100 > all {
		t.Error("more than one of a hundred keeps its number")
	}
}

// TestLanguages says in other languages what the password is.
func TestLanguages(t *testing.T) {
	skipUnderRaceDetector(t)
	for _, sentence := range lines(t, "sentences_languages.txt") {
		for _, value := range []string{"qzkvtx83", "Sunflower42", "Kd7!wq92xzt"} {
			text := strings.ReplaceAll(sentence, "{value}", value)
			if clean, _ := redact.Text(text); strings.Contains(clean, value) {
				t.Errorf("stays: %s", text)
			}
		}
	}
}
