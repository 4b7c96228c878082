// Package logindex searches daily logs together with memories. It costs nothing until the first such search, which
// indexes the newest entries and the summaries of archived days in memory. The index is refreshed while it is in use
// and freed after a quarter of an hour without a search. Nothing is written to disk. Package search does the ranking.
package logindex

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/search"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

// The default limits: about 1.5 KB of memory for an entry of 300 characters.
const (
	maxEntries   = 20_000   // newest entries of one space: 100 days of 200
	maxBytes     = 16 << 20 // of their text
	maxSummaries = 5_000    // newest summaries of one space
	maxTexts     = 60_000   // texts of all spaces together, unless one search needs more
	idleTimeout  = 15 * time.Minute
)

// MaxSpaces is how many spaces one search with logs may name.
const MaxSpaces = 8

// Source is the source of a log text in filters; a memory has the path it was learnt by.
const Source = "log"

// entrySalience is the salience of a log entry, below the default of a memory.
const entrySalience = 0.3

// Config of an Index. All fields are required.
type Config struct {
	Search *search.Engine
	Now    func() time.Time // in the location in which days begin
}

// Index searches memories and daily logs together. It follows the journal as a store.Projection and is safe for
// concurrent use.
type Index struct {
	cfg    Config
	limits limits
	store  *store.Store

	mu     sync.Mutex
	caches map[string]*spaceCache // by space; guarded by mu
}

// limits bound the texts of one space, and of all.
type limits struct{ entries, bytes, summaries, texts int }

// New returns an Index; SetStore must be called before the first search.
func New(cfg Config) *Index {
	return &Index{cfg: cfg, limits: limits{maxEntries, maxBytes, maxSummaries, maxTexts},
		caches: map[string]*spaceCache{}}
}

// SetStore sets the store whose logs are searched.
func (x *Index) SetStore(st *store.Store) { x.store = st }

// LogText is a text of the daily logs: an entry, or the summary of an archived day.
type LogText struct {
	Date    string
	Entry   *memory.Entry // nil for a summary; shared
	Summary string
	Deleted bool // the entries of the summarised day are deleted
}

// Result of a search.
type Result struct {
	*search.Response
	// Logs has the log text of each hit; nil for a memory.
	Logs []*LogText
	// CompleteFrom is the oldest date whose entries were all searched, "" when every day was. Of older days only
	// summaries were.
	CompleteFrom string
}

// Search answers a request from the memories and the daily logs of its spaces. The first search after a pause indexes
// the logs, about 40 µs for each entry; when ctx ends before, the next search continues there. Errors: those of
// search.Engine.Search, *memory.InvalidError, or that of reading a log.
func (x *Index) Search(ctx context.Context, req search.Request) (*Result, error) {
	var check memory.Check
	if len(req.Spaces) > MaxSpaces {
		check.Add("spaces", "TOO_MANY", "with logs, at most %d spaces", MaxSpaces)
		return nil, check.Err()
	}
	now := x.cfg.Now()
	if req.AsOf.IsZero() {
		req.AsOf = now
	}
	if len(req.Spaces) == 0 {
		req.Spaces = []string{memory.DefaultSpace}
	}
	for range attempts - 1 {
		if out, complete, err := x.searchOnce(ctx, req, now); err != nil || complete {
			return out, err
		}
	}
	out, _, err := x.searchOnce(ctx, req, now)
	return out, err
}

// attempts bounds how often a search is repeated because text was erased meanwhile.
const attempts = 3

// searchOnce answers a request. The result is not complete when hits were erased meanwhile; they are left out.
func (x *Index) searchOnce(ctx context.Context, req search.Request, now time.Time) (out *Result, complete bool,
	err error) {
	searched, from := map[string][]*spaceLogs{}, ""
	for _, space := range req.Spaces {
		if space == "" {
			space = memory.DefaultSpace
		}
		if searched[space] != nil {
			continue
		}
		logs, err := x.logsFor(ctx, space, &req, now)
		if err != nil {
			return nil, false, err
		}
		searched[space] = logs
		from = max(from, logs[0].oldestDay())
		for _, l := range logs {
			req.Collections = append(req.Collections, search.SpaceCollection{Space: space, Collection: l.collection})
		}
	}
	resp, err := x.cfg.Search.Search(ctx, req)
	if err != nil {
		return nil, false, err
	}
	out, complete = resolveHits(resp, searched)
	out.CompleteFrom = from
	return out, complete, nil
}

