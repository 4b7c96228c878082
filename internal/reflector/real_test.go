package reflector_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/memsidecar/memsidecar/internal/llm"
	"github.com/memsidecar/memsidecar/internal/memtest/realllm"
	"github.com/memsidecar/memsidecar/internal/reflector"
)

// real is a bed whose model is a real server behind a proxy that keeps a book.
type real struct {
	*bed
	server *realllm.Server
	proxy  *realllm.Proxy
	ledger *llm.Ledger
	client *llm.Client
	before map[string]string // what was known at the beginning
}

// openReal knows Postgres 14, and has a session s1 in which the user says text.
func openReal(t *testing.T, s *realllm.Server, text string, change func(*llm.Config)) *real {
	t.Helper()
	r := &real{bed: open(t, t.TempDir()), server: s, proxy: realllm.NewProxy(t, s)}
	var err error
	if r.ledger, err = llm.OpenLedger(llm.LedgerConfig{Now: time.Now, Location: time.UTC}); err != nil {
		t.Fatal(err)
	}
	r.know(many()...)
	if text != "" {
		r.say("s1", user(text)...)
	}
	r.before = r.texts()
	r.ask(change)
	return r
}

// ask has the server asked in another way from now on; nil is the usual one, which is patient.
func (r *real) ask(change func(*llm.Config)) {
	r.t.Helper()
	cfg := llm.Config{Provider: llm.OpenAI, BaseURL: r.proxy.URL + "/v1", Model: r.server.Model, Now: time.Now,
		Ledger: r.ledger, Timeout: 5 * time.Minute, MaxOutputTokens: 1024}
	if change != nil {
		change(&cfg)
	}
	var err error
	if r.client, err = llm.New(cfg); err != nil {
		r.t.Fatal(err)
	}
	r.model(r.client)
}

// reflected reflects s1 and says what came of it. Whoever decided, only m1 may have changed.
func (r *real) reflected() reflector.Result {
	r.t.Helper()
	res, err := r.Reflect(r.t.Context(), "p", "s1", reflector.Options{})
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Logf("decided by the %s, %q: %d items, summary %q, m1 is %q", res.DecidedBy, res.Note, len(res.Plan.Items),
		res.Summary, r.texts()["m1"])
	r.onlyChanged(r.before, "m1")
	return res
}

// waits reflects s1, which must have to wait for this reason, and changes nothing.
func (r *real) waits(reason error) {
	r.t.Helper()
	began := time.Now()
	_, err := r.Reflect(r.t.Context(), "p", "s1", reflector.Options{})
	if e, ok := errors.AsType[*reflector.WaitError](err); !ok || !errors.Is(e, reason) {
		r.t.Fatalf("%v, want to wait because %v", err, reason)
	}
	r.t.Logf("after %s: %v", time.Since(began).Round(time.Millisecond), err)
	if r.onlyChanged(r.before); len(r.texts()) != len(r.before) {
		r.t.Errorf("something was added: %v", r.texts())
	}
}

// books compares the ledger with what the proxy saw, and logs both. Only where an answer did not end may they differ,
// and then the ledger says that it estimated.
func (r *real) books(calls int) {
	r.t.Helper()
	var seen llm.Tokens
	whole := true
	book := r.proxy.Exchanges()
	for i, x := range book {
		text, finish, input, output := x.Reply()
		r.t.Logf("request %d: %s, status %d, %d bytes; the reply ended with %q after %d tokens: %.200s", i+1, x.Format,
			x.Status, len(x.Request), finish, output, text)
		seen.Input += int64(input)
		seen.Output += int64(output)
		whole = whole && (x.Ended || x.Refused)
	}
	day := r.ledger.Today()
	r.t.Logf("ledger: %+v", day)
	if len(book) != calls || day.Requests != int64(calls) {
		r.t.Errorf("%d requests came by, the ledger has %d, want %d", len(book), day.Requests, calls)
	}
	if day.Reported != seen || whole == (day.Estimated != llm.Tokens{}) {
		r.t.Errorf("the server reported %+v, the ledger has %+v", seen, day)
	}
}

// TestRealModel asks a real server, however small its model: what it says may be useless, but the way there and back
// is not made up. Whatever comes, it is an answer or an error of the llm package's, within its time; only what was
// shown may have changed, and undo brings all back.
func TestRealModel(t *testing.T) {
	s := realllm.Start(t)
	t.Run("modes", func(t *testing.T) { realOutputModes(t, s) })
	t.Run("chinese", func(t *testing.T) { realChinese(t, s) })
	t.Run("reflection", func(t *testing.T) { realReflection(t, s) })
	t.Run("truncation", func(t *testing.T) { realTruncation(t, s) })
	t.Run("timeout", func(t *testing.T) { realTimeout(t, s) })
	t.Run("repair", func(t *testing.T) { realRepair(t, s) })
	t.Run("forbidden", func(t *testing.T) { realForbidden(t, s) })
	t.Run("repeated", func(t *testing.T) { realRepeated(t, s) })
	t.Run("secrets", func(t *testing.T) { realSecrets(t, s) })
	t.Run("anthropic", func(t *testing.T) { realAnthropic(t, s) })
	t.Run("long", func(t *testing.T) { realLong(t, s) })
	t.Run("paused", func(t *testing.T) { realPaused(t, s) })
	t.Run("stopped", func(t *testing.T) { realStopped(t, s) })
}

