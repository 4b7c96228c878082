package search

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/process/background"
	"github.com/memsidecar/memsidecar/internal/search/analysis"
	"github.com/memsidecar/memsidecar/internal/search/embedding"
	"github.com/memsidecar/memsidecar/internal/search/vector"
	"github.com/memsidecar/memsidecar/internal/store/durable"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

// Config of an Engine. The zero value is usable.
type Config struct {
	Lambda float64          // decay rate per day; 0 is DefaultLambda
	Now    func() time.Time // clock of requests without AsOf; nil is time.Now
	Logger *slog.Logger     // nil discards
	// Models make vectors for the arms Fusion and Vector; none searches by words alone.
	Models []embedding.Model
	// Busy reports whether requests are answered at the moment, for which RunEmbedding steps aside; nil is never.
	Busy func() bool
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

	saving sync.Mutex // held while files of words are written; before savingVectors

	source     *Source // set by Attach, as fsys is; nil keeps all that Load and Apply give
	fsys       durable.FS
	mu         sync.RWMutex
	spaces     map[string]*space // guarded by mu; one that was not used since the start need not be there
	opened     map[string]*space // those with an index; guarded by mu
	uses       uint64            // counts uses of spaces; guarded by mu
	wakeCloser chan struct{}     // wakes RunClosing
	maxOpen    int               // MaxOpen; tests use a small one

	indexing       sync.Mutex        // held while queued records are indexed; taken before queueMu
	queueMu        sync.Mutex        // held briefly, because writers wait for it
	queue          []*journal.Record // applied and not indexed; guarded by queueMu
	pendingChanges atomic.Int64      // queued or running records that change a memory
	wakeIndexer    chan struct{}     // wakes RunIndexing

	models        []embedding.Model // none without vectors
	stores        vectorStores
	typical       *typicalMemories
	questions     *questionVectors
	busy          func() bool      // Config.Busy
	needsMemory   vector.Quantized // see prompt_direction.go
	sureQueries   atomic.Int64     // searches that words alone answered, although models are there
	embedQueue    embedQueue
	wakeEmbedder  chan struct{} // wakes RunEmbedding
	savingVectors sync.Mutex    // held by SaveVectors
	embedErrMu    sync.Mutex
	embedErr      error         // of the last batch; guarded by embedErrMu
	embedErrSince time.Time     // guarded by embedErrMu
	embedded      chan struct{} // closed after a batch; nil while nobody waits; guarded by embedErrMu
	vectorWaiters background.Waiters
}

// space is the index of one space, and the records to apply to an index that is being loaded.
type space struct {
	name    string
	opening chan struct{}      // a semaphore: held while the space is opened or closed, before mu
	waiters background.Waiters // requests that wait for opening
	mu      sync.Mutex         // serialises changes; taken before Engine.mu and invertedIndex.mu
	index   *invertedIndex     // nil while closed; replaced with mu and Engine.mu held
	loads   int                // running loads; guarded by mu
	pending []*journal.Record  // guarded by mu
	users   int                // that keep it open; guarded by Engine.mu
	lastUse uint64             // Engine.uses then; guarded by Engine.mu
	closed  EmbeddingCoverage  // when it was closed; guarded by Engine.mu
}

// New returns an engine without memories.
func New(cfg Config) *Engine {
	e := &Engine{
		lambda: cfg.Lambda, now: cfg.Now, log: cfg.Logger, lex: analysis.NewLexicon(), spaces: map[string]*space{},
		opened: map[string]*space{}, wakeCloser: make(chan struct{}, 1), maxOpen: MaxOpen,
		wakeIndexer: make(chan struct{}, 1), models: cfg.Models, wakeEmbedder: make(chan struct{}, 1),
		busy: cfg.Busy,
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
	e.questions, e.typical = loadQuestions(cfg.Models), loadTypicalMemories(cfg.Models)
	e.needsMemory = loadPromptDirection(cfg.Models)
	e.analyzers.make = func() *analyzer { return newAnalyzer(e.lex) }
	e.scratches.make = func() *scratch { return &scratch{tokenBuf: make([]byte, recordRoom)} }
	e.scratches.trim = (*scratch).trim
	e.fingerprint = newAnalyzer(e.lex).Fingerprint()
	return e
}

// waitReady returns once every applied change of a memory is indexed. Error: that of ctx.
func (e *Engine) waitReady(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	e.drainChanges()
	return nil
}

// space returns the named space. It creates one that is new, unless there is a source to open it from later.
func (e *Engine) space(name string) *space {
	name = spaceName(name)
	e.mu.RLock()
	s := e.spaces[name]
	e.mu.RUnlock()
	if s != nil || e.source != nil {
		return s
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if s := e.spaces[name]; s != nil {
		return s
	}
	return e.addSpaceLocked(name)
}

// addSpaceLocked adds a space.
func (e *Engine) addSpaceLocked(name string) *space {
	s := &space{name: name, opening: make(chan struct{}, 1)}
	e.spaces[name] = s
	if e.source == nil {
		s.index = newInvertedIndex(0)
		s.index.vectors = newDocVectors(e.models)
		e.opened[name] = s
	}
	return s
}

// spaceIndex returns the current index of a space, nil when it is unknown or closed.
func (e *Engine) spaceIndex(name string) *invertedIndex {
	e.mu.RLock()
	defer e.mu.RUnlock()
	if s := e.opened[spaceName(name)]; s != nil {
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

func sortedKeys[T any](m map[string]T) []string { return slices.Sorted(maps.Keys(m)) }
