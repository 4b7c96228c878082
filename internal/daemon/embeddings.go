package daemon

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/memsidecar/memsidecar/internal/encoder"
	"github.com/memsidecar/memsidecar/internal/rpc"
	"github.com/memsidecar/memsidecar/internal/search"
)

// embedder tells what texts mean: the model inside, or a server.
type embedder interface {
	search.Embedder
	Forget() // the queries of which it keeps something
}

// openEmbedder finds out who tells what texts mean. A program built without a model does without.
func (d *daemon) openEmbedder() error {
	if d.remote = d.cfg.Embeddings.client(os.Getenv, d.now, d.log); d.remote != nil {
		d.embedder = d.remote
		return nil
	}
	if d.cfg.Embeddings.Off {
		return nil
	}
	inside, err := encoder.New()
	if errors.Is(err, encoder.ErrNoModel) {
		return nil
	}
	if err != nil {
		return err
	}
	d.embedder = inside
	return nil
}

// embed makes vectors in the background.
func (d *daemon) embed(ctx context.Context) error { return d.engine.Embed(ctx, d.fs) }

// coverage of all spaces.
func (d *daemon) coverage() (all search.Coverage) {
	for _, name := range d.store.Spaces() {
		one := d.engine.Coverage(name)
		all.Embedded += one.Embedded
		all.Waiting += one.Waiting
		all.Refused += one.Refused
	}
	return all
}

// findEmbeddings tells how far the vectors have come. It asks the server nothing.
func (d *daemon) findEmbeddings() rpc.Finding {
	const name = "embeddings"
	if d.embedder == nil {
		return ok(name, "there is no model; searches go by words")
	}
	c := d.coverage()
	model, refused := d.cfg.Embeddings.Model, "the server takes %d not"
	if d.remote == nil {
		model, refused = "the model inside", "%d in other languages than it knows are found by words"
	}
	detail := fmt.Sprintf("%s: %d of %d memories have vectors", model, c.Embedded, c.Embedded+c.Waiting+c.Refused)
	if c.Refused > 0 {
		detail += fmt.Sprintf(", "+refused, c.Refused)
	}
	since, err := d.engine.EmbeddingTrouble()
	switch {
	case d.remote == nil && err != nil:
		return rpc.Finding{Name: name, Level: rpc.LevelWarn, Detail: fmt.Sprintf("%s; since %s: %v", detail, since.In(d.cfg.Location()).Format(time.DateTime), err),
			Remedy: "start the daemon anew; if that does not help, install the program again. Searches go by words meanwhile"}
	case err != nil:
		return rpc.Finding{Name: name, Level: rpc.LevelWarn, Detail: fmt.Sprintf("%s; since %s: %v", detail, since.In(d.cfg.Location()).Format(time.DateTime), err),
			Remedy: "look at the server and at embeddings_base_url, embeddings_model and the key; it is tried again by itself, and searches go by words meanwhile"}
	case d.remote != nil && d.remote.Trouble() != nil:
		return rpc.Finding{Name: name, Level: rpc.LevelWarn, Detail: fmt.Sprintf("%s; the last query went by words: %v", detail, d.remote.Trouble()),
			Remedy: "a server that takes more than a quarter of a second for a query is too slow; one on this machine is best"}
	}
	return ok(name, "%s", detail)
}
