package search

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/memsidecar/memsidecar/internal/process/background"
	"github.com/memsidecar/memsidecar/internal/search/embedding"
	"github.com/memsidecar/memsidecar/internal/search/vector"
	"github.com/memsidecar/memsidecar/internal/search/vector/vectorstore"
	"github.com/memsidecar/memsidecar/internal/store/durable"
)

const (
	firstRetry = time.Second // pause after a failure, doubled up to maxRetry
	maxRetry   = 5 * time.Minute
	saveEvery  = 2000 // vectors, after which they are made durable: what a crash costs
)

// EmbeddingCoverage counts the memories of a space by the state of their vectors.
type EmbeddingCoverage struct {
	Embedded int // memories with a vector of every model that supports them
	Waiting  int // active memories whose vector is to be made
	Rejected int // memories that the embedder does not take; words find them
}

// EmbeddingCoverage of the named space, zero without vectors. It counts what was added before the call. Of a closed
// space it is what it was when it was closed, zero when it was not opened since the start.
func (e *Engine) EmbeddingCoverage(space string) (c EmbeddingCoverage) {
	e.drainChanges() // indexing follows the acknowledgement, and what is not indexed does not wait yet
	if len(e.models) == 0 {
		return c
	}
	s, x, few := e.peek(space)
	if x == nil && few && e.embedQueue.has(spaceName(space)) { // it is new, and would be opened in a moment
		s, _ = e.acquire(context.Background(), space)
		if s != nil {
			defer e.releaseUnused(s)
			x = e.indexOf(s)
		}
	}
	switch {
	case x != nil:
		return x.coverage()
	case s != nil:
		e.mu.RLock()
		defer e.mu.RUnlock()
		return s.closed
	}
	return c
}

// peek returns a space and its index, if it is known and open, and whether another could be opened without closing one.
func (e *Engine) peek(name string) (s *space, x *invertedIndex, few bool) {
	e.mu.RLock()
	defer e.mu.RUnlock()
	if s = e.spaces[spaceName(name)]; s != nil {
		x = s.index
	}
	return s, x, e.source != nil && len(e.opened) < e.maxOpen
}

// coverage counts the memories of an index by the state of their vectors. Changes wait for a part of them at a time,
// and may be counted or not.
func (x *invertedIndex) coverage() (c EmbeddingCoverage) {
	for from, more := 0, true; more; from += partDocs {
		more = x.countCoverage(&c, from)
	}
	return c
}

// countCoverage counts partDocs documents, and reports whether there are more.
func (x *invertedIndex) countCoverage(c *EmbeddingCoverage, from int) (more bool) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	to := min(from+partDocs, len(x.docs))
	if len(x.vectors) == 0 || from >= to {
		return false
	}
	for doc := from; doc < to; doc++ {
		m := x.docs[doc]
		if m == nil {
			continue
		}
		embedded, rejected := 0, 0
		for _, v := range x.vectors {
			switch {
			case v.rows.Has(doc):
				embedded++
			case v.rejected.has(uint32(doc)):
				rejected++
			}
		}
		switch {
		case embedded+rejected < len(x.vectors) && m.IsActive(): // also one whose job is running
			c.Waiting++
		case embedded > 0:
			c.Embedded++
		case rejected == len(x.vectors):
			c.Rejected++
		}
	}
	return true
}

// EmbeddingError is why vectors cannot be made at the moment, and since when; nil when they can, or without an
// embedder.
func (e *Engine) EmbeddingError() (since time.Time, err error) {
	e.embedErrMu.Lock()
	defer e.embedErrMu.Unlock()
	return e.embedErrSince, e.embedErr
}

// recordEmbedError records the result of a batch and logs the first failure of a row.
func (e *Engine) recordEmbedError(err error) {
	e.embedErrMu.Lock()
	defer e.embedErrMu.Unlock()
	if err == nil {
		e.embedErrSince = time.Time{}
	} else if e.embedErr == nil {
		e.embedErrSince = e.now()
		e.log.Warn("embedding failed; searches use words alone until it succeeds", slog.Any("error", err))
	}
	e.embedErr = err
}

// RunEmbedding makes the vectors of indexed memories in the background until ctx ends, which is no error, and saves
// them below fsys. The queue is a set of documents in the index, so an embedder that is slow or down costs neither
// memory nor the time of writers.
func (e *Engine) RunEmbedding(ctx context.Context, fsys durable.FS) error {
	if len(e.models) == 0 {
		return nil
	}
	pause := time.Duration(0)
	unsaved, made := 0, 0 // vectors since the last save, and since the queue was empty
	working := embedding.WithPace(ctx, background.Pace{Busy: e.busy, Urgent: e.vectorWaiters.Urgent})
	for ctx.Err() == nil {
		n, err := e.embedBatch(working, fsys)
		made += n
		if unsaved += n; unsaved >= saveEvery { // Save makes the rest durable
			if err := e.SaveVectors(fsys); err != nil {
				e.log.Warn("vectors are not saved; a restart makes them again", slog.Any("error", err))
			}
			unsaved = 0
		}
		switch {
		case err != nil && ctx.Err() == nil:
			e.recordEmbedError(err)
			e.announceEmbedded()
			pause = min(max(2*pause, firstRetry), maxRetry)
			timer := time.NewTimer(pause)
			select {
			case <-ctx.Done():
			case <-timer.C:
			}
			timer.Stop()
		case n > 0:
			pause = 0
			e.recordEmbedError(nil)
			e.announceEmbedded()
		default:
			e.announceEmbedded() // what they waited for may have been deleted
			if made >= saveEvery {
				debug.FreeOSMemory() // an import grew the heap, and an idle daemon collects no garbage for minutes
			}
			made = 0
			select {
			case <-ctx.Done():
			case <-e.wakeEmbedder:
			}
		}
	}
	return nil
}

