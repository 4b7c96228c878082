package consolidator_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/reflector/consolidator"
	"github.com/memsidecar/memsidecar/internal/reflector/guard"
	"github.com/memsidecar/memsidecar/internal/search"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/durable"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

var noon = time.Date(2026, 2, 21, 12, 0, 0, 0, time.UTC)

func open(t *testing.T) (*store.Store, *consolidator.Service) {
	t.Helper()
	now := func() time.Time { return noon }
	engine := search.New(search.Config{Now: now})
	st := openStore(t, engine)
	return st, consolidator.New(consolidator.Config{Store: st, Search: engine, Now: now})
}

func openStore(t *testing.T, engine *search.Engine) *store.Store {
	t.Helper()
	root, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	now := func() time.Time { return noon }
	st, err := store.Open(store.Config{FS: durable.Dir(root), Now: now, Logger: slog.New(slog.DiscardHandler),
		Projections: []store.Projection{engine}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close(context.WithoutCancel(t.Context())) })
	return st
}

func must(t *testing.T, s *consolidator.Service, req consolidator.Request) consolidator.Decision {
	t.Helper()
	d, err := s.Consolidate(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestConsolidate(t *testing.T) {
	for _, tt := range []struct {
		name, first, second string
		want                string // action and reason of the second
		content             string // of the only memory afterwards, "" when there are two
	}{
		{"same", "The user prefers tabs", "the user prefers  tabs.", "NOOP EXACT_DUPLICATE", "The user prefers tabs"},
		{"new", "The user prefers tabs", "The API is at https://a.example.com", "ADD NEW", ""},
		{"changed value", "We use Postgres 14", "We use Postgres 15", "UPDATE CHANGED_VALUE", "We use Postgres 15"},
		{"contradiction", "用户喜欢喝茶", "用户不喜欢喝茶", "UPDATE CONTRADICTED", "用户不喜欢喝茶"},
		{"refinement", "The user likes long walks on the beach", "The user likes long walks on the beach at sunset",
			"UPDATE REFINED", "The user likes long walks on the beach at sunset"},
		{"another version", "The staging database is Postgres 15", "The staging database is Postgres 16",
			"UPDATE CHANGED_VALUE", "The staging database is Postgres 16"},
		{"another thing", "The production database is Postgres 15", "The staging database is Postgres 15", "ADD NEW",
			""},
		{"another day", "deploys run on Tuesday", "deploys run on Thursday", "UPDATE CHANGED_VALUE",
			"deploys run on Thursday"},
		{"another port", "The API port is 8443", "The API port is 9443", "UPDATE CHANGED_VALUE",
			"The API port is 9443"},
		{"other taste", "I prefer tabs", "I prefer spaces", "UPDATE CHANGED_VALUE", "I prefer spaces"},
		{"more of it", "We use Postgres", "We use Postgres 16 with pgvector", "UPDATE CHANGED_VALUE",
			"We use Postgres 16 with pgvector"},
		{"moved", "用户住在北京", "用户住在上海", "UPDATE CHANGED_VALUE", "用户住在上海"},
		{"less of it", "The user prefers small commits with an imperative subject line",
			"The user likes small commits with imperative subjects", "NOOP NEAR_DUPLICATE",
			"The user prefers small commits with an imperative subject line"},
		{"only a secret", "The user prefers tabs", "password=hunter2", "NOOP SECRET", "The user prefers tabs"},
		{"private", "The user prefers tabs", "<private>diary</private>", "NOOP SECRET", "The user prefers tabs"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			st, s := open(t)
			first := must(t, s, consolidator.Request{Content: tt.first})
			second := must(t, s, consolidator.Request{Content: tt.second})
			if got := string(second.Action) + " " + second.Reason; got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			all := st.Space("").Memories()
			if tt.content == "" {
				if len(all) != 2 {
					t.Errorf("%d memories", len(all))
				}
				return
			}
			if len(all) != 1 || all[0].Content != tt.content {
				t.Fatalf("memories %+v", all)
			}
			if second.Action == guard.Update {
				if second.ID != first.ID {
					t.Error("the id changed")
				}
				history, err := st.History(t.Context(), "", first.ID, 10)
				if err != nil || len(history) != 2 || history[0].Changes[0].Memory.Before.Content != tt.first {
					t.Errorf("the old text is not in the history: %v %v", history, err)
				}
			}
		})
	}
}

func TestForgottenStaysForgotten(t *testing.T) {
	st, s := open(t)
	if _, err := st.Update(t.Context(), store.Meta{Actor: journal.ActorClient}, func(tx *store.Tx) error {
		tx.Forget("The user is shy")
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	for _, to := range []string{consolidator.ToMemory, consolidator.ToDaily} {
		d := must(t, s, consolidator.Request{Content: "the user is shy.", WriteTo: to, Actor: journal.ActorClient})
		if d.Status != journal.Rejected || d.Reason != guard.ReasonForgotten || d.Op != 0 {
			t.Errorf("%s: %+v", to, d)
		}
	}
	if n := st.Space("").Count(); n != 0 {
		t.Errorf("%d memories", n)
	}
}

func TestPinnedIsLeftAlone(t *testing.T) {
	st, s := open(t)
	if _, err := st.Update(t.Context(), store.Meta{Actor: journal.ActorClient}, func(tx *store.Tx) error {
		return tx.Put(&memory.Memory{ID: "m1", Category: "facts", Content: "We use Postgres 14",
			Source: "user_explicit", Confidence: 1, Pinned: true})
	}); err != nil {
		t.Fatal(err)
	}
	if d := must(t, s, consolidator.Request{Content: "We use Postgres 15"}); d.Reason != guard.ReasonPinned ||
		d.Status != journal.Rejected {
		t.Errorf("%+v", d)
	}
}

func TestKeyAndDryRun(t *testing.T) {
	st, s := open(t)
	dry := must(t, s, consolidator.Request{Content: "We use Redis", DryRun: true, Key: "k"})
	if dry.Action != guard.Add || dry.Op != 0 || st.Space("").Count() != 0 {
		t.Errorf("dry run: %+v", dry)
	}
	salience := 0.0
	req := consolidator.Request{Content: "We use Redis", Salience: &salience, Tags: []string{"infra"}, Session: "s1",
		Key: "k"}
	first := must(t, s, req)
	again := must(t, s, req)
	if again.ID != first.ID || again.Op != first.Op || again.Action != guard.Add || !again.Replayed ||
		st.Space("").Count() != 1 {
		t.Errorf("first %+v, again %+v", first, again)
	}
	req.Content = "We use Memcached"
	if _, err := s.Consolidate(t.Context(), req); !errors.Is(err, memory.ErrKeyReused) {
		t.Errorf("another request under the key: %v", err)
	}
	m, err := st.Space("").Get(first.ID)
	if err != nil || m.Source != memory.SourceUser || m.Salience != 0 ||
		!cmp.Equal(m.Evidence(), []memory.Evidence{{Session: "s1"}}) {
		t.Errorf("%+v %v", m, err)
	}
}

func TestDaily(t *testing.T) {
	st, s := open(t)
	first := must(t, s, consolidator.Request{Content: "User met Bob, token=abcd1234efgh", WriteTo: "daily",
		Category: "facts", Session: "s1"})
	again := must(t, s, consolidator.Request{Content: "user met bob, token=abcd1234efgh", WriteTo: "daily"})
	if first.Action != guard.Add || first.Reason != guard.ReasonLogged || again.Action != guard.Noop ||
		again.ID != first.ID {
		t.Errorf("first %+v, again %+v", first, again)
	}
	_, entries, err := st.Space("").Log("2026-02-21")
	if err != nil || len(entries) != 1 {
		t.Fatal(entries, err)
	}
	want := &memory.Entry{ID: first.ID, Time: "12:00:00", At: noon, Type: memory.EntryEvent,
		Content: "User met Bob, token=[redacted:secret]", Category: "facts", Session: "s1"}
	if diff := cmp.Diff(want, entries[0]); diff != "" {
		t.Error(diff)
	}
	if st.Space("").Count() != 0 {
		t.Error("a memory was written too")
	}
}

func TestLongestContent(t *testing.T) {
	_, s := open(t)
	if d := must(t, s, consolidator.Request{
		Content: strings.Repeat("长文 ", memory.MaxContent/3)}); d.Action != guard.Add {
		t.Errorf("%+v", d)
	}
}

func TestInvalid(t *testing.T) {
	_, s := open(t)
	bad := 2.0
	_, err := s.Consolidate(t.Context(), consolidator.Request{Content: " ", Category: "No Slug", Salience: &bad,
		WriteTo: "disk"})
	e, ok := errors.AsType[*memory.InvalidError](err)
	if !ok || len(e.Violations) != 4 {
		t.Errorf("got %v", err)
	}
}

// moving changes the neighbour whenever it is looked up.
type moving struct {
	st  *store.Store
	inn consolidator.Similar
	n   int
}

func (m *moving) SimilarByWords(ctx context.Context, space, text string, k int) ([]search.Hit, error) {
	return m.inn.SimilarByWords(ctx, space, text, k)
}

func (m *moving) Similar(ctx context.Context, space, text string, k int) ([]search.Hit, error) {
	hits, err := m.inn.Similar(ctx, space, text, k)
	if m.n--; m.n < 0 || err != nil {
		return hits, err
	}
	_, err = m.st.Update(ctx, store.Meta{Actor: journal.ActorClient}, func(tx *store.Tx) error {
		c := tx.Memory(hits[0].Memory.ID).Clone()
		c.Salience += 0.01
		return tx.Put(c)
	})
	return hits, err
}

func TestNeighbourChangesMeanwhile(t *testing.T) {
	st, s := open(t)
	must(t, s, consolidator.Request{Content: "We use Postgres 14"})
	for _, tt := range []struct {
		times int
		want  error
	}{{2, nil}, {3, memory.ErrBusy}} {
		fake := similarFunc(func() []search.Hit {
			return []search.Hit{{Memory: st.Space("").Memories()[0], Score: 0.9}}
		})
		moved := consolidator.New(consolidator.Config{Store: st, Search: &moving{st: st, inn: fake, n: tt.times},
			Now: func() time.Time { return noon }})
		_, err := moved.Consolidate(t.Context(),
			consolidator.Request{Content: "We use Postgres 1" + string(rune('5'+tt.times))})
		if !errors.Is(err, tt.want) {
			t.Errorf("%d changes: %v", tt.times, err)
		}
	}
}

type similarFunc func() []search.Hit

func (f similarFunc) Similar(context.Context, string, string, int) ([]search.Hit, error) {
	return f(), nil
}

func (f similarFunc) SimilarByWords(context.Context, string, string, int) ([]search.Hit, error) {
	return f(), nil
}
