package reflector_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/memsidecar/memsidecar/internal/llm"
	"github.com/memsidecar/memsidecar/internal/memtest"
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
	cfg := llm.Config{Provider: llm.OpenAI, BaseURL: r.proxy.URL + "/v1", Model: r.server.Model, Now: time.Now, Ledger: r.ledger, Timeout: 5 * time.Minute, MaxOutputTokens: 1024}
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
	r.t.Logf("decided by the %s, %q: %d items, summary %q, m1 is %q", res.DecidedBy, res.Note, len(res.Plan.Items), res.Summary, r.texts()["m1"])
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

// books compares the ledger with what the proxy saw, and logs both. Only where an answer did not end may they differ, and then the ledger says that it estimated.
func (r *real) books(calls int) {
	r.t.Helper()
	var seen llm.Tokens
	whole := true
	book := r.proxy.Book()
	for i, x := range book {
		text, finish, input, output := x.Said()
		r.t.Logf("request %d: %s, status %d, %d bytes; the reply ended with %q after %d tokens: %.200s", i+1, x.Format, x.Status, len(x.Request), finish, output, text)
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

// TestRealModel asks a real server, however small its model: what it says may be useless, but the way there and back is not made up. Whatever comes, it
// is an answer or an error of the llm package's, within its time; only what was shown may have changed, and undo brings all back.
func TestRealModel(t *testing.T) {
	s := realllm.Start(t)
	t.Run("rungs", func(t *testing.T) { realRungs(t, s) })
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
	return llm.Request{System: "Reply with JSON.", User: "What is the colour of the sky?", Name: "sky", Check: llm.Into(&got),
		Schema: json.RawMessage(`{"type":"object","properties":{"colour":{"type":"string"}},"required":["colour"],"additionalProperties":false}`)}
}

// useless reports whether a failure is only the model's: the server did what it was asked.
func useless(err error) bool {
	return errors.Is(err, llm.ErrInvalidReply) || errors.Is(err, llm.ErrTruncated)
}

// realRungs asks for structured output in each of three ways. What is not to be taken is refused by the proxy, before the server sees it.
func realRungs(t *testing.T, s *realllm.Server) {
	for i, rung := range []llm.Rung{llm.RungSchema, llm.RungObject, llm.RungPlain} {
		t.Run(string(rung), func(t *testing.T) {
			r := openReal(t, s, "", nil)
			r.proxy.Refuse([]string{"json_schema", "json_object"}[:i]...)
			reply, err := r.client.Do(t.Context(), colour())
			t.Logf("%s, repaired %t, %v", reply.JSON, reply.Repaired, err)
			if err != nil && (s.Own() || !useless(err)) {
				t.Fatalf("the server is of no use: %v", err)
			}
			book := r.proxy.Book()
			if last := book[len(book)-1]; last.Format != string(rung) || s.Own() && (reply.Rung != rung || reply.Repaired) {
				t.Errorf("asked for %s, took %s, repaired %t; want %s at once", last.Format, reply.Rung, reply.Repaired, rung)
			}
			if s.Own() {
				r.books(i + 1)
			}
		})
	}
}

// realChinese has the model write a character byte by byte, as a model does whose vocabulary does not have it. It arrives whole.
func realChinese(t *testing.T, s *realllm.Server) {
	for i, rung := range []llm.Rung{llm.RungSchema, llm.RungObject, llm.RungPlain} {
		t.Run(string(rung), func(t *testing.T) {
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
		text, finish, _, output := r.proxy.Book()[0].Said()
		if finish != "length" || output != 5 || json.Valid([]byte(text)) || !strings.Contains(res.Note, "cut off") {
			t.Errorf("%q ended with %q after %d tokens, note %q", text, finish, output, res.Note)
		}
	}
	if res.DecidedBy != reflector.ByRules || res.Note == "" || r.texts()["m1"] != "We use Postgres 16" {
		t.Errorf("decided by the %s, %q, m1 is %q", res.DecidedBy, res.Note, r.texts()["m1"])
	}
	r.undoes(res.Op, r.before)
}

// realTimeout gives it too little time in all: none to any server, and to ours some seconds for a reply that takes longer and never pauses.
func realTimeout(t *testing.T, s *realllm.Server) {
	r := openReal(t, s, conversation, func(c *llm.Config) { c.Timeout = time.Millisecond })
	r.waits(llm.ErrTimeout)
	if day := r.ledger.Today(); day.Failed != day.Requests || day.Requests == 0 {
		t.Errorf("ledger %+v", day)
	}
	s.NeedOwn(t, "another model may end its reply in time")
	r = openReal(t, s, conversation+" [[loop]]", func(c *llm.Config) { c.Timeout, c.MaxOutputTokens = 5*time.Second, 1<<20 })
	r.waits(llm.ErrTimeout)
	if text, finish, _, _ := r.proxy.Book()[0].Said(); finish != "" || !strings.Contains(text, "over and over") {
		t.Errorf("%.100q ended with %q", text, finish)
	}
	r.books(1)
}

// realRepair has the model fail the check first. It is told so once, and does better; what it wrote first is not taken.
func realRepair(t *testing.T, s *realllm.Server) {
	s.NeedOwn(t, "another model does not know what [[empty]] means")
	for _, tt := range []struct {
		name, order string
		refuse      []string
		first       string
	}{
		{"the schema is kept, and the text is not", "[[empty]]", nil, `{"summary":"","history":""`},
		{"another object", "[[empty]]", []string{"json_schema"}, `{"summary":""`},
		{"no object", "[[prose]]", []string{"json_schema", "json_object"}, "I would rather talk about the weather"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := openReal(t, s, conversation+" "+tt.order, nil)
			r.proxy.Refuse(tt.refuse...)
			res := r.reflected()
			r.books(len(tt.refuse) + 2)
			book := r.proxy.Book()[len(tt.refuse):]
			first, _, _, _ := book[0].Said()
			if !strings.HasPrefix(first, tt.first) || strings.Contains(string(book[0].Request), "could not be used") || !strings.Contains(string(book[1].Request), "could not be used") {
				t.Errorf("the first reply is %q", first)
			}
			if res.DecidedBy != reflector.ByModel || r.texts()["m1"] != "We use Postgres 16" {
				t.Errorf("decided by the %s, %q, m1 is %q", res.DecidedBy, res.Note, r.texts()["m1"])
			}
			r.undoes(res.Op, r.before)
		})
	}
}

// realForbidden has the model propose what a reflection must not do. With the schema the server does not even let it say so; without, a guard refuses it.
func realForbidden(t *testing.T, s *realllm.Server) {
	s.NeedOwn(t, "another model does not know what [[delete]] means")
	for _, rung := range []string{"json_schema", "json_object"} {
		t.Run(rung, func(t *testing.T) {
			r := openReal(t, s, conversation+" [[delete]]", nil)
			if rung == "json_object" {
				r.proxy.Refuse("json_schema")
			}
			res := r.reflected()
			book := r.proxy.Book()
			r.books(len(book))
			said, _, _, _ := book[len(book)-1].Said()
			if strings.Contains(said, `"action":"DELETE"`) != (rung == "json_object") {
				t.Errorf("it said %s", said)
			}
			if r.texts()["m1"] == "" {
				t.Error("m1 is gone")
			}
			r.undoes(res.Op, r.before)
		})
	}
}

// realRepeated has the model say the same until it is stopped.
func realRepeated(t *testing.T, s *realllm.Server) {
	s.NeedOwn(t, "another model does not know what [[loop]] means")
	const limit = 400
	r := openReal(t, s, conversation+" [[loop]]", func(c *llm.Config) { c.MaxOutputTokens = limit })
	res := r.reflected()
	r.books(1)
	if text, finish, _, output := r.proxy.Book()[0].Said(); finish != "length" || output != limit || strings.Count(text, " and over") != limit-1 {
		t.Errorf("%d tokens, ended with %q: %.100q…", output, finish, text)
	}
	if res.DecidedBy != reflector.ByRules || !strings.Contains(res.Note, "cut off") || strings.Contains(res.Summary, "over and over") {
		t.Errorf("decided by the %s, %q, summary %q", res.DecidedBy, res.Note, res.Summary)
	}
	r.undoes(res.Op, r.before)
}

// realSecrets puts 200 made-up secrets into a session. None reaches the server.
func realSecrets(t *testing.T, s *realllm.Server) {
	r := openReal(t, s, "", nil)
	secrets := memtest.Secrets(11, 200)
	for i := 0; i < len(secrets); i += 20 {
		id := fmt.Sprint("s", i)
		var texts []string
		for _, secret := range secrets[i : i+20] {
			texts = append(texts, "Remember that "+secret.Text)
		}
		r.say(id, user(texts...)...)
		if res, err := r.Reflect(t.Context(), "p", id, reflector.Options{}); err != nil {
			t.Fatal(err)
		} else if res.DecidedBy != reflector.ByModel && s.Own() {
			t.Errorf("%s: decided by the %s, %s", id, res.DecidedBy, res.Note)
		}
	}
	book := r.proxy.Book()
	bytes := 0
	for i, x := range book {
		bytes += len(x.Request)
		for _, secret := range secrets {
			quoted, _ := json.Marshal(secret.Value)
			if strings.Contains(string(x.Request), secret.Value) || strings.Contains(string(x.Request), strings.Trim(string(quoted), `"`)) {
				t.Errorf("request %d holds %q", i+1, secret.Value)
			}
		}
	}
	for _, content := range r.contents() {
		for _, secret := range secrets {
			if strings.Contains(content, secret.Value) {
				t.Errorf("%q is remembered", content)
			}
		}
	}
	if len(book) < 10 || bytes < 10_000 {
		t.Errorf("%d requests with %d bytes were looked at", len(book), bytes)
	}
	t.Logf("%d secrets, %d requests with %d bytes", len(secrets), len(book), bytes)
}
