// Package bert embeds texts with the models inside the program: transformer encoders as in Devlin et al., "BERT:
// Pre-training of Deep Bidirectional Transformers for Language Understanding", 2019. all-MiniLM-L6-v2 knows English,
// multilingual-e5-small English and Chinese. Weights are 8-bit integers and activations 14-bit ones, so that nearly
// all work is dot products of integers; the float32 rest is written so that no compiler fuses operations. The same
// text therefore gives the same bits on every machine.
package bert

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/memsidecar/memsidecar/internal/process/background"
	"github.com/memsidecar/memsidecar/internal/search/embedding"
	"github.com/memsidecar/memsidecar/internal/search/vector"
)

// ErrNoModel says that the program was built without the models (-tags nomodel).
var ErrNoModel = errors.New("this program was built without an embedding model")

// errDamaged says that a model file in the program cannot be read.
var errDamaged = errors.New("the embedding model in this program is damaged; install the program again")

const (
	maxBatchTokens = 64 // tokens that pass through the model together; small, so that work in the background can stop
	maxConcurrent  = 4  // queries at the same time
)

// Encoder is one model. It implements embedding.Model and is safe for concurrent use: as many queries are embedded at
// once as there are processors, maxConcurrent at most, and one batch of what is stored. The others wait in the order in
// which they came.
type Encoder struct {
	name     string
	identity string
	knowsHan bool // the model knows Chinese

	read    func() (*model, error) // the model, from its file
	loading sync.Once
	loaded  chan struct{} // closed when the next two are final
	result  *model
	failure error

	slots chan struct{} // one for each query at the same time
	mu    sync.Mutex
	// free are the buffers that nobody uses, those used last at the end: without concurrent batches one set is enough.
	free []*scratch // guarded by mu
	// semaphore of EmbedDocuments: what is stored takes one processor and leaves the others to queries
	background chan struct{}

	queryTimeout time.Duration // of the encoding, without the loading of the model
	cache        *vector.Cache[embedding.Query]
}

// Bounds of EmbedQuery for callers without a deadline of their own. Loading takes 0.2 s of processor time.
const (
	queryTimeout = time.Second
	loadTimeout  = 5 * time.Second
)

var _ embedding.Model = (*Encoder)(nil)

// newEncoder returns an encoder that reads its model when it first embeds: most processes, such as clients, never do.
func newEncoder(name, identity string, read func() (*model, error)) *Encoder {
	return &Encoder{
		name: name, identity: identity, read: read, loaded: make(chan struct{}),
		slots: make(chan struct{}, min(maxConcurrent, runtime.GOMAXPROCS(0))), background: make(chan struct{}, 1),
		queryTimeout: queryTimeout, cache: vector.NewCache[embedding.Query](embedding.CachedQueries),
	}
}

// Name is "minilm" or "e5".
func (e *Encoder) Name() string { return e.name }

// Identity names the model and the checksums of its files.
func (e *Encoder) Identity() string { return e.identity }

// Calibrated is true: the cosines of both models were measured.
func (e *Encoder) Calibrated() bool { return true }

// CacheUse counts the queries that were looked for in the cache.
func (e *Encoder) CacheUse() vector.CacheUse { return e.cache.Use() }

// ClearCache drops the cached queries.
func (e *Encoder) ClearCache() { e.cache.Clear() }

// Preload starts to read the model in the background, so that the first query need not wait for it.
func (e *Encoder) Preload() {
	e.loading.Do(func() {
		go func() {
			defer close(e.loaded)
			e.result, e.failure = e.read()
		}()
	})
}

// model returns the model, which it reads in the background at the first call. Errors: one that says what is damaged,
// that of ctx.
func (e *Encoder) model(ctx context.Context) (*model, error) {
	e.Preload()
	select {
	case <-e.loaded:
		return e.result, e.failure
	case <-ctx.Done():
		return nil, fmt.Errorf("load the embedding model: %w", ctx.Err())
	}
}

// encode passes texts, given as token ids, through the model and calls emit with the last layer's output for each, in
// order: a row of Width numbers for each token, valid during the call. A text's output does not depend on the others.
// The only error is that of ctx, soon after it ended.
func (e *Encoder) encode(ctx context.Context, p background.Pace, m *model, texts [][]int32,
	emit func(text int, rows []float32)) error {
	s := e.takeScratch()
	defer e.returnScratch(s)
	for first := 0; first < len(texts); {
		last, tokens := first, 0
		for last < len(texts) && (last == first || tokens+len(texts[last]) <= maxBatchTokens) {
			tokens += len(texts[last])
			last++
		}
		if err := m.forward(ctx, p, s, texts[first:last], func(i int, rows []float32) {
			emit(first+i, rows)
		}); err != nil {
			return fmt.Errorf("embed %d texts: %w", len(texts), err)
		}
		first = last
	}
	return nil
}

// takeScratch returns the buffers that were used last, or new ones.
func (e *Encoder) takeScratch() *scratch {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.free) == 0 {
		return &scratch{}
	}
	s := e.free[len(e.free)-1]
	e.free = e.free[:len(e.free)-1]
	return s
}

func (e *Encoder) returnScratch(s *scratch) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.free) < cap(e.slots) { // queries need no more, and work in the background ends
		e.free = append(e.free, s)
	}
}
