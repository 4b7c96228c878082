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

// Bounds of the rest of a space after an exchange began, unless a request waits for it: what is written or announced
// meanwhile is exchanged together then. Else each of many writes would have a commit, and a sync at each receiver. When
// more than one write or announcement fell into a rest, the next one is twice as long: a stream of writes has few
// commits beside it, and a single write is still sent soon.
const (
	shortestRest = 2 * time.Millisecond
	longestRest  = 16 * time.Millisecond
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
	due *queue
	// rests are of the spaces that rest, or will rest for longer than shortestRest. Guarded by mu.
	rests map[*space]*rest
	// interrupt ends the wait for announcements; nil when nothing waits. Guarded by mu.
	interrupt context.CancelFunc
	// busy is held while a space is exchanged.
	busy sync.Mutex
	// urgent has something in it when somebody awaits an exchange.
	urgent chan struct{}
}

// rest of a space at a link: only requests that wait have it exchanged. Guarded by the mu of the link.
type rest struct {
	length time.Duration
	now    bool
	woken  int // what else asked for an exchange meanwhile: the space has one when it has rested
}

// newLink returns a link without spaces.
func newLink(s *Service, address string) *link {
	return &link{service: s, address: address, spaces: map[int64][]*space{}, due: newQueue(),
		rests: map[*space]*rest{}, urgent: make(chan struct{}, 1)}
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
	l.due.drop(sp)
	delete(l.rests, sp)
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

// already reports whether a space is what somebody wants it to be, by what people see of it: then nobody need wait for
// its exchange. What people see is durable while nobody sets the space up.
func (s *Service) already(name string, is func(*space) bool) bool {
	s.setup.RLock()
	defer s.setup.RUnlock()
	s.mu.RLock()
	sp := s.spaces[name]
	s.mu.RUnlock()
	return sp != nil && is(sp)
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

// wake has the link look at a space soon; when it is urgent, in turn with those that nobody waits for, and also in a
// pause after a failure.
func (l *link) wake(sp *space, urgent bool) {
	if urgent {
		select {
		case l.urgent <- struct{}{}:
		default: // it is known
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if urgent {
		l.due.put(sp, true)
	} else if !l.putRested(sp) {
		return
	}
	if l.interrupt != nil {
		l.interrupt()
	}
}

// putRested puts a space into the queue for which no request waits: now, or when it has rested. It reports whether it
// is there now. The caller holds mu.
func (l *link) putRested(sp *space) bool {
	if r := l.rests[sp]; r != nil && r.now {
		r.woken++
		return false
	}
	l.due.put(sp, false)
	return true
}

// rested ends a rest of a space.
func (l *link) rested(sp *space, r *rest) {
	l.mu.Lock()
	if l.rests[sp] != r { // the space was removed
		l.mu.Unlock()
		return
	}
	woken := r.woken
	if woken > 1 {
		r.length = min(2*r.length, longestRest)
		r.now, r.woken = false, 0
	} else {
		delete(l.rests, sp)
	}
	l.mu.Unlock()
	if woken > 0 {
		l.wake(sp, false)
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

// take returns the next space with something to do, nil when there is none.
func (l *link) take() *space {
	l.mu.Lock()
	defer l.mu.Unlock()
	sp := l.due.take()
	if sp == nil {
		return nil
	}
	r := l.rests[sp]
	if r == nil {
		r = &rest{length: shortestRest}
		l.rests[sp] = r
	}
	if !r.now {
		r.now = true
		time.AfterFunc(r.length, func() { l.rested(sp, r) })
	}
	return sp
}

// put has the link look at spaces for which no request waits.
func (l *link) put(list []*space) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, sp := range list {
		l.putRested(sp)
	}
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

// session exchanges over one connection until it fails. worked says that something was exchanged, or nothing had to be.
func (l *link) session(ctx context.Context) (worked bool, err error) {
	log, err := pglog.Connect(ctx, l.address)
	if err != nil {
		return false, err
	}
	defer func() { _ = log.Close() }()
	if err := log.CheckSchema(ctx); err != nil {
		return false, err
	}
	for {
		if err := l.poll(ctx, log); err != nil {
			return worked, err
		}
		did, err := l.untilPoll(ctx, log)
		worked = worked || did
		if err != nil {
			return worked, err
		}
	}
}

// untilPoll exchanges what has something to do until it is time for the next poll.
func (l *link) untilPoll(ctx context.Context, log *pglog.Log) (worked bool, err error) {
	pause, cancel := context.WithTimeout(ctx, l.service.cfg.Poll)
	defer cancel()
	for pause.Err() == nil {
		if sp := l.take(); sp != nil {
			if err := l.exchange(ctx, log, sp); err != nil {
				return worked, err
			}
			l.put(l.behind(log.Heard()))
		} else if err := l.idle(pause, log); err != nil {
			return worked, err
		}
		worked = true
	}
	return worked, ctx.Err()
}

// choresAtOnce bounds how many spaces without news are exchanged between two polls, so that a node that has just
// started does not exchange them all before it does anything else.
const choresAtOnce = 100

// poll asks how far the logs are, in one statement for all spaces, and puts those into the queue that are not where
// this machine left them, or have something to send. Of the others, those with something to report or to record follow,
// a few each time, the longest unreported first.
func (l *link) poll(ctx context.Context, log *pglog.Log) error {
	l.mu.Lock()
	ids := slices.Collect(maps.Keys(l.spaces))
	l.mu.Unlock()
	heads, err := log.Heads(ctx, ids)
	if err != nil {
		return err
	}
	l.busy.Lock()
	defer l.busy.Unlock()
	now := l.service.cfg.Now()
	var news, chores []*space
	for _, sp := range l.members() {
		head, known := heads[sp.state.Remote.ID]
		switch {
		case sp.stopped():
		case !known || !head.Equal(sp.state.Remote.Head) || l.service.hasNews(sp):
			news = append(news, sp)
		default:
			sp.contact(now)
			if err := l.saveDue(sp); err != nil {
				return err
			}
			if l.service.hasChores(sp) {
				chores = append(chores, sp)
			}
		}
	}
	slices.SortFunc(chores, func(a, b *space) int { return a.memberAt.Compare(b.memberAt) })
	l.put(news)
	l.put(chores[:min(len(chores), choresAtOnce)])
	return nil
}

// saveDue is Service.saveDue of a space without news. The caller holds busy.
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
	sp.again = err != nil
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

// idle waits until something is announced, written here, or ctx ends.
func (l *link) idle(ctx context.Context, log *pglog.Log) error {
	waiting, cancel := context.WithCancel(ctx)
	defer cancel()
	l.mu.Lock()
	if !l.due.empty() {
		l.mu.Unlock()
		return nil
	}
	l.interrupt = cancel
	l.mu.Unlock()
	rows, err := log.Wait(waiting)
	l.mu.Lock()
	l.interrupt = nil
	l.mu.Unlock()
	if err == nil {
		l.put(l.behind(rows))
	}
	return err
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
