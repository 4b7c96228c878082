package reflector_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/memsidecar/memsidecar/internal/llm"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/memtest/realllm"
	"github.com/memsidecar/memsidecar/internal/reflector"
)

// realPaused stops the process of the server for a while: before the question, and in the middle of a reply. The
// session waits, and is reflected when the server goes on.
func realPaused(t *testing.T, s *realllm.Server) {
	s.NeedOwn(t, "it is paused with SIGSTOP")
	r := openReal(t, s, conversation, func(c *llm.Config) { c.IdleTimeout = time.Second })
	s.Pause()
	r.waits(llm.ErrTimeout)
	s.Resume()
	r.ask(nil)
	res := r.reflected()
	if res.DecidedBy != reflector.ByModel || r.texts()["m1"] != "We use Postgres 16" {
		t.Errorf("decided by the %s, %q, m1 is %q", res.DecidedBy, res.Note, r.texts()["m1"])
	}
	r.books(2)
	if day := r.ledger.Today(); day.Failed != 1 || day.Estimated.Input == 0 {
		t.Errorf("ledger %+v", day)
	}
	r.undoes(res.Op, r.before)

	r = openReal(t, s, conversation+" [[loop]]", func(c *llm.Config) {
		c.IdleTimeout, c.MaxOutputTokens = 5*time.Second, 1<<20
	})
	done := make(chan error, 1)
	go func() {
		_, err := r.Reflect(t.Context(), "p", "s1", reflector.Options{})
		done <- err
	}()
	r.proxy.Await(func(x realllm.Exchange) bool {
		text, _, _, _ := x.Reply()
		return strings.Contains(text, "over and over")
	})
	s.Pause()
	err := <-done
	s.Resume()
	t.Log(err)
	if _, ok := errors.AsType[*reflector.WaitError](err); !ok || !errors.Is(err, llm.ErrTimeout) ||
		!strings.Contains(err.Error(), "no byte arrived") {
		t.Errorf("%v, want to wait because nothing arrived any more", err)
	}
	r.onlyChanged(r.before)
	r.books(1)
}

// realStopped ends the server. The session waits, and is reflected when the server runs again.
func realStopped(t *testing.T, s *realllm.Server) {
	s.NeedOwn(t, "it is killed, and started again")
	// a proxy would go on listening
	r := openReal(t, s, conversation, func(c *llm.Config) { c.BaseURL = s.URL + "/v1" })
	s.Stop()
	r.waits(llm.ErrUnreachable)
	if day := r.ledger.Today(); day.Requests != 4 || day.Failed != 4 || day.Total() != 0 {
		t.Errorf("of a question and three retries that never reached a server the ledger has %+v", day)
	}
	s.Restart()
	res := r.reflected()
	if res.DecidedBy != reflector.ByModel || r.texts()["m1"] != "We use Postgres 16" {
		t.Errorf("decided by the %s, %q, m1 is %q", res.DecidedBy, res.Note, r.texts()["m1"])
	}
	if day := r.ledger.Today(); day.Requests != 5 || day.Failed != 4 || day.Reported.Output == 0 {
		t.Errorf("ledger %+v", day)
	}
	r.undoes(res.Op, r.before)
}

// realAnthropic asks in the words of Anthropic's messages, where the server knows them too: by the format, by a tool,
// and by the prompt alone. Ours takes all three, keeps to none of them, and has a model that begins with prose: what
// comes of that is a repair.
func realAnthropic(t *testing.T, s *realllm.Server) {
	for i, mode := range []llm.OutputMode{llm.OutputSchema, llm.OutputTool, llm.OutputPlain} {
		t.Run(string(mode), func(t *testing.T) {
			r := openReal(t, s, "", nil)
			client, err := llm.New(llm.Config{Provider: llm.Anthropic, BaseURL: r.proxy.URL, Model: s.Model,
				Now: time.Now, Ledger: r.ledger, Timeout: 5 * time.Minute, MaxOutputTokens: 1024})
			if err != nil {
				t.Fatal(err)
			}
			r.proxy.Refuse([]string{"json_schema", "tool"}[:i]...)
			q := colour()
			q.User += " [[prose]]"
			reply, err := client.Do(t.Context(), q)
			if errors.Is(err, llm.ErrNotFound) && !s.Own() {
				t.Skip("the server has no /v1/messages")
			}
			day, book := r.ledger.Today(), r.proxy.Exchanges()
			t.Logf("%s, %s, repaired %t, %v, %+v", reply.OutputMode, reply.JSON, reply.Repaired, err, day)
			for n, x := range book {
				t.Logf("request %d: %s to %s, status %d", n+1, x.Format, x.Path, x.Status)
			}
			if err != nil && (s.Own() || !useless(err)) {
				t.Fatal(err)
			}
			if s.Own() && (reply.OutputMode != mode || !reply.Repaired || len(book) != i+2 ||
				day.Requests != int64(len(book)) || day.Failed != int64(i) || day.Reported.Output == 0 ||
				day.Estimated != llm.Tokens{}) {
				t.Errorf("took %s, repaired %t, %d requests, ledger %+v", reply.OutputMode, reply.Repaired, len(book),
					day)
			}
		})
	}
}

// realLong reflects a session that does not fit into a question: what is left of it does fit into the server's
// context. A server with a smaller one says so, and the rules decide.
func realLong(t *testing.T, s *realllm.Server) {
	var long []*memory.Message
	for i := range 300 {
		long = append(long, user(fmt.Sprintf("Next, number %d.%s", i,
			strings.Repeat(" There will be time to work on this and other things after that.", 3)))...)
	}
	r := openReal(t, s, "", nil)
	r.say("s1", append(long, user("We use Postgres 16.")...)...)
	began := time.Now()
	res := r.reflected()
	day := r.ledger.Today()
	t.Logf("%d messages, %d tokens in %s", res.Messages, day.Reported.Input, time.Since(began).Round(time.Millisecond))
	if day.Reported.Input+day.Estimated.Input < 5000 || len(r.proxy.Exchanges()[0].Request) > 50_000 {
		t.Errorf("the question has %d bytes, the ledger %+v", len(r.proxy.Exchanges()[0].Request), day)
	}
	s.NeedOwn(t, "it is started again with a smaller context")
	if res.DecidedBy != reflector.ByModel || r.texts()["m1"] != "We use Postgres 16" {
		t.Errorf("decided by the %s, %q, m1 is %q", res.DecidedBy, res.Note, r.texts()["m1"])
	}
	r.books(1)

	usual := s.Context
	s.Stop()
	s.Context = 4096
	s.Restart()
	r = openReal(t, s, "", nil)
	r.say("s1", append(long, user("We use Postgres 16.")...)...)
	res = r.reflected()
	r.books(1)
	if day := r.ledger.Today(); res.DecidedBy != reflector.ByRules || !strings.Contains(res.Note, "too large") ||
		day.Failed != 1 {
		t.Errorf("decided by the %s, %q, ledger %+v", res.DecidedBy, res.Note, day)
	}
	s.Stop()
	s.Context = usual
	s.Restart()
}
