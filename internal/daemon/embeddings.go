package daemon

import (
	"context"
	"fmt"
	"time"

	"github.com/memsidecar/memsidecar/internal/rpc"
	"github.com/memsidecar/memsidecar/internal/search"
)

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
		return ok(name, "no server is configured; searches go by words")
	}
	c := d.coverage()
	model := d.cfg.Embeddings.Model
	detail := fmt.Sprintf("%s: %d of %d memories have vectors", model, c.Embedded, c.Embedded+c.Waiting+c.Refused)
	if c.Refused > 0 {
		detail += fmt.Sprintf(", the server takes %d not", c.Refused)
	}
	since, err := d.engine.EmbeddingTrouble()
	switch {
	case err != nil:
		return rpc.Finding{Name: name, Level: rpc.LevelWarn, Detail: fmt.Sprintf("%s; since %s: %v", detail, since.In(d.cfg.Location()).Format(time.DateTime), err),
			Remedy: "look at the server and at embeddings_base_url, embeddings_model and the key; it is tried again by itself, and searches go by words meanwhile"}
	case d.embedder.Trouble() != nil:
		return rpc.Finding{Name: name, Level: rpc.LevelWarn, Detail: fmt.Sprintf("%s; the last query went by words: %v", detail, d.embedder.Trouble()),
			Remedy: "a server that takes more than a quarter of a second for a query is too slow; one on this machine is best"}
	}
	return ok(name, "%s", detail)
}
