package llm_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/memsidecar/memsidecar/internal/llm"
	"github.com/memsidecar/memsidecar/internal/memtest/fakellm"
)

// note is the type that the replies of most tests are decoded into.
type note struct {
	Title string   `json:"title"`
	Tags  []string `json:"tags"`
	Rank  int      `json:"rank"`
}

const noteSchema = `{"type":"object","properties":{"title":{"type":"string"},"tags":{"type":"array",` +
	`"items":{"type":"string"}},"rank":{"type":"integer"}},` +
	`"required":["title","tags","rank"],"additionalProperties":false}`

const good = `{"title":"a","tags":["x"],"rank":1}`

const secret = "sk-very-secret-key"

// open makes a client of srv with a ledger; change may adjust both configurations.
func open(t testing.TB, provider, base string, change func(*llm.Config, *llm.LedgerConfig)) (*llm.Client, *llm.Ledger) {
	t.Helper()
	cfg := llm.Config{Provider: provider, BaseURL: base, Model: "test-model", Now: time.Now,
		Key: func() (string, error) { return secret, nil }}
	lcfg := llm.LedgerConfig{Now: time.Now, Location: time.UTC}
	if change != nil {
		change(&cfg, &lcfg)
	}
	ledger, err := llm.OpenLedger(lcfg)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Ledger = ledger
	c, err := llm.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c, ledger
}

func ask(ctx context.Context, c *llm.Client, out *note) (llm.Reply, error) {
	return c.Do(ctx, llm.Request{System: "You make notes.", User: "the private words",
		Schema: json.RawMessage(noteSchema), Check: llm.Into(out)})
}

// base is the configured address for a provider.
func base(s *fakellm.Server, provider string) string {
	if provider == llm.OpenAI {
		return s.URL + "/v1"
	}
	return s.URL
}

// balanced compares the client's count with the server's book.
func balanced(t *testing.T, s *fakellm.Server, l *llm.Ledger) {
	t.Helper()
	book, day := s.Stats(), l.Today()
	want := llm.Tokens{Input: int64(book.Input), Output: int64(book.Output)}
	if day.Requests != int64(book.Requests) || day.Reported != want {
		t.Errorf("the ledger has %+v, the server's book %+v", day, book)
	}
}

