package search

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"slices"
	"time"

	"github.com/memsidecar/memsidecar/internal/durable"
	"github.com/memsidecar/memsidecar/internal/embed"
	"github.com/memsidecar/memsidecar/internal/vector"
)

// Embedder tells what texts mean; embed.Client is one.
type Embedder interface {
	// Identity changes when vectors made before cannot be compared with those made now.
	Identity() string
	// Embed returns the directions of 1 to embed.MaxBatch texts. It may take its time.
	Embed(ctx context.Context, texts []string) ([]vector.Direction, error)
	// Query returns the direction of one text, soon or not at all.
	Query(ctx context.Context, text string) (vector.Direction, error)
	// Calibrated reports whether cosines are those that evidence is calibrated for: those of the model inside. Then they have a say in
	// whether there is an answer; otherwise words alone decide.
	Calibrated() bool
}

const (
	firstPause = time.Second // after a failure, doubled up to
	mostPause  = 5 * time.Minute
	saveEvery  = 2000 // vectors: what a crash may cost to make again
)

// Coverage says how far the vectors of a space, or of all, have come.
type Coverage struct {
	Embedded int // memories that have one
	Waiting  int // active ones whose vector is still to be made
	Refused  int // that the server does not take; they are found by words
}

// Coverage of the named space, zero when there are no vectors.
func (e *Engine) Coverage(space string) (c Coverage) {
	x := e.reader(space)
	if x == nil || x.meanings == nil {
		return c
	}
	x.mu.RLock()
	defer x.mu.RUnlock()
	for doc, m := range x.docs {
		switch {
		case m == nil:
		case x.meanings.rows.Has(doc):
			c.Embedded++
		case x.meanings.refused[uint32(doc)]:
			c.Refused++
		case m.IsActive(): // under way, too
			c.Waiting++
		}
	}
	return c
}

// EmbeddingTrouble is why vectors are not made at the moment, and since when; nil when they are, or when there is no embedder.
func (e *Engine) EmbeddingTrouble() (since time.Time, err error) {
	e.troubleMu.Lock()
	defer e.troubleMu.Unlock()
	return e.troubleSince, e.trouble
}

func (e *Engine) noteTrouble(err error) {
	e.troubleMu.Lock()
	defer e.troubleMu.Unlock()
	if err == nil {
		e.troubleSince = time.Time{}
	} else if e.trouble == nil {
		e.troubleSince = e.now()
		e.log.Warn("vectors cannot be made; searching by words goes on", slog.Any("error", err))
	}
	e.trouble = err
}

// Embed makes vectors of what is indexed, in the background, until ctx ends, which is no error. It keeps no list of texts: what waits is
// marked in the index, so a server that is slow or down costs neither memory nor the time of writers. fsys is where they are saved.
func (e *Engine) Embed(ctx context.Context, fsys durable.FS) error {
	if e.embedder == nil {
		return nil
	}
	pause := time.Duration(0)
	made := 0
	for ctx.Err() == nil {
		n, err := e.embedSome(ctx)
		if made += n; made >= saveEvery { // Save has the rest; a file written for each memory that comes would be much for little
			if err := e.SaveMeanings(fsys); err != nil {
				e.log.Warn("vectors are not saved; a restart makes them again", slog.Any("error", err))
			}
			made = 0
		}
		switch {
		case err != nil && ctx.Err() == nil:
			e.noteTrouble(err)
			pause = min(max(2*pause, firstPause), mostPause)
			timer := time.NewTimer(pause)
			select {
			case <-ctx.Done():
			case <-timer.C:
			}
			timer.Stop()
		case n > 0:
			pause = 0
			e.noteTrouble(nil)
		default:
			select {
			case <-ctx.Done():
			case <-e.unembedded:
			}
		}
	}
	return nil
}

// embedSome makes the vectors of one batch and returns how many texts were settled.
func (e *Engine) embedSome(ctx context.Context) (int, error) {
	var batch []errand
	for _, name := range e.names() {
		if x := e.reader(name); len(batch) < embed.MaxBatch && x.meanings != nil {
			batch = append(batch, x.errands(embed.MaxBatch-len(batch))...)
		}
	}
	if len(batch) == 0 {
		return 0, nil
	}
	return e.run(ctx, batch)
}

