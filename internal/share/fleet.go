package share

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/share/pglog"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

// Fleet says how spaces that nobody listed are opened, and when they are dropped.
type Fleet struct {
	URL   string        // of the database
	Ack   Ack           // of the spaces that are opened
	Idle  time.Duration // after which a space that nobody uses is dropped
	Bytes int64         // about how much the open spaces may take together, in RAM and on disk
	// NoReflection says that sessions are never reflected here, so one that has ended does not keep its space.
	NoReflection bool
}

// openTimeout bounds how long the opening of a space goes on when nobody waits for it any more.
const openTimeout = time.Minute

// About how many bytes a space and a memory take in RAM and on disk beside their texts: in the store, its snapshot, the
// index and the vectors.
const (
	spaceBytes  = 16 << 10
	memoryBytes = 6 << 10
)

// fleet opens spaces when somebody asks for them, and drops those that nobody uses.
type fleet struct {
	service *Service
	cfg     Fleet

	mu sync.Mutex
	// uses has the spaces that are open, or about to be. Guarded by mu.
	uses map[string]*use
	// total is about what they take. Guarded by mu.
	total           int64
	opened, dropped int64         // since the start; guarded by mu
	err             string        // of the last opening that failed; "" since one succeeded; guarded by mu
	full            chan struct{} // has something in it when the open spaces may take too much

	connMu sync.Mutex // held while the connection is used; nothing but the database is waited for
	log    *pglog.Log // nil while there is none; guarded by connMu
}

// use is a space of the fleet on this node. Its fields are guarded by fleet.mu.
type use struct {
	users int       // requests that keep it
	last  time.Time // when the last one ended, or something was found that only this node has
	bytes int64
	// turn is the opening or the dropping that goes on; nil when neither does.
	turn *turn
}

// turn is an opening or a dropping of a space.
type turn struct {
	done chan struct{}
	err  error // of an opening; set before done is closed
}

// newFleet returns a fleet without spaces.
func newFleet(s *Service, cfg Fleet) *fleet {
	return &fleet{service: s, cfg: cfg, uses: map[string]*use{}, full: make(chan struct{}, 1)}
}

// adopt takes over the spaces that were open when the daemon stopped. Error: memory.ErrExists when the directory holds
// something else, which a fleet would neither send nor drop.
func (f *fleet) adopt() error {
	s := f.service
	for _, name := range s.cfg.Store.Spaces() {
		if _, _, changed := s.cfg.Store.Space(name).Look(nil); changed > 0 && s.spaces[name] == nil {
			return fmt.Errorf("the data directory holds space %q, which is not of the fleet: give the node an empty "+
				"directory, or run `memsidecar share start %s` in this one before: %w", name, name, memory.ErrExists)
		}
	}
	for name, sp := range s.spaces {
		if sp.state.Fleet {
			f.uses[name] = &use{last: s.cfg.Now()}
			f.recount(name)
		}
	}
	return nil
}

// measure estimates how much a space takes.
func (f *fleet) measure(name string) int64 {
	bytes := int64(spaceBytes)
	for _, m := range f.service.cfg.Store.Space(name).Memories() {
		bytes += bytesOf(m)
	}
	return bytes
}

// bytesOf estimates how much a memory takes, nil nothing.
func bytesOf(m *memory.Memory) int64 {
	if m == nil {
		return 0
	}
	return memoryBytes + 2*int64(len(m.Content)+len(m.StructuredData()))
}

