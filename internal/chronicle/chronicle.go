// Package chronicle finds what stands in the daily logs, for searches that ask for it. It costs nothing until the first of them: then the
// newest entries and the summaries of archived days are indexed in memory, followed while they are in use, and given back when nobody
// asks any more. Nothing of it is written to disk. The ranking is that of package search.
package chronicle

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/memsidecar/memsidecar/internal/journal"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/search"
	"github.com/memsidecar/memsidecar/internal/store"
)

// The bounds of what is kept in memory: some 1.5 KB for an entry of 300 characters.
const (
	maxEntries   = 20_000   // of one space, the newest: 100 days of 200
	maxBytes     = 16 << 20 // of their text
	maxSummaries = 5_000    // of one space, the newest
	maxKept      = 60_000   // texts of all spaces together, while no search needs more
	idleAfter    = 15 * time.Minute
)

// MaxSpaces is the most spaces whose logs one search looks through.
const MaxSpaces = 8

// Source is what the filter of a search knows a log by, where a memory has the path it came by.
const Source = "log"

// salience stands for the importance that nobody gave a log entry: less than that of a memory that names none.
const salience = 0.3

// Config of a Finder. All fields are required.
type Config struct {
	Search *search.Engine
	Now    func() time.Time // in the location by which days begin
}

// Finder searches memories and daily logs together. It follows the journal as a store.Projection and is safe for concurrent use.
type Finder struct {
	cfg    Config
	limits limits
	store  *store.Store

	mu      sync.Mutex
	shelves map[string]*shelf // by space; guarded by mu
}

// limits are the bounds of one space's content, and of all.
type limits struct{ entries, bytes, summaries, kept int }

// New returns a Finder; Attach must be called before the first search.
func New(cfg Config) *Finder {
	return &Finder{cfg: cfg, limits: limits{maxEntries, maxBytes, maxSummaries, maxKept}, shelves: map[string]*shelf{}}
}

// Attach says where the logs are.
func (f *Finder) Attach(st *store.Store) { f.store = st }

// Found is a text of the daily logs: an entry, or the summary of an archived day.
type Found struct {
	Date    string
	Entry   *memory.Entry // nil for a summary; shared
	Summary string
	Deleted bool // the summary is what is left of the day
}

// Result of a search.
type Result struct {
	*search.Response
	// Logs has, for each hit that is from a log, what it is; nil for a memory.
	Logs []*Found
	// From is the oldest date whose entries were all looked at, "" when that is so of every day. Of older days only summaries were.
	From string
}

// Search answers a request from the memories and the daily logs of its spaces. The first one after a while indexes the logs, some 40 µs for each
// entry; when ctx ends before that is done, the next one goes on from there. Errors: those of search.Engine.Search, *memory.InvalidError,
// or that of reading a log.
func (f *Finder) Search(ctx context.Context, req search.Request) (*Result, error) {
	var check memory.Check
	if len(req.Spaces) > MaxSpaces {
		check.Add("spaces", "TOO_MANY", "with logs, at most %d spaces", MaxSpaces)
		return nil, check.Err()
	}
	now := f.cfg.Now()
	if req.AsOf.IsZero() {
		req.AsOf = now
	}
	spaces := req.Spaces
	if len(spaces) == 0 {
		spaces = []string{memory.DefaultSpace}
	}
	named := namedBy(f.cfg.Search.Periods(req.Query, req.AsOf))
	for range attempts - 1 {
		if out, sure, err := f.search(ctx, req, spaces, named, now); err != nil || sure {
			return out, err
		}
	}
	out, _, err := f.search(ctx, req, spaces, named, now)
	return out, err
}

// attempts bounds how often a search is repeated because something was erased meanwhile.
const attempts = 3

