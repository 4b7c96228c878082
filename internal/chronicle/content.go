package chronicle

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/memsidecar/memsidecar/internal/erase"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/search"
	"github.com/memsidecar/memsidecar/internal/store"
)

// content is what is kept of the logs of one space. One goroutine at a time brings it forward; others may search it meanwhile.
type content struct {
	items  *search.Collection
	limits limits
	zone   *time.Location

	mu    sync.RWMutex
	found map[string]Found // by id in items; nil once dropped; guarded by mu
	from  string           // of the oldest day with entries, "" when none is missing; guarded by mu
	until string           // of the newest day; guarded by mu

	// Owned by whoever brings the content forward.
	days      map[string]indexedDay
	summaries map[string]bool
}

// indexedDay is a day as it was indexed.
type indexedDay struct {
	revision int64
	bytes    int
	ids      map[string]bool
}

func newContent(cfg Config, l limits) *content {
	return &content{
		items: cfg.Search.NewCollection(), limits: l, zone: cfg.Now().Location(), found: map[string]Found{},
		days: map[string]indexedDay{}, summaries: map[string]bool{},
	}
}

// drop makes everything unfindable.
func (c *content) drop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.found = nil
}

func (c *content) find(id string) (Found, bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	f, ok := c.found[id]
	return f, ok
}

// searched is the oldest date whose entries are all there, "" when all are.
func (c *content) searched() string {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.from
}

// covers reports whether no entry of the dates is missing that a content made for them would have.
func (c *content) covers(want span) bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.from == "" || want.from >= c.from || want.to == "" || want.to >= c.until
}

// sync brings the content forward to what the logs of these dates say: the newest entries, as many as the limits allow, and the summaries of all days.
func (c *content) sync(ctx context.Context, view *store.Space, dates span, summaries bool) error {
	all := view.Days()
	entries, bytes, from, until := 0, 0, "", ""
	keep := map[string]bool{}
	for _, d := range slices.Backward(all) {
		if d.Date < dates.from || dates.to != "" && d.Date > dates.to {
			continue
		}
		until = max(until, d.Date)
		if len(keep) > 0 && (entries+d.Entries > c.limits.entries || bytes > c.limits.bytes) {
			break
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if known, ok := c.days[d.Date]; !ok || known.revision != d.Revision {
			if err := c.load(view, d.Date); err != nil {
				return err
			}
		}
		entries, bytes, from = entries+d.Entries, bytes+c.days[d.Date].bytes, d.Date
		keep[d.Date] = true
	}
	for date, d := range c.days {
		if !keep[date] {
			c.replace(d.ids, nil)
			delete(c.days, date)
		}
	}
	if summaries {
		c.summarise(view, all)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.from, c.until = from, until; len(all) == 0 || from == all[0].Date {
		c.from = ""
	}
	return nil
}

// load reads one day.
func (c *content) load(view *store.Space, date string) error {
	header, entries, err := view.Log(date)
	switch {
	case errors.Is(err, memory.ErrNotFound): // it went away meanwhile
		header = &memory.Day{}
	case err != nil:
		return fmt.Errorf("read the log of %s: %w", date, err)
	}
	if n := len(entries) - c.limits.entries; n > 0 {
		entries = entries[n:]
	}
	d := indexedDay{revision: header.Revision, ids: make(map[string]bool, len(entries))}
	origins := map[origin]*memory.Context{}
	texts := make([]text, 0, len(entries))
	for _, e := range entries {
		if t, ok := c.entry(date, e, origins); ok {
			texts = append(texts, t)
			d.ids[t.item.ID] = true
			d.bytes += len(t.item.Content)
		}
	}
	c.replace(c.days[date].ids, texts)
	c.days[date] = d
	return nil
}

// text is one text as it is indexed and as it is shown.
type text struct {
	item  *memory.Memory
	found Found
}

// entry makes a text of an entry, none when nothing is left to be found.
func (c *content) entry(date string, e *memory.Entry, origins map[origin]*memory.Context) (text, bool) {
	said := e.Content
	if e.Error != "" {
		said = strings.TrimSpace(said + "\n" + e.Error)
	}
	if erase.Blank(said) {
		return text{}, false
	}
	m := &memory.Memory{
		ID: date + "/" + e.ID, Content: said, Category: e.Category, Source: Source, Status: memory.Active, Salience: salience, CreatedAt: c.instant(date, e),
	}
	if at := (origin{e.Tool, e.Session}); at != (origin{}) {
		if m.Context = origins[at]; m.Context == nil {
			m.Context = at.context()
			origins[at] = m.Context
		}
	}
	return text{m, Found{Date: date, Entry: e}}, true
}

// origin is what many entries of a day have in common.
type origin struct{ tool, session string }

func (o origin) context() *memory.Context {
	c := &memory.Context{Tool: o.tool}
	if o.session != "" {
		c.LearnedFrom = "session_" + o.session
	}
	return c
}

// instant is when an entry was written; one that says only the time of day is taken to be of the daemon's zone.
func (c *content) instant(date string, e *memory.Entry) time.Time {
	if !e.At.IsZero() {
		return e.At
	}
	if t, err := time.ParseInLocation(time.DateTime, date+" "+e.Time, c.zone); err == nil {
		return t
	}
	return c.noon(date)
}

func (c *content) noon(date string) time.Time {
	t, _ := time.ParseInLocation(memory.DateLayout, date, c.zone) // a stored date is one
	return t.Add(12 * time.Hour)
}

// replace takes some texts out and puts others in. What is in both is changed in place.
func (c *content) replace(out map[string]bool, in []text) {
	stays := make(map[string]bool, len(in))
	items := make([]*memory.Memory, len(in))
	c.mu.Lock()
	for i, t := range in {
		stays[t.item.ID], items[i] = true, t.item
		if c.found != nil {
			c.found[t.item.ID] = t.found
		}
	}
	var gone []string
	for id := range out {
		if !stays[id] {
			gone = append(gone, id)
			delete(c.found, id)
		}
	}
	c.mu.Unlock()
	c.items.Remove(gone...)
	c.items.Put(items...)
}

// summarise indexes the summaries of archived days, also of those whose entries are deleted.
func (c *content) summarise(view *store.Space, days []*memory.Day) {
	var texts []text
	add := func(id, date, summary string, deleted bool) {
		if erase.Blank(summary) {
			return
		}
		texts = append(texts, text{
			&memory.Memory{ID: id, Content: summary, Source: Source, Status: memory.Active, Salience: salience, CreatedAt: c.noon(date)},
			Found{Date: date, Summary: summary, Deleted: deleted},
		})
	}
	for _, d := range days {
		add(d.Date, d.Date, d.Summary, false)
	}
	for _, r := range view.Archived() {
		if r.Deleted() {
			add(r.ID+"/deleted", r.Date, r.Summary, true)
		}
	}
	slices.SortFunc(texts, func(a, b text) int { return strings.Compare(b.item.ID, a.item.ID) }) // newest first
	texts = texts[:min(len(texts), c.limits.summaries)]
	now := make(map[string]bool, len(texts))
	fresh := texts[:0]
	for _, t := range texts {
		now[t.item.ID] = true
		if known, ok := c.find(t.item.ID); !ok || known != t.found {
			fresh = append(fresh, t)
		}
		delete(c.summaries, t.item.ID)
	}
	c.replace(c.summaries, fresh)
	c.summaries = now
}