// run settles every errand. Where a batch is refused, its halves are tried, until it is known which text is to blame.
func (e *Engine) run(ctx context.Context, batch []errand) (int, error) {
	texts := make([]string, len(batch))
	for i := range batch {
		texts[i] = batch[i].text
	}
	made, err := e.embedder.Embed(ctx, texts)
	switch {
	case err == nil && len(made) == len(batch):
		for i := range batch {
			batch[i].settle(made[i], false)
		}
		return len(batch), nil
	case err == nil:
		err = fmt.Errorf("%d vectors for %d texts: %w", len(made), len(batch), embed.ErrUnavailable)
	case errors.Is(err, embed.ErrRefused) && len(batch) > 1:
		half := len(batch) / 2
		n, err := e.run(ctx, batch[:half])
		if err != nil {
			giveBack(batch[half:])
			return n, err
		}
		m, err := e.run(ctx, batch[half:])
		return n + m, err
	case errors.Is(err, embed.ErrRefused):
		batch[0].settle(vector.Direction{}, true)
		return 1, nil
	}
	giveBack(batch)
	return 0, err
}

func giveBack(batch []errand) {
	for i := range batch {
		batch[i].settle(vector.Direction{}, false)
	}
}

// needsEmbedding tells Embed that something may wait.
func (e *Engine) needsEmbedding() {
	select {
	case e.unembedded <- struct{}{}:
	default: // it knows already
	}
}

// names of the spaces, sorted.
func (e *Engine) names() []string {
	e.mu.RLock()
	defer e.mu.RUnlock()
	names := make([]string, 0, len(e.spaces))
	for name := range e.spaces {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func meaningFile(space string) string { return "index/" + space + ".vectors" }

// SaveMeanings writes the vectors of every space where they changed to index/SPACE.vectors below fsys: those of texts that are there now, and no
// others. Without an embedder it removes what one has left. Durable on return.
func (e *Engine) SaveMeanings(fsys durable.FS) error {
	e.savingMeanings.Lock()
	defer e.savingMeanings.Unlock()
	if e.embedder == nil {
		return removeMeanings(fsys, e.names())
	}
	if err := fsys.MkdirAll("index"); err != nil {
		return fmt.Errorf("make index directory: %w", err)
	}
	for _, name := range e.names() {
		x := e.reader(name)
		if x.meanings == nil {
			continue
		}
		data, changes := x.encodeMeanings(e.embedder.Identity())
		if data == nil {
			continue
		}
		err := durable.WriteFile(fsys, meaningFile(name), func(w io.Writer) error {
			_, err := w.Write(data)
			return err
		})
		if err != nil {
			return fmt.Errorf("save vectors of space %q: %w", name, err)
		}
		x.mu.Lock()
		x.meanings.saved = changes
		x.mu.Unlock()
	}
	return nil
}

// removeMeanings removes vectors that nobody keeps up to date: they would outlive the texts they are of.
func removeMeanings(fsys durable.FS, spaces []string) error {
	removed := false
	for _, name := range spaces {
		err := fsys.Remove(meaningFile(name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove vectors of space %q: %w", name, err)
		}
		removed = removed || err == nil
	}
	if !removed {
		return nil
	}
	return fsys.SyncDir("index")
}

// restoreMeanings reads the vectors of a space; nil when there are none that can be used, which costs time and is no error.
func (e *Engine) restoreMeanings(name string, fsys durable.FS) *vector.Saved {
	data, err := durable.ReadFile(fsys, meaningFile(spaceName(name)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var saved *vector.Saved
	if err == nil {
		saved, err = vector.Decode(data, e.embedder.Identity())
	}
	if err != nil {
		e.log.Warn("vectors are made anew", slog.String("space", spaceName(name)), slog.Any("error", err))
		return nil
	}
	return saved
}