// search answers once. It is not sure when logs were erased meanwhile: then it left out what it had found in them.
func (f *Finder) search(ctx context.Context, req search.Request, spaces []string, named span, now time.Time) (out *Result, sure bool, err error) {
	contents, from := map[string][]*content{}, ""
	for _, space := range spaces {
		if space == "" {
			space = memory.DefaultSpace
		}
		if contents[space] != nil {
			continue
		}
		want := spanOf(&req, now)
		c, err := f.content(ctx, space, want)
		if err != nil {
			return nil, false, err
		}
		contents[space] = append(contents[space], c)
		from = max(from, c.searched())
		if old := named.and(want); named != (span{}) && !c.covers(old) {
			days := newContent(f.cfg, f.limits)
			if err := days.sync(ctx, f.store.Space(space), old.until(c.searched()), false); err != nil {
				return nil, false, err
			}
			contents[space] = append(contents[space], days)
		}
		for _, c := range contents[space] {
			req.Beside = append(req.Beside, search.Beside{Space: space, Items: c.items})
		}
	}
	resp, err := f.cfg.Search.Search(ctx, req)
	if err != nil {
		return nil, false, err
	}
	out, sure = resolve(resp, contents)
	out.From = from
	return out, sure, nil
}

// resolve says what each hit of a log is. One that was removed or erased since it was found is left out.
func resolve(resp *search.Response, contents map[string][]*content) (out *Result, sure bool) {
	out, sure = &Result{Response: resp}, true
	resp.Hits = slices.DeleteFunc(resp.Hits, func(h search.Hit) bool {
		if !h.Beside {
			out.Logs = append(out.Logs, nil)
			return false
		}
		found, ok := Found{}, false
		for _, c := range contents[h.Space] {
			if !ok {
				found, ok = c.find(h.Memory.ID)
			}
		}
		if ok {
			out.Logs = append(out.Logs, &found)
		}
		sure = sure && ok
		return !ok
	})
	return out, sure
}

// Apply notes what was changed; it implements store.Projection. What is no more than a new text is read at the next search; where something was
// taken out for good, all is forgotten at once.
func (f *Finder) Apply(rec *journal.Record) {
	changed, gone := false, rec.Purge != nil
	for i := range rec.Changes {
		c := &rec.Changes[i]
		changed = changed || c.Entry != nil || c.Day != nil || c.Archive != nil
		gone = gone || c.Day != nil && c.Day.After == nil || c.Entry != nil && c.Entry.Purged || c.Archive != nil && c.Archive.Before == nil
	}
	if !changed && !gone {
		return
	}
	f.mu.Lock()
	s := f.shelves[rec.Space]
	f.mu.Unlock()
	if s != nil {
		s.change(gone)
	}
}

// Run gives back what nobody asked for in a quarter of an hour, until ctx ends, which is no error.
func (f *Finder) Run(ctx context.Context) error {
	ticker := time.NewTicker(time.Minute)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			f.release(f.cfg.Now())
		}
	}
}

func (f *Finder) release(now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for space, s := range f.shelves {
		if now.Sub(s.lastUse()) >= idleAfter {
			s.release()
			delete(f.shelves, space)
		}
	}
}

// shelf returns that of a space, a new one when it has none.
func (f *Finder) shelf(space string) *shelf {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.shelves[space]
	if s == nil {
		s = &shelf{turn: make(chan struct{}, 1)}
		f.shelves[space] = s
	}
	return s
}

// content returns the logs of a space as far as they can be among the results.
func (f *Finder) content(ctx context.Context, space string, want span) (*content, error) {
	view := f.store.Space(space)
	s := f.shelf(space)
	s.use(f.cfg.Now())
	c, err := s.current(ctx, func() *content { return newContent(f.cfg, f.limits) }, view)
	if err != nil {
		return nil, err
	}
	f.bound(s)
	if c.covers(want) {
		return c, nil
	}
	// What is asked for is older than what is kept. It is read for this search alone.
	old := newContent(f.cfg, f.limits)
	return old, old.sync(ctx, view, want, true)
}

// bound drops what was not used for longest when too much is kept. It spares the shelf in use.
func (f *Finder) bound(using *shelf) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for {
		total, others := using.size(), (*shelf)(nil)
		for _, s := range f.shelves {
			if n := s.size(); s != using && n > 0 {
				total += n
				if others == nil || s.lastUse().Before(others.lastUse()) {
					others = s
				}
			}
		}
		if others == nil || total <= f.limits.kept {
			return
		}
		others.release()
	}
}
