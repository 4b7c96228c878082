package vector

import "sync"

// Cache keeps what was computed for the most recently used texts (LRU). It is safe for concurrent use.
type Cache[V any] struct {
	limit int

	mu      sync.Mutex
	clock   uint64                 // number of uses so far; guarded by mu
	entries map[Key]*cacheEntry[V] // guarded by mu

	use CacheUse // guarded by mu
}

// CacheUse counts the look-ups of a cache.
type CacheUse struct {
	Lookups int64
	Hits    int64 // look-ups that found the text
}

type cacheEntry[V any] struct {
	value    V
	lastUsed uint64 // clock of the last use
}

// NewCache returns a cache of up to limit texts.
func NewCache[V any](limit int) *Cache[V] {
	return &Cache[V]{limit: limit, entries: map[Key]*cacheEntry[V]{}}
}

// Get returns the value of a text, if it is cached.
func (c *Cache[V]) Get(key Key) (value V, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.use.Lookups++
	entry := c.entries[key]
	if entry == nil {
		return value, false
	}
	c.use.Hits++
	c.clock++
	entry.lastUsed = c.clock
	return entry.value, true
}

// Put stores the value of a text and evicts the least recently used one when the cache is full. Eviction scans all
// entries, which costs far less than embedding a text.
func (c *Cache[V]) Put(key Key, value V) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.clock++
	if c.entries[key] == nil && len(c.entries) >= c.limit {
		var oldest Key
		least := c.clock
		for k, entry := range c.entries {
			if entry.lastUsed < least {
				oldest, least = k, entry.lastUsed
			}
		}
		delete(c.entries, oldest)
	}
	c.entries[key] = &cacheEntry[V]{value, c.clock}
}

// Use counts the look-ups since the cache was made.
func (c *Cache[V]) Use() CacheUse {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.use
}

// Clear drops all entries.
func (c *Cache[V]) Clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.entries)
}
