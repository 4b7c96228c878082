package reflector_test

import (
	"errors"
	"flag"
	"testing"
	"time"

	"github.com/memsidecar/memsidecar/internal/llm"
	"github.com/memsidecar/memsidecar/internal/reflector"
)

var (
	realURL   = flag.String("llm.url", "", "base URL of a model server with OpenAI's chat completions, for TestRealModel")
	realModel = flag.String("llm.model", "default", "name of its model")
)

// TestRealModel asks a real server, however small its model: what it says may be useless, but the way there and back is not made up. Whatever comes, it
// is an answer or an error of this package's, within its time; only what was shown may have changed, and undo brings all back.
func TestRealModel(t *testing.T) {
	if *realURL == "" {
		t.Skip("needs a model server: make llm-test LLM_BASE_URL=http://localhost:11434/v1 LLM_MODEL=name")
	}
	open := func(t *testing.T, change func(*llm.Config)) (*llm.Client, *llm.Ledger) {
		t.Helper()
		ledger, err := llm.OpenLedger(llm.LedgerConfig{Now: time.Now, Location: time.UTC})
		if err != nil {
			t.Fatal(err)
		}
		cfg := llm.Config{Provider: llm.OpenAI, BaseURL: *realURL, Model: *realModel, Now: time.Now, Ledger: ledger, Timeout: 5 * time.Minute, MaxOutputTokens: 1024}
		change(&cfg)
		client, err := llm.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		return client, ledger
	}
	var got struct {
		Colour string `json:"colour"`
	}
	question := llm.Request{System: "Reply with JSON.", User: "What is the colour of the sky?", Name: "sky", Check: llm.Into(&got),
		Schema: []byte(`{"type":"object","properties":{"colour":{"type":"string"}},"required":["colour"],"additionalProperties":false}`)}

	t.Run("question", func(t *testing.T) {
		client, ledger := open(t, func(*llm.Config) {})
		reply, err := client.Do(t.Context(), question)
		if err != nil && !errors.Is(err, llm.ErrInvalidReply) && !errors.Is(err, llm.ErrTruncated) {
			t.Fatalf("the server is of no use: %v", err)
		}
		t.Logf("%s, repaired %t, %+v, %v", reply.Rung, reply.Repaired, ledger.Today(), err)
		if ledger.Today().Requests == 0 || ledger.Today().Total() == 0 {
			t.Error("nothing was counted")
		}
	})
	t.Run("truncation", func(t *testing.T) {
		client, _ := open(t, func(c *llm.Config) { c.MaxOutputTokens = 2 })
		if _, err := client.Do(t.Context(), question); !errors.Is(err, llm.ErrTruncated) && !errors.Is(err, llm.ErrInvalidReply) {
			t.Errorf("two tokens were enough: %v", err)
		}
	})
	t.Run("timeout", func(t *testing.T) {
		client, ledger := open(t, func(c *llm.Config) { c.Timeout = time.Millisecond })
		_, err := client.Do(t.Context(), question)
		if e, ok := errors.AsType[*llm.Error](err); !ok || !e.Later || ledger.Today().Failed != ledger.Today().Requests {
			t.Errorf("%v, %+v", err, ledger.Today())
		}
	})
	t.Run("reflection", func(t *testing.T) {
		client, ledger := open(t, func(*llm.Config) {})
		b := openBed(t)
		b.know(many()...)
		b.say("s1", user(conversation)...)
		before := b.texts()
		b.model(client)
		res, err := b.Reflect(t.Context(), "p", "s1", reflector.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("decided by %s %s: %d items, %+v", res.DecidedBy, res.Note, len(res.Plan.Items), ledger.Today())
		b.onlyChanged(before, "m1")
		b.undoes(res.Op, before)
	})
}

func openBed(t *testing.T) *bed { return open(t, t.TempDir()) }
