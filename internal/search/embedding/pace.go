package embedding

import (
	"context"

	"github.com/memsidecar/memsidecar/internal/process/background"
)

// paceKey is the key of a context's value that WithPace sets.
type paceKey struct{}

// WithPace returns a context in which EmbedDocuments works at a pace.
func WithPace(ctx context.Context, p background.Pace) context.Context {
	return context.WithValue(ctx, paceKey{}, p)
}

// PaceOf returns what WithPace gave a context, or a pace that never waits.
func PaceOf(ctx context.Context) background.Pace {
	p, _ := ctx.Value(paceKey{}).(background.Pace)
	return p
}
