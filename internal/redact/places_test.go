package redact_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/redact"
)

// TestPlaces: whatever stands around it, a finding names the bytes that were taken out of the text that was given.
func TestPlaces(t *testing.T) {
	open, end := redact.Fence("n7")
	const key = "AKIAQ3EGP7XSZ2LMN5RT"
	parts := []struct{ text, kind string }{
		{"Das Büro öffnet um acht. ", ""}, {"数据库在二楼。 ", ""}, {"a <b> c ", ""}, {"1 < 2 > 0 ", ""},
		{key, "aws-key"}, {"<private>my diary</private>", redact.Private}, {open + "\n- old\n" + end, redact.RecallBlock},
		{"<private>" + key + "</private>", redact.Private},
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		type place struct{ kind, text string }
		var b strings.Builder
		var want, got []place
		for range 1 + rng.IntN(9) {
			p := parts[rng.IntN(len(parts))]
			b.WriteString(p.text)
			if p.kind != "" {
				want = append(want, place{p.kind, p.text})
			}
			b.WriteString(" and ")
		}
		text := b.String()
		clean, found := redact.Clean(text)
		for _, f := range found {
			got = append(got, place{f.Kind, text[f.From:f.To]})
		}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(place{})); diff != "" {
			t.Fatalf("%q (-want +got):\n%s", text, diff)
		}
		if strings.Contains(clean, key) || strings.Contains(clean, "diary") {
			t.Fatalf("%q became %q", text, clean)
		}
	}
}

// TestCleaner counts characters, names fields, and keeps secrets on request but never a private passage.
func TestCleaner(t *testing.T) {
	const text = "Büro: AKIAQ3EGP7XSZ2LMN5RT <private>x</private>!"
	var c redact.Cleaner
	if got := c.Text("title", text); got != "Büro: [redacted:aws-key] !" {
		t.Errorf("cleaned %q", got)
	}
	want := []memory.Redaction{{Field: "title", Kind: "aws-key", From: 6, To: 26},
		{Field: "title", Kind: "private", From: 27, To: 47}}
	if diff := cmp.Diff(want, c.Found); diff != "" || !c.Changed {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := want[0].String(); got != "aws-key at characters 7-26 of title" {
		t.Errorf("said %q", got)
	}
	keep := redact.Cleaner{Keep: true}
	if got := keep.Text("title", text); got != "Büro: AKIAQ3EGP7XSZ2LMN5RT !" || len(keep.Found) != 1 {
		t.Errorf("kept %q, %v", got, keep.Found)
	}
}
