package encoder_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/memsidecar/memsidecar/internal/encoder"
	"github.com/memsidecar/memsidecar/internal/search"
)

var _ search.Embedder = (*encoder.Encoder)(nil)

func TestEmbed(t *testing.T) {
	e := newEncoder(t)
	e.SetPatience(time.Hour)
	made, err := e.Embed(t.Context(), []string{"I am allergic to peanuts.", "The deploy is on Friday."})
	if err != nil {
		t.Fatal(err)
	}
	q, err := e.Query(t.Context(), "can I eat nuts?")
	if err != nil {
		t.Fatal(err)
	}
	if nuts, deploy := q.Cosine(made[0]), q.Cosine(made[1]); nuts < deploy+0.2 {
		t.Errorf("nuts are %.3f away from allergies and %.3f from deploys", nuts, deploy)
	}
}

func TestQuery(t *testing.T) {
	e := newEncoder(t)
	e.SetPatience(0)
	if _, err := e.Query(t.Context(), "a"); !errors.Is(err, encoder.ErrTooSlow) {
		t.Errorf("without any time: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := e.Query(ctx, "a"); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if _, err := e.Embed(ctx, []string{"a"}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	e.SetPatience(time.Hour)
	first, err := e.Query(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	e.SetPatience(0)
	kept, err := e.Query(t.Context(), "a")
	if err != nil || kept.Cosine(first) != first.Cosine(first) {
		t.Errorf("the same again: %v", err)
	}
	e.Forget()
	if _, err := e.Query(t.Context(), "a"); !errors.Is(err, encoder.ErrTooSlow) {
		t.Errorf("after Forget: %v", err)
	}
}