// grow counts what an operation adds to an open space.
func (f *fleet) grow(rec *journal.Record) {
	more := int64(0)
	for i := range rec.Changes {
		if c := rec.Changes[i].Memory; c != nil {
			more += bytesOf(c.After) - bytesOf(c.Before)
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if u := f.uses[rec.Space]; u != nil {
		f.count(u, u.bytes+more)
	}
}

// count sets what a space takes. Where all take too much from then on, there is a sweep soon. The caller holds mu.
func (f *fleet) count(u *use, bytes int64) {
	before := f.total
	f.total += bytes - u.bytes
	u.bytes = bytes
	if before > f.cfg.Bytes || f.total <= f.cfg.Bytes {
		return // the next sweep knows
	}
	select {
	case f.full <- struct{}{}:
	default: // it is known
	}
}

// FleetStatus is how a fleet goes on this node.
type FleetStatus struct {
	Database        string // user, host and database, without a password
	Open            int    // spaces on this node
	Waiting         int    // operations of them that are not sent
	Failing         int    // of the open spaces, those whose exchange fails or has stopped
	Bytes, Limit    int64  // about what they take, and may take before those that nobody uses are dropped
	Opened, Dropped int64  // spaces since the start
	Error           string // why the last opening failed, "" when it did not
}

// FleetStatus says how the fleet goes, nil without one.
func (s *Service) FleetStatus() *FleetStatus {
	f := s.fleet
	if f == nil {
		return nil
	}
	out := &FleetStatus{Database: pglog.Shown(f.cfg.URL), Limit: f.cfg.Bytes}
	s.mu.RLock()
	for _, sp := range s.spaces {
		if !sp.state.Fleet {
			continue
		}
		st := sp.status()
		out.Open++
		out.Waiting += st.Waiting
		if st.Error != "" {
			out.Failing++
		}
	}
	s.mu.RUnlock()
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, u := range f.uses {
		out.Bytes += u.bytes
	}
	out.Opened, out.Dropped, out.Error = f.opened, f.dropped, f.err
	return out
}

// Fleet reports whether spaces are opened when they are asked for.
func (s *Service) Fleet() bool { return s.fleet != nil }

// Opened returns a *memory.NotOpenError for a space of a fleet that is not open, nil for any other. It is for
// store.Config.
func (s *Service) Opened(name string) error {
	if s.fleet == nil {
		return nil
	}
	s.mu.RLock()
	sp := s.spaces[name]
	s.mu.RUnlock()
	if sp != nil {
		sp.mu.Lock()
		defer sp.mu.Unlock()
		if sp.log != "" && !sp.closing {
			return nil
		}
	}
	return &memory.NotOpenError{Space: name}
}

// Use opens spaces for a request, unless they are open, and keeps them until release. A space that the database does
// not have is left alone, and reads as empty; with create it is created. Without a fleet it does nothing. Errors:
// memory.ErrNotOpen when the database does not answer, *DatabaseError when waiting does not help, those of ctx.
func (s *Service) Use(ctx context.Context, names []string, create bool) (release func(), err error) {
	if s.fleet == nil {
		return func() {}, nil
	}
	var kept []string
	release = func() { s.fleet.release(kept) }
	for _, name := range names {
		opened, err := s.fleet.acquire(ctx, name, create)
		if err != nil {
			release()
			return nil, err
		}
		if opened {
			kept = append(kept, name)
		}
	}
	return release, nil
}

// release ends the use of spaces.
func (f *fleet) release(names []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, name := range names {
		u := f.uses[name]
		u.users--
		u.last = f.service.cfg.Now()
	}
}

// acquire opens a space unless it is open, and keeps it. Requests that come meanwhile wait for one opening.
func (f *fleet) acquire(ctx context.Context, name string, create bool) (opened bool, err error) {
	var check memory.Check
	if check.Slug("space", name); check.Err() != nil {
		return false, nil // the call itself refuses the name
	}
	for {
		f.mu.Lock()
		u := f.uses[name]
		if u == nil {
			u = &use{last: f.service.cfg.Now()}
			f.uses[name] = u
		}
		if u.turn == nil && f.service.Shared(name) {
			u.users++
			f.mu.Unlock()
			return true, nil
		}
		t, first := u.turn, u.turn == nil
		if first {
			t = &turn{done: make(chan struct{})}
			u.turn = t
		}
		f.mu.Unlock()
		found := true
		if first {
			go func() { f.end(name, t, f.open(ctx, name, create, &found)) }()
		}
		select {
		case <-t.done:
		case <-ctx.Done():
			return false, ctx.Err()
		}
		if t.err != nil || first && !found {
			return false, t.err
		}
	}
}

// end ends a turn.
func (f *fleet) end(name string, t *turn, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	u := f.uses[name]
	u.turn, t.err = nil, err
	if u.users == 0 && !f.service.Shared(name) {
		f.count(u, 0)
		delete(f.uses, name)
	}
	close(t.done)
}

// open brings a space to this node. It does not end with the request, because others may wait for it. found is whether
// the database has the space.
func (f *fleet) open(ctx context.Context, name string, create bool, found *bool) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), openTimeout)
	defer cancel()
	err := f.admit(ctx, name, create)
	f.note(err)
	var invalid *memory.InvalidError
	switch {
	case errors.Is(err, pglog.ErrNoSpace):
		*found = false
		return nil
	case err == nil, errors.As(err, &invalid), errors.Is(err, memory.ErrNewerVersion), errors.Is(err, memory.ErrReadOnly),
		errors.Is(err, memory.ErrDiskFull):
		return err
	case isLasting(err), pglog.IsRefusal(err):
		return &DatabaseError{err}
	}
	return fmt.Errorf("space %q: %w: %w", name, memory.ErrNotOpen, err)
}

