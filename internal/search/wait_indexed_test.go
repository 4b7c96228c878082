package search_test

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/search"
	"github.com/memsidecar/memsidecar/internal/search/embedding"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

// patient is a model that makes vectors only once they are urgent.
type patient struct {
	*fake
	asked chan struct{}
}

func (p *patient) EmbedDocuments(ctx context.Context, texts []string) ([]embedding.Document, error) {
	p.asked <- struct{}{}
	select {
	case <-embedding.PaceOf(ctx).Urgency():
		return p.fake.EmbedDocuments(ctx, texts)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// TestWaitIndexedHurries: a batch that is being made becomes urgent when somebody waits for it, and is not any more
// when nobody does.
func TestWaitIndexedHurries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		model := &patient{fake: &fake{}, asked: make(chan struct{}, 10)}
		e := search.New(search.Config{Now: time.Now, Models: []embedding.Model{model}})
		if err := e.Load(memory.DefaultSpace, []*memory.Memory{mem("a", "rail pass")}, newDir(t)); err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- e.RunEmbedding(ctx, newDir(t)) }()
		<-model.asked
		synctest.Wait()
		if c := e.EmbeddingCoverage(""); c.Waiting != 1 {
			t.Errorf("made though nobody waits: %+v", c)
		}
		if err := e.WaitIndexed(ctx, nil); err != nil {
			t.Fatal(err)
		}
		e.Apply(record(10, memory.DefaultSpace,
			journal.Change{Memory: &journal.MemoryChange{ID: "b", After: mem("b", "bus pass")}}))
		e.EmbeddingCoverage("") // indexes it
		<-model.asked
		synctest.Wait()
		if c := e.EmbeddingCoverage(""); c.Waiting != 1 {
			t.Errorf("still urgent when nobody waits: %+v", c)
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// TestWaitIndexed shows that what was added is counted at once as waiting, and that a client can wait for its vectors:
// not beyond its deadline, and not for what nobody will make.
func TestWaitIndexed(t *testing.T) {
	f := &fake{}
	withVectors(t, f, newDir(t), drinks(), func(t *testing.T, e *search.Engine, _ *bytes.Buffer) {
		hold := func() chan struct{} {
			c := make(chan struct{})
			f.set(func(f *fake) { f.hold = c })
			return c
		}
		wait := func() chan error {
			done := make(chan error, 1)
			go func() { done <- e.WaitIndexed(t.Context(), nil) }()
			synctest.Wait()
			return done
		}
		arrived := func(what string, done chan error) {
			t.Helper()
			synctest.Wait()
			select {
			case err := <-done:
				if err != nil {
					t.Errorf("%s: %v", what, err)
				}
			default:
				t.Errorf("%s: still waiting", what)
			}
		}
		arrived("nothing new", wait())

		release := hold()
		added := &journal.MemoryChange{ID: "new", After: mem("new", "rail pass")}
		e.Apply(record(10, memory.DefaultSpace, journal.Change{Memory: added})) // change would let the indexer run
		if diff := cmp.Diff(search.EmbeddingCoverage{Embedded: 4, Waiting: 1}, e.EmbeddingCoverage("")); diff != "" {
			t.Errorf("right after the change (-want +got):\n%s", diff)
		}
		done := wait()
		if len(done) > 0 {
			t.Error("returned without the vector")
		}
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := e.WaitIndexed(short, nil); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("past the deadline: %v", err)
		}
		if err := e.WaitIndexed(t.Context(), []string{"elsewhere"}); err != nil {
			t.Errorf("another space: %v", err)
		}
		close(release)
		arrived("released", done)
		if diff := cmp.Diff(search.EmbeddingCoverage{Embedded: 5}, e.EmbeddingCoverage("")); diff != "" {
			t.Errorf("after the wait (-want +got):\n%s", diff)
		}

		release = hold()
		change(e, 11, "brief", mem("brief", "bus pass"))
		done = wait()
		change(e, 12, "brief", nil)
		close(release)
		arrived("deleted meanwhile", done)

		f.set(func(f *fake) { f.hold, f.down = nil, embedding.ErrUnavailable })
		change(e, 13, "lost", mem("lost", "tram pass"))
		arrived("the server is down", wait())
	})
}
