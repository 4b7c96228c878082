package encoder

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
	"unicode"

	"github.com/memsidecar/memsidecar/internal/embed"
	"github.com/memsidecar/memsidecar/internal/vector"
)

const (
	queryTime = 250 * time.Millisecond // that somebody waits for the direction of a query
	answers   = 512                    // directions of queries that are kept
)

// A text is not for this model when of its letters more than one in foreignShare is of another script.
const foreignShare = 4

// ErrTooSlow says that a query was not answered in time.
var ErrTooSlow = errors.New("the embedding model takes too long for a query")

// Embed returns the directions of texts, in their order. One call is under way at a time, so that what is stored takes one processor and
// leaves the others to queries. Errors: embed.ErrRefused when one is not in a language of the model, before anything is computed; that of ctx.
func (e *Encoder) Embed(ctx context.Context, texts []string) ([]vector.Direction, error) {
	if slices.ContainsFunc(texts, foreign) {
		return nil, embed.ErrRefused
	}
	select {
	case e.storing <- struct{}{}:
		defer func() { <-e.storing }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return e.directions(ctx, texts)
}

// Query returns the direction of what is searched for, within a quarter of a second. Those of the newest queries are kept in RAM. Errors:
// ErrTooSlow, embed.ErrRefused when it is not in a language of the model, that of ctx when it ended.
func (e *Encoder) Query(ctx context.Context, text string) (vector.Direction, error) {
	if foreign(text) {
		return vector.Direction{}, embed.ErrRefused
	}
	key := vector.KeyOf(text)
	if d, known := e.recent.Get(key); known {
		return d, nil
	}
	bound, cancel := context.WithTimeout(ctx, e.patience)
	defer cancel()
	made, err := e.directions(bound, []string{text})
	switch {
	case ctx.Err() != nil:
		return vector.Direction{}, ctx.Err()
	case errors.Is(err, context.DeadlineExceeded):
		return vector.Direction{}, ErrTooSlow
	case err != nil:
		return vector.Direction{}, err
	}
	e.recent.Put(key, made[0])
	return made[0], nil
}

// Forget drops what is kept for queries.
func (e *Encoder) Forget() { e.recent.Forget() }

func (e *Encoder) directions(ctx context.Context, texts []string) ([]vector.Direction, error) {
	made, err := e.Encode(ctx, texts)
	if err != nil {
		return nil, err
	}
	out := make([]vector.Direction, len(made))
	for i, v := range made {
		var ok bool
		if out[i], ok = vector.Quantise(v); !ok {
			return nil, fmt.Errorf("text %d of %d has no direction: %w", i+1, len(made), errDamaged)
		}
	}
	return out, nil
}

// foreign reports whether a text is in a language that the model does not know, by its script: of such a text it would say something, but
// nothing true. Latin letters pass whatever the language.
func foreign(text string) bool {
	others, all := 0, 0
	for _, r := range text {
		if unicode.IsLetter(r) {
			all++
			if !unicode.Is(unicode.Latin, r) {
				others++
			}
		}
	}
	return foreignShare*others > all
}

// Calibrated is true: what cosines of this model are worth as evidence was measured.
func (e *Encoder) Calibrated() bool { return true }