// note counts an opening.
func (f *fleet) note(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case err == nil:
		f.opened++
		f.err = ""
	case !errors.Is(err, pglog.ErrNoSpace):
		f.err = describe(err)
	}
}

// admitted is what the database has of a space.
type admitted struct {
	remote   pglog.Space
	received *received
	// ids and texts were purged since this node had the space before.
	ids, texts []string
}

// admit makes the store hold what the log does, and begins to exchange. Until the file of the state says that it is
// whole, the next start drops what is there. Error: pglog.ErrNoSpace.
func (f *fleet) admit(ctx context.Context, name string, create bool) (err error) {
	s := f.service
	s.setup.RLock()
	defer s.setup.RUnlock()
	st := &state{Version: stateVersion, Space: name, URL: f.cfg.URL, Epoch: s.cfg.Store.Epoch(), Line: store.NewID(),
		Ack: f.cfg.Ack, Fleet: true, Partial: true}
	sp := newSpace(name, st)
	found, err := f.fetch(ctx, sp, create)
	if err != nil {
		return err
	}
	if err := st.save(s.cfg.FS); err != nil {
		return err
	}
	_, _, changed := s.cfg.Store.Space(name).Look(nil)
	if changed > 0 { // an opening failed, and so did the removal of what it had brought
		if err := s.cfg.Store.Drop(ctx, name, changed); err != nil {
			return err
		}
	}
	s.mu.Lock()
	s.spaces[name] = sp
	s.mu.Unlock()
	defer func() {
		if err != nil {
			s.mu.Lock()
			delete(s.spaces, name)
			s.mu.Unlock()
			err = errors.Join(err, s.dropRest(context.WithoutCancel(ctx), name))
		}
	}()
	if err := f.eraseFormer(ctx, name, found); err != nil {
		return err
	}
	if err := s.adopt(ctx, sp, found.received, found.remote); err != nil {
		return err
	}
	_, _, changed = s.cfg.Store.Space(name).Look(nil)
	st.Partial = false
	if err := s.begin(sp, found.remote, changed, nil); err != nil {
		return err
	}
	sp.snapshotAt, sp.memberAt, sp.memberSeq, sp.settledAt = found.received.snapshotAt, s.cfg.Now(), st.Remote.Head.Seq, s.cfg.Now()
	sp.purges.due = len(found.ids)+len(found.texts) > 0
	sp.show()
	sp.contact(s.cfg.Now())
	s.mu.Lock()
	s.logs[found.remote.Log] = sp
	s.attach(sp)
	s.mu.Unlock()
	f.recount(name)
	return nil
}

// recount sets what a space takes to what it holds.
func (f *fleet) recount(name string) {
	bytes := f.measure(name) // without mu: the store may wait for it meanwhile
	f.mu.Lock()
	defer f.mu.Unlock()
	f.count(f.uses[name], bytes)
}

// fetch reads a space from the database, or creates it there.
func (f *fleet) fetch(ctx context.Context, sp *space, create bool) (out admitted, err error) {
	err = f.connected(ctx, func(log *pglog.Log) (err error) {
		if out.remote, err = f.find(ctx, log, sp.name, create); err != nil {
			return err
		}
		id, origin := out.remote.ID, f.service.cfg.Store.Origin()
		// Named in the list before anything is read, so that no purge counts as finished without this node.
		sp.state.Remote = out.remote
		if _, err = f.service.list(ctx, log, sp, id); err != nil {
			return err
		}
		if out.received, err = fetch(ctx, log, out.remote); err != nil {
			return err
		}
		out.remote.Head = out.received.head
		position, known, err := log.FormerMember(ctx, id, origin, sp.state.Line)
		if err != nil || !known {
			return err
		}
		out.ids, out.texts, err = log.ErasedSince(ctx, id, position)
		if err == nil && len(out.ids)+len(out.texts) == 0 {
			err = log.RemoveFormer(ctx, id, origin, sp.state.Line)
		}
		return err
	})
	sp.state.Remote = out.remote
	return out, err
}

// find looks for a space, and creates it if it is wanted. Error: pglog.ErrNoSpace.
func (f *fleet) find(ctx context.Context, log *pglog.Log, name string, create bool) (pglog.Space, error) {
	remote, err := log.Find(ctx, name)
	if !create || !errors.Is(err, pglog.ErrNoSpace) {
		return remote, err
	}
	parts, err := snapshotParts(store.Contents{})
	if err != nil {
		return remote, err
	}
	remote, err = log.Create(ctx, name, store.NewID(), parts)
	if errors.Is(err, pglog.ErrSpaceExists) { // another node was faster
		return log.Find(ctx, name)
	}
	return remote, err
}

