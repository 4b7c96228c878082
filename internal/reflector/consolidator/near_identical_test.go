package consolidator_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/memsidecar/memsidecar/internal/llm"
	"github.com/memsidecar/memsidecar/internal/memtest/fakellm"
	"github.com/memsidecar/memsidecar/internal/reflector/consolidator"
	"github.com/memsidecar/memsidecar/internal/search"
	"github.com/memsidecar/memsidecar/internal/store"
)

const (
	nearKnown = "The user always flies with China Eastern to visit the family in Shanghai"
	nearAgain = "The user always flies with China Eastern to visit a family in Shanghai"
)

// TestNearByRules: the same in other words is one memory, with the average of both confidences when the candidate has
// something to add; another value is another memory, or takes the old one's place.
func TestNearByRules(t *testing.T) {
	half := 0.5
	for _, tt := range []struct {
		name  string
		known string
		req   consolidator.Request
		want  string // action and reason
		conf  float64
		count int
	}{
		{"nothing to add", nearKnown, consolidator.Request{Content: nearAgain}, "NOOP NEAR_DUPLICATE", 1, 1},
		{"less sure", nearKnown, consolidator.Request{Content: nearAgain, Confidence: &half},
			"UPDATE NEAR_IDENTICAL_MERGED", 0.75, 1},
		{"another tag", nearKnown, consolidator.Request{Content: nearAgain, Tags: []string{"travel"}},
			"UPDATE NEAR_IDENTICAL_MERGED", 1, 1},
		{"another value", "The staging database is Postgres 15",
			consolidator.Request{Content: "The staging database is Postgres 16"}, "UPDATE", 1, 1},
		{"another thing", "Berth 14 of the harbour is reserved for the ferry to Oslo",
			consolidator.Request{Content: "Berth 15 of the harbour is reserved for the ferry to Oslo"}, "ADD", 1, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			st, s := open(t)
			first := must(t, s, consolidator.Request{Content: tt.known})
			d := must(t, s, tt.req)
			if got := string(d.Action) + " " + d.Reason; !strings.HasPrefix(got, tt.want) ||
				len(active(st)) != tt.count {
				t.Errorf("%s; %q", got, active(st))
			}
			if m := get(t, st, first.ID); m.Confidence != tt.conf || tt.conf != 1 && m.Content != tt.known ||
				len(tt.req.Tags) > 0 && !cmp.Equal(m.Tags, tt.req.Tags) {
				t.Errorf("%+v", m)
			}
		})
	}
}

// TestNearByModel: of near-identical memories a model says whether one takes the other's place, both become one, or
// both stay.
func TestNearByModel(t *testing.T) {
	const both = "The user always flies with China Eastern to visit a family, the family in Shanghai"
	half := 0.5
	for _, tt := range []struct {
		name string
		step fakellm.Step
		want string // action and reason
		text string // of the known memory afterwards
		conf float64
	}{
		{"replace", decision("REPLACE", 1, ""), "UPDATE NEAR_IDENTICAL_REPLACED model", nearAgain, 0.5},
		{"merge", decision("MERGE", 1, both), "UPDATE NEAR_IDENTICAL_MERGED model", both, 0.75},
		{"update", decision("UPDATE", 1, both), "UPDATE MODEL model", both, 0.75},
		{"keep both", decision("KEEP_BOTH", 1, ""), "ADD NEAR_IDENTICAL_KEPT_BOTH model", nearKnown, 1},
		{"merge into nothing", decision("MERGE", 1, ""), "UPDATE NEAR_IDENTICAL_MERGED rules", nearKnown, 0.75},
		{"not shown", decision("REPLACE", 3, ""), "UPDATE NEAR_IDENTICAL_MERGED rules", nearKnown, 0.75},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			st, s, srv, ledger := withModel(t, tt.step)
			first := must(t, s, consolidator.Request{Content: nearKnown})
			d := must(t, s, consolidator.Request{Content: nearAgain, Confidence: &half})
			if got := string(d.Action) + " " + d.Reason + " " + d.DecidedBy; got != tt.want {
				t.Errorf("got %q, want %q; %s", got, tt.want, d.Note)
			}
			if m := get(t, st, first.ID); m.Content != tt.text || m.Confidence != tt.conf {
				t.Errorf("the known memory says %q, sure to %g", m.Content, m.Confidence)
			}
			if n := srv.Stats().Requests; n != 1 || ledger.Today().Requests != 1 {
				t.Errorf("asked %d times", n)
			}
			if q := strings.Join(srv.Requests()[0].Messages, ""); !strings.Contains(q, `"near_identical":true`) {
				t.Errorf("the question does not mark what is nearly identical: %s", q)
			}
		})
	}
}

// meanwhile is a model during whose first question something happens.
type meanwhile struct {
	consolidator.Model
	do func()
}

func (m *meanwhile) Do(ctx context.Context, req llm.Request) (llm.Reply, error) {
	reply, err := m.Model.Do(ctx, req)
	if m.do != nil {
		m.do()
		m.do = nil
	}
	return reply, err
}

// purge erases a text from the store.
func purge(t *testing.T, st *store.Store, text string) {
	t.Helper()
	p, err := st.PlanPurge(t.Context(), store.PurgeRequest{Texts: []string{text}})
	if err == nil {
		err = p.Commit(t.Context())
	}
	if err == nil {
		err = p.Rewrite(t.Context())
	}
	if err == nil {
		err = p.Finish()
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestPurgeMeanwhile: what is erased while a model is asked does not come back with its reply, nor with what it said
// of the same question before.
func TestPurgeMeanwhile(t *testing.T) {
	const known = "The spare key of the boat house lies under the blue lagoon stone"
	ask := consolidator.Request{Content: "The spare key of the boat house is new"}
	merged := decision("UPDATE", 1, "The new spare key of the boat house lies under the blue lagoon stone")
	for _, early := range []bool{false, true} { // the model was asked the same before
		now := func() time.Time { return noon }
		engine := search.New(search.Config{Now: now})
		st := openStore(t, engine)
		srv := fakellm.Start(t, merged)
		client, err := llm.New(llm.Config{Provider: llm.OpenAI, BaseURL: srv.URL + "/v1", Model: "m", Now: time.Now,
			Timeout: 10 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		model := &meanwhile{Model: client}
		s := consolidator.New(consolidator.Config{Store: st, Search: engine, Now: now, Model: model})
		must(t, s, consolidator.Request{Content: known})
		if early {
			dry := ask
			dry.DryRun = true
			if d := must(t, s, dry); d.DecidedBy != consolidator.ByModel {
				t.Fatalf("%+v", d)
			}
			purge(t, st, "blue lagoon stone")
		} else {
			model.do = func() { purge(t, st, "blue lagoon stone") }
		}
		must(t, s, ask)
		if text := strings.Join(active(st), "\n"); early && srv.Stats().Requests != 2 ||
			!early && strings.Contains(text, "lagoon") {
			t.Errorf("asked before: %t; asked %d times; %q", early, srv.Stats().Requests, text)
		}
	}
}
