package share

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/share/merge"
	"github.com/memsidecar/memsidecar/internal/share/mirror"
	"github.com/memsidecar/memsidecar/internal/share/pglog"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

// space is a shared space. What is not guarded by mu belongs to the goroutine that sets it up, then to its link.
type space struct {
	name     string
	readOnly bool // as state has it; it never changes
	state    *state
	waiting  *waiting
	// done is the newest row that the journal says is applied. It may be ahead of state.Remote.Head after a crash.
	done int64
	// marks are the operations of the journal that say so, oldest first, until their rows were read again.
	marks []mark
	// snapshotAt is the position of the newest snapshot, -1 when it is not known.
	snapshotAt int64
	ownHead    bool      // this machine appended the newest row
	memberAt   time.Time // when the position was last reported
	memberSeq  int64     // what was reported then
	purges     purges
	settledAt  time.Time // when the marks were last moved up; see Service.settle
	// saved is the newest local operation that no start of the daemon needs, by the file of the state.
	saved atomic.Int64
	// savedRead is the newest local operation that is in Known, by the file of the state.
	savedRead int64
	// again says that the last exchange failed.
	again bool
	// unsaved is since when the file is older than the state; zero when it is not.
	unsaved time.Time

	mu sync.Mutex
	// moved wakes those who wait for applied.
	moved *sync.Cond
	// queue are operations that were not looked at yet. Guarded by mu.
	queue []*journal.Record
	// applied is the newest operation that was queued. Guarded by mu.
	applied int64
	// mirror is called when there may be something to mirror; nil without a mirror. Guarded by mu.
	mirror func()
	// wake is called when something was queued; nil without a link. urgent ends a pause after a failure, too. Guarded
	// by mu.
	wake func(urgent bool)
	// unsent are the operations that change what is shared and may not be in the log, oldest first. Guarded by mu.
	unsent []int64
	// log is the identity of the log, "" while the space is set up, and epoch that of this machine in it. Guarded by
	// mu.
	log, epoch string
	// received are the newest operations of other lines that are applied here, of those that somebody asked for. asked
	// are those of which it is not known yet. Guarded by mu.
	received map[line]int64
	asked    map[line]bool
	// changed is closed, and replaced, when something was exchanged or failed. Guarded by mu.
	changed chan struct{}
	// failures counts failed exchanges. Guarded by mu.
	failures int
	// closing says that the space is being dropped: nobody else writes to it. Guarded by mu.
	closing bool
	// left says that the space is not shared any more, ended that the daemon stops. Guarded by mu.
	left, ended bool
	// shown is what people see. Guarded by mu.
	shown Status
	// logs is that of the state. Guarded by mu.
	logs *logs
}

// newSpace returns a space with a state that resume has not looked at, or one that is being set up.
func newSpace(name string, st *state) *space {
	sp := &space{name: name, state: st, waiting: newWaiting(name), snapshotAt: -1, purges: purges{due: true},
		changed: make(chan struct{}), received: map[line]int64{}, asked: map[line]bool{}}
	sp.moved = sync.NewCond(&sp.mu)
	sp.readOnly = st.ReadOnly
	sp.shown = Status{Space: name, ReadOnly: st.ReadOnly, Fleet: st.Fleet}
	sp.logs = st.Logs
	if st.Remote.ID != 0 {
		sp.saved.Store(st.settled())
		sp.savedRead = st.Read
		sp.show()
	}
	return sp
}

// note queues an operation.
func (sp *space) note(rec *journal.Record) {
	sp.mu.Lock()
	if !sp.shown.Stopped { // else the next start of the daemon reads it in the journal
		sp.queue = append(sp.queue, rec)
	}
	sp.applied = rec.Last()
	sp.moved.Broadcast()
	wake := sp.wake
	if sp.isSent(rec) && sp.sharesAnything(rec.Op, rec.Changes) {
		sp.shown.Waiting++
		sp.unsent = append(sp.unsent, rec.Op)
	}
	sp.mu.Unlock()
	if wake != nil && rec.Actor != journal.ActorShare {
		wake(false)
	}
}

