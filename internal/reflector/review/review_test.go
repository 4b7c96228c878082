package review_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/memtest"
	"github.com/memsidecar/memsidecar/internal/reflector/guard"
	"github.com/memsidecar/memsidecar/internal/reflector/review"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/durable/crashfs"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

// queue is a store with one memory and what was proposed about it.
type queue struct {
	*review.Service
	t  *testing.T
	st *store.Store
}

func open(t *testing.T) *queue {
	t.Helper()
	q := &queue{t: t, st: memtest.OpenStore(t, crashfs.New())}
	q.Service = review.New(q.st)
	q.update(func(tx *store.Tx) error { return tx.Put(memtest.Fact("m1", "Alice deploys to port 8080 on Fridays")) })
	return q
}

func (q *queue) update(fn func(*store.Tx) error) store.Result {
	q.t.Helper()
	res, err := q.st.Update(q.t.Context(), store.Meta{Actor: journal.ActorReflect}, fn)
	if err != nil {
		q.t.Fatal(err)
	}
	return res
}

// propose passes items through the guards as a reflection does, and returns the outcomes.
func (q *queue) propose(items ...guard.Item) []journal.Outcome {
	q.t.Helper()
	p := guard.Plan{Space: memory.DefaultSpace, Session: "s1", Items: items, At: memtest.Epoch}
	known, err := q.ProposalsFor(p.Space, p.Targets())
	if err != nil {
		q.t.Fatal(err)
	}
	p.Reviewed = known
	return q.update(func(tx *store.Tx) error { return guard.Apply(tx, p) }).Outcomes
}

func (q *queue) change(text string) guard.Item {
	return guard.Item{Action: guard.Update, Target: "m1", TargetRevision: q.memory().Revision,
		Memory: memory.Memory{Content: text}}
}

func (q *queue) memory() *memory.Memory {
	q.t.Helper()
	m, err := q.st.Space("").Get("m1")
	if err != nil {
		q.t.Fatal(err)
	}
	return m
}

// only returns the single item of the queue.
func (q *queue) only() review.Item {
	q.t.Helper()
	items, err := q.List("", false)
	if err != nil || len(items) != 1 {
		q.t.Fatalf("the queue holds %d items, %v", len(items), err)
	}
	return items[0]
}

func (q *queue) pending(want int) {
	q.t.Helper()
	items, err := q.List("", false)
	n, errCount := q.Pending()
	if err != nil || errCount != nil || len(items) != want || n != want {
		q.t.Errorf("%d items wait and %d are counted, want %d; %v %v", len(items), n, want, err, errCount)
	}
}

func (q *queue) resolve(id string, decision review.Decision) store.Result {
	q.t.Helper()
	res, err := q.Resolve(q.t.Context(), store.Meta{}, id, decision)
	if err != nil {
		q.t.Fatal(err)
	}
	return res
}

