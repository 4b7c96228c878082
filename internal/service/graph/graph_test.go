package graph_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/service/graph"
	"github.com/memsidecar/memsidecar/internal/service/memorysvc"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/durable"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

type world struct {
	*graph.Service
	memories *memorysvc.Service
	store    *store.Store
	clock    time.Time
}

func newWorld(t *testing.T) *world {
	t.Helper()
	root, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{clock: time.Date(2026, 2, 21, 10, 30, 0, 0, time.UTC)}
	now := func() time.Time { return w.clock }
	w.store, err = store.Open(store.Config{FS: durable.Dir(root), Now: now, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(w.store.Close(context.Background()), root.Close()); err != nil {
			t.Error(err)
		}
	})
	w.Service, w.memories = graph.New(w.store, now), memorysvc.New(w.store, now)
	return w
}

// must makes the graph that most tests begin with.
func (w *world) must(t *testing.T) {
	t.Helper()
	_, created, err := w.CreateEntities(t.Context(), store.Meta{}, []graph.Entity{
		{Name: "Alice", Type: "person", Observations: []string{"likes green tea", "Alice sits in Oslo"}},
		{Name: "Acme", Type: "company"},
		{Name: "阿明", Type: "人物", Observations: []string{"喜欢绿茶"}},
	})
	if err != nil || len(created) != 3 {
		t.Fatalf("created %d entities, error %v", len(created), err)
	}
	w.clock = w.clock.Add(time.Minute)
	if _, _, err := w.CreateRelations(t.Context(), store.Meta{},
		[]graph.Relation{{"Alice", "Acme", "works at"}, {"阿明", "Acme", "advises"}}); err != nil {
		t.Fatal(err)
	}
	w.clock = w.clock.Add(time.Minute)
}

// say writes a graph down, for comparison.
func (w *world) say(t *testing.T, q graph.Query) string {
	t.Helper()
	entities, relations, err := w.Read(q)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, e := range entities {
		lines = append(lines, fmt.Sprintf("%s (%s): %s", e.Name, e.Type, strings.Join(e.Observations, "; ")))
	}
	for _, r := range relations {
		lines = append(lines, fmt.Sprintf("%s → %s → %s", r.From, r.Type, r.To))
	}
	return strings.Join(lines, "\n")
}

const whole = `Alice (person): likes green tea; Alice sits in Oslo
Acme (company): 
阿明 (人物): 喜欢绿茶
Alice → works at → Acme
阿明 → advises → Acme`

func statuses(r store.Result) (out []string) {
	for _, o := range r.Outcomes {
		out = append(out, o.Status)
	}
	return out
}

