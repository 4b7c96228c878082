package daemon

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/memsidecar/memsidecar/internal/rpc"
	"github.com/memsidecar/memsidecar/internal/search"
	"github.com/memsidecar/memsidecar/internal/search/embedding"
	"github.com/memsidecar/memsidecar/internal/search/embedding/bert"
)

// openModels opens the embedding models: that of a server, or those inside the program. A program built without models
// searches by words.
func (d *daemon) openModels() error {
	if d.cfg.IndexDisabled {
		return nil
	}
	if d.remote = d.cfg.Embeddings.client(os.Getenv, d.now, d.log); d.remote != nil {
		d.models = []embedding.Model{d.remote}
		return nil
	}
	if d.cfg.Embeddings.Off {
		return nil
	}
	for _, open := range []func() (*bert.Encoder, error){bert.NewE5, bert.NewMiniLM} {
		model, err := open()
		if errors.Is(err, bert.ErrNoModel) {
			return nil
		}
		if err != nil {
			return err
		}
		d.models = append(d.models, model)
	}
	return nil
}

// embed makes vectors in the background.
func (d *daemon) embed(ctx context.Context) error {
	if d.coverage().Embedded > 0 {
		d.preloadModels()
	}
	return d.engine.RunEmbedding(ctx, d.fs)
}

// preloadModels starts to read the models inside, so that the first query after a start need not do without them.
func (d *daemon) preloadModels() {
	for _, m := range d.models {
		if inside, ok := m.(*bert.Encoder); ok {
			inside.Preload()
		}
	}
}

// coverage of all spaces.
func (d *daemon) coverage() (all search.EmbeddingCoverage) {
	for _, name := range d.store.Spaces() {
		one := d.engine.EmbeddingCoverage(name)
		all.Embedded += one.Embedded
		all.Waiting += one.Waiting
		all.Rejected += one.Rejected
	}
	return all
}

// findEmbeddings tells how far the vectors have come. It asks the server nothing.
func (d *daemon) findEmbeddings() rpc.Finding {
	const name = "embeddings"
	if d.cfg.IndexDisabled {
		return ok(name, "memory_index_enabled is false; searches go by words")
	}
	if len(d.models) == 0 {
		return ok(name, "there is no model; searches go by words")
	}
	c := d.coverage()
	model, refused := d.cfg.Embeddings.Model, "the server takes %d not"
	if d.remote == nil {
		// Models inside take every text; one whose letters they do not know gets no vector.
		model, refused = "the models inside", "%d in other languages than it knows are found by words"
	}
	detail := fmt.Sprintf("%s: %d of %d memories have vectors", model, c.Embedded, c.Embedded+c.Waiting+c.Rejected)
	if c.Rejected > 0 {
		detail += fmt.Sprintf(", "+refused, c.Rejected)
	}
	since, err := d.engine.EmbeddingError()
	switch {
	case d.remote == nil && err != nil:
		return rpc.Finding{Name: name, Level: rpc.LevelWarn,
			Detail: fmt.Sprintf("%s; since %s: %v", detail, since.In(d.cfg.Location()).Format(time.DateTime), err),
			Remedy: "start the daemon anew; if that does not help, install the program again. Searches go by words " +
				"meanwhile"}
	case err != nil:
		return rpc.Finding{Name: name, Level: rpc.LevelWarn,
			Detail: fmt.Sprintf("%s; since %s: %v", detail, since.In(d.cfg.Location()).Format(time.DateTime), err),
			Remedy: "look at the server and at embeddings_base_url, embeddings_model and the key; it is tried again " +
				"by itself, and searches go by words meanwhile"}
	case d.remote != nil && d.remote.LastQueryError() != nil:
		return rpc.Finding{Name: name, Level: rpc.LevelWarn,
			Detail: fmt.Sprintf("%s; the last query went by words: %v", detail, d.remote.LastQueryError()),
			Remedy: "a server that takes more than a quarter of a second for a query is too slow; one on this " +
				"machine is best"}
	}
	return ok(name, "%s", detail)
}