// isSent reports whether an operation is sent to the log as what it is. What came from there is not, and a purge is
// announced in its own way. From a space that is only received nothing is sent.
func (sp *space) isSent(rec *journal.Record) bool {
	return !sp.readOnly && rec.Actor != journal.ActorShare && rec.Purge == nil
}

// sharesAnything reports whether an operation with some changes changes something that is shared. The caller holds mu.
func (sp *space) sharesAnything(op int64, changes []journal.Change) bool {
	return slices.ContainsFunc(changes, func(c journal.Change) bool { return merge.KeyOf(&c) != "" }) ||
		sp.logs.sends(op) && len(sentEntries(changes)) > 0
}

// resumed is a space whose waiting operations are looked for in the journal.
type resumed struct {
	space   *space
	fresh   []*journal.Record // that Known does not have
	changed int64
}

// resume finds the waiting operations of spaces in the journal, which is read once. Where that fails the exchange of
// the space stops. Nothing may be written meanwhile.
func resume(ctx context.Context, st *store.Store, spaces map[string]*space) {
	from, byName := int64(math.MaxInt64), map[string]*resumed{}
	for name, sp := range spaces {
		changed, err := sp.canResume(st)
		if err != nil {
			sp.stop(err)
			continue
		}
		byName[name] = &resumed{space: sp, changed: changed}
		from = min(from, sp.state.settled()+1)
	}
	if len(byName) == 0 {
		return
	}
	for rec, err := range st.Operations(ctx, from, math.MaxInt64) {
		if err != nil {
			for _, r := range byName {
				r.space.stop(fmt.Errorf("read the operations that wait to be sent: %w", err))
			}
			return
		}
		if r := byName[rec.Space]; r != nil && rec.Op > r.space.state.settled() {
			r.take(rec)
		}
	}
	for _, r := range byName {
		r.end(st)
	}
}

// canResume reports whether the journal still has what waits, and returns the newest record of the space.
func (sp *space) canResume(st *store.Store) (changed int64, err error) {
	s := sp.state
	if s.Epoch != st.Epoch() {
		return 0, fmt.Errorf("the store began a new line of history (a restore or a repair), so what is sent is not known; "+
			"run `memsidecar share leave %s --force`, then join again: what only this machine holds is sent then", sp.name)
	}
	_, _, changed = st.Space(sp.name).Look(nil)
	if settled, first := s.settled(), st.First(); settled+1 < first && changed > settled && !sp.readOnly {
		sp.saved.Store(math.MaxInt64 - 1) // the rest is of no use
		return 0, fmt.Errorf("what was written here since operation %d is not sent, and history before operation %d is not "+
			"kept any more; run `memsidecar share leave %s --force`, then join again: what only this machine holds is "+
			"sent then", settled, first, sp.name)
	}
	if s.Seed != nil && s.Sent < s.Seed.Op {
		sp.waitSeed(s.Seed)
	}
	return changed, nil
}

// take looks at the next operation of the space.
func (r *resumed) take(rec *journal.Record) {
	sp, s := r.space, r.space.state
	if seq := seqOf(rec, s.Remote.Log); rec.Actor == journal.ActorShare && seq > 0 {
		sp.done = max(sp.done, seq)
		sp.marks = append(sp.marks, mark{seq, rec.Op})
	}
	if rec.Op > s.Read {
		r.fresh = append(r.fresh, rec)
	} else if rec.Op > max(s.From, s.Sent) && sp.isSent(rec) {
		sp.waiting.add(operationOf(rec, s.Logs))
	}
}

// end is called when all operations were looked at.
func (r *resumed) end(st *store.Store) {
	sp := r.space
	sp.applied = r.changed
	sp.reconstruct(st, r.fresh)
	sp.take(r.fresh)
	for _, w := range sp.waiting.ops {
		sp.unsent = append(sp.unsent, w.op)
	}
	sp.show()
}

