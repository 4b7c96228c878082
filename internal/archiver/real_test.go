package archiver_test

import (
	"strings"
	"testing"
	"time"

	"github.com/memsidecar/memsidecar/internal/archiver"
	"github.com/memsidecar/memsidecar/internal/llm"
	"github.com/memsidecar/memsidecar/internal/memtest/realllm"
)

// TestRealModel has a real server sum up a log, whatever its model is worth: the summary says only what the log said,
// or rules made it. While the server is not there, the log waits.
func TestRealModel(t *testing.T) {
	const said = "The crane of the old harbour was repaired."
	s := realllm.Start(t)
	for i, mode := range []llm.OutputMode{llm.OutputSchema, llm.OutputJSON, llm.OutputPlain} {
		t.Run(string(mode), func(t *testing.T) {
			b := newHarness(t)
			b.log(b.date(61), event(said), event("the ferry was late"))
			p := realllm.NewProxy(t, s)
			p.Refuse([]string{"json_schema", "json_object"}[:i]...)
			r, ledger := realRun(b, p.URL, s.Model)
			day, book := r.Days[0], p.Exchanges()
			t.Logf("%v: %q, %q; %d requests, %+v", actions(r), day.Summary, day.Note, len(book), ledger.Today())
			for _, x := range book {
				text, finish, _, _ := x.Reply()
				t.Logf("%s, status %d, ended with %q: %.200s", x.Format, x.Status, finish, text)
			}
			if len(book) == 0 || ledger.Today().Requests != int64(len(book)) || r.Waiting != nil ||
				r.Count(archiver.Delete) != 1 {
				t.Errorf("%d requests, ledger %+v, waits %v", len(book), ledger.Today(), r.Waiting)
			}
			if !s.Own() {
				return
			}
			// The model speaks of the crane alone, which the rules would not.
			if day.Summary != said || day.Note != "" || len(book) != i+1 {
				t.Errorf("%q, %q after %d requests", day.Summary, day.Note, len(book))
			}
		})
	}
	t.Run("made up", func(t *testing.T) {
		s.NeedOwn(t, "what another model makes up is not known")
		b := newHarness(t)
		b.log(b.date(61), event("the ferry was late"))
		p := realllm.NewProxy(t, s)
		r, _ := realRun(b, p.URL, s.Model)
		book := p.Exchanges()
		t.Logf("%v: %q, %q; %d requests", actions(r), r.Days[0].Summary, r.Days[0].Note, len(book))
		if strings.Contains(r.Days[0].Summary, "crane") || r.Days[0].Note == "" || len(book) != 2 ||
			!strings.Contains(string(book[1].Request), "could not be used") {
			t.Errorf("a crane of which the log says nothing: %q, %q", r.Days[0].Summary, r.Days[0].Note)
		}
	})
	t.Run("stopped", func(t *testing.T) {
		s.NeedOwn(t, "it is killed, and started again")
		b := newHarness(t)
		b.log(b.date(61), event(said), event("the ferry was late"))
		s.Stop()
		r, _ := realRun(b, s.URL, s.Model)
		t.Log(r.Waiting)
		if r.Waiting == nil || r.Count(archiver.Postponed) != 1 ||
			r.Count(archiver.Delete)+r.Count(archiver.Archive) != 0 {
			t.Errorf("%v, waits %v", actions(r), r.Waiting)
		}
		s.Restart()
		if r, _ = realRun(b, s.URL, s.Model); r.Waiting != nil || r.Days[0].Summary != said {
			t.Errorf("%v: %q, waits %v", actions(r), r.Days[0].Summary, r.Waiting)
		}
	})
}

// realRun archives what is due, asking the model behind the address.
func realRun(b *harness, url, model string) (archiver.Report, *llm.Ledger) {
	b.Helper()
	ledger, err := llm.OpenLedger(llm.LedgerConfig{Now: b.clock, Location: b.loc})
	if err != nil {
		b.Fatal(err)
	}
	client, err := llm.New(llm.Config{Provider: llm.OpenAI, BaseURL: url + "/v1", Model: model, Now: time.Now,
		Ledger: ledger, MaxOutputTokens: 1024})
	if err != nil {
		b.Fatal(err)
	}
	r, err := b.asking(client).Run(b.Context(), archiver.Options{})
	if err != nil {
		b.Fatal(err)
	}
	return r, ledger
}
