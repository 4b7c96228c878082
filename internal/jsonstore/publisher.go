package jsonstore

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/memsidecar/memsidecar/internal/durable"
	"github.com/memsidecar/memsidecar/internal/erase"
	"github.com/memsidecar/memsidecar/internal/journal"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/publish"
	"github.com/memsidecar/memsidecar/internal/store"
)

// ledger remembers what was published; it may be deleted.
const ledger = "index/published-memories.json"

// Source is the state that is published. FromStore makes one of a store.
type Source interface {
	Spaces() []string
	Space(name string) View
}

// View is the state of one space, as *store.Space shows it.
type View interface {
	Contents() store.Contents
	Revision() int64
}

// FromStore returns st as a Source.
func FromStore(st *store.Store) Source { return storeSource{st} }

type storeSource struct{ *store.Store }

func (s storeSource) Space(name string) View { return s.Store.Space(name) }

// Config of a Publisher. FS, Now and Logger are required, and Source unless Attach gives it.
type Config struct {
	Source Source
	FS     durable.FS
	Now    func() time.Time
	Logger *slog.Logger

	Quiet    time.Duration // how long a space must go unchanged before it is published; 500 ms when 0
	MaxDelay time.Duration // but no longer than this after its first change; 30 s when 0
	Share    float64       // of the time that publishing one space may take; 0.03 when 0. It goes before MaxDelay.

	// Displaced is told of what somebody else wrote into a file and that turned up elsewhere; see publish.Files. It may be nil.
	Displaced func(publish.Edit)
	// Foreign is told the name of a file that is not published because somebody else changed it; it is published again when
	// it is marked (Mark). When nil, such a file is kept aside in quarantine/ and published over.
	Foreign func(name string)
}

// lazy is how long accesses wait to be published when nothing else changes.
const lazy = 5 * time.Minute

// Publisher keeps memory.json of every space up to date, in the background. It is a store.Projection. It is safe for concurrent use.
//
// Only active memories are published, in the order of their creation. The former file lives on as memory.json.bak. A file
// that somebody else changed is not published over; see Config.Foreign.
type Publisher struct {
	source    Source
	now       func() time.Time
	files     *publish.Files
	foreign   func(name string)
	publisher *publish.Publisher

	mu      sync.Mutex
	extra   map[string]map[string]json.RawMessage // unknown fields of the files, by space; guarded by mu
	erasing atomic.Pointer[erase.Texts]           // taken out of extra; nil for nothing
}

// NewPublisher does no I/O.
func NewPublisher(cfg Config) *Publisher {
	p := &Publisher{
		source:  cfg.Source,
		now:     cfg.Now,
		files:   publish.NewFiles(cfg.FS, ledger, cfg.Now, cfg.Logger),
		foreign: cfg.Foreign,
		extra:   map[string]map[string]json.RawMessage{},
	}
	p.files.Displaced = cfg.Displaced
	p.publisher = publish.New(publish.Config{
		Publish: func(space string) (publish.Written, error) { return p.publish(cfg.FS, space) },
		Behind:  p.behind, Now: cfg.Now, Logger: cfg.Logger.With("publisher", "memories"),
		Quiet: cfg.Quiet, MaxDelay: cfg.MaxDelay, Share: cfg.Share, Lazy: lazy,
	})
	return p
}

// Attach sets the source, for a publisher that had to be made before the store that it follows. It must come before Run and PublishAll.
func (p *Publisher) Attach(source Source) { p.source = source }

// Apply notes what rec changed. It does no I/O.
func (p *Publisher) Apply(rec *journal.Record) {
	touched := false
	for i := range rec.Changes {
		c := &rec.Changes[i]
		if c.Memory != nil || c.Summary != nil || c.Forgotten != nil {
			p.publisher.Mark(rec.Space)
			return
		}
		touched = touched || c.Touch != nil
	}
	if touched {
		p.publisher.MarkLazy(rec.Space)
	}
}

// Run publishes what changed until ctx ends, which is no error. It begins with the spaces whose file is older than the store.
// Failures are logged, once for each kind, and tried again later.
func (p *Publisher) Run(ctx context.Context) error { return p.publisher.Run(ctx) }

// PublishAll publishes everything that is out of date now. Durable on return. Run may be at work at the same time, or not.
func (p *Publisher) PublishAll(ctx context.Context) error { return p.publisher.PublishAll(ctx) }

