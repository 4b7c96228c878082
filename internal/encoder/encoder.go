// Package encoder says what a text means, by a model inside the program: a direction of 384 numbers, alike for texts that say alike. The
// model knows English. Nothing is asked of anybody, and the same text gives the same bits on every machine.
package encoder

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/memsidecar/memsidecar/internal/vector"
)

// ErrNoModel says that the program was built without the model (-tags nomodel).
var ErrNoModel = errors.New("this program was built without an embedding model")

const (
	together  = 64 // tokens of several texts that are taken together, so a query waits for little
	mostDesks = 4
)

// Encoder is the model. It is safe for concurrent use: as many calls are under way at once as there are processors, four at most, and the
// others wait in the order in which they came, each time for no more than together tokens, or one text that has more.
type Encoder struct {
	model *model
	bell  *bell
	desks chan *scratch // free ones; nil when one was not used yet

	storing  chan struct{} // has room for one Embed
	patience time.Duration // of a Query
	recent   *vector.Recent
}

// New reads the model that is in the program, which takes some milliseconds, and checks that it is undamaged. Errors: ErrNoModel,
// one that says what is damaged and what to do.
func New() (*Encoder, error) { return load(modelFile) }

func load(file string) (*Encoder, error) {
	if file == "" {
		return nil, ErrNoModel
	}
	m, err := parse(file)
	if err != nil {
		return nil, err
	}
	e := &Encoder{
		model: m, bell: newBell(), desks: make(chan *scratch, min(mostDesks, runtime.GOMAXPROCS(0))),
		storing: make(chan struct{}, 1), patience: queryTime, recent: vector.NewRecent(answers),
	}
	for range cap(e.desks) {
		e.desks <- nil
	}
	return e, nil
}

// Identity names the model and the file it is in: vectors of different identities cannot be compared.
func (e *Encoder) Identity() string { return e.model.Name + " " + modelSHA256 }

// Encode returns a vector of length 1 for each text, which is the same whatever else is in the call. Of a text the first 254 pieces of words count,
// some 1,000 characters of English. The only error is that of ctx, soon after it ended.
func (e *Encoder) Encode(ctx context.Context, texts []string) ([][]float32, error) {
	out := make([][]float32, 0, len(texts))
	batch := make([][]int32, 0, len(texts))
	size := 0
	for i, text := range texts {
		ids := e.model.vocabulary.tokens(text)
		if size > 0 && size+len(ids) > together {
			made, err := e.run(ctx, batch)
			if err != nil {
				return nil, err
			}
			out, batch, size = append(out, made...), batch[:0], 0
		}
		batch, size = append(batch, ids), size+len(ids)
		if i == len(texts)-1 {
			made, err := e.run(ctx, batch)
			return append(out, made...), err
		}
	}
	return out, nil
}

// run takes one batch through the model at a desk of its own.
func (e *Encoder) run(ctx context.Context, batch [][]int32) ([][]float32, error) {
	var s *scratch
	select {
	case s = <-e.desks:
	case <-ctx.Done():
		return nil, fmt.Errorf("wait for the embedding model: %w", ctx.Err())
	}
	if s == nil {
		s = &scratch{}
	}
	defer func() { e.desks <- s }()
	out := make([][]float32, len(batch))
	if err := e.model.forward(ctx, s, e.bell, batch, out); err != nil {
		return nil, fmt.Errorf("embed %d texts: %w", len(batch), err)
	}
	return out, nil
}