// TestQueue: what the guards leave to a person waits with its reason and the text before and after, whoever proposed
// it.
func TestQueue(t *testing.T) {
	byModel := func(item guard.Item) guard.Item { item.Model = true; return item }
	for _, tt := range []struct {
		name string
		item func(*queue) guard.Item
		want guard.Proposal
	}{
		{"a rule loses a number", func(q *queue) guard.Item {
			return q.change("Alice deploys on Fridays")
		},
			guard.Proposal{Reason: "REVIEW_LOST_NUMBER", Action: guard.Update, By: guard.ByRules}},
		{"a model invents a name", func(q *queue) guard.Item {
			return byModel(q.change("Somebody deploys to port 8080 on Fridays"))
		},
			guard.Proposal{Reason: "REVIEW_NEW_VALUE", Action: guard.Update, By: guard.ByModel}},
		{"a model retires what the user saved", func(q *queue) guard.Item {
			return guard.Item{Action: guard.Delete, Model: true, Target: "m1", TargetRevision: q.memory().Revision}
		}, guard.Proposal{Reason: "REVIEW_USERS_OWN", Action: guard.Delete, By: guard.ByModel}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			q := open(t)
			before := q.memory()
			item := tt.item(q)
			if o := q.propose(item)[0]; o.Status != journal.Rejected || o.Reason != tt.want.Reason {
				t.Errorf("outcome %+v", o)
			}
			got := q.only()
			want := tt.want
			want.Target, want.Revision, want.Before = "m1", before.Revision, before.Content
			if want.Action == guard.Update {
				want.Proposed = &guard.Values{Content: item.Memory.Content, Source: got.Proposed.Source,
					Salience: got.Proposed.Salience}
			}
			if diff := cmp.Diff(want, got.Proposal); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if got.Stale() || got.Entry.Session != "s1" || got.Date != "2026-02-21" {
				t.Errorf("%+v", got)
			}
			q.propose(item)
			q.pending(1) // nobody is asked the same twice

			op := q.resolve(got.Entry.ID, review.Accept).Op
			if after := q.memory(); want.Action == guard.Delete && after.IsActive() || want.Action == guard.Update &&
				after.Content != item.Memory.Content {
				t.Errorf("accepted, and the memory is %+v", after)
			}
			q.pending(0)
			if _, err := q.st.Undo(t.Context(), store.Meta{Actor: journal.ActorClient}, op); err != nil {
				t.Fatal(err)
			}
			if after := q.memory(); after.Content != before.Content || !after.IsActive() {
				t.Errorf("undone, and the memory is %+v", after)
			}
			q.pending(1)
			q.resolve(got.Entry.ID, review.Accept)
			if after := q.memory(); want.Action == guard.Delete && after.IsActive() || want.Action == guard.Update &&
				after.Content != item.Memory.Content {
				t.Errorf("accepted again after the undo, and the memory is %+v", after)
			}
		})
	}
}

func TestReject(t *testing.T) {
	q := open(t)
	item := q.change("Alice deploys on Fridays")
	q.propose(item)
	id := q.only().Entry.ID
	res := q.resolve(id, review.Reject)
	if q.memory().Content != "Alice deploys to port 8080 on Fridays" || res.Op == 0 {
		t.Errorf("rejected by %+v, and the memory says %q", res, q.memory().Content)
	}
	q.pending(0)
	got, err := q.Get("", id)
	if err != nil || got.State != guard.StateRejected || !got.ResolvedAt.Equal(memtest.Epoch) {
		t.Errorf("%+v %v", got, err)
	}
	q.propose(item)
	q.pending(0) // what was turned down is not proposed again
	if again := q.resolve(id, review.Reject); again.Op != 0 ||
		again.Outcomes[0].Reason != review.ReasonAlreadyResolved {
		t.Errorf("rejected again: %+v", again)
	}
	if other := q.resolve(id, review.Accept); other.Op != 0 ||
		other.Outcomes[0].Reason != review.ReasonResolvedOtherwise {
		t.Errorf("accepted after it was rejected: %+v", other)
	}
	if _, err := q.st.Undo(t.Context(), store.Meta{Actor: journal.ActorClient}, res.Op); err != nil {
		t.Fatal(err)
	}
	q.pending(1)
}

// TestStale: an item whose memory changed since cannot be carried out, and can be turned down.
func TestStale(t *testing.T) {
	q := open(t)
	q.propose(q.change("Alice deploys on Fridays"))
	id := q.only().Entry.ID
	q.update(func(tx *store.Tx) error { return tx.Put(memtest.Fact("m1", "Alice deploys to port 9090 on Mondays")) })
	if item := q.only(); !item.Stale() {
		t.Error("the item is not stale")
	}
	_, err := q.Resolve(t.Context(), store.Meta{}, id, review.Accept)
	if stale, ok := errors.AsType[*memory.StaleError](err); !ok || stale.Kind != "memory" ||
		q.memory().Content != "Alice deploys to port 9090 on Mondays" {
		t.Errorf("%v; the memory says %q", err, q.memory().Content)
	}
	q.pending(1)
	q.resolve(id, review.Reject)
	q.pending(0)
}

// TestOtherGuardsHold: what was forgotten meanwhile, or is known already, is not written by accepting it.
func TestOtherGuardsHold(t *testing.T) {
	q := open(t)
	q.propose(q.change("Alice deploys on Fridays"))
	id := q.only().Entry.ID
	q.update(func(tx *store.Tx) error { tx.Forget("Alice deploys on Fridays"); return nil })
	if res := q.resolve(id, review.Accept); res.Op != 0 || res.Outcomes[0].Reason != guard.ReasonForgotten {
		t.Errorf("%+v", res)
	}
	q.pending(1)
	if _, err := q.Get("", "nothing"); !errors.Is(err, memory.ErrNotFound) {
		t.Errorf("an unknown item: %v", err)
	}
}

