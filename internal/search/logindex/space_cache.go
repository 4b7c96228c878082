package logindex

import (
	"context"
	"sync"
	"time"

	"github.com/memsidecar/memsidecar/internal/store"
)

// spaceCache holds the indexed logs of one space while they are in use.
type spaceCache struct {
	refreshing chan struct{} // holds a token while the logs are refreshed

	mu      sync.Mutex
	logs    *spaceLogs // nil when nothing is indexed; guarded by mu
	stale   bool       // the logs changed since they were indexed; guarded by mu
	purges  int        // how often everything was dropped; guarded by mu
	lastUse time.Time  // guarded by mu
}

func newSpaceCache() *spaceCache { return &spaceCache{refreshing: make(chan struct{}, 1)} }

// refresh returns the logs in their present state. When ctx ends, the days read so far are kept for the next search.
func (c *spaceCache) refresh(ctx context.Context, newLogs func() *spaceLogs, view *store.Space) (*spaceLogs, error) {
	select {
	case c.refreshing <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-c.refreshing }()
	for {
		c.mu.Lock()
		logs, stale, purges := c.logs, c.stale, c.purges
		c.stale = false // a change from here on is for the next refresh
		c.mu.Unlock()
		if logs != nil && !stale {
			return logs, nil
		}
		if logs == nil {
			logs = newLogs()
		}
		err := logs.refresh(ctx, view, dateSpan{}, true)
		c.mu.Lock()
		purged := c.purges != purges
		if !purged {
			c.logs, c.stale = logs, c.stale || err != nil
		}
		c.mu.Unlock()
		if err != nil {
			return nil, err
		}
		if !purged {
			return logs, nil
		}
		logs.drop()
	}
}

// release frees the logs. Running searches go on with theirs.
func (c *spaceCache) release() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.logs = nil
}

// invalidate makes the next search refresh the logs.
func (c *spaceCache) invalidate() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stale = true
}

// purge drops the logs at once, because text was erased: running searches lose their hits, too.
func (c *spaceCache) purge() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stale = true
	if c.logs != nil {
		c.logs.drop()
	}
	c.logs = nil
	c.purges++
}

func (c *spaceCache) use(now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lastUse = now
}

func (c *spaceCache) lastUsed() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lastUse
}

// size is the number of texts indexed.
func (c *spaceCache) size() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.logs == nil {
		return 0
	}
	return c.logs.collection.Len()
}
