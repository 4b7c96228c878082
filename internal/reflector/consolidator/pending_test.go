package consolidator_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/reflector/consolidator"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

// writes puts entries of today into the log.
func writes(t *testing.T, st *store.Store, entries ...memory.Entry) {
	t.Helper()
	_, err := st.Update(t.Context(), store.Meta{Actor: journal.ActorClient}, func(tx *store.Tx) error {
		for i, e := range entries {
			e.ID, e.At, e.Time = fmt.Sprint("e", i), noon, "12:00:00"
			if err := tx.AppendEntry("2026-02-21", &e); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func active(st *store.Store) (out []string) {
	for _, m := range st.Space("").Memories() {
		if m.IsActive() {
			out = append(out, m.Content)
		}
	}
	return out
}

var diary = []memory.Entry{
	{Type: memory.EntryAutoExtract, Content: "We use Postgres 14", Category: memory.Facts},
	{Type: memory.EntryEvent, Content: "Had lunch"},
	{Type: memory.EntryAutoExtract, Content: "We use Postgres 15", Category: memory.Facts},
	{Type: memory.EntrySessionSummary, Content: "They talked of the harbour"},
	{Type: memory.EntryEvent, Content: "用户喜欢下午三点开会", Category: memory.Preferences},
	{Type: memory.EntryAutoExtract, Content: "用户喜欢下午三点开会。", Category: memory.Preferences},
	{Type: memory.EntryAutoExtract, Content: "password=hunter2"},
	{Type: memory.EntryAutoExtract, Content: "The fleet deploys from Graz", Category: memory.Facts,
		Extra: map[string]json.RawMessage{memory.ExtraStore: []byte(`"0197f0e4"`)}}, // of another machine
}

// TestPending: what was written to become a memory becomes one, once, however often it is asked for; the rest stays
// an entry.
func TestPending(t *testing.T) {
	st, s := open(t)
	writes(t, st, diary...)
	run := func(req consolidator.PendingRequest) (out []string, left int) {
		t.Helper()
		done, left, err := s.Pending(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range done {
			out = append(out, fmt.Sprint(c.Entry.ID, " ", c.Action, " ", c.Reason))
		}
		return out, left
	}
	lsn := st.LSN()
	if dry, _ := run(consolidator.PendingRequest{DryRun: true}); len(dry) != 5 || st.LSN() != lsn {
		t.Errorf("a dry run: %q, at operation %d", dry, st.LSN())
	}
	some, left := run(consolidator.PendingRequest{Limit: 2})
	rest, none := run(consolidator.PendingRequest{})
	want := []string{"e0 ADD NEW", "e2 UPDATE CHANGED_VALUE", "e4 ADD NEW", "e5 NOOP EXACT_DUPLICATE", "e6 NOOP SECRET"}
	if diff := cmp.Diff(want, append(some, rest...)); diff != "" || left != 3 || none != 0 {
		t.Errorf("%d and %d left (-want +got):\n%s", left, none, diff)
	}
	if diff := cmp.Diff([]string{"We use Postgres 15", "用户喜欢下午三点开会"}, active(st)); diff != "" {
		t.Error(diff)
	}
	m := st.Space("").Memories()[0]
	if e := m.Evidence(); len(e) != 2 || e[0].Entry != "e0" || e[1].Entry != "e2" || e[1].Log != "2026-02-21" {
		t.Errorf("evidence %+v", e)
	}
	if day := m.KnownAt().UTC().Format(memory.DateLayout); day != "2026-02-21" {
		t.Errorf("what the log of 2026-02-21 says is known since %s", day)
	}
	if again, _ := run(consolidator.PendingRequest{}); len(again) != 0 {
		t.Errorf("a second run did %q", again)
	}
	_, entries, err := st.Space("").Log("2026-02-21")
	if err != nil {
		t.Fatal(err)
	}
	var mark struct{ Action, Memory string }
	if err := json.Unmarshal(entries[2].Extra["consolidated"], &mark); err != nil || mark.Action != "UPDATE" ||
		mark.Memory != m.ID {
		t.Errorf("the mark is %s, %v", entries[2].Extra["consolidated"], err)
	}
	if err := json.Unmarshal(entries[4].Extra["consolidated"], &mark); err != nil || mark.Action != "ADD" ||
		mark.Memory != st.Space("").Memories()[1].ID {
		t.Errorf("the mark is %s, %v", entries[4].Extra["consolidated"], err)
	}
}

// TestPendingUndone: undoing what an entry became takes the mark back too.
func TestPendingUndone(t *testing.T) {
	st, s := open(t)
	writes(t, st, diary[0])
	for range 2 {
		done, _, err := s.Pending(t.Context(), consolidator.PendingRequest{})
		if err != nil || len(done) != 1 {
			t.Fatalf("%+v %v", done, err)
		}
		if _, err := st.Undo(t.Context(), store.Meta{Actor: journal.ActorClient}, done[0].Op); err != nil {
			t.Fatal(err)
		}
		if len(active(st)) != 0 {
			t.Errorf("undone, and %q are there", active(st))
		}
	}
}

// TestLater: without waiting a text is durable at once and decided about in the background, also what an earlier run
// left.
func TestLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, s := open(t)
		ctx, cancel := context.WithCancel(t.Context())
		salience, confidence := 0.9, 0.6
		d := must(t, s, consolidator.Request{Content: "We use Postgres 14", Category: memory.Facts, Salience: &salience,
			Confidence: &confidence, Tags: []string{"db"}, Later: true, Key: "k1"})
		if !d.Pending || d.ID == "" || len(active(st)) != 0 {
			t.Errorf("%+v, and %q", d, active(st))
		}
		if again := must(t, s, consolidator.Request{Content: "We use Postgres 14", Category: memory.Facts,
			Salience: &salience, Confidence: &confidence, Tags: []string{
				"db"}, Later: true, Key: "k1"}); again.ID != d.ID || !again.Replayed || !again.Pending {
			t.Errorf("repeated: %+v", again)
		}
		done := make(chan error)
		go func() { done <- s.Run(ctx) }()
		synctest.Wait()
		ms := st.Space("").Memories()
		if len(ms) != 1 || ms[0].Salience != 0.9 || ms[0].Confidence != 0.6 || !cmp.Equal(ms[0].Tags, []string{"db"}) {
			t.Fatalf("%+v", ms)
		}
		must(t, s, consolidator.Request{Content: "The API port is 8443", Later: true})
		synctest.Wait()
		if got := active(st); len(got) != 2 {
			t.Errorf("%q", got)
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func TestSave(t *testing.T) {
	st, s := open(t)
	first := must(t, s, consolidator.Request{Content: "We use Postgres 14", Category: memory.Facts})
	save := func(req consolidator.SaveRequest) consolidator.Saved {
		t.Helper()
		out, err := s.Save(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	req := consolidator.SaveRequest{
		Session: "s1", History: "Moved to Postgres 16; the key is AKIA" + "IOSFODNN7EXAMPLE", Key: "k",
		Updates: []consolidator.Update{{Content: "We use Postgres 16", Category: memory.Facts},
			{ID: first.ID, Content: "We use some database"}},
		Text: "# Preferences\n- The user prefers tabs\n* 用户喜欢绿茶\n\n## Notes\n---\n1. The user prefers tabs\n",
	}
	dry := req
	dry.DryRun = true
	lsn := st.LSN()
	if out := save(dry); st.LSN() != lsn || len(out.Changes) != 4 {
		t.Errorf("a dry run would make %d changes", len(out.Changes))
	}
	out := save(req)
	var got []string
	for _, o := range out.Outcomes {
		got = append(got, o.Status+" "+o.Reason)
	}
	want := []string{"applied UPDATED", "rejected TARGET_TWICE", "applied ADDED", "applied ADDED",
		"duplicate EXACT_DUPLICATE"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	_, entries, err := st.Space("").Log("2026-02-21")
	if err != nil || len(entries) != 1 || entries[0].ID != out.History.ID || entries[0].Session != "s1" ||
		strings.Contains(entries[0].Content, "AKIA") {
		t.Errorf("the log holds %+v, %v", entries, err)
	}
	if m := get(t, st, first.ID); m.Content != "We use Postgres 16" {
		t.Errorf("the memory says %q", m.Content)
	}
	if again := save(req); !again.Replayed || again.Op != out.Op || again.History == nil {
		t.Errorf("repeated: %+v", again)
	}
	if _, err := st.Undo(t.Context(), store.Meta{Actor: journal.ActorClient}, out.Op); err != nil {
		t.Fatal(err)
	}
	if got := active(st); len(got) != 1 || got[0] != "We use Postgres 14" {
		t.Errorf("undone, and %q are there", got)
	}
}

func TestStatements(t *testing.T) {
	got := consolidator.Statements("Intro\n# Preferences #\n- tabs\n\n  * 2) x\n### People\n10. Ann\n# facts\n• 数据库是 " +
		"Postgres\n***")
	want := []consolidator.Update{
		{Content: "Intro"}, {Content: "tabs", Category: memory.Preferences},
		{Content: "2) x", Category: memory.Preferences}, {Content: "Ann"},
		{Content: "数据库是 Postgres", Category: memory.Facts},
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(consolidator.Update{})); diff != "" {
		t.Error(diff)
	}
}