func TestReplies(t *testing.T) {
	both := []string{llm.OpenAI, llm.Anthropic}
	tests := []struct {
		name      string
		providers []string
		steps     []fakellm.Step
		mode      llm.OutputMode
		repaired  bool
		requests  int
		estimated bool
	}{
		{"streamed", both, []fakellm.Step{fakellm.Reply(good, 100, 20)}, llm.OutputSchema, false, 1, false},
		{"whole though a stream was asked for", both, []fakellm.Step{{Text: good, Input: 7, Output: 3, Whole: true}},
			llm.OutputSchema, false, 1, false},
		{"reasoning beside the reply", both,
			[]fakellm.Step{{Thought: `maybe {"title":"no","tags":[],"rank":0}?`, Text: good, Input: 7, Output: 3}},
			llm.OutputSchema, false, 1, false},
		{"trailing text", both, []fakellm.Step{{Text: good + "\nHope this helps!", Input: 7, Output: 3}},
			llm.OutputSchema, false, 1, false},
		{"repetition up to the limit behind the reply", both,
			[]fakellm.Step{{Text: good + strings.Repeat("\nagain", 100), Finish: "length", Input: 7, Output: 300}},
			llm.OutputSchema, false, 1, false},
		{"no usage", both, []fakellm.Step{{Text: good, NoUsage: true}}, llm.OutputSchema, false, 1, true},
		{"no schema", both[:1], []fakellm.Step{{Refuse: []string{"json_schema"}}, fakellm.Reply(good, 5, 5)},
			llm.OutputJSON, false, 2, false},
		{"neither", both[:1], []fakellm.Step{{Refuse: []string{"json_schema"}}, {Refuse: []string{"json_object"}},
			fakellm.Reply(good, 5, 5)}, llm.OutputPlain, false, 3, false},
		{"422", both[:1], []fakellm.Step{fakellm.Status(422, `{"detail":[]}`), fakellm.Reply(good, 5, 5)},
			llm.OutputJSON, false, 2, false},
		{"no output_config", both[1:], []fakellm.Step{{Refuse: []string{"json_schema"}},
			{Call: good, Input: 4, Output: 4}}, llm.OutputTool, false, 2, false},
		{"no tool either", both[1:], []fakellm.Step{{Refuse: []string{"json_schema"}}, {Refuse: []string{"tool"}},
			fakellm.Reply(good, 5, 5)}, llm.OutputPlain, false, 3, false},
		{"a tool call nobody asked for", both, []fakellm.Step{{Call: good, Input: 4, Output: 4}}, llm.OutputSchema, false,
			1, false},
		{"max_completion_tokens", both[:1],
			[]fakellm.Step{fakellm.Status(400,
				`{"error":{"message":"Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."}}`),
				fakellm.Reply(good, 5, 5)}, llm.OutputSchema, false, 2, false},
		{"no stream_options", both[:1], []fakellm.Step{{Refuse: []string{"stream_options"}}, {Text: good}},
			llm.OutputSchema, false, 2, true},
		{"no stream", both, []fakellm.Step{{Refuse: []string{"stream"}}, fakellm.Reply(good, 5, 5)}, llm.OutputSchema,
			false, 2, false},
		{"wrong schema, repaired", both, []fakellm.Step{fakellm.Reply(`{"name":"a"}`, 10, 3),
			fakellm.Reply(good, 20, 4)}, llm.OutputSchema, true, 2, false},
		{"prose, repaired", both, []fakellm.Step{fakellm.Reply("Sure, what would you like?", 10, 3),
			fakellm.Reply("```json\n"+good+"\n```", 20, 4)}, llm.OutputSchema, true, 2, false},
		{"nothing, repaired", both, []fakellm.Step{fakellm.Reply("", 10, 3), fakellm.Reply(good, 20, 4)},
			llm.OutputSchema, true, 2, false},
	}
	for _, tt := range tests {
		for _, provider := range tt.providers {
			t.Run(tt.name+"/"+provider, func(t *testing.T) {
				srv := fakellm.Start(t, tt.steps...)
				c, ledger := open(t, provider, base(srv, provider), nil)
				var out note
				reply, err := ask(t.Context(), c, &out)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(note{"a", []string{"x"}, 1}, out); diff != "" {
					t.Error(diff)
				}
				if string(reply.JSON) != good || reply.OutputMode != tt.mode || reply.Repaired != tt.repaired {
					t.Errorf("got %s by %s, repaired %v", reply.JSON, reply.OutputMode, reply.Repaired)
				}
				if reply.Usage.Requests != tt.requests || reply.Usage.Estimated != tt.estimated {
					t.Errorf("usage is %+v", reply.Usage)
				}
				balanced(t, srv, ledger)
				if day := ledger.Today(); int64(reply.Usage.Input+reply.Usage.Output) != day.Total() ||
					(day.Estimated == llm.Tokens{}) == tt.estimated {
					t.Errorf("usage is %+v, the ledger has %+v", reply.Usage, day)
				}
			})
		}
	}
}

func TestUnnamedStream(t *testing.T) {
	body := "data: {\"choices\":[{\"delta\":{\"content\":\"{\\\"title\\\":\\\"a\\\",\\\"tags\\\":[\\\"x\\\"],\"}}]}\r\n\r\n" +
		"data: {\"choices\":[{\"delta\":{\"content\":\"\\\"rank\\\":1}\"},\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":2}}\r\n\r\n"
	srv := fakellm.Start(t, fakellm.Step{Body: body, Header: http.Header{"Content-Type": {"text/plain"}}})
	c, _ := open(t, llm.OpenAI, srv.URL, nil)
	reply, err := ask(t.Context(), c, new(note))
	if err != nil || string(reply.JSON) != good || reply.Usage != (llm.Usage{Requests: 1, Input: 9, Output: 2}) {
		t.Errorf("got %+v, %v", reply, err)
	}
}