// Files are those that the publisher writes.
func (p *Publisher) Files() *publish.Files { return p.files }

// Mark says that the file name, of any space, is to be written again, and that what stands in it may have been written by somebody
// else: the fields that memsidecar does not know are taken from there anew. It does no I/O. Other names are ignored.
func (p *Publisher) Mark(name string) {
	space := memory.DefaultSpace
	if rest, below := strings.CutPrefix(name, "spaces/"); below {
		space, _, _ = strings.Cut(rest, "/")
	}
	if Path(space) != name {
		return
	}
	p.mu.Lock()
	delete(p.extra, space)
	p.mu.Unlock()
	p.publisher.Mark(space)
}

// Status says how the publication of each space stands that was published or changed since the start, sorted by
// space, which is the Key.
func (p *Publisher) Status() []publish.Status { return p.publisher.Status() }

// Erase takes texts out of the unknown fields of the files, which no record holds, whenever they are published from now on.
func (p *Publisher) Erase(texts erase.Texts) { p.erasing.Store(&texts) }

func (p *Publisher) behind() ([]string, error) {
	var keys []string
	var errs []error
	for _, space := range p.source.Spaces() {
		current := p.source.Space(space).Revision()
		if current == 0 {
			continue // there never was anything to publish
		}
		published, err := p.files.Revision(Path(space))
		errs = append(errs, err)
		if published != current {
			keys = append(keys, space)
		}
	}
	return keys, errors.Join(errs...)
}

func (p *Publisher) publish(fsys durable.FS, space string) (publish.Written, error) {
	if !memory.IsSlug(space) {
		return publish.Written{}, fmt.Errorf("%q cannot be a directory's name", space)
	}
	extra, err := p.unknownFields(fsys, space)
	if err != nil {
		return publish.Written{}, err
	}
	f := FileOf(p.source.Space(space), p.now(), extra)
	var size int64
	err = p.files.Yield(Path(space), p.foreign, func() error {
		size, err = p.files.Replace(Path(space), f.Revision, true, func(w io.Writer) error { return Encode(w, f) })
		return err
	})
	return publish.Written{Revision: f.Revision, Bytes: size}, err
}

// FileOf is what is published of a space at the time at. extra are the fields that nobody but the file knows.
func FileOf(view View, at time.Time, extra map[string]json.RawMessage) *File {
	c := view.Contents()
	return &File{
		Revision:       c.Revision,
		LastUpdated:    at,
		RollingSummary: c.Summary,
		Memories:       published(c.Memories),
		Forgotten:      sortForgotten(c.Forgotten),
		Extra:          extra,
	}
}

// published leaves the active memories, in the order the store has them: that of creation.
func published(all []*memory.Memory) []*memory.Memory {
	return slices.DeleteFunc(all, func(m *memory.Memory) bool { return !m.IsActive() })
}

func sortForgotten(hashes map[string]time.Time) []Forgotten {
	list := make([]Forgotten, 0, len(hashes))
	for _, hash := range slices.Sorted(maps.Keys(hashes)) {
		list = append(list, Forgotten{Hash: hash, At: hashes[hash]})
	}
	slices.SortStableFunc(list, func(a, b Forgotten) int { return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Hash, b.Hash)) })
	return list
}

// unknownFields returns the fields of the file as a whole that this version does not know. The file itself is where they are kept
// between runs.
func (p *Publisher) unknownFields(fsys durable.FS, space string) (map[string]json.RawMessage, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	extra, ok := p.extra[space]
	if !ok {
		var err error
		if extra, err = UnknownFields(fsys, space); err != nil {
			return nil, err
		}
	}
	if texts := p.erasing.Load(); texts != nil {
		extra, _ = texts.Fields(extra)
	}
	p.extra[space] = extra
	return extra, nil
}

// UnknownFields reads the fields of a space's file as a whole that this version does not know: from the file, or the backup when it cannot be read.
func UnknownFields(fsys durable.FS, space string) (map[string]json.RawMessage, error) {
	for _, name := range []string{Path(space), Path(space) + ".bak"} {
		data, err := durable.ReadFile(fsys, name)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		if extra, err := decodeExtra(data); err == nil {
			return extra, nil
		}
	}
	return nil, nil
}
