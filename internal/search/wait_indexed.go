package search

import (
	"context"
	"slices"

	"github.com/memsidecar/memsidecar/internal/memory"
)

// WaitIndexed returns when every memory changed before the call is found by words and, unless vectors cannot be made at
// the moment, by meaning: for programs that search for what they have just added. Meanwhile vectors are made at the
// usual priority. Error: that of ctx.
func (e *Engine) WaitIndexed(ctx context.Context, spaces []string) error {
	if err := e.waitReady(ctx); err != nil {
		return err
	}
	if len(spaces) == 0 {
		spaces = []string{memory.DefaultSpace}
	}
	in, err := e.use(ctx, spaces)
	if err != nil {
		return err
	}
	defer in.release()
	e.embedQueue.prefer(spaces)
	hurried := false
	for {
		progress := e.embedProgress() // taken before the look, so that nothing between the two is missed
		waiting := func(space string) bool { return e.EmbeddingCoverage(space).Waiting > 0 }
		if !slices.ContainsFunc(spaces, waiting) {
			return nil
		}
		if _, err := e.EmbeddingError(); err != nil {
			return nil //nolint:nilerr // a server that is down must not hold up a search, which uses words then
		}
		if !hurried {
			hurried = true
			defer e.vectorWaiters.Wait()()
		}
		select {
		case <-progress:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// embedProgress returns a channel that is closed after the next look for memories without vectors: when a batch is
// made, has failed, or there was none.
func (e *Engine) embedProgress() <-chan struct{} {
	e.embedErrMu.Lock()
	defer e.embedErrMu.Unlock()
	if e.embedded == nil {
		e.embedded = make(chan struct{})
	}
	return e.embedded
}

// announceEmbedded wakes those that wait for vectors.
func (e *Engine) announceEmbedded() {
	e.embedErrMu.Lock()
	defer e.embedErrMu.Unlock()
	if e.embedded != nil {
		close(e.embedded)
		e.embedded = nil
	}
}