func TestFailures(t *testing.T) {
	invalid := fakellm.Reply(`{"name":"leaked words"}`, 10, 3)
	tests := []struct {
		name     string
		step     fakellm.Step
		want     error
		later    bool
		requests int
	}{
		{"401", fakellm.Status(401, `{"error":{"message":"Incorrect API key `+secret+`","code":"invalid_api_key"}}`),
			llm.ErrKey, true, 1},
		{"403", fakellm.Status(403, ""), llm.ErrKey, true, 1},
		{"bad key as 400", fakellm.Status(400,
			`[{"error":{"message":"API key not valid. Please pass a valid API key."}}]`), llm.ErrKey, true, 1},
		{"402", fakellm.Status(402, ""), llm.ErrRateLimited, true, 1},
		{"404", fakellm.Status(404, `{"error":"model 'leaked words' not found"}`), llm.ErrNotFound, true, 1},
		{"405", fakellm.Status(405, ""), llm.ErrNotModel, true, 1},
		{"413", fakellm.Status(413, ""), llm.ErrTooLarge, false, 1},
		{"too long", fakellm.Status(400, `{"error":{"message":"leaked words","code":"context_length_exceeded"}}`),
			llm.ErrTooLarge, false, 1},
		{"400 to everything", fakellm.Status(400, `{"error":{"message":"leaked words"}}`), llm.ErrRejected, false, 3},
		{"quota", fakellm.Status(429, `{"error":{"code":"insufficient_quota"}}`), llm.ErrRateLimited, true, 1},
		{"no money", fakellm.Status(400, `{"error":{"message":"Your credit balance is too `+
			`low","type":"invalid_request_error"}}`), llm.ErrRateLimited, true, 1},
		{"unknown model as 400", fakellm.Status(400, `{"error":{"message":"Model Not Exist"}}`), llm.ErrNotFound, true,
			1},
		{"long wait", fakellm.Busy(3600), llm.ErrRateLimited, true, 1},
		{"redirect", fakellm.Step{Status: 307, Header: http.Header{"Location": {"http://elsewhere.example/v1"}}},
			llm.ErrNotModel, true, 1},
		{"HTML", fakellm.HTML(), llm.ErrNotModel, true, 1},
		{"other JSON", fakellm.Step{Body: `{"models":[]}`}, llm.ErrNotModel, true, 1},
		{"304", fakellm.Status(304, ""), llm.ErrNotModel, true, 1},
		{"5 MB", fakellm.Step{Text: `{"title":"` + strings.Repeat("a", 5<<20) + `"}`, NoUsage: true}, llm.ErrTooLarge,
			false, 1},
		{"5 MB whole", fakellm.Step{Text: strings.Repeat("a", 5<<20), Whole: true, NoUsage: true}, llm.ErrTooLarge,
			false, 1},
		{"length", fakellm.Step{Text: `{"title":"a","tags":["leaked words`, Finish: "length", Input: 3, Output: 9},
			llm.ErrTruncated, false, 1},
		{"repetition within the reply", fakellm.Step{Text: `{"title":"a","tags":[` +
			strings.Repeat(`"leaked words",`, 500), Finish: "length", Input: 3, Output: 900}, llm.ErrTruncated, false,
			1},
		{"ends in the middle", fakellm.Reply(`{"title":"leaked words","tags":[`, 3, 9), llm.ErrTruncated, false, 1},
		{"refusal", fakellm.Step{Text: "leaked words", Finish: "content_filter", Input: 3, Output: 9}, llm.ErrRefused,
			false, 1},
		{"wrong schema twice", invalid, llm.ErrInvalidReply, false, 2},
	}
	for _, tt := range tests {
		for _, provider := range []string{llm.OpenAI, llm.Anthropic} {
			t.Run(tt.name+"/"+provider, func(t *testing.T) {
				var log bytes.Buffer
				srv := fakellm.Start(t, tt.step)
				c, ledger := open(t, provider, base(srv, provider), func(cfg *llm.Config, _ *llm.LedgerConfig) {
					cfg.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
				})
				out := note{Title: "untouched"}
				_, err := ask(t.Context(), c, &out)
				if !errors.Is(err, tt.want) {
					t.Fatalf("got %v, want %v", err, tt.want)
				}
				e, ok := errors.AsType[*llm.Error](err)
				if !ok || e.Later != tt.later || e.Usage.Requests != tt.requests {
					t.Errorf("got %+v", e)
				}
				for _, private := range []string{"leaked", "private words", secret} {
					if strings.Contains(err.Error()+log.String(), private) {
						t.Errorf("%q is in the error %v or the log\n%s", private, err, &log)
					}
				}
				if !strings.Contains(log.String(), "model request") {
					t.Error("nothing was logged")
				}
				if out.Title != "untouched" {
					t.Errorf("decoded %+v", out)
				}
				balanced(t, srv, ledger)
			})
		}
	}
}

func TestErrorSays(t *testing.T) {
	srv := fakellm.Start(t, fakellm.Status(401, `{"error":{"code":"invalid_api_key"}}`), fakellm.Busy(7200),
		fakellm.Step{Status: 308, Header: http.Header{"Location": {"http://elsewhere.example/v1?a=b"}}})
	c, _ := open(t, llm.OpenAI, srv.URL, nil)
	for _, want := range []string{
		"ask the model: the API key is missing or was refused (HTTP 401, invalid_api_key)",
		"ask the model: the model server limits the rate of requests (HTTP 429, rate_limit_exceeded)",
		"ask the model: the endpoint does not answer like a model server: it redirects to http://elsewhere.example; redirects are " +
			"not followed, configure the final URL (HTTP 308)",
	} {
		_, err := ask(t.Context(), c, new(note))
		if err == nil || err.Error() != want {
			t.Errorf("got %v\nwant %s", err, want)
		}
	}
}

