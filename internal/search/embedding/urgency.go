package embedding

import "context"

// urgencyKey is the key of a context's value that WithUrgency sets.
type urgencyKey struct{}

// WithUrgency returns a context for EmbedDocuments. urgent returns a channel that is closed as soon as, and while,
// somebody waits for vectors.
func WithUrgency(ctx context.Context, urgent func() <-chan struct{}) context.Context {
	return context.WithValue(ctx, urgencyKey{}, urgent)
}

// Urgent returns the channel of a context that WithUrgency made, nil for another one.
func Urgent(ctx context.Context) <-chan struct{} {
	if urgent, ok := ctx.Value(urgencyKey{}).(func() <-chan struct{}); ok {
		return urgent()
	}
	return nil
}
