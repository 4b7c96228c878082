package share

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/share/mirror"
	"github.com/memsidecar/memsidecar/internal/share/pglog"
)

// Bounds of searching mirrors: how long a search may take when its caller sets no deadline, and how many connections
// wait how long for the next search.
const (
	longestFind = 30 * time.Second
	maxIdle     = 2
	idleTime    = time.Minute
)

// FindInMirror returns what the mirrored spaces of a database have for a query. address may be empty where all shared
// spaces are in one database. The spaces need not be shared here, or fit this machine: what the user of the database
// may read is found. Errors: memory.ErrNoMirror, memory.ErrDatabaseAway, *DatabaseError with what to do, that of ctx.
func (s *Service) FindInMirror(ctx context.Context, address string, q *mirror.Query) ([]mirror.Extract, error) {
	address, err := s.mirrorAddress(address)
	if err != nil {
		return nil, err
	}
	bounded, cancel := context.WithTimeout(ctx, longestFind)
	defer cancel()
	found, err := s.searches.find(bounded, address, s.format(), q)
	switch {
	case err == nil:
		return found, nil
	case bounded.Err() != nil:
		return nil, fmt.Errorf("search the mirror at %s: %w", pglog.Shown(address), bounded.Err())
	case mirror.IsTimeout(err): // the server was a moment earlier
		return nil, fmt.Errorf("search the mirror at %s: %w", pglog.Shown(address), context.DeadlineExceeded)
	case errors.Is(err, mirror.ErrNoMirror):
		return nil, &noMirrorError{err}
	case errors.Is(err, memory.ErrDatabaseAway):
		return nil, err
	}
	return nil, &DatabaseError{err}
}

// mirrorAddress is the database to search. Error: memory.ErrNoMirror.
func (s *Service) mirrorAddress(address string) (string, error) {
	if address != "" {
		return address, nil
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	var all, shown []string
	for _, sp := range s.spaces {
		if !slices.Contains(all, sp.state.URL) {
			all, shown = append(all, sp.state.URL), append(shown, pglog.Shown(sp.state.URL))
		}
	}
	switch len(all) {
	case 0:
		return "", fmt.Errorf("%w: no space is shared on this machine, so name the database: --with URL", memory.ErrNoMirror)
	case 1:
		return all[0], nil
	}
	slices.Sort(shown)
	return "", fmt.Errorf("%w: spaces are shared in several databases, so name one: --with URL; they are %s",
		memory.ErrNoMirror, strings.Join(shown, ", "))
}

// noMirrorError is an error of a mirror that is not there, with what to do. It matches memory.ErrNoMirror.
type noMirrorError struct{ err error }

func (e *noMirrorError) Error() string {
	return e.err.Error() + "; a machine that takes part in a space makes its mirror by `memsidecar share vectors SPACE`"
}

func (e *noMirrorError) Unwrap() error { return e.err }

func (e *noMirrorError) Is(target error) bool { return target == memory.ErrNoMirror }

// searches are the connections of searches. The zero value has none.
type searches struct {
	mu    sync.Mutex
	idle  []idleSearch // least recently used first; guarded by mu
	ended bool         // guarded by mu
}

// idleSearch is a connection that waits for the next search.
type idleSearch struct {
	address string
	conn    *mirror.Mirror
	expiry  *time.Timer
}

// find runs a query, over a connection that no other search uses. One that broke while it was idle is replaced. Error:
// memory.ErrDatabaseAway, besides those of mirror.
func (c *searches) find(ctx context.Context, address string, format *mirror.Format, q *mirror.Query) ([]mirror.Extract, error) {
	conn, used := c.take(address)
	for {
		if conn == nil {
			var err error
			if conn, err = mirror.Connect(ctx, address, format); err != nil {
				if mirror.IsUnreachable(err) {
					err = fmt.Errorf("%w: %w", memory.ErrDatabaseAway, err)
				}
				return nil, err
			}
		}
		found, err := conn.Find(ctx, q)
		if err == nil {
			c.put(address, conn)
			return found, nil
		}
		away := conn.IsAway(err)
		_ = conn.Close()
		if !away || ctx.Err() != nil {
			return nil, err
		}
		if !used {
			return nil, fmt.Errorf("%w: %w", memory.ErrDatabaseAway, err)
		}
		conn, used = nil, false
	}
}

// take returns an idle connection, nil when there is none.
func (c *searches) take(address string) (conn *mirror.Mirror, used bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.IndexFunc(c.idle, func(one idleSearch) bool { return one.address == address })
	if i < 0 {
		return nil, false
	}
	one := c.idle[i]
	one.expiry.Stop()
	c.idle = slices.Delete(c.idle, i, i+1)
	return one.conn, true
}

// put keeps a connection for the next search, for a while.
func (c *searches) put(address string, conn *mirror.Mirror) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		_ = conn.Close()
		return
	}
	if len(c.idle) == maxIdle {
		c.idle[0].expiry.Stop()
		_ = c.idle[0].conn.Close()
		c.idle = slices.Delete(c.idle, 0, 1)
	}
	c.idle = append(c.idle, idleSearch{address, conn, time.AfterFunc(idleTime, func() { c.expire(conn) })})
}

// expire closes a connection that was idle for long.
func (c *searches) expire(conn *mirror.Mirror) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if i := slices.IndexFunc(c.idle, func(one idleSearch) bool { return one.conn == conn }); i >= 0 {
		_ = conn.Close()
		c.idle = slices.Delete(c.idle, i, i+1)
	}
}

// end closes the idle connections, and those that searches still use after they have.
func (c *searches) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = true
	for _, one := range c.idle {
		one.expiry.Stop()
		_ = one.conn.Close()
	}
	c.idle = nil
}