// The key must not go where a server sends it, in whichever way.
func TestRedirectKeepsKey(t *testing.T) {
	for _, status := range []int{301, 302, 303, 307, 308} {
		other := fakellm.Start(t, fakellm.Reply(good, 1, 1))
		srv := fakellm.Start(t, fakellm.Step{Status: status,
			Header: http.Header{"Location": {other.URL + "/chat/completions"}}})
		c, _ := open(t, llm.OpenAI, srv.URL, nil)
		if _, err := ask(t.Context(), c, new(note)); !errors.Is(err, llm.ErrNotModel) {
			t.Errorf("%d: got %v", status, err)
		}
		if n := other.Stats().Requests; n != 0 {
			t.Errorf("%d: %d requests went to the other server", status, n)
		}
	}
}

func TestWhatIsSent(t *testing.T) {
	for _, provider := range []string{llm.OpenAI, llm.Anthropic} {
		t.Run(provider, func(t *testing.T) {
			srv := fakellm.Start(t, fakellm.Reply(`{"rank":"x"}`, 1, 1), fakellm.Reply(good, 1, 1))
			c, _ := open(t, provider, base(srv, provider)+"/", func(cfg *llm.Config, _ *llm.LedgerConfig) {
				cfg.Headers = http.Header{"X-Title": {"memsidecar"}}
				cfg.MaxOutputTokens = 500
			})
			if _, err := ask(t.Context(), c, new(note)); err != nil {
				t.Fatal(err)
			}
			reqs := srv.Requests()
			if len(reqs) != 2 {
				t.Fatalf("%d requests", len(reqs))
			}
			first, second := reqs[0], reqs[1]
			wantPath, key := "/v1/chat/completions", first.Header.Get("Authorization")
			if provider == llm.Anthropic {
				wantPath, key = "/v1/messages", "Bearer "+first.Header.Get("X-Api-Key")
			}
			if first.Path != wantPath || key != "Bearer "+secret || first.Header.Get("X-Title") != "memsidecar" ||
				!first.Stream || first.Format != "json_schema" {
				t.Errorf("got %+v", first)
			}
			if first.Body["model"] != "test-model" || first.Body["max_tokens"] != 500.0 {
				t.Errorf("body is %v", first.Body)
			}
			if diff := cmp.Diff([]string{"user: the private words"}, first.Messages); diff != "" {
				t.Error(diff)
			}
			if strings.Contains(first.System, "additionalProperties") ||
				!strings.Contains(second.System, "additionalProperties") {
				t.Error("the schema belongs into the prompt once it is known that nobody enforces it")
			}
			if len(second.Messages) != 3 || second.Messages[1] != `assistant: {"rank":"x"}` ||
				!strings.Contains(second.Messages[2], "rank: must be a number, found a string") {
				t.Errorf("the repair says %q", second.Messages)
			}
		})
	}
}

// That a schema is not enforced is remembered, and what a repair repeats is bounded.
func TestRepair(t *testing.T) {
	long := strings.Repeat("长", 20_000)
	srv := fakellm.Start(t, fakellm.Reply(`{"title":"`+long+`"}`, 1, 1), fakellm.Reply(good, 1, 1))
	c, _ := open(t, llm.OpenAI, srv.URL, nil)
	check := func(raw json.RawMessage) error {
		if string(raw) != good {
			return errors.New("not good: " + string(raw))
		}
		return nil
	}
	for range 2 {
		if _, err := c.Do(t.Context(), llm.Request{User: "x", Schema: json.RawMessage(noteSchema),
			Check: check}); err != nil {
			t.Fatal(err)
		}
	}
	reqs := srv.Requests()
	if len(reqs) != 3 || !strings.Contains(reqs[2].System, "additionalProperties") {
		t.Fatalf("%d requests, the last with the system prompt %q", len(reqs), reqs[len(reqs)-1].System)
	}
	if m := reqs[1].Messages; len(m) != 3 || len(m[1]) > 17<<10 || len(m[2]) > 700 ||
		strings.ContainsRune(m[1]+m[2], '\uFFFD') {
		t.Errorf("the repair has %d messages", len(m))
	}
}

