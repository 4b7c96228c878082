package search

import (
	"cmp"
	"strings"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/search/analysis"
)

// Collection is an index of texts that are not memories of a space, such as the entries of its daily logs. They are
// analysed and ranked as memories are, but owned by the caller, never saved, and have no vectors. Searches may run
// beside a change; changes must come one at a time.
type Collection struct {
	engine *Engine
	index  *invertedIndex
}

// NewCollection returns an empty collection for searches of this engine.
func (e *Engine) NewCollection() *Collection {
	return &Collection{engine: e, index: newInvertedIndex(0)}
}

// Put adds texts, or replaces those of the same ids, about 30 µs for each of 300 characters. The collection keeps the
// items; the caller must not change them.
func (c *Collection) Put(items ...*memory.Memory) {
	a := c.engine.analyzers.get()
	defer c.engine.analyzers.put(a)
	for _, m := range items {
		c.index.put(a, m)
	}
}

// Remove removes texts; unknown ids are ignored.
func (c *Collection) Remove(ids ...string) {
	a := c.engine.analyzers.get()
	defer c.engine.analyzers.put(a)
	for _, id := range ids {
		c.index.remove(a, id)
	}
}

// Get returns a text by id, nil when there is none.
func (c *Collection) Get(id string) *memory.Memory { return c.index.get(id) }

// Len is the number of texts.
func (c *Collection) Len() int {
	c.index.mu.RLock()
	defer c.index.mu.RUnlock()
	return c.index.docIDs.Len()
}

// DateRanges lists the days, months and years that a query names, as a search with this AsOf reads them.
func (e *Engine) DateRanges(query string, asOf time.Time) []analysis.DateRange {
	a := e.analyzers.get()
	defer e.analyzers.put(a)
	return a.parseQuery(&Request{Query: query, AsOf: asOf}).dates
}

// SpaceCollection is a collection to search together with the spaces of a request.
type SpaceCollection struct {
	Space      string // reported as the space of its hits; a space may have several collections
	Collection *Collection
}

// source is where a candidate comes from: a space, or a collection of a request.
type source struct {
	space      string
	collection int // position in Request.Collections plus 1; 0 for the space itself
}

func (s source) isCollection() bool { return s.collection > 0 }

func (s source) compare(o source) int {
	return cmp.Or(strings.Compare(s.space, o.space), cmp.Compare(s.collection, o.collection))
}

// sources lists what the request searches: spaces, then collections.
func (r *Request) sources() []source {
	all := make([]source, 0, len(r.Spaces)+len(r.Collections))
	for _, name := range r.Spaces {
		all = append(all, source{space: spaceName(name)})
	}
	for i := range r.Collections {
		all = append(all, source{space: spaceName(r.Collections[i].Space), collection: i + 1})
	}
	return all
}

// sourceIndexes returns the function that finds the index of a source, nil when the space is unknown.
func sourceIndexes(req *Request, in *spacesInUse) func(source) *invertedIndex {
	return func(src source) *invertedIndex {
		if src.isCollection() {
			return req.Collections[src.collection-1].Collection.index
		}
		return in.index(src.space)
	}
}
