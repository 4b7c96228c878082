package consolidator_test

import (
	"strings"
	"testing"
	"time"

	"github.com/memsidecar/memsidecar/internal/llm"
	"github.com/memsidecar/memsidecar/internal/memtest/realllm"
	"github.com/memsidecar/memsidecar/internal/reflector/consolidator"
	"github.com/memsidecar/memsidecar/internal/search"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

// TestRealModel has a real server decide about a text beside one that is known, whatever its model is worth: what the
// text says is known afterwards, and undo brings the old one back. An exact repeat is no question.
func TestRealModel(t *testing.T) {
	const known, candidate = "The user flies with China Eastern", "The user prefers morning flights with China Eastern"
	s := realllm.Start(t)
	for i, mode := range []llm.OutputMode{llm.OutputSchema, llm.OutputJSON, llm.OutputPlain} {
		t.Run(string(mode), func(t *testing.T) {
			p := realllm.NewProxy(t, s)
			p.Refuse([]string{"json_schema", "json_object"}[:i]...)
			ledger, err := llm.OpenLedger(llm.LedgerConfig{Now: time.Now, Location: time.UTC})
			if err != nil {
				t.Fatal(err)
			}
			client, err := llm.New(llm.Config{Provider: llm.OpenAI, BaseURL: p.URL + "/v1", Model: s.Model,
				Now: time.Now, Ledger: ledger, MaxOutputTokens: 512})
			if err != nil {
				t.Fatal(err)
			}
			now := func() time.Time { return noon }
			engine := search.New(search.Config{Now: now})
			st := openStore(t, engine)
			service := consolidator.New(consolidator.Config{Store: st, Search: engine, Now: now, Model: client})
			first := must(t, service, consolidator.Request{Content: known})
			if again := must(t, service, consolidator.Request{Content: known}); again.Action != "NOOP" ||
				len(p.Exchanges()) != 0 {
				t.Errorf("an exact repeat was %+v, after %d requests", again, len(p.Exchanges()))
			}
			d := must(t, service, consolidator.Request{Content: candidate})
			m := get(t, st, first.ID)
			day, book := ledger.Today(), p.Exchanges()
			t.Logf("%s by the %s, %q; known is now %q; %d requests, %+v", d.Action, d.DecidedBy, d.Note, m.Content,
				len(book), day)
			for _, x := range book {
				text, finish, _, _ := x.Reply()
				t.Logf("%s, status %d, ended with %q: %.200s", x.Format, x.Status, finish, text)
			}
			if len(book) == 0 || day.Requests != int64(len(book)) {
				t.Errorf("%d requests, ledger %+v", len(book), day)
			}
			if s.Own() && (d.DecidedBy != consolidator.ByModel || d.Action != "UPDATE" || len(book) != i+1 ||
				!strings.Contains(m.Content, "morning flights")) {
				t.Errorf("%+v after %d requests; known is %q", d, len(book), m.Content)
			}
			if d.Action != "NOOP" {
				if _, err := st.Undo(t.Context(), store.Meta{Actor: journal.ActorClient}, d.Op); err != nil {
					t.Fatal(err)
				}
			}
			if m := get(t, st, first.ID); !m.IsActive() || m.Content != known {
				t.Errorf("undo left %q", m.Content)
			}
		})
	}
}
