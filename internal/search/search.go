// Package search finds memories by what they say. It keeps one inverted index per space in memory, ranks by keyword
// relevance and bounded boosts or by one of several formulas, and answers nothing when nothing is relevant. It looks only
// at memories that can be among the best, and finds what looking at all would. The index
// follows the journal as a store.Projection and can be saved to a file that start-up adopts; the file is derived data
// and may be deleted at any time. The package does not log or store memory text anywhere but in that index.
package search

import (
	"context"
	"hash/crc32"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/memsidecar/memsidecar/internal/journal"
	"github.com/memsidecar/memsidecar/internal/memory"
)

// Config of an Engine. The zero value is usable.
type Config struct {
	Lambda float64          // decay per day of the recency formulas; 0 is 0.05, half in 14 days
	Now    func() time.Time // the time of a request that names none; nil is time.Now
	Logger *slog.Logger     // nil discards
	// Embedder tells what texts mean, for Fusion and Vector; nil does without.
	Embedder Embedder
}

// DefaultLambda is the decay per day when the configuration names none.
const DefaultLambda = 0.05

// Engine searches all spaces. It is safe for concurrent use: searches run side by side, and a change holds the lock of
// its space only for the few microseconds of linking already analysed terms.
type Engine struct {
	lambda float64
	now    func() time.Time
	log    *slog.Logger
	lex    *lexicon
	stamp  uint32 // identifies what the analyzer makes of a text

	fading, slowFading *fading // of lambda, and of Weighted

	analyzers freelist[analyzer]
	scratches freelist[scratch]

	saving sync.Mutex                    // held by Save
	open   atomic.Pointer[chan struct{}] // closed once searches may go on; see Hold

	mu     sync.RWMutex
	spaces map[string]*space // guarded by mu

	indexing sync.Mutex        // held while queued records are indexed; taken before queueMu
	queueMu  sync.Mutex        // held for moments only: writers wait for it
	queue    []*journal.Record // applied, not indexed; guarded by queueMu
	behind   atomic.Int64      // records applied that change a memory, and are not indexed to the end
	queued   chan struct{}     // tells Run that there is something

	embedder       Embedder      // nil without vectors
	unembedded     chan struct{} // tells Embed that something may wait
	savingMeanings sync.Mutex    // held by SaveMeanings
	troubleMu      sync.Mutex
	trouble        error     // of the last batch; guarded by troubleMu
	troubleSince   time.Time // guarded by troubleMu
}

// space is the index of one space and what must be applied to the index that is being loaded.
type space struct {
	mu      sync.Mutex // serialises changes; taken before index.mu
	index   *index     // replaced only by Load, with mu and Engine.mu held
	loads   int        // running Loads; guarded by mu
	pending []*journal.Record
}

