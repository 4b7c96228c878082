package share

import (
	"context"
	"maps"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/share/merge"
	"github.com/memsidecar/memsidecar/internal/share/mirror"
	"github.com/memsidecar/memsidecar/internal/share/pglog"
)

// Bounds of adding vectors to a mirror: memories at once, and how long one that lacks a vector waits until it is looked
// for again.
const (
	vectorsAtOnce = 25
	vectorPause   = 500 * time.Millisecond
	// vectorPatience is how long rows go before vectors while more of them keep coming.
	vectorPatience = time.Second
)

// MirrorSource is what mirrors need of the rest of the program. Its functions are safe for concurrent use.
type MirrorSource struct {
	// Describe analyses a memory; nil has nothing to search by.
	Describe func(m *memory.Memory) mirror.Description
	// Makers name the versions of what analyses and embeds, see mirror.Format.
	Makers map[string]string
	// Vectors returns what was made of memories of a local space so far; nil makes none.
	Vectors func(ctx context.Context, space string, lacking []mirror.Lacking) ([]mirror.Made, error)
}

// MirrorStatus is how far the mirror of a space is.
type MirrorStatus struct {
	Position int64  // row of the log up to which it is mirrored
	Pending  int64  // memories that lack a vector
	Error    string // of the last attempt, "" when it succeeded
}

// format is how the log and the memories in it are read.
func (s *Service) format() *mirror.Format {
	f := &mirror.Format{
		Changes: func(row *pglog.Row) ([]merge.Change, error) {
			rec, err := decodeRecord(row)
			return rec.Changes, err
		},
		Values:   decodePart,
		Describe: s.cfg.Mirror.Describe, Makers: s.cfg.Mirror.Makers,
	}
	if f.Describe == nil {
		f.Describe = func(*memory.Memory) mirror.Description { return mirror.Description{} }
	}
	return f
}

// CanMirror says whether the database at an address can have mirrors. Error: *DatabaseError, with what to do.
func (s *Service) CanMirror(ctx context.Context, address string) error {
	m, err := mirror.Connect(ctx, address, s.format())
	if err != nil {
		return &DatabaseError{err}
	}
	defer func() { _ = m.Close() }()
	if err := m.CheckExtension(ctx); err != nil {
		return &DatabaseError{err}
	}
	return nil
}

// KeepMirror has this machine keep the mirror of a shared space, or not any longer; then what is mirrored stays as it
// is until another machine goes on. With anew it is emptied first, also one that another version of the program made.
// Durable on return; the rows come after that. Errors: *memory.NotFoundError, *DatabaseError.
func (s *Service) KeepMirror(ctx context.Context, name string, keep, anew bool) error {
	s.setup.Lock()
	defer s.setup.Unlock()
	s.mu.RLock()
	sp := s.spaces[name]
	s.mu.RUnlock()
	if sp == nil {
		return &memory.NotFoundError{Kind: "shared space", Name: name}
	}
	if keep {
		if err := s.beginMirror(ctx, sp, anew); err != nil {
			return &DatabaseError{err}
		}
	}
	if err := s.setVectors(sp, keep); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if keep {
		s.attachMirror(sp)
	} else {
		s.detachMirrorLocked(sp)
	}
	return nil
}

// beginMirror creates the mirror of a space.
func (s *Service) beginMirror(ctx context.Context, sp *space, anew bool) error {
	m, err := mirror.Connect(ctx, sp.state.URL, s.format())
	if err != nil {
		return err
	}
	defer func() { _ = m.Close() }()
	if anew {
		return m.Rebuild(ctx, sp.state.Remote.ID, true)
	}
	return m.Begin(ctx, sp.state.Remote.ID)
}

// setVectors records whether this machine keeps the mirror of a space. Durable on return.
func (s *Service) setVectors(sp *space, keep bool) error {
	defer s.lockExchange(sp)()
	sp.state.Vectors = keep
	return sp.save(s.cfg.FS)
}

// mirroring keeps the mirrors at one address up to date, over a connection of its own: neither waits for the other, and
// a failure of the mirror stops no exchange.
type mirroring struct {
	service *Service
	address string
	end     context.CancelFunc
	wake    chan struct{}

	mu     sync.Mutex
	spaces map[*space]int64 // by number in the database; guarded by mu
}

// attachMirror has the mirror of a space kept, when it is to be. The caller holds mu.
func (s *Service) attachMirror(sp *space) {
	if s.run == nil || !sp.state.Vectors {
		return
	}
	m := s.mirrors[sp.state.URL]
	if m == nil {
		m = &mirroring{service: s, address: sp.state.URL, wake: make(chan struct{}, 1), spaces: map[*space]int64{}}
		s.mirrors[sp.state.URL] = m
		ctx, cancel := context.WithCancel(s.run)
		m.end = cancel
		s.group.Go(func() { defer cancel(); m.run(ctx) })
	}
	m.mu.Lock()
	m.spaces[sp] = sp.state.Remote.ID
	m.mu.Unlock()
	sp.mu.Lock()
	if sp.mirror = m.due; sp.shown.Mirror == nil {
		sp.shown.Mirror = &MirrorStatus{Position: -1}
	}
	sp.mu.Unlock()
	m.due()
}

