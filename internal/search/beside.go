package search

import (
	"strconv"
	"strings"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
)

// Collection is an index of texts that are no memories of a space, such as the entries of its daily logs: analysed and ranked
// as memories are, but kept by whoever made it. It is never saved, and knows no meaning. Searches may run beside a change;
// changes come one at a time.
type Collection struct {
	engine *Engine
	index  *index
}

// NewCollection returns an empty collection for searches of this engine.
func (e *Engine) NewCollection() *Collection { return &Collection{engine: e, index: newIndex(0)} }

// Put adds texts, or replaces those of the same ids, some 30 µs for each of 300 characters. They are kept and must not be changed.
func (c *Collection) Put(items ...*memory.Memory) {
	a := c.engine.analyzers.get()
	defer c.engine.analyzers.put(a)
	c.engine.age(c.index)
	for _, m := range items {
		c.index.put(a, m)
	}
}

// Remove takes texts out; an unknown id is none.
func (c *Collection) Remove(ids ...string) {
	a := c.engine.analyzers.get()
	defer c.engine.analyzers.put(a)
	for _, id := range ids {
		c.index.remove(a, id)
	}
}

// Get returns a text, nil when there is none of that id.
func (c *Collection) Get(id string) *memory.Memory { return c.index.get(id) }

// Len is the number of texts.
func (c *Collection) Len() int {
	c.index.mu.RLock()
	defer c.index.mu.RUnlock()
	return len(c.index.ids)
}

// Period is a range of time, from inclusive, before exclusive.
type Period struct{ From, Before time.Time }

// Periods lists what a query names of days, months and years, as a search with this AsOf understands it.
func (e *Engine) Periods(query string, asOf time.Time) (all []Period) {
	a := e.analyzers.get()
	defer e.analyzers.put(a)
	for _, d := range a.parse(&Request{Query: query, AsOf: asOf}).dates {
		all = append(all, Period{d.from, d.to})
	}
	return all
}

// Beside is a collection to search together with the spaces of a request.
type Beside struct {
	Space string // what its hits say they are from; there may be several of one space
	Items *Collection
}

// besideMark begins the name of a collection among those of spaces, none of which holds a colon.
const besideMark = "beside:"

// besideName names the nth collection of a request.
func (r *Request) besideName(n int) string {
	return besideMark + strconv.Itoa(n) + ":" + spaceName(r.Beside[n].Space)
}

// spaceOf is the space that a place belongs to, and whether it is a collection beside it.
func spaceOf(place string) (space string, beside bool) {
	if rest, ok := strings.CutPrefix(place, besideMark); ok {
		_, space, _ = strings.Cut(rest, ":")
		return space, true
	}
	return place, false
}

// places names everything the request searches: spaces, then what is beside them.
func (r *Request) places() []string {
	if len(r.Beside) == 0 {
		return r.Spaces
	}
	names := append([]string(nil), r.Spaces...)
	for n := range r.Beside {
		names = append(names, r.besideName(n))
	}
	return names
}

// readerOf returns what finds the index of a place of the request.
func (e *Engine) readerOf(req *Request) func(place string) *index {
	if len(req.Beside) == 0 {
		return e.reader
	}
	beside := make(map[string]*index, len(req.Beside))
	for n, b := range req.Beside {
		beside[req.besideName(n)] = b.Items.index
	}
	return func(place string) *index {
		if x, ok := beside[place]; ok {
			return x
		}
		return e.reader(place)
	}
}
