package session

import (
	"context"
	"sync"
)

// locks is a set of locks by session. Unlike a sync.Mutex a lock can be awaited with a context. The zero value is
// ready to use.
type locks struct {
	mu   sync.Mutex
	held map[key]chan struct{} // closed when the lock is released; guarded by mu
}

// lock acquires the lock of k. The error is that of ctx.
func (l *locks) lock(ctx context.Context, k key) (unlock func(), err error) {
	for {
		l.mu.Lock()
		other, taken := l.held[k]
		if !taken {
			if l.held == nil {
				l.held = map[key]chan struct{}{}
			}
			mine := make(chan struct{})
			l.held[k] = mine
			l.mu.Unlock()
			return func() {
				l.mu.Lock()
				delete(l.held, k)
				l.mu.Unlock()
				close(mine)
			}, nil
		}
		l.mu.Unlock()
		select {
		case <-other:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}
