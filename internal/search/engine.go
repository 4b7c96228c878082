package search

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/search/analysis"
	"github.com/memsidecar/memsidecar/internal/search/embedding"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

// Config of an Engine. The zero value is usable.
type Config struct {
	Lambda float64          // decay rate per day; 0 is DefaultLambda
	Now    func() time.Time // clock of requests without AsOf; nil is time.Now
	Logger *slog.Logger     // nil discards
	// Models make vectors for the arms Fusion and Vector; none searches by words alone.
	Models []embedding.Model
}

// DefaultLambda is the decay rate per day when the configuration gives none: a half-life of 14 days.
const DefaultLambda = 0.05

// Engine searches all spaces. It is safe for concurrent use: searches run side by side, and a change holds the lock of
// its space only for the few microseconds of linking analysed terms.
type Engine struct {
	lambda      float64
	now         func() time.Time
	log         *slog.Logger
	lex         *analysis.Lexicon
	fingerprint uint32 // of the tokenizer

	analyzers freelist[analyzer]
	scratches freelist[scratch]

	saving sync.Mutex                    // held by Save
	gate   atomic.Pointer[chan struct{}] // closed once searches may proceed; see BlockSearches

	mu     sync.RWMutex
	spaces map[string]*space // guarded by mu

	indexing       sync.Mutex        // held while queued records are indexed; taken before queueMu
	queueMu        sync.Mutex        // held briefly, because writers wait for it
	queue          []*journal.Record // applied and not indexed; guarded by queueMu
	pendingChanges atomic.Int64      // queued or running records that change a memory
	wakeIndexer    chan struct{}     // wakes RunIndexing

	models        []embedding.Model // none without vectors
	tokens        tokenStores
	typical       typicalMemories
	questions     *questionVectors
	sureQueries   atomic.Int64  // searches that words alone answered, although models are there
	wakeEmbedder  chan struct{} // wakes RunEmbedding
	savingVectors sync.Mutex    // held by SaveVectors
	embedErrMu    sync.Mutex
	embedErr      error         // of the last batch; guarded by embedErrMu
	embedErrSince time.Time     // guarded by embedErrMu
	embedded      chan struct{} // closed after a batch; nil while nobody waits; guarded by embedErrMu
	waiters       int           // calls of WaitIndexed that wait for vectors; guarded by embedErrMu
	urgent        chan struct{} // closed while there are waiters; nil when nobody asked; guarded by embedErrMu
}

// space is the index of one space, and the records to apply to an index that is being loaded.
type space struct {
	mu      sync.Mutex     // serialises changes; taken before invertedIndex.mu
	index   *invertedIndex // replaced only by Load, with mu and Engine.mu held
	loads   int            // running Loads; guarded by mu
	pending []*journal.Record
}

// New returns an engine without memories.
func New(cfg Config) *Engine {
	e := &Engine{
		lambda: cfg.Lambda, now: cfg.Now, log: cfg.Logger, lex: analysis.NewLexicon(), spaces: map[string]*space{},
		wakeIndexer: make(chan struct{}, 1), models: cfg.Models, wakeEmbedder: make(chan struct{}, 1),
	}
	if e.lambda == 0 {
		e.lambda = DefaultLambda
	}
	if e.now == nil {
		e.now = time.Now //nolint:forbidigo // the documented default
	}
	if e.log == nil {
		e.log = slog.New(slog.DiscardHandler)
	}
	e.questions = loadQuestions(cfg.Models)
	e.analyzers.make = func() *analyzer { return newAnalyzer(e.lex) }
	e.scratches.make = func() *scratch { return &scratch{tokenBuf: make([]byte, 8<<10)} }
	e.fingerprint = newAnalyzer(e.lex).Fingerprint()
	return e
}

// BlockSearches makes searches wait until unblock is called, for a start at which the spaces are not loaded yet. It
// must be called before the first search.
func (e *Engine) BlockSearches() (unblock func()) {
	gate := make(chan struct{})
	e.gate.Store(&gate)
	return sync.OnceFunc(func() { close(gate) })
}

// waitReady returns once searches may proceed and every applied change of a memory is indexed.
func (e *Engine) waitReady(ctx context.Context) error {
	if gate := e.gate.Load(); gate != nil {
		select {
		case <-*gate:
		case <-ctx.Done():
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	e.drainChanges()
	return nil
}

// space returns the named space and creates it when it is new.
func (e *Engine) space(name string) *space {
	if s := e.lookupSpace(name); s != nil {
		return s
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	name = spaceName(name)
	if e.spaces[name] == nil {
		e.spaces[name] = &space{index: newInvertedIndex(0)}
		e.spaces[name].index.vectors = newDocVectors(e.models)
	}
	return e.spaces[name]
}

// lookupSpace returns the named space, nil when it is unknown.
func (e *Engine) lookupSpace(name string) *space {
	e.mu.RLock()
	defer e.mu.RUnlock()
	return e.spaces[spaceName(name)]
}

// spaceIndex returns the current index of a space, nil when the space is unknown.
func (e *Engine) spaceIndex(name string) *invertedIndex {
	e.mu.RLock()
	defer e.mu.RUnlock()
	if s := e.spaces[spaceName(name)]; s != nil {
		return s.index
	}
	return nil
}

// spaceName resolves the empty name to the default space.
func spaceName(name string) string {
	if name == "" {
		return memory.DefaultSpace
	}
	return name
}