// detachMirror ends that the mirror of a space is kept.
func (s *Service) detachMirror(sp *space) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.detachMirrorLocked(sp)
}

// detachMirrorLocked is detachMirror where the caller holds mu.
func (s *Service) detachMirrorLocked(sp *space) {
	sp.mu.Lock()
	sp.mirror, sp.shown.Mirror = nil, nil
	sp.mu.Unlock()
	m := s.mirrors[sp.state.URL]
	if m == nil {
		return
	}
	m.mu.Lock()
	delete(m.spaces, sp)
	left := len(m.spaces)
	m.mu.Unlock()
	if left == 0 {
		delete(s.mirrors, sp.state.URL)
		m.end()
	}
}

// due has the mirrors looked at soon.
func (m *mirroring) due() {
	select {
	case m.wake <- struct{}{}:
	default: // it will be
	}
}

// members lists the spaces by their numbers in the database.
func (m *mirroring) members() map[*space]int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return maps.Clone(m.spaces)
}

// run follows the logs until ctx ends. After a failure it waits, each time longer.
func (m *mirroring) run(ctx context.Context) {
	pause := firstPause
	for ctx.Err() == nil {
		worked, err := m.session(ctx)
		if ctx.Err() != nil {
			return
		}
		if worked {
			pause = firstPause
		}
		m.service.cfg.Logger.Warn("the mirror of shared spaces is not kept", "database", pglog.Shown(m.address), "err", err)
		sleep(ctx, pause/2+rand.N(pause))
		pause = min(2*pause, lastPause*m.service.cfg.Poll)
	}
}

// session follows the logs over one connection until it fails. worked says that a space was mirrored.
func (m *mirroring) session(ctx context.Context) (worked bool, err error) {
	conn, err := mirror.Connect(ctx, m.address, m.service.format())
	if err != nil {
		for sp := range m.members() {
			sp.mirrorFailed(err)
		}
		return false, err
	}
	defer func() { _ = conn.Close() }()
	kept := map[*space]*keeping{}
	for {
		wait := m.service.cfg.Poll
		for sp, id := range m.members() {
			if kept[sp] == nil {
				kept[sp] = &keeping{mirroring: m, conn: conn, space: sp, id: id}
			}
			again, err := kept[sp].keep(ctx)
			if err != nil {
				sp.mirrorFailed(err)
				return worked, err
			}
			worked = true
			if again {
				wait = min(wait, vectorPause)
			}
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return worked, ctx.Err()
		case <-m.wake:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// keeping is the mirror of one space over one connection.
type keeping struct {
	*mirroring
	conn  *mirror.Mirror
	space *space
	id    int64 // of the space in the database

	checked   bool   // that nobody removed rows
	cursor    string // memory up to which vectors were looked for
	vectorsAt time.Time
}

// keep brings the mirror up to date, making it again where somebody dropped it, and adds some vectors. again says that
// more of them are missing.
func (k *keeping) keep(ctx context.Context) (again bool, err error) {
	if !k.checked {
		err = k.conn.Check(ctx, k.id)
	}
	received := k.space.status().Position // what was received was checked
	if err == nil {
		err = k.conn.Follow(ctx, k.id, received)
	}
	if mirror.IsDropped(err) {
		k.service.cfg.Logger.Info("the mirror of a shared space is made again", "space", k.space.name, "err", err)
		if err = k.conn.Rebuild(ctx, k.id, false); err == nil {
			err = k.conn.Follow(ctx, k.id, received)
		}
	}
	if err != nil {
		return false, err
	}
	k.checked = true
	if err := k.addVectors(ctx); err != nil {
		return false, err
	}
	state, err := k.conn.State(ctx, k.id)
	if err != nil {
		return false, err
	}
	k.space.mu.Lock()
	defer k.space.mu.Unlock()
	if k.space.mirror != nil {
		k.space.shown.Mirror = &MirrorStatus{Position: state.Position, Pending: state.Pending}
	}
	return state.Pending > 0, nil
}

// addVectors adds the vectors that were made, from where it stopped the last time, until all were looked at or there is
// something to mirror.
func (k *keeping) addVectors(ctx context.Context) error {
	if k.service.cfg.Mirror.Vectors == nil {
		return nil
	}
	for len(k.wake) == 0 || k.service.cfg.Now().Sub(k.vectorsAt) > vectorPatience {
		k.vectorsAt = k.service.cfg.Now()
		lacking, err := k.conn.Lacking(ctx, k.id, k.cursor, vectorsAtOnce)
		if err != nil || len(lacking) == 0 {
			k.cursor = ""
			return err
		}
		made, err := k.service.cfg.Mirror.Vectors(ctx, k.space.name, lacking)
		if err != nil {
			return err
		}
		if _, err := k.conn.PutVectors(ctx, k.id, made); err != nil {
			return err
		}
		k.cursor = lacking[len(lacking)-1].ID
	}
	return nil
}

// mirrorFailed records an error of the mirror.
func (sp *space) mirrorFailed(err error) {
	sp.mu.Lock()
	defer sp.mu.Unlock()
	if sp.shown.Mirror != nil {
		shown := *sp.shown.Mirror
		shown.Error = describe(err)
		sp.shown.Mirror = &shown
	}
}
