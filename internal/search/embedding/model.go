package embedding

import (
	"context"

	"github.com/memsidecar/memsidecar/internal/search/vector"
)

// Model embeds texts. bert.Encoder is a model inside the program, Client one on a server. Implementations are safe
// for concurrent use.
type Model interface {
	// Name is a short lower-case name, such as "e5", fit for a file name.
	Name() string
	// Identity changes whenever vectors made before cannot be compared with those made now.
	Identity() string
	// Calibrated reports whether the meaning of its cosines was measured, so that they count as evidence.
	Calibrated() bool
	// Supports reports whether the model knows the language of a text, judged by its script.
	Supports(text string) bool
	// EmbedDocuments embeds 1 to MaxBatch texts that are stored, in their order. It may take minutes. Errors:
	// ErrRefused when the model does not support one of them, ErrUnavailable, that of ctx.
	EmbedDocuments(ctx context.Context, texts []string) ([]Document, error)
	// EmbedQuery embeds a query, within a bound of the model or the deadline of ctx. Errors: ErrRefused,
	// ErrUnavailable, ErrTooSlow, that of ctx. The newest answers are cached.
	EmbedQuery(ctx context.Context, text string) (Query, error)
	// CacheUse counts the queries that were looked for in the cache since the start.
	CacheUse() vector.CacheUse
	// ClearCache drops the cached answers, so that a purged text leaves nothing.
	ClearCache()
}

// Document is what a model makes of a stored text.
type Document struct {
	Vector vector.Quantized // of the whole text
	Tokens vector.TokenSet  // of its most informative tokens; nil when the model has none
}

// Query is what a model makes of a query.
type Query struct {
	Vector vector.Quantized   // of the whole text
	Tokens *vector.TokenQuery // of its tokens; nil when the model has none
}

// Vectors returns the pooled vectors of documents.
func Vectors(documents []Document) []vector.Quantized {
	out := make([]vector.Quantized, len(documents))
	for i := range documents {
		out[i] = documents[i].Vector
	}
	return out
}