// A count that no request can have is none.
func TestAbsurdUsage(t *testing.T) {
	for _, counts := range []fakellm.Step{{Text: good, Input: 1 << 40, Output: 1 << 40},
		{Text: good, Input: -5, Output: -5}} {
		srv := fakellm.Start(t, counts)
		c, ledger := open(t, llm.OpenAI, srv.URL, nil)
		reply, err := ask(t.Context(), c, new(note))
		if err != nil || !reply.Usage.Estimated {
			t.Errorf("got %+v, %v", reply.Usage, err)
		}
		if day := ledger.Today(); day.Reported != (llm.Tokens{}) || day.Estimated.Input == 0 ||
			day.Estimated.Output == 0 {
			t.Errorf("the ledger has %+v", day)
		}
	}
}

// What a server taught holds for the next question.
func TestOutputModeIsRemembered(t *testing.T) {
	srv := fakellm.Start(t, fakellm.Step{Refuse: []string{"json_schema"}}, fakellm.Reply(good, 1, 1))
	c, _ := open(t, llm.OpenAI, srv.URL, nil)
	for range 2 {
		if _, err := ask(t.Context(), c, new(note)); err != nil {
			t.Fatal(err)
		}
	}
	var formats []string
	for _, r := range srv.Requests() {
		formats = append(formats, r.Format)
	}
	if diff := cmp.Diff([]string{"json_schema", "json_object", "json_object"}, formats); diff != "" {
		t.Error(diff)
	}
}

// TestTemperature: it is 0.3, and left out after the server has refused it.
func TestTemperature(t *testing.T) {
	for _, provider := range []string{llm.OpenAI, llm.Anthropic} {
		answer := fakellm.Reply(good, 1, 1)
		srv := fakellm.Start(t, answer, fakellm.Step{Refuse: []string{"temperature"}}, answer)
		c, _ := open(t, provider, srv.URL, nil)
		for range 3 {
			if _, err := ask(t.Context(), c, new(note)); err != nil {
				t.Fatal(err)
			}
		}
		var sent []string
		for _, r := range srv.Requests() {
			sent = append(sent, fmt.Sprint(r.Body["temperature"]))
		}
		if diff := cmp.Diff([]string{"0.3", "0.3", "<nil>", "<nil>"}, sent); diff != "" {
			t.Errorf("%s: %s", provider, diff)
		}
	}
}

// A question that no mode is accepted for says nothing about the server.
func TestRefusalIsNotRemembered(t *testing.T) {
	bad := fakellm.Status(400, `{"error":"no"}`)
	srv := fakellm.Start(t, bad, bad, bad, fakellm.Reply(good, 1, 1))
	c, _ := open(t, llm.OpenAI, srv.URL, nil)
	if _, err := ask(t.Context(), c, new(note)); !errors.Is(err, llm.ErrRejected) {
		t.Fatal(err)
	}
	reply, err := ask(t.Context(), c, new(note))
	if err != nil || reply.OutputMode != llm.OutputSchema {
		t.Errorf("got %s, %v", reply.OutputMode, err)
	}
}

func TestOnce(t *testing.T) {
	srv := fakellm.Start(t, fakellm.Status(500, ""), fakellm.Reply(good, 1, 1))
	c, _ := open(t, llm.OpenAI, srv.URL, nil)
	_, err := c.Do(t.Context(), llm.Request{User: "x", Schema: json.RawMessage(noteSchema), NoRetry: true})
	if !errors.Is(err, llm.ErrServer) || srv.Stats().Requests != 1 {
		t.Errorf("got %v after %d requests", err, srv.Stats().Requests)
	}
}

func TestRequestBounds(t *testing.T) {
	srv := fakellm.Start(t, fakellm.Reply(good, 1, 1))
	c, _ := open(t, llm.OpenAI, srv.URL, nil)
	_, err := c.Do(t.Context(), llm.Request{User: strings.Repeat("长", 200), Schema: json.RawMessage(noteSchema),
		MaxInputTokens: 100})
	if !errors.Is(err, llm.ErrTooLarge) {
		t.Errorf("got %v", err)
	}
	for _, schema := range []string{"", "[]", "{", `{"a":1} x`} {
		if _, err = c.Do(t.Context(), llm.Request{User: "x", Schema: json.RawMessage(schema)}); !errors.Is(err,
			llm.ErrRejected) {
			t.Errorf("schema %q: got %v", schema, err)
		}
	}
	if n := srv.Stats().Requests; n != 0 {
		t.Errorf("%d requests were sent", n)
	}
}