// logsFor returns the indexed logs of a space that a request searches: the newest, and the days that its query names
// when they are older.
func (x *Index) logsFor(ctx context.Context, space string, req *search.Request, now time.Time) ([]*spaceLogs, error) {
	dates := filterSpan(req, now)
	logs, err := x.refreshedLogs(ctx, space, dates)
	if err != nil {
		return nil, err
	}
	named := querySpan(x.cfg.Search.DateRanges(req.Query, req.AsOf))
	old := named.intersect(dates)
	if named == (dateSpan{}) || logs.covers(old) {
		return []*spaceLogs{logs}, nil
	}
	days := newSpaceLogs(x.cfg, x.limits)
	if err := days.refresh(ctx, x.store.Space(space), old.before(logs.oldestDay()), false); err != nil {
		return nil, err
	}
	return []*spaceLogs{logs, days}, nil
}

// resolveHits finds the log text of each hit. A hit whose text was removed or erased since is left out.
func resolveHits(resp *search.Response, searched map[string][]*spaceLogs) (out *Result, complete bool) {
	out, complete = &Result{Response: resp}, true
	resp.Hits = slices.DeleteFunc(resp.Hits, func(h search.Hit) bool {
		if !h.FromCollection {
			out.Logs = append(out.Logs, nil)
			return false
		}
		text, ok := LogText{}, false
		for _, l := range searched[h.Space] {
			if !ok {
				text, ok = l.lookup(h.Memory.ID)
			}
		}
		if ok {
			out.Logs = append(out.Logs, &text)
		}
		complete = complete && ok
		return !ok
	})
	return out, complete
}

// Apply follows the journal; it implements store.Projection. New text is indexed at the next search. When text was
// erased, the logs of the space are dropped at once.
func (x *Index) Apply(rec *journal.Record) {
	changed, erased := false, rec.Purge != nil
	for i := range rec.Changes {
		c := &rec.Changes[i]
		changed = changed || c.Entry != nil || c.Day != nil || c.Archive != nil
		erased = erased || c.Day != nil && c.Day.After == nil || c.Entry != nil && c.Entry.Purged ||
			c.Archive != nil && c.Archive.Before == nil
	}
	if !changed && !erased {
		return
	}
	x.mu.Lock()
	c := x.caches[rec.Space]
	x.mu.Unlock()
	switch {
	case c == nil:
	case erased:
		c.purge()
	default:
		c.invalidate()
	}
}

// Run frees logs that were not searched for idleTimeout, until ctx ends, which is no error.
func (x *Index) Run(ctx context.Context) error {
	ticker := time.NewTicker(time.Minute)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			x.releaseIdle(x.cfg.Now())
		}
	}
}

// releaseIdle drops the indexes of spaces whose logs nobody has searched for a while. They are rebuilt from
// the logs when somebody does.
func (x *Index) releaseIdle(now time.Time) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for space, c := range x.caches {
		if now.Sub(c.lastUsed()) >= idleTimeout {
			c.release()
			delete(x.caches, space)
		}
	}
}

// cache returns the cache of a space and creates it when there is none.
func (x *Index) cache(space string) *spaceCache {
	x.mu.Lock()
	defer x.mu.Unlock()
	c := x.caches[space]
	if c == nil {
		c = newSpaceCache()
		x.caches[space] = c
	}
	return c
}

// refreshedLogs returns the logs of a space that can contain hits of these dates. Logs older than the cached ones are
// indexed for this search alone.
func (x *Index) refreshedLogs(ctx context.Context, space string, dates dateSpan) (*spaceLogs, error) {
	view := x.store.Space(space)
	c := x.cache(space)
	c.use(x.cfg.Now())
	logs, err := c.refresh(ctx, func() *spaceLogs { return newSpaceLogs(x.cfg, x.limits) }, view)
	if err != nil {
		return nil, err
	}
	x.evict(c)
	if logs.covers(dates) {
		return logs, nil
	}
	old := newSpaceLogs(x.cfg, x.limits)
	return old, old.refresh(ctx, view, dates, true)
}

// evict releases the least recently used caches while too many texts are indexed. It spares the one in use.
func (x *Index) evict(inUse *spaceCache) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for {
		total, oldest := inUse.size(), (*spaceCache)(nil)
		for _, c := range x.caches {
			if n := c.size(); c != inUse && n > 0 {
				total += n
				if oldest == nil || c.lastUsed().Before(oldest.lastUsed()) {
					oldest = c
				}
			}
		}
		if oldest == nil || total <= x.limits.texts {
			return
		}
		oldest.release()
	}
}