// New returns an engine without any memory.
func New(cfg Config) *Engine {
	e := &Engine{
		lambda: cfg.Lambda, now: cfg.Now, log: cfg.Logger, lex: newLexicon(), spaces: map[string]*space{}, queued: make(chan struct{}, 1),
		embedder: cfg.Embedder, unembedded: make(chan struct{}, 1),
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
	e.fading, e.slowFading = newFading(e.lambda), newFading(1.0/weightedDays)
	e.analyzers.make = func() *analyzer { return newAnalyzer(e.lex) }
	e.scratches.make = func() *scratch { return new(scratch) }
	e.stamp = stamp(newAnalyzer(e.lex))
	return e
}

// probe is a text whose terms show most changes of the analyzer, its word lists and its libraries.
const probe = "The Runners' ERR_CONN_RESET httpServer.go:42 v1.26.8 running café ＡＢＣ 我们喜欢資料庫 데이터 カメラ 🚀 don't C++ https://a.example/b?c=1 "

// stamp is equal for two analyzers that give the same terms.
func stamp(a *analyzer) uint32 {
	sum := crc32.NewIEEE()
	text := probe + stopWords + weakWords + weakBigrams + functionHan + traditional + irregular
	for _, t := range a.tokenize(normalize(text)) {
		sum.Write([]byte{analyzerVersion, byte(t.kind)})
		sum.Write([]byte(t.term))
	}
	return sum.Sum32()
}

// Hold keeps searches waiting until release is called, for a start at which the spaces are not loaded yet. It must be
// called before the first search.
func (e *Engine) Hold() (release func()) {
	gate := make(chan struct{})
	e.open.Store(&gate)
	return sync.OnceFunc(func() { close(gate) })
}

// wait returns once searches may go on and everything applied is indexed.
func (e *Engine) wait(ctx context.Context) error {
	if gate := e.open.Load(); gate != nil {
		select {
		case <-*gate:
		case <-ctx.Done():
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	e.catchUp()
	return nil
}

// space returns the named space, making it when it is new.
func (e *Engine) space(name string) *space {
	if s := e.lookup(name); s != nil {
		return s
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	name = spaceName(name)
	if e.spaces[name] == nil {
		e.spaces[name] = &space{index: newIndex(0)}
		if e.embedder != nil {
			e.spaces[name].index.meanings = newMeanings()
		}
	}
	return e.spaces[name]
}

// lookup returns the named space, nil when nothing is known of it.
func (e *Engine) lookup(name string) *space {
	e.mu.RLock()
	defer e.mu.RUnlock()
	return e.spaces[spaceName(name)]
}

// reader returns the index of a space as it is now, nil when there is none.
func (e *Engine) reader(name string) *index {
	e.mu.RLock()
	defer e.mu.RUnlock()
	if s := e.spaces[spaceName(name)]; s != nil {
		return s.index
	}
	return nil
}

func spaceName(name string) string {
	if name == "" {
		return memory.DefaultSpace
	}
	return name
}

// apply takes one change, or several accesses. Changes of one index come one at a time (space.mu), so what it reads before it locks stays true.
func (x *index) apply(a *analyzer, changes []journal.Change) {
	switch c := &changes[0]; {
	case c.Touch != nil:
		x.touch(changes)
	case c.Memory != nil && c.Memory.After != nil:
		x.put(a, c.Memory.After)
	case c.Memory != nil:
		x.remove(a, c.Memory.ID)
	}
}

func (x *index) get(id string) *memory.Memory {
	x.mu.RLock()
	defer x.mu.RUnlock()
	if doc, ok := x.ids[id]; ok {
		return x.docs[doc]
	}
	return nil
}

func (x *index) put(a *analyzer, m *memory.Memory) {
	old := x.get(m.ID)
	if old != nil && sameText(old, m) {
		x.swap(m, old.Revision != m.Revision)
		return
	}
	var before counts
	if old != nil {
		before = a.count(&a.before, old)
	}
	after := a.count(&a.after, m)
	x.mu.Lock()
	defer x.mu.Unlock()
	x.putLocked(m, before, after)
}

// swap replaces a memory whose text is unchanged.
func (x *index) swap(m *memory.Memory, revised bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	doc := x.ids[m.ID]
	x.set(doc, m, x.facts[doc].length)
	if revised {
		x.changes++
	}
}

func (x *index) remove(a *analyzer, id string) {
	old := x.get(id)
	if old == nil {
		return
	}
	before := a.count(&a.before, old)
	x.mu.Lock()
	defer x.mu.Unlock()
	x.removeLocked(id, before)
}

// touch takes up accesses, which change neither what a memory says nor what Save would write.
func (x *index) touch(changes []journal.Change) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.touchLocked(changes)
}

func (x *index) touchLocked(changes []journal.Change) {
	for i := range changes {
		t := changes[i].Touch
		if t == nil {
			continue
		}
		doc, ok := x.ids[t.ID]
		if !ok {
			continue
		}
		m := t.Of(x.docs[doc])
		f := &x.facts[doc]
		x.docs[doc], f.detail = m, detailOf(m)
		f.steady, f.used = usageOf(m, f.access)
		x.yields.put(doc, f)
		x.crests.put(doc, f)
	}
}