func TestRead(t *testing.T) {
	w := newWorld(t)
	w.must(t)
	for _, tt := range []struct {
		name  string
		query graph.Query
		want  string
	}{
		{"all", graph.Query{}, whole},
		{"by name", graph.Query{Names: []string{"Alice", "nobody"}},
			"Alice (person): likes green tea; Alice sits in Oslo\nAlice → works at → Acme"},
		{"relations of both ends", graph.Query{Names: []string{"Acme"}},
			"Acme (company): \nAlice → works at → Acme\n阿明 → advises → Acme"},
		{"by text of an observation", graph.Query{Contains: "GREEN tea"},
			"Alice (person): likes green tea; Alice sits in Oslo\nAlice → works at → Acme"},
		{"by type", graph.Query{Contains: "人物"}, "阿明 (人物): 喜欢绿茶\n阿明 → advises → Acme"},
		{"nothing", graph.Query{Contains: "coffee"}, ""},
		{"another space", graph.Query{Space: "other"}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, w.say(t, tt.query)); diff != "" {
				t.Errorf("graph (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWrites(t *testing.T) {
	for _, tt := range []struct {
		name  string
		write func(ctx context.Context, w *world) (store.Result, error)
		want  []string // statuses of the outcomes
		graph string
	}{
		{"an entity that exists stays as it is", func(ctx context.Context, w *world) (store.Result, error) {
			r, _, err := w.CreateEntities(ctx, store.Meta{},
				[]graph.Entity{{Name: "Alice", Type: "robot"}, {Name: "Bo", Type: "person"},
					{Name: "Bo", Type: "robot"}})
			return r, err
		}, []string{"duplicate", "applied", "duplicate"},
			strings.Replace(whole, "\nAlice →", "\nBo (person): \nAlice →", 1)},
		{"the same observation twice", func(ctx context.Context, w *world) (store.Result, error) {
			r, _, err := w.AddObservations(ctx, store.Meta{},
				[]graph.Observations{{"Acme", []string{"makes anvils", "makes anvils"}},
					{"Alice", []string{"likes green tea"}}})
			return r, err
		}, []string{"applied", "duplicate", "duplicate"},
			strings.Replace(whole, "Acme (company): ", "Acme (company): makes anvils", 1)},
		{"the same observation of two entities", func(ctx context.Context, w *world) (store.Result, error) {
			r, _, err := w.AddObservations(ctx, store.Meta{},
				[]graph.Observations{{"Acme", []string{"likes green tea"}}})
			return r, err
		}, []string{"applied"}, strings.Replace(whole, "Acme (company): ", "Acme (company): likes green tea", 1)},
		{"the same relation", func(ctx context.Context, w *world) (store.Result, error) {
			r, _, err := w.CreateRelations(ctx, store.Meta{},
				[]graph.Relation{{"Alice", "Acme", "works at"}, {"Alice", "阿明", "knows"}})
			return r, err
		}, []string{"duplicate", "applied"}, whole + "\nAlice → knows → 阿明"},
		{"an entity goes with all that is about it", func(ctx context.Context, w *world) (store.Result, error) {
			return w.DeleteEntities(ctx, store.Meta{}, []string{"Alice", "nobody", "Alice"})
		}, []string{"applied", "rejected", "rejected"}, "Acme (company): \n阿明 (人物): 喜欢绿茶\n阿明 → advises → Acme"},
		{"observations go", func(ctx context.Context, w *world) (store.Result, error) {
			r, missing, err := w.DeleteObservations(ctx, store.Meta{},
				[]graph.Observations{{"Alice", []string{"Alice sits in Oslo", "never said"}},
					{"nobody", []string{"x"}}})
			if diff := cmp.Diff([]string{"nobody"}, missing); err == nil && diff != "" {
				err = errors.New(diff)
			}
			return r, err
		}, []string{"applied", "rejected", "rejected"}, strings.Replace(whole, "; Alice sits in Oslo", "", 1)},
		{"a relation goes", func(ctx context.Context, w *world) (store.Result, error) {
			return w.DeleteRelations(ctx, store.Meta{},
				[]graph.Relation{{"Alice", "Acme", "works at"}, {"Alice", "Acme", "owns"}})
		}, []string{"applied", "rejected"}, strings.Replace(whole, "\nAlice → works at → Acme", "", 1)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			w.must(t)
			result, err := tt.write(t.Context(), w)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, statuses(result)); diff != "" {
				t.Errorf("outcomes (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.graph, w.say(t, graph.Query{})); diff != "" {
				t.Errorf("graph (-want +got):\n%s", diff)
			}
			w.clock = w.clock.Add(time.Minute)
			if _, err := w.store.Undo(t.Context(), store.Meta{Actor: journal.ActorUndo}, result.Op); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(whole, w.say(t, graph.Query{})); diff != "" {
				t.Errorf("graph after undo (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRefused(t *testing.T) {
	w := newWorld(t)
	w.must(t)
	for _, tt := range []struct {
		name string
		err  func(ctx context.Context) error
		want error
	}{
		{"observation of nobody", func(ctx context.Context) error {
			_, _, err := w.AddObservations(ctx, store.Meta{},
				[]graph.Observations{{"Acme", []string{"new"}}, {"nobody", []string{"x"}}})
			return err
		}, memory.ErrNotFound},
		{"no name", func(ctx context.Context) error {
			_, _, err := w.CreateEntities(ctx, store.Meta{}, []graph.Entity{{Type: "person"}})
			return err
		}, errInvalid},
		{"long observation", func(ctx context.Context) error {
			_, _, err := w.AddObservations(ctx, store.Meta{},
				[]graph.Observations{{"Alice", []string{strings.Repeat("长", memory.MaxContent-6)}}})
			return err
		}, errInvalid},
		{"too many", func(ctx context.Context) error {
			_, err := w.DeleteEntities(ctx, store.Meta{}, make([]string, memory.MaxBatch+1))
			return err
		}, errInvalid},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if err := tt.err(t.Context()); !matches(err, tt.want) {
				t.Errorf("error %v, want %v", err, tt.want)
			}
			if diff := cmp.Diff(whole, w.say(t, graph.Query{})); diff != "" {
				t.Errorf("graph (-want +got):\n%s", diff)
			}
		})
	}
}

// TestDangling keeps a relation whose end does not exist, beside one whose ends do; the whole graph shows both.
func TestDangling(t *testing.T) {
	w := newWorld(t)
	w.must(t)
	_, created, err := w.CreateRelations(t.Context(), store.Meta{},
		[]graph.Relation{{"Acme", "Alice", "pays"}, {"Alice", "nobody", "knows"}})
	if err != nil || len(created) != 2 {
		t.Fatalf("created %v, %v", created, err)
	}
	if diff := cmp.Diff(whole+"\nAcme → pays → Alice\nAlice → knows → nobody", w.say(t, graph.Query{})); diff != "" {
		t.Errorf("graph (-want +got):\n%s", diff)
	}
	if _, _, err := w.Read(graph.Query{Names: []string{"nobody"}}); err != nil {
		t.Error(err)
	}
}

// TestMadeAgain deletes and creates again: what was said before does not come back with the name.
func TestMadeAgain(t *testing.T) {
	w := newWorld(t)
	w.must(t)
	if _, err := w.DeleteEntities(t.Context(), store.Meta{}, []string{"Alice"}); err != nil {
		t.Fatal(err)
	}
	w.clock = w.clock.Add(time.Minute)
	if _, _, err := w.CreateEntities(t.Context(), store.Meta{},
		[]graph.Entity{{Name: "Alice", Type: "ship", Observations: []string{"likes green tea"}}}); err != nil {
		t.Fatal(err)
	}
	want := "Acme (company): \n阿明 (人物): 喜欢绿茶\nAlice (ship): likes green tea\n阿明 → advises → Acme"
	if diff := cmp.Diff(want, w.say(t, graph.Query{})); diff != "" {
		t.Errorf("graph (-want +got):\n%s", diff)
	}
}

// TestEditedMemory changes the memory of an observation, as a person or a reflection does: the graph says what the
// memory says.
func TestEditedMemory(t *testing.T) {
	w := newWorld(t)
	w.must(t)
	page, err := w.memories.List(memorysvc.Query{Filter: memory.Filter{Sources: []string{graph.Source}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range page.Memories {
		if m.Content == "Alice: likes green tea" {
			text := "Alice: likes black tea"
			if _, _, err := w.memories.Update(t.Context(), store.Meta{}, m.ID, 0,
				memorysvc.Patch{Content: &text}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if diff := cmp.Diff(strings.Replace(whole, "green tea", "black tea", 1), w.say(t, graph.Query{})); diff != "" {
		t.Errorf("graph (-want +got):\n%s", diff)
	}
	result, _, err := w.AddObservations(t.Context(), store.Meta{},
		[]graph.Observations{{"Alice", []string{"likes black tea", "likes green tea"}}})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"duplicate", "applied"}, statuses(result)); diff != "" {
		t.Errorf("outcomes (-want +got):\n%s", diff)
	}
	if r, _, err := w.DeleteObservations(t.Context(), store.Meta{},
		[]graph.Observations{{"Alice", []string{"likes black tea"}}}); err != nil ||
		r.Outcomes[0].Status != journal.Applied {
		t.Errorf("deleting the edited observation: %v, %v", r, err)
	}
}

func TestSecretsStayOut(t *testing.T) {
	w := newWorld(t)
	const secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
	_, created, err := w.CreateEntities(t.Context(), store.Meta{},
		[]graph.Entity{{Name: "key " + secret, Type: "t", Observations: []string{"its token is " + secret}}})
	if err != nil {
		t.Fatal(err)
	}
	if said := fmt.Sprint(created) + w.say(t, graph.Query{}); strings.Contains(said, secret) {
		t.Errorf("the secret is in %s", said)
	}
}

// TestReplayed repeats a request under its key: it says the same as the first time.
func TestReplayed(t *testing.T) {
	w := newWorld(t)
	meta := store.Meta{Key: "k", Request: []byte("r")}
	for _, replayed := range []bool{false, true} {
		result, created, err := w.CreateEntities(t.Context(), meta, []graph.Entity{{Name: "Alice"}})
		if err != nil || result.Replayed != replayed || len(created) != 1 {
			t.Fatalf("replayed %v, created %v, error %v", result.Replayed, created, err)
		}
	}
}

// TestTogether creates from many goroutines at once; of those that take the same name exactly one succeeds.
func TestTogether(t *testing.T) {
	w := newWorld(t)
	var wg sync.WaitGroup
	won := make([]int, 8)
	for i := range won {
		wg.Go(func() {
			for n := range 20 {
				_, created, err := w.CreateEntities(t.Context(), store.Meta{},
					[]graph.Entity{{Name: fmt.Sprint("shared ", n)}, {Name: fmt.Sprint("own ", i, " ", n)}})
				if err != nil {
					t.Error(err)
				}
				won[i] += len(created) - 1
			}
		})
	}
	wg.Wait()
	total := 0
	for _, n := range won {
		total += n
	}
	entities, _, err := w.Read(graph.Query{})
	if err != nil || total != 20 || len(entities) != 20+8*20 {
		t.Errorf("%d shared names were won and there are %d entities, error %v; want 20 and 180", total, len(entities),
			err)
	}
}

// errInvalid stands for any *memory.InvalidError.
var errInvalid = errors.New("invalid")

func matches(err, want error) bool {
	if want == errInvalid { //nolint:errorlint // it is a mark, not an error that was wrapped
		_, ok := errors.AsType[*memory.InvalidError](err)
		return ok
	}
	return errors.Is(err, want)
}
