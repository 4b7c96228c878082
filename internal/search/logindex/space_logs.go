package logindex

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/search"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/textscrub"
)

// spaceLogs are the indexed log entries and summaries of one space. One goroutine at a time refreshes them; others may
// search meanwhile.
type spaceLogs struct {
	collection *search.Collection
	limits     limits
	zone       *time.Location

	mu     sync.RWMutex
	texts  map[string]LogText // by id in collection; nil once dropped; guarded by mu
	oldest string             // oldest day whose entries are indexed, "" when no older one exists; guarded by mu
	newest string             // newest day; guarded by mu

	// Of the refreshing goroutine:
	days      map[string]indexedDay
	summaries map[string]bool // ids of the indexed summaries
}

// indexedDay is a day in the state in which it was indexed.
type indexedDay struct {
	revision int64
	bytes    int
	ids      map[string]bool
}

// newSpaceLogs makes an empty index of one space's logs, whose dates are those of the daemon's zone.
func newSpaceLogs(cfg Config, l limits) *spaceLogs {
	return &spaceLogs{
		collection: cfg.Search.NewCollection(), limits: l, zone: cfg.Now().Location(), texts: map[string]LogText{},
		days: map[string]indexedDay{}, summaries: map[string]bool{},
	}
}

// drop makes lookup find nothing any more, also for running searches.
func (l *spaceLogs) drop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.texts = nil
}

// lookup finds the text of a hit; it is gone when the log was deleted between the search and this call.
func (l *spaceLogs) lookup(id string) (LogText, bool) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	t, ok := l.texts[id]
	return t, ok
}

// oldestDay is the oldest date whose entries are indexed, "" when no older one exists.
func (l *spaceLogs) oldestDay() string {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.oldest
}

// covers reports whether no entry of the dates is missing that logs indexed for them would have.
func (l *spaceLogs) covers(dates dateSpan) bool {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.oldest == "" || dates.from >= l.oldest || dates.to == "" || dates.to >= l.newest
}

