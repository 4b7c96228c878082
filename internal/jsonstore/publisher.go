package jsonstore

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/publish"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/durable"
	"github.com/memsidecar/memsidecar/internal/store/journal"
	"github.com/memsidecar/memsidecar/internal/store/textscrub"
	"github.com/memsidecar/memsidecar/internal/strictjson"
)

// manifest remembers what was published; it may be deleted.
const manifest = "index/published-memories.json"

// View is the state of one space, as *store.Space shows it.
type View interface {
	Contents() store.Contents
	Revision() int64
}

// Config of a Publisher.
type Config = publish.Config[View]

// FromStore returns st as the source of a Publisher.
func FromStore(st *store.Store) publish.Source[View] { return storeSource{st} }

// storeSource narrows the spaces of a store to a View.
type storeSource struct{ *store.Store }

func (s storeSource) Space(name string) View { return s.Store.Space(name) }

// Publisher keeps memory.json of every space up to date in the background. A key of its Status is a space. It is a
// store.Projection and safe for concurrent use.
//
// Only active memories are published, in the order of their creation. The previous file stays as memory.json.bak. A
// file that somebody else changed is not replaced; see publish.Config.OnEdit.
type Publisher struct {
	*publish.Publisher[View]

	fsys durable.FS
	now  func() time.Time

	mu       sync.Mutex
	extra    map[string]map[string]json.RawMessage // unknown top-level fields of the files, by space; guarded by mu
	scrubbed atomic.Pointer[textscrub.Texts]       // removed from extra; nil for nothing
	held     heldAccesses
}

// NewPublisher does no I/O.
func NewPublisher(cfg Config) *Publisher {
	p := &Publisher{fsys: cfg.FS, now: cfg.Now, extra: map[string]map[string]json.RawMessage{}}
	p.Publisher = publish.NewPublisher(cfg, publish.Format[View]{
		Name: "memories", Manifest: manifest, KeyOf: spaceOf, Files: fileOfSpace, Publish: p.publish,
	})
	return p
}

// spaceOf is the inverse of Path.
func spaceOf(name string) (space string, ok bool) {
	space = publish.SpaceOf(name)
	return space, Path(space) == name
}

// fileOfSpace yields the one file of a space, unless nothing was ever written to the space.
func fileOfSpace(space string, view View) iter.Seq2[string, int64] {
	return func(yield func(string, int64) bool) {
		if revision := view.Revision(); revision > 0 {
			yield(Path(space), revision)
		}
	}
}

// Apply records which file rec makes out of date. Accesses may wait for an hour. It does no I/O.
func (p *Publisher) Apply(rec *journal.Record) {
	changed, accessed := false, false
	for i := range rec.Changes {
		switch c := &rec.Changes[i]; {
		case c.Memory != nil:
			p.held.release(rec.Space, c.Memory.ID)
			changed = true
		case c.Access != nil:
			p.held.hold(rec.Space, c.Access)
			accessed = true
		case c.Summary != nil || c.Forgotten != nil:
			changed = true
		}
	}
	if changed {
		p.Invalidate(rec.Space)
	}
	if accessed {
		p.InvalidateDeferred(rec.Space)
	}
}

// RepublishEdited is Republish for a file that somebody else may have written: its unknown fields are read again.
func (p *Publisher) RepublishEdited(name string) {
	space, ok := spaceOf(name)
	if !ok {
		return
	}
	p.mu.Lock()
	delete(p.extra, space)
	p.mu.Unlock()
	p.Invalidate(space)
}

// RepublishPartial is RepublishEdited for a file of a program that drops the top-level fields that it does not
// know: the fields from before the edit are kept, beside those in fields.
func (p *Publisher) RepublishPartial(name string, fields map[string]json.RawMessage) {
	space, ok := spaceOf(name)
	if !ok {
		return
	}
	p.mu.Lock()
	previous, cached := p.extra[space]
	p.mu.Unlock()
	if !cached {
		if data, err := durable.ReadFile(p.fsys, name+".bak"); err == nil {
			previous, _ = decodeExtra(data) // an unreadable backup has nothing to keep
		}
	}
	merged := maps.Clone(previous)
	if merged == nil {
		merged = map[string]json.RawMessage{}
	}
	maps.Copy(merged, fields)
	p.mu.Lock()
	p.extra[space] = merged
	p.mu.Unlock()
	p.Invalidate(space)
}

// HasState reports whether the store holds what is published as name. A file without it was never adopted.
func (p *Publisher) HasState(name string) bool {
	space, ok := spaceOf(name)
	return ok && p.Source().Space(space).Revision() > 0
}