// colour is a question that any model can answer, and what it takes to do so.
func colour() llm.Request {
	var got struct {
		Colour string `json:"colour"`
	}
	return llm.Request{System: "Reply with JSON.", User: "What is the colour of the sky?", Name: "sky",
		Check: llm.Into(&got),
		Schema: json.RawMessage(`{"type":"object","properties":{"colour":{"type":"string"}},"required":["colour"],` +
			`"additionalProperties":false}`)}
}

// useless reports whether a failure is only the model's: the server did what it was asked.
func useless(err error) bool {
	return errors.Is(err, llm.ErrInvalidReply) || errors.Is(err, llm.ErrTruncated)
}

// realOutputModes asks for structured output in each of three ways. What is not to be taken is refused by the proxy,
// before the server sees it.
func realOutputModes(t *testing.T, s *realllm.Server) {
	for i, mode := range []llm.OutputMode{llm.OutputSchema, llm.OutputJSON, llm.OutputPlain} {
		t.Run(string(mode), func(t *testing.T) {
			r := openReal(t, s, "", nil)
			r.proxy.Refuse([]string{"json_schema", "json_object"}[:i]...)
			reply, err := r.client.Do(t.Context(), colour())
			t.Logf("%s, repaired %t, %v", reply.JSON, reply.Repaired, err)
			if err != nil && (s.Own() || !useless(err)) {
				t.Fatalf("the server is of no use: %v", err)
			}
			book := r.proxy.Exchanges()
			if last := book[len(book)-1]; last.Format != string(mode) ||
				s.Own() && (reply.OutputMode != mode || reply.Repaired) {
				t.Errorf("asked for %s, took %s, repaired %t; want %s at once", last.Format, reply.OutputMode,
					reply.Repaired,
					mode)
			}
			if s.Own() {
				r.books(i + 1)
			}
		})
	}
}

// realChinese has the model write a character byte by byte, as a model does whose vocabulary does not have it. It
// arrives whole.
func realChinese(t *testing.T, s *realllm.Server) {
	for i, mode := range []llm.OutputMode{llm.OutputSchema, llm.OutputJSON, llm.OutputPlain} {
		t.Run(string(mode), func(t *testing.T) {
			r := openReal(t, s, "", nil)
			r.proxy.Refuse([]string{"json_schema", "json_object"}[:i]...)
			q := colour()
			q.User = "天空是什么颜色？[[中文]]"
			reply, err := r.client.Do(t.Context(), q)
			t.Logf("%s, repaired %t, %v", reply.JSON, reply.Repaired, err)
			if err != nil && (s.Own() || !useless(err)) {
				t.Fatal(err)
			}
			if s.Own() && string(reply.JSON) != `{"colour":"天蓝"}` {
				t.Errorf("it said %s", reply.JSON)
			}
		})
	}
}

func realReflection(t *testing.T, s *realllm.Server) {
	r := openReal(t, s, conversation, nil)
	var written float64
	if s.Own() {
		written = s.Metric("llamacpp:tokens_predicted_total")
	}
	res := r.reflected()
	if s.Own() {
		if res.DecidedBy != reflector.ByModel || r.texts()["m1"] != "We use Postgres 16" {
			t.Errorf("decided by %s, m1 is %q", res.DecidedBy, r.texts()["m1"])
		}
		r.books(1)
		if n := s.Metric("llamacpp:tokens_predicted_total") - written; n != float64(r.ledger.Today().Reported.Output) {
			t.Errorf("the server counts %v tokens written, the ledger %+v", n, r.ledger.Today())
		}
	}
	if res, err := r.Reflect(t.Context(), "p", "s1", reflector.Options{}); err != nil || !res.AlreadyReflected {
		t.Errorf("once more: %+v, %v", res, err)
	}
	r.undoes(res.Op, r.before)
}

// realTruncation gives the reply too little room. What stands there is not taken for the whole.
func realTruncation(t *testing.T, s *realllm.Server) {
	r := openReal(t, s, conversation, func(c *llm.Config) { c.MaxOutputTokens = 5 })
	res := r.reflected()
	if s.Own() {
		r.books(1)
		text, finish, _, output := r.proxy.Exchanges()[0].Reply()
		if finish != "length" || output != 5 || json.Valid([]byte(text)) || !strings.Contains(res.Note, "cut off") {
			t.Errorf("%q ended with %q after %d tokens, note %q", text, finish, output, res.Note)
		}
	}
	if res.DecidedBy != reflector.ByRules || res.Note == "" || r.texts()["m1"] != "We use Postgres 16" {
		t.Errorf("decided by the %s, %q, m1 is %q", res.DecidedBy, res.Note, r.texts()["m1"])
	}
	r.undoes(res.Op, r.before)
}

// realTimeout gives it too little time in all: none to any server, and to ours some seconds for a reply that takes
// longer and never pauses.
func realTimeout(t *testing.T, s *realllm.Server) {
	r := openReal(t, s, conversation, func(c *llm.Config) { c.Timeout = time.Millisecond })
	r.waits(llm.ErrTimeout)
	if day := r.ledger.Today(); day.Failed != day.Requests || day.Requests == 0 {
		t.Errorf("ledger %+v", day)
	}
	s.NeedOwn(t, "another model may end its reply in time")
	r = openReal(t, s, conversation+" [[loop]]", func(c *llm.Config) {
		c.Timeout, c.MaxOutputTokens = 5*time.Second, 1<<20
	})
	r.waits(llm.ErrTimeout)
	if text, finish, _, _ := r.proxy.Exchanges()[0].Reply(); finish != "" || !strings.Contains(text, "over and over") {
		t.Errorf("%.100q ended with %q", text, finish)
	}
	r.books(1)
}