// refresh indexes what changed in these dates: the newest entries, as many as the limits allow, and with summaries the
// summaries of all days.
func (l *spaceLogs) refresh(ctx context.Context, view *store.Space, dates dateSpan, summaries bool) error {
	all := view.Days()
	entries, bytes, oldest, newest := 0, 0, "", ""
	indexed := map[string]bool{}
	for _, d := range slices.Backward(all) {
		if d.Date < dates.from || dates.to != "" && d.Date > dates.to {
			continue
		}
		newest = max(newest, d.Date)
		if len(indexed) > 0 && (entries+d.Entries > l.limits.entries || bytes > l.limits.bytes) {
			break
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if known, ok := l.days[d.Date]; !ok || known.revision != d.Revision {
			if err := l.indexDay(view, d.Date); err != nil {
				return err
			}
		}
		entries, bytes, oldest = entries+d.Entries, bytes+l.days[d.Date].bytes, d.Date
		indexed[d.Date] = true
	}
	for date, d := range l.days {
		if !indexed[date] {
			l.replaceTexts(d.ids, nil)
			delete(l.days, date)
		}
	}
	if summaries {
		l.indexSummaries(view, all)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.oldest, l.newest = oldest, newest; len(all) == 0 || oldest == all[0].Date {
		l.oldest = ""
	}
	return nil
}

// indexDay reads and indexes the entries of one day.
func (l *spaceLogs) indexDay(view *store.Space, date string) error {
	header, entries, err := view.Log(date)
	switch {
	case errors.Is(err, memory.ErrNotFound): // removed since the days were listed
		header = &memory.Day{}
	case err != nil:
		return fmt.Errorf("read the log of %s: %w", date, err)
	}
	if n := len(entries) - l.limits.entries; n > 0 {
		entries = entries[n:]
	}
	d := indexedDay{revision: header.Revision, ids: make(map[string]bool, len(entries))}
	origins := map[entryOrigin]*memory.More{}
	texts := make([]indexedText, 0, len(entries))
	for _, e := range entries {
		if t, ok := l.textOf(date, e, origins); ok {
			texts = append(texts, t)
			d.ids[t.item.ID] = true
			d.bytes += len(t.item.Content)
		}
	}
	l.replaceTexts(l.days[date].ids, texts)
	l.days[date] = d
	return nil
}

// indexedText is a text as it is indexed and as a hit shows it.
type indexedText struct {
	item *memory.Memory
	text LogText
}

// textOf converts an entry, false for one without text. Entries of the same origin share its More.
func (l *spaceLogs) textOf(date string, e *memory.Entry, origins map[entryOrigin]*memory.More) (indexedText, bool) {
	content := e.Content
	if e.Error != "" {
		content = strings.TrimSpace(content + "\n" + e.Error)
	}
	if textscrub.OnlyPlaceholders(content) {
		return indexedText{}, false
	}
	m := &memory.Memory{
		ID: date + "/" + e.ID, Content: content, Category: e.Category, Source: Source, Status: memory.Active,
		Salience: entrySalience, CreatedAt: l.timeOf(date, e),
	}
	if origin := (entryOrigin{e.Tool, e.Session}); origin != (entryOrigin{}) {
		if m.More = origins[origin]; m.More == nil {
			m.SetContext(origin.context())
			origins[origin] = m.More
		}
	}
	return indexedText{m, LogText{Date: date, Entry: e}}, true
}

// entryOrigin is what many entries of a day have in common.
type entryOrigin struct{ tool, session string }

// context tells in a hit which tool and session a log entry came from, in the shape that memories have.
func (o entryOrigin) context() *memory.Context {
	c := &memory.Context{Tool: o.tool}
	if o.session != "" {
		c.LearnedFrom = "session_" + o.session
	}
	return c
}

// timeOf is when an entry was written. A time of day without a date is in the zone of the daemon.
func (l *spaceLogs) timeOf(date string, e *memory.Entry) time.Time {
	if !e.At.IsZero() {
		return e.At
	}
	if t, err := time.ParseInLocation(time.DateTime, date+" "+e.Time, l.zone); err == nil {
		return t
	}
	return l.noon(date)
}

// noon is the time of a day's summary for ranking: the middle of the day is never more than half a day wrong.
func (l *spaceLogs) noon(date string) time.Time {
	t, _ := time.ParseInLocation(memory.DateLayout, date, l.zone) // stored dates are valid
	return t.Add(12 * time.Hour)
}

// replaceTexts removes the texts of some ids and adds others. A text in both is replaced in place.
func (l *spaceLogs) replaceTexts(remove map[string]bool, add []indexedText) {
	added := make(map[string]bool, len(add))
	items := make([]*memory.Memory, len(add))
	l.mu.Lock()
	for i, t := range add {
		added[t.item.ID], items[i] = true, t.item
		if l.texts != nil {
			l.texts[t.item.ID] = t.text
		}
	}
	var removed []string
	for id := range remove {
		if !added[id] {
			removed = append(removed, id)
			delete(l.texts, id)
		}
	}
	l.mu.Unlock()
	l.collection.Remove(removed...)
	l.collection.Put(items...)
}

// indexSummaries indexes the newest summaries of archived days, also of days whose entries are deleted.
func (l *spaceLogs) indexSummaries(view *store.Space, days []*memory.Day) {
	var texts []indexedText
	add := func(id, date, summary string, deleted bool) {
		if textscrub.OnlyPlaceholders(summary) {
			return
		}
		texts = append(texts, indexedText{
			&memory.Memory{
				ID: id, Content: summary, Source: Source, Status: memory.Active, Salience: entrySalience,
				CreatedAt: l.noon(date),
			},
			LogText{Date: date, Summary: summary, Deleted: deleted},
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
	slices.SortFunc(texts, func(a, b indexedText) int { return strings.Compare(b.item.ID, a.item.ID) }) // newest first
	texts = texts[:min(len(texts), l.limits.summaries)]
	now := make(map[string]bool, len(texts))
	changed := texts[:0]
	for _, t := range texts {
		now[t.item.ID] = true
		if known, ok := l.lookup(t.item.ID); !ok || known != t.text {
			changed = append(changed, t)
		}
		delete(l.summaries, t.item.ID)
	}
	l.replaceTexts(l.summaries, changed)
	l.summaries = now
}