// TestPurged: a purge takes the text out of an item, and what was read before it is not written back by a decision.
func TestPurged(t *testing.T) {
	q := open(t)
	q.propose(q.change("Alice deploys from the hidden lagoon on Fridays"))
	id := q.only().Entry.ID
	p, err := q.st.PlanPurge(t.Context(), store.PurgeRequest{Texts: []string{"hidden lagoon"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []error{p.Commit(t.Context()), p.Rewrite(t.Context()), p.Finish()} {
		if step != nil {
			t.Fatal(step)
		}
	}
	q.pending(1)
	q.resolve(id, review.Reject)
	got, err := q.Get("", id)
	if err != nil || got.Proposed.Content != "Alice deploys from the [purged] on Fridays" {
		t.Errorf("%+v %v", got.Proposed, err)
	}
}

// TestSurvivesRestart: the queue is in the journal alone.
func TestSurvivesRestart(t *testing.T) {
	fsys := crashfs.New()
	q := &queue{t: t, st: memtest.OpenStore(t, fsys)}
	q.Service = review.New(q.st)
	q.update(func(tx *store.Tx) error { return tx.Put(memtest.Fact("m1", "Alice deploys to port 8080 on Fridays")) })
	q.propose(q.change("Alice deploys on Fridays"))
	before := q.only()
	again := &queue{t: t, st: memtest.OpenStore(t, fsys.Crash(crashfs.Lost, nil))}
	again.Service = review.New(again.st)
	if diff := cmp.Diff(before.Proposal, again.only().Proposal); diff != "" {
		t.Errorf("(-before +after the crash):\n%s", diff)
	}
	if again.resolve(before.Entry.ID, review.Accept); again.memory().Content != "Alice deploys on Fridays" {
		t.Errorf("the memory says %q", again.memory().Content)
	}
}

// FuzzProposalOf: whatever stands in a log that was edited by hand, an item that is read can be written.
func FuzzProposalOf(f *testing.F) {
	f.Add(`{"reason":"REVIEW_LOST_NUMBER","action":"UPDATE","target":"m1","target_revision":1,"by":"model",` +
		`"before":"a","proposed":{"content":"b"}}`)
	f.Add(`{"action":"DELETE","target":"m1","state":"accepted","resolved_at":"2026-02-21T10:30:00Z"}`)
	f.Add(`{"action":"UPDATE","target":"m1","proposed":{"content":"x","structured_data":[1],"context":{"extra":{}}}}`)
	f.Add(`[]`)
	f.Fuzz(func(t *testing.T, raw string) {
		e := &memory.Entry{ID: "e", Type: memory.EntryReview, Content: "x",
			Extra: map[string]json.RawMessage{guard.ExtraReview: json.RawMessage(raw)}}
		p := guard.ProposalOf(e)
		if p == nil {
			return
		}
		if p.Action != guard.Delete && p.Proposed == nil {
			t.Errorf("%q gives an update to nothing", raw)
		}
		_ = p.Item()
		if back, err := guard.WithProposal(e, p); err == nil && guard.ProposalOf(back) == nil {
			t.Errorf("%q is not read again", raw)
		}
	})
}

// TestStaysTheUsers: a memory that the user saved and that is completed by learning is the user's still, so that no
// model may retire it.
func TestStaysTheUsers(t *testing.T) {
	q := open(t)
	item := q.change("Alice deploys to port 8080 on Fridays and on Sundays")
	item.Model, item.Memory.Source, item.Said = true, memory.SourceReflection, item.Memory.Content
	if o := q.propose(item)[0]; o.Status != journal.Applied || q.memory().Source != memory.SourceUser {
		t.Errorf("%+v, and the memory came by %q", o, q.memory().Source)
	}
	q.propose(guard.Item{Action: guard.Delete, Model: true, Target: "m1", TargetRevision: q.memory().Revision})
	if item := q.only(); item.Reason != guard.ReasonUsersOwn {
		t.Errorf("%+v", item.Proposal)
	}
}
