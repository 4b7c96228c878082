package memorysvc

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
)

// defaultPage is the number of memories of a page that names none.
const defaultPage = 100

// maxPageBytes bounds the text on one page, so that it fits the 4 MiB that gRPC clients accept by default.
const maxPageBytes = 3 << 20

// Order is what a list is sorted by.
type Order string

// The orders of a list.
const (
	ByCreated  Order = "created"
	ByUpdated  Order = "updated"
	BySalience Order = "salience"
	ByAccess   Order = "access"
)

// key is a number that sorts as the order does. No value of a stored memory has a negative float, so bits sort as
// numbers do.
func (o Order) key(m *memory.Memory) int64 {
	switch o {
	case ByUpdated:
		return m.UpdatedAt.UnixMicro()
	case BySalience:
		return int64(math.Float64bits(m.Salience))
	case ByAccess:
		return m.AccessCount()
	default:
		return m.CreatedAt.UnixMicro()
	}
}

// Query asks for one page.
type Query struct {
	Space     string // "" is the default space
	Filter    memory.Filter
	ShortIDs  []string // only memories that one of these means (memory.AnswersTo); at most memory.MaxBatch
	Order     Order    // "" is ByCreated
	Ascending bool     // default: largest or newest first
	Size      int      // 1 to memory.MaxPage; 0 is 100
	Token     string
}

// Page is one page of a list.
type Page struct {
	Memories []*memory.Memory
	Next     string // token of the next page, "" for the last one
	Total    int    // memories that match, on all pages
}

// cursor is what a page token says: the last memory before the page, by its place in the order.
type cursor struct {
	Query uint64 `json:"q"` // hash of what must not change between pages
	Key   int64  `json:"k"`
	ID    string `json:"i"`
}

// List returns one page. A memory that does not change between two pages is neither skipped nor repeated, whatever
// happens to others.
func (s *Service) List(q Query) (Page, error) {
	var check memory.Check
	q.Space = checkSpace(&check, q.Space)
	q.Filter.Validate(&check, "filter.")
	if q.Size < 0 || q.Size > memory.MaxPage {
		check.Add("page_size", "OUT_OF_RANGE", "must be 1 to %d", memory.MaxPage)
	}
	if len(q.ShortIDs) > memory.MaxBatch {
		check.Add("short_ids", "TOO_MANY", "must have at most %d items", memory.MaxBatch)
	}
	start, err := q.startCursor()
	if err != nil {
		check.Add("page_token", "INVALID_TOKEN", "%v", err)
	}
	if err := check.Err(); err != nil {
		return Page{}, err
	}
	size := cmp.Or(q.Size, defaultPage)
	// One more than a page tells whether there is another.
	matches, total := s.first(&q, s.store.Space(q.Space).Memories(), s.now(), start, size+1)
	page := Page{Total: total, Memories: cut(matches, size)}
	if n := len(page.Memories); n < len(matches) {
		last := page.Memories[n-1]
		page.Next = encodeToken(cursor{Query: q.hash(), Key: q.Order.key(last), ID: last.ID})
	}
	return page, nil
}

// listed is a memory on a page, with its key.
type listed struct {
	memory *memory.Memory
	key    int64
}

// first returns the first n matches behind start, in order, and how many there are in all. It sorts no more than it
// returns, and fetches few memories besides.
func (s *Service) first(q *Query, all []*memory.Memory, now time.Time, start *cursor, n int) (out []*memory.Memory,
	total int) {
	sieve := newRowFilter(&q.Filter, now)
	page := make([]listed, 0, n+1)
	s.rows.scan(q.Space, all, func(r *row) { // newest first, as most lists are: then few have to move
		if !sieve.matches(r) || !q.means(r.memory.ID) {
			return
		}
		total++
		one := listed{r.memory, r.key(q.Order)}
		if start != nil && !q.behind(start, one) || len(page) == n && q.compare(one, page[n-1]) > 0 {
			return
		}
		at, _ := slices.BinarySearchFunc(page, one, q.compare)
		page = slices.Insert(page, at, one)
		page = page[:min(len(page), n)]
	})
	for _, one := range page {
		out = append(out, one.memory)
	}
	return out, total
}

// means reports whether an id is among those asked for.
func (q *Query) means(id string) bool {
	return len(q.ShortIDs) == 0 ||
		slices.ContainsFunc(q.ShortIDs, func(s string) bool { return memory.AnswersTo(id, s) })
}

// compare puts memories in order. It fetches them only to tell equal keys apart.
func (q *Query) compare(a, b listed) int {
	c := cmp.Compare(a.key, b.key)
	if c == 0 {
		c = cmp.Compare(a.memory.ID, b.memory.ID)
	}
	if q.Ascending {
		return c
	}
	return -c
}

// behind reports whether a memory comes after the last one before the page.
func (q *Query) behind(start *cursor, one listed) bool {
	c := cmp.Compare(start.Key, one.key)
	if c == 0 {
		c = cmp.Compare(start.ID, one.memory.ID)
	}
	if !q.Ascending {
		c = -c
	}
	return c < 0
}

// cut returns the first n memories, or fewer when they are too large for one page; at least one.
func cut(all []*memory.Memory, n int) []*memory.Memory {
	size := 0
	for i, m := range all[:min(n, len(all))] {
		size += len(m.Content) + len(m.StructuredData()) + len(m.Title) + 256
		if i > 0 && size > maxPageBytes {
			return all[:i]
		}
	}
	return all[:min(n, len(all))]
}

// startCursor decodes the page token, or returns a cursor at the first page. Error: *memory.InvalidError for a token
// of another query.
func (q *Query) startCursor() (*cursor, error) {
	if q.Token == "" {
		return nil, nil
	}
	var c cursor
	data, err := base64.RawURLEncoding.DecodeString(q.Token)
	if err != nil || json.Unmarshal(data, &c) != nil {
		return nil, fmt.Errorf("is not a token of this daemon")
	}
	if c.Query != q.hash() {
		return nil, fmt.Errorf("belongs to a request with another space, filter or order")
	}
	return &c, nil
}

// encodeToken returns the page token of a cursor.
func encodeToken(c cursor) string {
	data, err := json.Marshal(c)
	if err != nil {
		panic(err) // a struct of numbers and a string always encodes
	}
	return base64.RawURLEncoding.EncodeToString(data)
}

// hash identifies the query, so that a token of another one is refused.
func (q *Query) hash() uint64 {
	h := fnv.New64a()
	data, _ := json.Marshal(struct {
		Space     string
		Filter    memory.Filter
		Order     Order
		Ascending bool
		ShortIDs  []string `json:",omitempty"`
	}{q.Space, q.Filter, cmp.Or(q.Order, ByCreated), q.Ascending, q.ShortIDs})
	_, _ = h.Write(data)
	return h.Sum64()
}
