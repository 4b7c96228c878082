package bert_test

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/memsidecar/memsidecar/internal/process/background"
	"github.com/memsidecar/memsidecar/internal/search/embedding"
	"github.com/memsidecar/memsidecar/internal/search/embedding/bert"
	"github.com/memsidecar/memsidecar/internal/search/vector"
)

var _ embedding.Model = (*bert.Encoder)(nil)

func TestEmbed(t *testing.T) {
	for _, e := range []*bert.Encoder{newMiniLM(t), newE5(t)} {
		e.SetQueryTimeout(time.Hour)
		nuts, deploy := "I am allergic to peanuts.", "The deploy is on Friday."
		for _, question := range map[string][]string{"minilm": {"can I eat nuts?"},
			"e5": {"can I eat nuts?", "我能吃坚果吗？"}}[e.Name()] {
			made, err := e.EmbedDocuments(t.Context(), []string{nuts, deploy})
			if err != nil {
				t.Fatal(err)
			}
			q, err := e.EmbedQuery(t.Context(), question)
			if err != nil {
				t.Fatal(err)
			}
			if n, d := q.Vector.Cosine(made[0].Vector), q.Vector.Cosine(made[1].Vector); n < d+0.15 {
				t.Errorf("%s, %s: the cosine with allergies is %.3f, with deploys %.3f", e.Name(), question, n, d)
			}
			if n, d := q.Tokens.MaxSim(made[0].Tokens), q.Tokens.MaxSim(made[1].Tokens); n < d+0.02 {
				t.Errorf("%s, %s: the tokens' similarity with allergies is %.3f, with deploys %.3f", e.Name(), question,
					n, d)
			}
		}
	}
}

// TestUrgent: the vectors of many texts are the same whether they are urgent from the beginning, later or never.
func TestUrgent(t *testing.T) {
	e := newMiniLM(t)
	texts := make([]string, 8)
	for i := range texts {
		texts[i] = strings.Repeat("The harbour opens at noon. ", i+1)
	}
	want, err := e.EmbedDocuments(t.Context(), texts)
	if err != nil {
		t.Fatal(err)
	}
	for _, after := range []time.Duration{-1, 0, time.Millisecond, 10 * time.Millisecond} {
		urgent := make(chan struct{})
		if after < 0 {
			close(urgent)
		} else {
			time.AfterFunc(after, func() { close(urgent) })
		}
		ctx := embedding.WithPace(t.Context(), background.Pace{Urgent: func() <-chan struct{} { return urgent }})
		got, err := e.EmbedDocuments(ctx, texts)
		if err != nil {
			t.Fatal(err)
		}
		for i := range want {
			if got[i].Vector.Cosine(want[i].Vector) < 0.9999 || !slices.Equal(got[i].Tokens, want[i].Tokens) {
				t.Errorf("urgent after %v: text %d has another vector", after, i)
			}
		}
	}
}

func TestTokenSets(t *testing.T) {
	const size = 96 // bytes of a token
	for _, e := range []*bert.Encoder{newMiniLM(t), newE5(t)} {
		texts := []string{"", "of the", "tea", "The user prefers green tea in the afternoon.",
			strings.Repeat("Zanzibar cranes ", 34)}
		made, err := e.EmbedDocuments(t.Context(), texts)
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range []struct{ least, most int }{{0, 0}, {2, 2}, {1, 1}, {8, 9}, {64, 64}} {
			if n := len(made[i].Tokens); n%size != 0 || n/size < want.least || n/size > want.most {
				t.Errorf("%s: %.20q has %d bytes of tokens, want %d to %d of %d", e.Name(), texts[i], n, want.least,
					want.most, size)
			}
		}
	}
}

// TestTokenBits has the bits of quantised vectors and token sets, which must be the same on every machine.
func TestTokenBits(t *testing.T) {
	want := map[string]string{
		"minilm": "b6595693a208003ff77d93eb1d9299bb953a5c1031b6d74a924b6d296afc6f95",
		"e5":     "2389a5f27ed3e91905b38b262413ebdb2f3bbba6d8a715bee555ca60d4a1fff2",
	}
	for _, e := range []*bert.Encoder{newMiniLM(t), newE5(t)} {
		made, err := e.EmbedDocuments(t.Context(), []string{"Deploys happen on Fridays, at 17:00."})
		if err != nil {
			t.Fatal(err)
		}
		h := sha256.New()
		var rows vector.Rows
		rows.Set(0, made[0].Vector)
		_ = binary.Write(h, binary.LittleEndian, rows.Codes(0))
		h.Write(made[0].Tokens)
		if got := hex.EncodeToString(h.Sum(nil)); got != want[e.Name()] {
			t.Errorf("SHA-256 of the bits by %s is %s, want %s: if weights or arithmetic changed on purpose, change "+
				"it here",
				e.Name(), got, want[e.Name()])
		}
	}
}

func TestSupports(t *testing.T) {
	for text, want := range map[string][2]bool{
		"plain English": {true, true}, "": {true, true}, "12:30, 99 %": {true, true}, "café naïve": {true, true},
		"用户喜欢喝茶": {false, true}, "the 猫 cat": {true, true}, "混合 English 和中文": {false, true},
		"Привет мир":  {false, false},
		"東京タワーのレストラン": {false, false}, "α and β are letters": {true, true},
	} {
		for i, e := range []*bert.Encoder{newMiniLM(t), newE5(t)} {
			if got := e.Supports(text); got != want[i] {
				t.Errorf("%s supports %q: %v", e.Name(), text, got)
			}
			if _, err := e.EmbedDocuments(t.Context(), []string{text}); errors.Is(err,
				embedding.ErrRefused) == want[i] {
				t.Errorf("%s embeds %q: %v", e.Name(), text, err)
			}
		}
	}
}

func TestEmbedQuery(t *testing.T) {
	e := newMiniLM(t)
	t.Cleanup(func() { e.SetQueryTimeout(time.Hour) })
	e.SetQueryTimeout(0)
	if _, err := e.EmbedQuery(t.Context(), "a"); !errors.Is(err, embedding.ErrTooSlow) {
		t.Errorf("without any time: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := e.EmbedQuery(ctx, "a"); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if _, err := e.EmbedDocuments(ctx, []string{"a"}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	e.SetQueryTimeout(time.Hour)
	first, err := e.EmbedQuery(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	e.SetQueryTimeout(0)
	kept, err := e.EmbedQuery(t.Context(), "a")
	if err != nil || kept.Vector.Cosine(first.Vector) != first.Vector.Cosine(first.Vector) {
		t.Errorf("the same again: %v", err)
	}
	e.ClearCache()
	if _, err := e.EmbedQuery(t.Context(), "a"); !errors.Is(err, embedding.ErrTooSlow) {
		t.Errorf("after ClearCache: %v", err)
	}
}
