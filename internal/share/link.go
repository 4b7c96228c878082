package share

import (
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/share/pglog"
)

// Bounds of the pause after a failure; it doubles from one to the other, which is in times between two polls.
const (
	firstPause = 250 * time.Millisecond
	lastPause  = 6
)

// link exchanges the operations of all spaces at one address, over one connection.
type link struct {
	service *Service
	address string
	end     context.CancelFunc // ends run

	mu sync.Mutex
	// spaces to exchange, by their number in the database, which two of them may share. Guarded by mu.
	spaces map[int64][]*space
	// due are those of them that have something to do. Guarded by mu.
	due map[*space]bool
	// interrupt ends the wait for announcements; nil when nothing waits. Guarded by mu.
	interrupt context.CancelFunc
	// busy is held while a space is exchanged.
	busy sync.Mutex
	// urgent has something in it when somebody awaits an exchange.
	urgent chan struct{}
}

// newLink returns a link without spaces.
func newLink(s *Service, address string) *link {
	return &link{service: s, address: address, spaces: map[int64][]*space{}, due: map[*space]bool{},
		urgent: make(chan struct{}, 1)}
}

// add gives the link a space.
func (l *link) add(sp *space) {
	l.mu.Lock()
	id := sp.state.Remote.ID
	l.spaces[id] = append(l.spaces[id], sp)
	l.mu.Unlock()
	sp.mu.Lock()
	sp.wake = func(urgent bool) { l.wake(sp, urgent) }
	sp.mu.Unlock()
	sp.end(false)
	l.wake(sp, false)
}

// remove takes a space from the link and waits until it is not used any more.
func (l *link) remove(sp *space) {
	l.mu.Lock()
	id := sp.state.Remote.ID
	l.spaces[id] = slices.DeleteFunc(slices.Clone(l.spaces[id]), func(other *space) bool { return other == sp })
	if len(l.spaces[id]) == 0 {
		delete(l.spaces, id)
	}
	delete(l.due, sp)
	l.mu.Unlock()
	l.busy.Lock()
	l.busy.Unlock() //nolint:staticcheck // an exchange that had begun has ended
}

// lockSpace keeps everything else from a shared space until unlock: its exchange, and its leaving. Error:
// *memory.NotFoundError when it is not shared.
func (s *Service) lockSpace(name string) (sp *space, unlock func(), err error) {
	s.setup.Lock()
	s.mu.RLock()
	sp = s.spaces[name]
	s.mu.RUnlock()
	if sp == nil {
		s.setup.Unlock()
		return nil, nil, &memory.NotFoundError{Kind: "shared space", Name: name}
	}
	release := s.lockExchange(sp)
	return sp, func() { release(); s.setup.Unlock() }, nil
}

// lockExchange keeps the exchange of a space from going on until release.
func (s *Service) lockExchange(sp *space) (release func()) {
	s.mu.RLock()
	l := s.links[sp.state.URL]
	s.mu.RUnlock()
	if l == nil {
		return func() {}
	}
	l.busy.Lock()
	return l.busy.Unlock
}