// reconstruct fills in what accesses were counted from: the journal does not say, so it goes back from the present.
func (sp *space) reconstruct(st *store.Store, fresh []*journal.Record) {
	now := map[string]*memory.Memory{}
	for i := len(fresh) - 1; i >= 0; i-- {
		for j := len(fresh[i].Changes) - 1; j >= 0; j-- {
			switch c := &fresh[i].Changes[j]; {
			case c.Memory != nil:
				now[c.Memory.ID] = c.Memory.Before
			case c.Access != nil:
				m, known := now[c.Access.ID]
				if !known {
					m, _ = st.Space(sp.name).Get(c.Access.ID)
				}
				if m != nil {
					before := *m
					before.SetAccesses(m.AccessCount()-c.Access.Count, time.Time{})
					m = &before
				}
				now[c.Access.ID], c.Access.Before = m, m
			}
		}
	}
}

// markPrefix begins the idempotency key of an operation that applies rows of a log.
const markPrefix = "share-"

// markOf is the idempotency key of the operation that applies the rows up to seq.
func markOf(log string, seq int64) string { return markPrefix + log + "-" + strconv.FormatInt(seq, 10) }

// seqOf is the newest row of a log that an operation applied, 0 for none.
func seqOf(rec *journal.Record, log string) int64 {
	if rec.Receipt == nil {
		return 0
	}
	text, ok := strings.CutPrefix(rec.Receipt.Key, markPrefix+log+"-")
	if !ok {
		return 0
	}
	seq, _ := strconv.ParseInt(text, 10, 64)
	return seq
}

// mark is a local operation that applied the rows up to seq.
type mark struct{ seq, op int64 }

// appliedBy returns the local operation that applied a row, of those that the last start found in the journal; 0 when
// there is none.
func (sp *space) appliedBy(seq int64) int64 {
	for _, m := range sp.marks {
		if m.seq >= seq {
			return m.op
		}
	}
	return 0
}

// isReceived reports whether all operations since the space is set up, up to an LSN that a reader of the store saw, are
// of the exchange.
func (sp *space) isReceived(seen int64) bool {
	sp.mu.Lock()
	defer sp.mu.Unlock()
	for sp.applied < seen {
		sp.moved.Wait()
	}
	return !slices.ContainsFunc(sp.queue, func(rec *journal.Record) bool {
		return rec.Op <= seen && rec.Actor != journal.ActorShare
	})
}

// catchUp waits until everything up to an LSN that a reader of the store saw is queued, and looks at what is queued.
func (sp *space) catchUp(seen int64) {
	sp.mu.Lock()
	for sp.applied < seen {
		sp.moved.Wait()
	}
	queue := sp.queue
	sp.queue = nil
	sp.mu.Unlock()
	sp.take(queue)
}

// take adds operations to those that wait, and what the things that they touch were before to Known.
func (sp *space) take(recs []*journal.Record) {
	for _, rec := range recs {
		if rec.Last() <= sp.state.Read {
			continue
		}
		sp.state.Read = rec.Last()
		if !sp.isSent(rec) || rec.Op <= sp.state.From {
			continue
		}
		known := &sp.state.Known
		for i := range rec.Changes {
			c := &rec.Changes[i]
			if key := merge.KeyOf(c); key == "" || known.Has(key) {
				continue
			}
			switch {
			case c.Memory != nil:
				known.SetMemory(c.Memory.ID, c.Memory.Before)
			case c.Access != nil:
				known.SetMemory(c.Access.ID, c.Access.Before)
			case c.Forgotten != nil:
				known.SetForgotten(c.Forgotten.Hash, c.Forgotten.Before)
			case c.Summary != nil:
				before := c.Summary.Before
				known.Summary = &before
			}
		}
		sp.waiting.add(operationOf(rec, sp.state.Logs))
	}
}

// waitSeed adds the seed, which is in the state and not in the journal, to what waits.
func (sp *space) waitSeed(held *seed) {
	sp.waiting.seed = held.operation()
	sp.waiting.add(sp.waiting.seed)
}

