package daemon

import (
	"context"
	"errors"
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
	all := c.Embedded + c.Waiting + c.Rejected
	detail := rpc.Say("the models inside: %d of %d memories have vectors", c.Embedded, all)
	// Models inside take every text; one whose letters they do not know gets no vector.
	refused := rpc.Say("%d in other languages than it knows are found by words", c.Rejected)
	if d.remote != nil {
		detail = rpc.Say("%s: %d of %d memories have vectors", d.cfg.Embeddings.Model, c.Embedded, all)
		refused = rpc.Say("the server takes %d not", c.Rejected)
	}
	if c.Rejected > 0 {
		detail = append(detail, refused...)
	}
	since, err := d.engine.EmbeddingError()
	switch {
	case d.remote == nil && err != nil:
		return rpc.Finding{Name: name, Level: rpc.LevelWarn,
			Detail: append(detail, rpc.Say("since %s: %v", since.In(d.cfg.Location()).Format(time.DateTime), err)...),
			Remedy: rpc.Say("start the daemon anew; if that does not help, install the program again. Searches go by words " +
				"meanwhile")}
	case err != nil:
		return rpc.Finding{Name: name, Level: rpc.LevelWarn,
			Detail: append(detail, rpc.Say("since %s: %v", since.In(d.cfg.Location()).Format(time.DateTime), err)...),
			Remedy: rpc.Say("look at the server and at embeddings_base_url, embeddings_model and the key; it is tried again " +
				"by itself, and searches go by words meanwhile")}
	case d.remote != nil && d.remote.LastQueryError() != nil:
		return rpc.Finding{Name: name, Level: rpc.LevelWarn,
			Detail: append(detail, rpc.Say("the last query went by words: %v", d.remote.LastQueryError())...),
			Remedy: rpc.Say("a server that takes more than a quarter of a second for a query is too slow; one on this " +
				"machine is best")}
	}
	return rpc.Finding{Name: name, Level: rpc.LevelOK, Detail: detail}
}