// wake has the link look at a space soon; when it is urgent, also in a pause after a failure.
func (l *link) wake(sp *space, urgent bool) {
	if urgent {
		select {
		case l.urgent <- struct{}{}:
		default: // it is known
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.due[sp] = true
	if l.interrupt != nil {
		l.interrupt()
	}
}

// members lists the spaces.
func (l *link) members() (out []*space) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, some := range l.spaces {
		out = append(out, some...)
	}
	return out
}

// membersOf lists the spaces with a number in the database.
func (l *link) membersOf(id int64) []*space {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.spaces[id]
}

// takeDue returns the spaces with something to do.
func (l *link) takeDue() []*space {
	l.mu.Lock()
	defer l.mu.Unlock()
	due := slices.Collect(maps.Keys(l.due))
	clear(l.due)
	return due
}

// run keeps a connection and exchanges operations until ctx ends. After a failure it waits, each time longer.
func (l *link) run(ctx context.Context) {
	defer l.saveAll()
	pause, longest := firstPause, lastPause*l.service.cfg.Poll
	for ctx.Err() == nil {
		worked, err := l.session(ctx)
		if ctx.Err() != nil {
			return
		}
		if worked {
			pause = firstPause
		}
		if pglog.IsRefusal(err) {
			pause = longest
		}
		for _, sp := range l.members() {
			sp.failed(err)
			l.settle(sp)
		}
		l.service.cfg.Logger.Warn("shared spaces are not exchanged", "database", pglog.Shown(l.address), "err", err)
		l.pause(ctx, pause/2+rand.N(pause))
		pause = min(2*pause, longest)
	}
}

// session exchanges over one connection until it fails. worked says that something was exchanged.
func (l *link) session(ctx context.Context) (worked bool, err error) {
	log, err := pglog.Connect(ctx, l.address)
	if err != nil {
		return false, err
	}
	defer func() { _ = log.Close() }()
	if err := log.CheckSchema(ctx); err != nil {
		return false, err
	}
	next, err := l.poll(ctx, log)
	if err != nil {
		return false, err
	}
	for {
		for _, sp := range next {
			if err := l.exchange(ctx, log, sp); err != nil {
				return worked, err
			}
			worked = true
		}
		if next = l.takeDue(); len(next) > 0 {
			continue
		}
		if next, err = l.idle(ctx, log); err != nil || ctx.Err() != nil {
			return worked, errors.Join(err, ctx.Err())
		}
	}
}

// poll asks how far the logs are, in one statement for all spaces, and returns those that are not where this machine
// left them, or have something to do. At first all have: nothing was reported yet.
func (l *link) poll(ctx context.Context, log *pglog.Log) (out []*space, err error) {
	l.mu.Lock()
	ids := slices.Collect(maps.Keys(l.spaces))
	l.mu.Unlock()
	heads, err := log.Heads(ctx, ids)
	if err != nil {
		return nil, err
	}
	l.busy.Lock()
	defer l.busy.Unlock()
	now := l.service.cfg.Now()
	for _, sp := range l.members() {
		switch head, known := heads[sp.state.Remote.ID]; {
		case sp.stopped():
		case known && head.Equal(sp.state.Remote.Head) && l.service.rests(sp):
			sp.contact(now)
			if err := l.saveDue(sp); err != nil {
				return nil, err
			}
		default:
			out = append(out, sp)
		}
	}
	return out, nil
}

// saveDue is Service.saveDue of a space that rests. The caller holds busy.
func (l *link) saveDue(sp *space) error {
	if !l.service.exchanges(sp) {
		return nil // it is about to be dropped, and its file with it
	}
	return l.service.saveDue(sp)
}

// saveAll records what is not recorded yet, so that the next start has nothing to find out.
func (l *link) saveAll() {
	l.busy.Lock()
	defer l.busy.Unlock()
	for _, sp := range l.members() {
		if sp.unsaved.IsZero() || !l.service.exchanges(sp) {
			continue
		}
		if err := sp.save(l.service.cfg.FS); err != nil {
			l.service.cfg.Logger.Warn("the position of a shared space is not recorded", "space", sp.name, "err", err)
		}
	}
}

// exchange is one exchange of a space. Errors that concern only this space stop it and are not returned.
func (l *link) exchange(ctx context.Context, log *pglog.Log, sp *space) error {
	l.busy.Lock()
	defer l.busy.Unlock()
	if !l.service.exchanges(sp) {
		return nil
	}
	err := l.service.exchange(ctx, log, sp)
	switch {
	case err == nil:
		sp.contact(l.service.cfg.Now())
		return nil
	case isLasting(err):
		sp.stop(err)
		l.service.cfg.Logger.Error(
			"a shared space is not exchanged any more; local work goes on",
			"space",
			sp.name,
			"err",
			err,
		)
		return nil
	}
	sp.failed(err)
	if isRefused(err) {
		return nil // the other spaces go on, and this one is tried again
	}
	return err
}

// settle is Service.settle while the database is away.
func (l *link) settle(sp *space) {
	l.busy.Lock()
	defer l.busy.Unlock()
	if !l.service.exchanges(sp) {
		return
	}
	_, _, changed := l.service.cfg.Store.Space(sp.name).Look(nil)
	sp.catchUp(changed) // so that what waits does not stay in memory
	if err := l.service.settle(sp); err != nil {
		l.service.cfg.Logger.Warn("the position of a shared space is not recorded", "space", sp.name, "err", err)
	}
	sp.show()
}

// isLasting reports whether an error does not go away by itself.
func isLasting(err error) bool {
	var invalid *memory.InvalidError
	return errors.Is(err, pglog.ErrDamaged) ||
		errors.Is(err, pglog.ErrTaken) || errors.Is(err, errCopied) || errors.Is(err, memory.ErrTrimmed) ||
		errors.Is(err, memory.ErrNewerVersion) || errors.Is(err, errRecord) ||
		errors.As(err, &invalid)
}

// idle waits until something is announced, written here, or it is time to poll. It returns the spaces to look at.
func (l *link) idle(ctx context.Context, log *pglog.Log) ([]*space, error) {
	waiting, cancel := context.WithTimeout(ctx, l.service.cfg.Poll)
	defer cancel()
	l.mu.Lock()
	if len(l.due) > 0 {
		l.mu.Unlock()
		return nil, nil
	}
	l.interrupt = cancel
	l.mu.Unlock()
	rows, err := log.Wait(waiting)
	polled := errors.Is(waiting.Err(), context.DeadlineExceeded)
	l.mu.Lock()
	l.interrupt = nil
	l.mu.Unlock()
	switch {
	case err != nil:
		return nil, err
	case len(rows) == 0 && polled:
		return l.poll(ctx, log)
	}
	return l.behind(rows), nil
}

// behind returns the spaces about which something was announced that this machine may not have: not those whose rows it
// appended itself, or has read since.
func (l *link) behind(rows map[int64]int64) (out []*space) {
	for id, seq := range rows {
		for _, sp := range l.membersOf(id) {
			if sp.status().Position < seq {
				out = append(out, sp)
			}
		}
	}
	return out
}

// sleep waits for d or the end of ctx.
func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