// sent removes the operations up to op from those that wait.
func (sp *space) sent(op int64) {
	sp.state.Sent = max(sp.state.Sent, op)
	sp.waiting.drop(op)
	if s := sp.state; s.Seed != nil && s.Sent >= s.Seed.Op {
		s.Seed = nil
	}
	for hash, lsn := range sp.state.Arrived {
		if len(sp.waiting.ops) == 0 || sp.waiting.ops[0].op > lsn {
			delete(sp.state.Arrived, hash)
		}
	}
}

// forgottenSince returns what reports whether others forgot a text, unknown to operation op.
func (sp *space) forgottenSince(op int64) func(string) bool {
	return func(text string) bool {
		for hash, lsn := range sp.state.Arrived {
			if salt, _, ok := strings.Cut(hash, ":"); ok && lsn > op && memory.ForgottenHash(salt, text) == hash {
				return true
			}
		}
		return false
	}
}

// show updates what people see.
func (sp *space) show() {
	sp.mu.Lock()
	defer sp.mu.Unlock()
	s := sp.state
	sp.shown.Remote, sp.shown.Position = s.Remote.Name, s.Remote.Head.Seq
	if sp.shown.Database == "" {
		sp.shown.Database = pglog.Shown(s.URL) // which looks at files, and never changes
	}
	sp.shown.Waiting, sp.shown.Oldest = len(sp.waiting.ops), time.Time{}
	if len(sp.waiting.ops) > 0 {
		sp.shown.Oldest = sp.waiting.ops[0].at
	}
	for _, rec := range sp.queue {
		if sp.isSent(rec) && sp.sharesAnything(rec.Op, rec.Changes) {
			sp.shown.Waiting++
		}
	}
	if sp.mirror != nil {
		sp.mirror()
	}
	sp.shown.Ack, sp.shown.Logs = cmp.Or(s.Ack, AckLocal), s.Logs.on()
	sp.log, sp.epoch = s.Remote.Log, s.Line
	sent := s.Read
	if len(sp.waiting.ops) > 0 {
		sent = sp.waiting.ops[0].op - 1
	}
	n, _ := slices.BinarySearch(sp.unsent, sent+1)
	sp.unsent = sp.unsent[n:]
	sp.signal()
}

// contact records that the log answered.
func (sp *space) contact(now time.Time) {
	sp.mu.Lock()
	defer sp.mu.Unlock()
	sp.shown.Contact, sp.shown.Error = now, ""
}

// failed records an error that may go away.
func (sp *space) failed(err error) {
	sp.mu.Lock()
	defer sp.mu.Unlock()
	if !sp.shown.Stopped {
		sp.shown.Error = describe(err)
	}
	sp.failures++
	sp.signal()
}

// stop ends the exchange because of an error that does not go away by itself. Local work goes on.
func (sp *space) stop(err error) {
	sp.mu.Lock()
	defer sp.mu.Unlock()
	sp.shown.Error, sp.shown.Stopped, sp.queue = describe(err), true, nil
	defer sp.signal()
	if errors.Is(err, errCopied) || errors.Is(err, pglog.ErrTaken) || errors.Is(err, memory.ErrTrimmed) {
		sp.shown.Error += fmt.Sprintf("; run `memsidecar share leave %s --force` and join again: then this directory has a "+
			"name of its own in the log, and what only it holds is sent", sp.name)
	}
}

// stopped reports whether the exchange ended.
func (sp *space) stopped() bool {
	sp.mu.Lock()
	defer sp.mu.Unlock()
	return sp.shown.Stopped
}

// status is what people see.
func (sp *space) status() Status {
	sp.mu.Lock()
	defer sp.mu.Unlock()
	return sp.shown
}

// describe is an error with what a person can do.
func describe(err error) string {
	if advice := mirror.Advice(err); advice != "" {
		return err.Error() + "; " + advice
	}
	return err.Error()
}
