package memorysvc_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/service/memorysvc"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

func TestSaveTitled(t *testing.T) {
	type saved struct {
		Status, Reason, Title, Content, Category string
		Salience                                 float64
		Replaced                                 bool
	}
	for _, tt := range []struct {
		name   string
		before []memorysvc.Titled
		save   memorysvc.Titled
		want   saved
		err    error
	}{
		{"new", nil, memorysvc.Titled{Title: "Deploy", Content: "make ship", Category: "project"},
			saved{journal.Applied, "", "Deploy", "make ship", "project", 0.5, false}, nil},
		{"replaced, keeping what is not named",
			[]memorysvc.Titled{{Title: "Deploy", Content: "make release", Category: "project", Salience: new(0.9)}},
			memorysvc.Titled{Title: " Deploy ", Content: "make ship"},
			saved{journal.Applied, "", "Deploy", "make ship", "project", 0.9, true}, nil},
		{"unchanged", []memorysvc.Titled{{Title: "Deploy", Content: "make ship"}},
			memorysvc.Titled{Title: "Deploy", Content: "make ship"},
			saved{journal.Duplicate, memorysvc.ReasonState, "Deploy", "make ship", "general", 0.5, true}, nil},
		{"another case is another title", []memorysvc.Titled{{Title: "deploy", Content: "make release"}},
			memorysvc.Titled{Title: "Deploy", Content: "make ship"},
			saved{journal.Applied, "", "Deploy", "make ship", "general", 0.5, false}, nil},
		{"redacted", nil, memorysvc.Titled{Title: "密钥", Content: "口令 " + secret},
			saved{journal.Applied, memorysvc.ReasonRedacted, "密钥", "口令 [redacted:github-token]", "general", 0.5, false},
			nil},
		{"the same text under another title", []memorysvc.Titled{{Title: "A", Content: "make ship"}},
			memorysvc.Titled{Title: "B", Content: "make ship"}, saved{}, memory.ErrExists},
		{"no title", nil, memorysvc.Titled{Content: "x"}, saved{}, errInvalid},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t)
			for _, x := range tt.before {
				if _, _, _, err := b.SaveTitled(t.Context(), store.Meta{}, x); err != nil {
					t.Fatal(err)
				}
				b.clock = b.clock.Add(time.Second)
			}
			result, m, replaced, err := b.SaveTitled(t.Context(), store.Meta{}, tt.save)
			if !matches(err, tt.err) {
				t.Fatalf("error %v, want %v", err, tt.err)
			}
			if err != nil {
				return
			}
			o := result.Outcomes[0]
			if diff := cmp.Diff(tt.want, saved{o.Status, o.Reason, m.Title, m.Content, m.Category, m.Salience,
				replaced}); diff != "" {
				t.Errorf("saved (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSaveTitledAdoptsUntitled(t *testing.T) {
	b := newBench(t)
	b.add(t, draft("m1", "general", "make ship"))
	_, m, _, err := b.SaveTitled(t.Context(), store.Meta{}, memorysvc.Titled{Title: "Deploy", Content: "make ship"})
	if err != nil || m.ID != "m1" || m.Title != "Deploy" {
		t.Fatalf("saved %+v, error %v; want m1 with the title", m, err)
	}
	if found, err := b.FindTitled("", "Deploy"); err != nil || len(found) != 1 {
		t.Errorf("found %v, error %v", found, err)
	}
}

// TestSaveTitledTogether saves under one title from many sides: there is one memory in the end, and every text is in
// its history.
func TestSaveTitledTogether(t *testing.T) {
	b := newBench(t)
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			if _, _, _, err := b.SaveTitled(t.Context(), store.Meta{},
				memorysvc.Titled{Title: "Deploy", Content: fmt.Sprint("make ship ", i)}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	found, err := b.FindTitled("", "Deploy")
	if err != nil || len(found) != 1 {
		t.Fatalf("found %d memories, error %v; want one", len(found), err)
	}
	if history, err := b.store.History(t.Context(), "default", found[0].ID, 100); err != nil || len(history) != 16 {
		t.Errorf("history of %d operations, error %v; want 16", len(history), err)
	}
}

func TestForgetTitled(t *testing.T) {
	b := newBench(t)
	if _, _, _, err := b.SaveTitled(t.Context(), store.Meta{},
		memorysvc.Titled{Title: "Deploy", Content: "make ship"}); err != nil {
		t.Fatal(err)
	}
	result, err := b.ForgetTitled(t.Context(), store.Meta{}, "Deploy")
	if err != nil || len(result.Outcomes) != 1 {
		t.Fatalf("result %+v, error %v", result, err)
	}
	if _, err := b.FindTitled("", "Deploy"); !errors.Is(err, memory.ErrNotFound) {
		t.Errorf("finding it: %v", err)
	}
	if _, err := b.ForgetTitled(t.Context(), store.Meta{}, "Deploy"); !errors.Is(err, memory.ErrNotFound) {
		t.Errorf("forgetting it again: %v", err)
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
