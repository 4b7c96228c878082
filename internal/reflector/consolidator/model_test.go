package consolidator_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/memsidecar/memsidecar/internal/llm"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/memtest/fakellm"
	"github.com/memsidecar/memsidecar/internal/reflector/consolidator"
	"github.com/memsidecar/memsidecar/internal/reflector/guard"
	"github.com/memsidecar/memsidecar/internal/reflector/review"
	"github.com/memsidecar/memsidecar/internal/search"
	"github.com/memsidecar/memsidecar/internal/search/embedding"
	"github.com/memsidecar/memsidecar/internal/search/embedding/bert"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/durable/crashfs"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

// withModel is a service on st with a model that plays steps.
func withModel(t *testing.T, steps ...fakellm.Step) (*store.Store, *consolidator.Service, *fakellm.Server,
	*llm.Ledger) {
	t.Helper()
	client, srv, ledger := modelClient(t, steps...)
	now := func() time.Time { return noon }
	engine := search.New(search.Config{Now: now})
	st := openStore(t, engine)
	return st, consolidator.New(consolidator.Config{Store: st, Search: engine, Now: now, Model: client}), srv, ledger
}

// modelClient is a client of a model that plays steps.
func modelClient(t *testing.T, steps ...fakellm.Step) (*llm.Client, *fakellm.Server, *llm.Ledger) {
	t.Helper()
	srv := fakellm.Start(t, steps...)
	ledger, err := llm.OpenLedger(llm.LedgerConfig{Now: time.Now, Location: time.UTC})
	if err != nil {
		t.Fatal(err)
	}
	client, err := llm.New(llm.Config{Provider: llm.OpenAI, BaseURL: srv.URL + "/v1", Model: "m", Now: time.Now,
		Ledger: ledger, Timeout: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	return client, srv, ledger
}

func get(t *testing.T, st *store.Store, id string) *memory.Memory {
	t.Helper()
	m, err := st.Space("").Get(id)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func decision(action string, target int, content string) fakellm.Step {
	text, _ := json.Marshal(content)
	return fakellm.Reply(fmt.Sprintf(`{"action":%q,"target":%d,"content":%s,"why":"so"}`, action, target, text), 70, 7)
}

func TestConsolidateWithModel(t *testing.T) {
	const known, candidate = "The user flies with China Eastern", "The user prefers morning flights with China Eastern"
	for _, tt := range []struct {
		name  string
		step  fakellm.Step
		say   string
		want  string // action, who decided
		calls int
		note  string
		known string // afterwards; "" when it is retired
	}{
		{"merge", decision("UPDATE", 1, "The user flies with China Eastern, prefers morning flights"), candidate,
			"UPDATE model", 1, "", "The user flies with China Eastern, prefers morning flights"},
		{"add", decision("ADD", 0, ""), candidate, "ADD model", 1, "", known},
		{"known", decision("NOOP", 1, ""), "The user flies China Eastern", "NOOP model", 1, "", known},
		{"retired", decision("DELETE", 1, ""), "The user flies with Air China, not with China Eastern", "ADD rules", 1,
			"REVIEW_USERS_OWN", known},
		{"exact repeat", decision("DELETE", 1, ""), "the user flies with China Eastern.", "NOOP rules", 0, "", known},
		{"nothing similar", decision("DELETE", 1, ""), "Postgres listens on port 5432", "ADD rules", 0, "", known},
		{"not shown", decision("DELETE", 2, ""), candidate, "ADD rules", 1, "not shown", known},
		{"leaves the new out", decision("NOOP", 1, ""), "The user flies with China Eastern to Shanghai at 8",
			"UPDATE rules", 1, "left out", "The user flies with China Eastern to Shanghai at 8"},
		{"merge leaves the new out", decision("UPDATE", 1, known), "The user flies with China Eastern to Shanghai at 8",
			"UPDATE rules", 1, "left out", "The user flies with China Eastern to Shanghai at 8"},
		{"loses the old", decision("UPDATE", 1, "The user flies in the morning with an airline"),
			"The user flies with an airline in the morning", "ADD rules", 1, "REVIEW_LOST_NAME", known},
		{"more than was said", decision("UPDATE", 1,
			"The user prefers morning flights with China Eastern, and lives nearby"), candidate, "UPDATE model", 1, "",
			"The user prefers morning flights with China Eastern, and lives nearby"},
		{"emptied", decision("UPDATE", 1, ""), candidate, "ADD rules", 1, "left out", known},
		{"unknown action", fakellm.Reply(`{"action":"DROP","target":1,"content":"","why":""}`, 9, 9), candidate,
			"ADD rules", 1, "unknown action", known},
		{"prose", fakellm.Reply("No.", 9, 9), candidate, "ADD rules", 2, "does not match the schema", known},
		{"busy", fakellm.Busy(60), candidate, "ADD rules", 1, "limits the rate", known},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			st, s, srv, ledger := withModel(t, tt.step)
			first := must(t, s, consolidator.Request{Content: known})
			d := must(t, s, consolidator.Request{Content: tt.say})
			if got := string(d.Action) + " " + d.DecidedBy; got != tt.want || !strings.Contains(d.Note, tt.note) ||
				tt.note == "" && d.Note != "" {
				t.Errorf("got %q, %+v, want %q", got, d, tt.want)
			}
			content := ""
			if m := get(t, st, first.ID); m.IsActive() {
				content = m.Content
			}
			if content != tt.known {
				t.Errorf("known is %q, want %q", content, tt.known)
			}
			book, day := srv.Stats(), ledger.Today()
			if book.Requests != tt.calls || day.Requests != int64(tt.calls) ||
				day.Reported != (llm.Tokens{Input: int64(book.Input), Output: int64(book.Output)}) {
				t.Errorf("asked %d times, want %d; ledger %+v", book.Requests, tt.calls, day)
			}
			if d.Action != "NOOP" {
				if _, err := st.Undo(t.Context(), store.Meta{Actor: journal.ActorClient}, d.Op); err != nil {
					t.Fatal(err)
				}
				if m := get(t, st, first.ID); !m.IsActive() || m.Content != known {
					t.Errorf("undo left %+v", m)
				}
			}
		})
	}
}

// TestDecisionIsRemembered: the identical question is asked once, and anew when what is known has changed.
func TestDecisionIsRemembered(t *testing.T) {
	_, s, srv, _ := withModel(t, decision("ADD", 0, ""))
	must(t, s, consolidator.Request{Content: "The user flies with China Eastern"})
	ask := consolidator.Request{Content: "The user prefers morning flights with China Eastern", DryRun: true}
	for range 3 {
		must(t, s, ask)
	}
	if n := srv.Stats().Requests; n != 1 {
		t.Errorf("asked %d times", n)
	}
	must(t, s, consolidator.Request{Content: "The user flies with China Southern in winter", Category: memory.Facts})
	before := srv.Stats().Requests
	must(t, s, ask)
	if n := srv.Stats().Requests; n != before+1 {
		t.Errorf("asked %d times after a change", n-before)
	}
}

// TestUsersOwnStays: what the user saved is not retired by a model.
func TestUsersOwnStays(t *testing.T) {
	st, s, _, _ := withModel(t, decision("DELETE", 1, ""))
	_, err := st.Update(t.Context(), store.Meta{Actor: journal.ActorClient}, func(tx *store.Tx) error {
		return tx.Put(&memory.Memory{ID: "m1", Category: memory.General, Content: "The user flies with China Eastern",
			Status: memory.Active, Source: memory.SourceUser, CreatedAt: noon, Confidence: 1})
	})
	if err != nil {
		t.Fatal(err)
	}
	d := must(t, s, consolidator.Request{Content: "The user flies with Air China, not with China Eastern"})
	if m := get(t, st, "m1"); !m.IsActive() || d.DecidedBy != consolidator.ByRules ||
		!strings.Contains(d.Note, "REVIEW_USERS_OWN") {
		t.Errorf("%+v, %+v", d, m)
	}
}

// TestRefusedWaits: what a model proposed of a save and the guards left to a person waits, though the rules have
// decided; once.
func TestRefusedWaits(t *testing.T) {
	now := func() time.Time { return noon }
	engine := search.New(search.Config{Now: now})
	st := openStore(t, engine)
	srv := fakellm.Start(t, decision("UPDATE", 1, "The user flies in the morning with an airline"))
	client, err := llm.New(llm.Config{Provider: llm.OpenAI, BaseURL: srv.URL + "/v1", Model: "m", Now: time.Now,
		Timeout: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	reviews := review.New(st)
	s := consolidator.New(consolidator.Config{Store: st, Search: engine, Now: now, Model: client, Reviews: reviews})
	known := must(t, s, consolidator.Request{Content: "The user flies with China Eastern"})
	for range 2 {
		d := must(t, s, consolidator.Request{Content: "The user flies with an airline in the morning"})
		if d.DecidedBy != consolidator.ByRules {
			t.Errorf("%+v", d)
		}
		if d.Op > 0 && d.Action == "ADD" {
			if _, err := st.Update(t.Context(), store.Meta{Actor: journal.ActorClient}, func(tx *store.Tx) error {
				tx.Remove(d.ID)
				return nil
			}); err != nil {
				t.Fatal(err)
			}
		}
	}
	items, err := reviews.List("", false)
	if err != nil || len(items) != 1 || items[0].Target != known.ID || items[0].By != "model" ||
		items[0].Reason != "REVIEW_LOST_NAME" {
		t.Fatalf("%+v, %v", items, err)
	}
	if _, err := reviews.Resolve(t.Context(), store.Meta{}, items[0].Entry.ID, review.Accept); err != nil ||
		get(t, st, known.ID).Content != "The user flies in the morning with an airline" {
		t.Errorf("accepted: %v, %q", err, get(t, st, known.ID).Content)
	}
}

// TestParaphraseIsOffered tells a known fact in words of which it has none: rules keep both, and a model is asked about
// it.
func TestParaphraseIsOffered(t *testing.T) {
	encoder, err := bert.NewE5()
	if errors.Is(err, bert.ErrNoModel) {
		t.Skip("built without the models")
	}
	if err != nil {
		t.Fatal(err)
	}
	now := func() time.Time { return noon }
	engine := search.New(search.Config{Now: now, Models: []embedding.Model{encoder}})
	st := openStore(t, engine)
	running, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- engine.RunEmbedding(running, crashfs.New()) }()
	defer func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}()
	rules := consolidator.New(consolidator.Config{Store: st, Search: engine, Now: now})
	known := must(t, rules, consolidator.Request{Content: "The user is coeliac: no gluten at all."})
	if err := engine.WaitIndexed(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	const candidate = "She has celiac disease and cannot have wheat"
	if d := must(t, rules, consolidator.Request{Content: candidate, DryRun: true}); d.Action != guard.Add {
		t.Errorf("rules: %+v", d)
	}
	client, srv, _ := modelClient(t, decision("NOOP", 1, ""))
	asking := consolidator.New(consolidator.Config{Store: st, Search: engine, Now: now, Model: client})
	d := must(t, asking, consolidator.Request{Content: candidate})
	if d.Action != guard.Noop || d.ID != known.ID || len(srv.Requests()) != 1 {
		t.Errorf("model: %+v", d)
	}
}