// embedJob is a text whose vector is to be made.
type embedJob struct {
	index   *invertedIndex
	vectors *docVectors
	doc     uint32
	key     vector.Key
	text    string
	store   *vectorstore.Store // nil when its file cannot be opened
}

// takeJobs takes at most n waiting texts. The caller completes, rejects or requeues each job.
func (x *invertedIndex) takeJobs(v *docVectors, n int) (jobs []embedJob) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for doc := range v.waiting {
		if len(jobs) == n {
			break
		}
		text := embeddedText(x.docs[doc])
		jobs = append(jobs, embedJob{x, v, doc, vector.KeyOf(text), text, v.store})
		delete(v.waiting, doc)
	}
	return jobs
}

// complete ends a job with a vector.
func (j *embedJob) complete(d embedding.Document) {
	if j.store != nil {
		// What cannot be written is made again after a restart: the memory is found by its vector meanwhile.
		_ = j.store.Put(j.key, d.Vector, d.Tokens)
	}
	j.index.mu.Lock()
	defer j.index.mu.Unlock()
	j.index.setVector(j.vectors, j.doc, j.key, d.Vector)
}

// reject ends a job whose text the embedder does not take.
func (j *embedJob) reject() {
	j.index.mu.Lock()
	defer j.index.mu.Unlock()
	if j.stillNeeded() {
		j.vectors.rejected.add(j.doc)
	}
}

// requeue makes the document wait again.
func (j *embedJob) requeue() {
	j.index.mu.Lock()
	defer j.index.mu.Unlock()
	if j.stillNeeded() {
		j.vectors.waiting[j.doc] = true
	}
}

// stillNeeded reports whether the document has the same text and no vector. The caller holds the lock.
func (j *embedJob) stillNeeded() bool {
	return j.index.hasText(j.doc, j.key) && !j.vectors.rows.Has(int(j.doc))
}

// embedBatch makes the vectors of one batch for each model and returns how many jobs were completed or rejected.
func (e *Engine) embedBatch(ctx context.Context, fsys durable.FS) (done int, err error) {
	for done == 0 && err == nil {
		spaces, opening := e.openToEmbed(ctx)
		if len(spaces) == 0 {
			return 0, opening
		}
		done, err = e.embedIn(ctx, fsys, spaces)
		e.putBack(spaces)
		if err = errors.Join(err, opening); done == 0 && err == nil {
			e.announceEmbedded() // what they waited for may have been deleted
		}
	}
	return done, err
}

// embedIn makes the vectors of one batch for each model, of memories in these spaces.
func (e *Engine) embedIn(ctx context.Context, fsys durable.FS, spaces []*space) (done int, err error) {
	for i, model := range e.models {
		var batch []embedJob
		for _, s := range spaces {
			if x := e.indexOf(s); len(batch) < embedding.MaxBatch {
				e.attachStores(x, fsys, s.name)
				batch = append(batch, x.takeJobs(x.vectors[i], embedding.MaxBatch-len(batch))...)
			}
		}
		if len(batch) == 0 {
			continue
		}
		n, err := runJobs(ctx, model, batch)
		if done += n; err != nil {
			return done, err
		}
	}
	return done, nil
}

// runJobs embeds a batch. When the batch is refused, its halves are tried, down to the text that is to blame.
func runJobs(ctx context.Context, model embedding.Model, batch []embedJob) (int, error) {
	texts := make([]string, len(batch))
	for i := range batch {
		texts[i] = batch[i].text
	}
	docs, err := model.EmbedDocuments(ctx, texts)
	switch {
	case err == nil && len(docs) == len(batch):
		for i := range batch {
			if docs[i].Vector.Dim() == 0 {
				batch[i].requeue()
				continue
			}
			batch[i].complete(docs[i])
		}
		return len(batch), nil
	case err == nil:
		err = fmt.Errorf("%d vectors for %d texts: %w", len(docs), len(batch), embedding.ErrUnavailable)
	case errors.Is(err, embedding.ErrRefused) && len(batch) > 1:
		half := len(batch) / 2
		n, err := runJobs(ctx, model, batch[:half])
		if err != nil {
			requeue(batch[half:])
			return n, err
		}
		m, err := runJobs(ctx, model, batch[half:])
		return n + m, err
	case errors.Is(err, embedding.ErrRefused):
		batch[0].reject()
		return 1, nil
	}
	requeue(batch)
	return 0, err
}

func requeue(jobs []embedJob) {
	for i := range jobs {
		jobs[i].requeue()
	}
}

// wakeEmbedding wakes RunEmbedding because jobs may wait.
func (e *Engine) wakeEmbedding() {
	select {
	case e.wakeEmbedder <- struct{}{}:
	default: // a wake-up is pending
	}
}