// eraseFormer erases from the journal what was purged in a space since this node had it, and confirms that.
func (f *fleet) eraseFormer(ctx context.Context, name string, found admitted) error {
	if len(found.ids)+len(found.texts) == 0 {
		return nil
	}
	s := f.service
	_, err := s.cfg.Erase(ctx, store.PurgeRequest{Space: name, IDs: found.ids, Texts: found.texts,
		Reason: "purged while another node had the space", Received: true})
	if err != nil {
		return err
	}
	s.mu.RLock()
	line := s.spaces[name].state.Line
	s.mu.RUnlock()
	return f.connected(ctx, func(log *pglog.Log) error {
		return log.RemoveFormer(ctx, found.remote.ID, s.cfg.Store.Origin(), line)
	})
}

// connected runs do with the connection for openings, one at a time.
func (f *fleet) connected(ctx context.Context, do func(*pglog.Log) error) error {
	f.connMu.Lock()
	defer f.connMu.Unlock()
	if f.log == nil {
		log, err := pglog.Connect(ctx, f.cfg.URL)
		if err != nil {
			return err
		}
		if err := log.Migrate(ctx); err != nil {
			return errors.Join(err, log.Close())
		}
		f.log = log
	}
	err := do(f.log)
	if err != nil && !errors.Is(err, pglog.ErrNoSpace) {
		_ = f.log.Close() // whatever it was, the next one begins anew
		f.log = nil
	}
	return err
}

// run drops spaces, and looks for purges in those that this node had, until ctx ends.
func (f *fleet) run(ctx context.Context) {
	ticker := time.NewTicker(f.service.cfg.Poll)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			f.connMu.Lock()
			defer f.connMu.Unlock()
			if f.log != nil {
				_ = f.log.Close()
			}
			return
		case <-f.full:
		case <-ticker.C:
			f.confirm(ctx)
		}
		f.sweep(ctx)
	}
}

// confirm opens the spaces with a purge that this node has not confirmed: its journal may still have what was purged,
// although it has the space no more.
func (f *fleet) confirm(ctx context.Context) {
	var names []string
	err := f.connected(ctx, func(log *pglog.Log) (err error) {
		names, err = log.Unconfirmed(ctx, f.service.cfg.Store.Origin())
		return err
	})
	for _, name := range names {
		if f.service.Shared(name) {
			f.service.wake(name) // a crash came before the confirmation
		} else if err == nil {
			var release func()
			if release, err = f.service.Use(ctx, []string{name}, false); err == nil {
				release()
			}
		}
	}
	if err != nil && ctx.Err() == nil {
		f.service.cfg.Logger.Debug("purges of the fleet are not known", "err", err)
	}
}

// sweep drops what nobody used for long, and what was not used for longest while all take too much.
func (f *fleet) sweep(ctx context.Context) {
	type candidate struct {
		name string
		use
	}
	var all []candidate
	total, now := int64(0), f.service.cfg.Now()
	f.mu.Lock()
	for name, u := range f.uses {
		total += u.bytes
		if u.users == 0 && u.turn == nil {
			all = append(all, candidate{name, *u})
		}
	}
	f.total = total
	f.mu.Unlock()
	slices.SortFunc(all, func(a, b candidate) int { return a.last.Compare(b.last) })
	for _, c := range all {
		if ctx.Err() != nil || total <= f.cfg.Bytes && now.Sub(c.last) < f.cfg.Idle {
			return
		}
		switch dropped, err := f.drop(ctx, c.name); {
		case err != nil:
			f.service.cfg.Logger.Warn("a space of the fleet is not dropped", "space", c.name, "err", err)
		case dropped:
			total -= c.bytes
		}
	}
}

