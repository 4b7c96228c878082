package embedding

import "context"

// Background is what EmbedDocuments heeds when it works for nobody who waits.
type Background struct {
	// Urgent returns a channel that is closed as soon as, and while, somebody waits for vectors.
	Urgent func() <-chan struct{}
	// Busy reports whether requests are answered at the moment, which come first.
	Busy func() bool
}

// backgroundKey is the key of a context's value that WithBackground sets.
type backgroundKey struct{}

// WithBackground returns a context for EmbedDocuments. Both functions must be safe for concurrent use; either may be
// nil.
func WithBackground(ctx context.Context, b Background) context.Context {
	return context.WithValue(ctx, backgroundKey{}, b)
}

// BackgroundOf returns what WithBackground gave a context, with functions that say no where there are none.
func BackgroundOf(ctx context.Context) Background {
	b, _ := ctx.Value(backgroundKey{}).(Background)
	if b.Urgent == nil {
		b.Urgent = func() <-chan struct{} { return nil }
	}
	if b.Busy == nil {
		b.Busy = func() bool { return false }
	}
	return b
}