// Erase removes texts from the unknown fields of the files, which no record holds, whenever a file is published
// from now on. Empty texts end that.
func (p *Publisher) Erase(texts textscrub.Texts) { p.scrubbed.Store(&texts) }

// publish writes the file of a space. Without deferred, a file that is not written whole anyway keeps the accesses that
// it shows.
func (p *Publisher) publish(space string, deferred bool) (publish.Written, error) {
	if !memory.IsSlug(space) {
		return publish.Written{}, fmt.Errorf("%q cannot be a directory's name", space)
	}
	former, _, err := p.Files().Published(Path(space))
	if err != nil {
		return publish.Written{}, err
	}
	f := FileOf(p.Source().Space(space), p.now(), nil)
	extra, shown, err := p.unknownFields(space, former.Hash, f.Memories)
	if err != nil {
		return publish.Written{}, err
	}
	f.Extra = extra
	if deferred || former.Size < rewriteFrom {
		p.held.releaseAll(space)
	} else {
		p.held.holdShown(space, shown)
	}
	if p.held.apply(space, f.Memories) {
		p.InvalidateDeferred(space) // also when they are from before a crash, which nobody reported
	}
	return p.Replace(Path(space), f.Revision, true, func(w io.Writer) error { return Encode(w, f) })
}

// FileOf is what is published of a space at the time at, to the second: a fraction would change the length of the
// file's first lines, and move all others. extra are the fields that only the file holds.
func FileOf(view View, at time.Time, extra map[string]json.RawMessage) *File {
	c := view.Contents()
	return &File{
		Revision:       c.Revision,
		LastUpdated:    at.Truncate(time.Second),
		RollingSummary: c.Summary,
		Memories:       activeMemories(c.Memories),
		Forgotten:      sortForgotten(c.Forgotten),
		Extra:          extra,
	}
}

// activeMemories drops the memories that are not published. The store has them in the order of creation.
func activeMemories(all []*memory.Memory) []*memory.Memory {
	return slices.DeleteFunc(all, func(m *memory.Memory) bool { return !m.IsActive() })
}

// sortForgotten orders forgotten values by time, so that a file grows at its end.
func sortForgotten(hashes map[string]time.Time) []Forgotten {
	list := make([]Forgotten, 0, len(hashes))
	for _, hash := range slices.Sorted(maps.Keys(hashes)) {
		list = append(list, Forgotten{Hash: hash, At: hashes[hash]})
	}
	slices.SortStableFunc(
		list,
		func(a, b Forgotten) int { return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Hash, b.Hash)) },
	)
	return list
}

// unknownFields returns the top-level fields of a space's file that this version does not know. Only the file itself
// holds them, so they are read from it once a run. If it is what was published with this hash, then shown is what it
// shows, by id, of those of the present memories that have more accesses now.
func (p *Publisher) unknownFields(
	space, published string, present []*memory.Memory,
) (extra map[string]json.RawMessage, shown map[string]accesses, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	extra, ok := p.extra[space]
	if !ok {
		if extra, shown, ok = readPublished(p.fsys, space, published, p.Files().AtLeisure, present); !ok {
			shown = nil
			if extra, err = UnknownFields(p.fsys, space); err != nil {
				return nil, nil, err
			}
		}
	}
	if texts := p.scrubbed.Load(); texts != nil {
		extra, _ = texts.Fields(extra)
	}
	p.extra[space] = extra
	return extra, shown, nil
}

// readPublished reads the file of a space, if it is what was published with this hash, for unknownFields.
func readPublished(
	fsys durable.FS, space, published string, leisurely func(io.Writer) io.Writer, present []*memory.Memory,
) (extra map[string]json.RawMessage, shown map[string]accesses, ok bool) {
	counts := map[string]int64{}
	for _, m := range present {
		if m.AccessCount() > 0 {
			counts[m.ID] = m.AccessCount()
		}
	}
	shown = map[string]accesses{}
	r := &fileReader{Decoder: new(strictjson.Decoder), loc: time.UTC} // one for all of what may be a million memories
	extra, ok = scanPublished(fsys, Path(space), published, leisurely, func(value []byte) error {
		id, a, err := r.accesses(value)
		if err == nil && a.count < counts[string(id)] {
			shown[string(id)] = a
		}
		return err
	})
	return extra, shown, ok
}

// UnknownFields reads the top-level fields of a space's file that this version does not know, from the backup when the
// file cannot be read.
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