// drop takes a space from this node, unless somebody uses it or something of it is only here.
func (f *fleet) drop(ctx context.Context, name string) (dropped bool, err error) {
	s, t := f.service, &turn{done: make(chan struct{})}
	f.mu.Lock()
	u := f.uses[name]
	if u == nil || u.users > 0 || u.turn != nil {
		f.mu.Unlock()
		return false, nil
	}
	u.turn = t
	f.mu.Unlock()
	defer f.end(name, t, nil)
	s.setup.RLock()
	defer s.setup.RUnlock()
	s.mu.RLock()
	sp := s.spaces[name]
	s.mu.RUnlock()
	if sp == nil || !sp.state.Fleet { // it was joined by hand
		return false, nil
	}
	_, _, changed := s.cfg.Store.Space(name).Look(nil)
	if needed, err := s.needsNode(sp); needed || err != nil {
		f.recount(name)
		f.mu.Lock()
		u.last = s.cfg.Now() // it is not looked at again at once: that reads files
		f.mu.Unlock()
		return false, err
	}
	s.mu.RLock()
	l := s.links[sp.state.URL]
	s.mu.RUnlock()
	sp.setClosing(true) // nobody writes
	if l != nil {
		l.remove(sp) // and nothing is received
	}
	if err := s.dropUnneeded(ctx, sp, changed); err != nil {
		sp.setClosing(false)
		if l != nil {
			l.add(sp)
		}
		if errors.Is(err, memory.ErrStale) {
			err = nil // somebody wrote to it: another time
		}
		return false, err
	}
	s.mu.Lock()
	delete(s.spaces, name)
	delete(s.logs, sp.state.Remote.Log)
	s.mu.Unlock()
	sp.leave()
	f.mu.Lock()
	f.dropped++
	f.count(u, 0)
	f.mu.Unlock()
	return true, s.forgetSpace(name)
}

// dropUnneeded is the commit point of a drop. Error: memory.ErrStale when somebody wrote to the space behind changed.
func (s *Service) dropUnneeded(ctx context.Context, sp *space, changed int64) error {
	needed, err := s.needsNode(sp)
	switch {
	case err != nil:
		return err
	case needed:
		return &memory.StaleError{Kind: "space", Name: sp.name}
	case changed == 0:
		return nil // the store has nothing of it
	}
	return s.cfg.Store.Drop(ctx, sp.name, changed)
}

// exchanges reports whether a space is exchanged: it is shared, and not about to be dropped.
func (s *Service) exchanges(sp *space) bool {
	s.mu.RLock()
	current := s.spaces[sp.name] == sp
	s.mu.RUnlock()
	sp.mu.Lock()
	defer sp.mu.Unlock()
	return current && !sp.closing && !sp.shown.Stopped
}

// setClosing says whether the space is being dropped.
func (sp *space) setClosing(closing bool) {
	sp.mu.Lock()
	defer sp.mu.Unlock()
	sp.closing = closing
}

// needsNode reports whether something of a space is only on this node: an operation or a purge that is not sent, a
// session that goes on or waits for its reflection, a proposal for a person. One with a mirror stays, too.
func (s *Service) needsNode(sp *space) (bool, error) {
	if len(s.purgesOf(sp.name)) > 0 {
		return true, nil
	}
	sp.mu.Lock()
	needed := len(sp.unsent) > 0 || sp.shown.Waiting > 0 || sp.shown.Error != "" || sp.shown.Stopped || sp.mirror != nil
	sp.mu.Unlock()
	if needed {
		return true, nil
	}
	for _, session := range s.cfg.Store.Space(sp.name).Sessions() {
		ended := session.State == memory.SessionEnded && s.fleet.cfg.NoReflection
		if session.State != memory.SessionReflected && !ended {
			return true, nil
		}
	}
	items, err := s.reviews.List(sp.name, false)
	return len(items) > 0, err
}

// dropLeftovers removes what a crash left of openings and of drops, and returns the states of the others. Of an opening
// the store may have a part, and nobody else wrote to it. Of a drop it has nothing any more.
func (s *Service) dropLeftovers(ctx context.Context, states []*state) (whole []*state, err error) {
	for _, st := range states {
		_, _, changed := s.cfg.Store.Space(st.Space).Look(nil)
		if !st.Partial && (!st.Fleet || changed > 0) {
			whole = append(whole, st)
			continue
		}
		if err := s.dropRest(ctx, st.Space); err != nil {
			return nil, err
		}
	}
	return whole, nil
}

// dropRest removes what is here of a space that is not open. Durable on return.
func (s *Service) dropRest(ctx context.Context, name string) error {
	_, _, changed := s.cfg.Store.Space(name).Look(nil)
	if changed > 0 {
		if err := s.cfg.Store.Drop(ctx, name, changed); err != nil {
			return err
		}
	}
	return s.forgetSpace(name)
}

// forgetSpace removes the index and the state of a space that the store does not have. The state is last, so that the
// next start finds what a crash left.
func (s *Service) forgetSpace(name string) error {
	if s.cfg.Forget != nil {
		if err := s.cfg.Forget(name); err != nil {
			return err
		}
	}
	return removeState(s.cfg.FS, name)
}
