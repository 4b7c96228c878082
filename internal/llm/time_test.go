package llm_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/memsidecar/memsidecar/internal/llm"
	"github.com/memsidecar/memsidecar/internal/memtest/fakellm"
)

// pipes is a network of one address within a bubble: real sockets would not count as blocked.
type pipes struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func (p *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case p.conns <- server:
		return client, nil
	case <-p.done:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { p.once.Do(func() { close(p.done) }); return nil }
func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe", Net: "unix"} }

// inBubble runs test with a client of srv in a bubble, where hours pass at once.
func inBubble(t *testing.T, srv *fakellm.Server, change func(*llm.Config, *llm.LedgerConfig),
	test func(t *testing.T, c *llm.Client, l *llm.Ledger)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		network := &pipes{conns: make(chan net.Conn), done: make(chan struct{})}
		server := &http.Server{Handler: srv}
		var serving sync.WaitGroup
		serving.Go(func() { _ = server.Serve(network) })
		transport := &http.Transport{DialContext: network.dial}
		c, l := open(t, llm.OpenAI, "http://localhost/v1", func(cfg *llm.Config, lcfg *llm.LedgerConfig) {
			cfg.Transport = transport
			if change != nil {
				change(cfg, lcfg)
			}
		})
		test(t, c, l)
		transport.CloseIdleConnections()
		_ = server.Close()
		serving.Wait()
	})
}

func TestRetries(t *testing.T) {
	broken := fakellm.Step{Text: good, Input: 9, Output: 9, CutAfter: 300}
	tests := []struct {
		name     string
		steps    []fakellm.Step
		want     error // nil for a reply
		requests int
		least    time.Duration // that must have passed
		most     time.Duration
	}{
		{"500 once", []fakellm.Step{fakellm.Status(500, "oops"), fakellm.Reply(good, 5, 5)}, nil, 2,
			250 * time.Millisecond, time.Second},
		{"503 for ever", []fakellm.Step{fakellm.Status(503, "")}, llm.ErrServer, 4, 1750 * time.Millisecond,
			3500 * time.Millisecond},
		{"408", []fakellm.Step{fakellm.Status(408, ""), fakellm.Reply(good, 5, 5)}, nil, 2, 0, time.Second},
		{"529", []fakellm.Step{fakellm.Status(529, `{"type":"error","error":{"type":"overloaded_error"}}`),
			fakellm.Reply(good, 5, 5)}, nil, 2, 0, time.Second},
		{"429 with seconds", []fakellm.Step{fakellm.Busy(17), fakellm.Reply(good, 5, 5)}, nil, 2, 17 * time.Second,
			18 * time.Second},
		{"429 with a date", []fakellm.Step{
			{Status: 429, Header: http.Header{"Retry-After": {"Sat, 01 Jan 2000 00:00:20 GMT"}}},
			fakellm.Reply(good, 5, 5)}, nil, 2, 20 * time.Second, 21 * time.Second},
		{"429 with a date long gone", []fakellm.Step{
			{Status: 429, Header: http.Header{"Retry-After": {"Sat, 01 Jan 1999 00:00:20 GMT"}}},
			fakellm.Reply(good, 5, 5)}, nil, 2, 0, time.Second},
		{"429 with nonsense", []fakellm.Step{{Status: 429, Header: http.Header{"Retry-After": {"-1e99"}}},
			fakellm.Reply(good, 5, 5)}, nil, 2, 0, time.Second},
		{"429 for too long", []fakellm.Step{fakellm.Busy(31)}, llm.ErrRateLimited, 1, 0, time.Second},
		{"an error within the stream", []fakellm.Step{
			{Body: "data: {\"error\":{\"code\":\"server_error\"}}\n\n",
				Header: http.Header{"Content-Type": {"text/event-stream"}}}, fakellm.Reply(good, 5, 5)}, nil, 2, 0,
			time.Second},
		{"connection cut in the stream", []fakellm.Step{broken, fakellm.Reply(good, 5, 5)}, nil, 2, 0, time.Second},
		{"stream that just ends", []fakellm.Step{{Text: good, CutAfter: 300, CutClean: true},
			fakellm.Reply(good, 5, 5)}, nil, 2, 0, time.Second},
		{"stream that ends between events",
			[]fakellm.Step{{Body: "data: {\"choices\":[{\"delta\":{\"content\":" + quoted(good) + "}}]}\n\n",
				Header: http.Header{"Content-Type": {"text/event-stream"}}}, fakellm.Reply(good, 5, 5)}, nil, 2, 0,
			time.Second},
		{"body that just ends", []fakellm.Step{{Text: good, Whole: true, CutAfter: 60, CutClean: true},
			fakellm.Reply(good, 5, 5)}, nil, 2, 0, time.Second},
		{"cut for ever", []fakellm.Step{broken}, llm.ErrUnreachable, 4, 0, 4 * time.Second},
		{"retries and a repair", []fakellm.Step{fakellm.Status(500, ""), fakellm.Reply("no", 4, 1),
			fakellm.Status(500, ""), fakellm.Reply(good, 5, 5)}, nil, 4, 0, 3 * time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			srv := fakellm.New(tt.steps...)
			inBubble(t, srv, nil, func(t *testing.T, c *llm.Client, l *llm.Ledger) {
				start := time.Now()
				reply, err := ask(t.Context(), c, new(note))
				if !errors.Is(err, tt.want) {
					t.Fatalf("got %v, want %v", err, tt.want)
				}
				if took := time.Since(start); took < tt.least || took > tt.most {
					t.Errorf("took %s of the bubble's time, want %s to %s", took, tt.least, tt.most)
				}
				if n := srv.Stats().Requests; n != tt.requests || reply.Usage.Requests != n {
					t.Errorf("%d requests, usage %+v; want %d", n, reply.Usage, tt.requests)
				}
				balanced(t, srv, l)
			})
		})
	}
}

// Anthropic reports being overloaded within a stream, behind status 200 and the tokens of the input.
func TestOverloadedStream(t *testing.T) {
	body := "event: message_start\ndata: " +
		"{\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":40,\"output_tokens\":1}}}\n\n" +
		"event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n"
	srv := fakellm.New(fakellm.Step{Body: body, Header: http.Header{"Content-Type": {"text/event-stream"}}})
	change := func(cfg *llm.Config, _ *llm.LedgerConfig) {
		cfg.Provider, cfg.BaseURL = llm.Anthropic, "http://localhost"
	}
	inBubble(t, srv, change, func(t *testing.T, c *llm.Client, l *llm.Ledger) {
		_, err := ask(t.Context(), c, new(note))
		if e, ok := errors.AsType[*llm.Error](err); !ok || !errors.Is(err, llm.ErrServer) ||
			e.Code != "overloaded_error" || !e.Later {
			t.Errorf("got %v", err)
		}
		if day := l.Today(); day.Requests != 4 || day.Reported != (llm.Tokens{Input: 160}) ||
			day.Estimated != (llm.Tokens{}) {
			t.Errorf("the ledger has %+v", day)
		}
	})
}

func TestRetryAt(t *testing.T) {
	inBubble(t, fakellm.New(fakellm.Busy(3600), fakellm.Busy(1e9)), nil,
		func(t *testing.T, c *llm.Client, _ *llm.Ledger) {
			for _, want := range []time.Duration{time.Hour, 24 * time.Hour} {
				start := time.Now()
				_, err := ask(t.Context(), c, new(note))
				if e, ok := errors.AsType[*llm.Error](err); !ok || !e.Later || e.RetryAt.Sub(start) != want {
					t.Errorf("got %+v", e)
				}
			}
		})
}

func TestTimeouts(t *testing.T) {
	tests := []struct {
		name string
		step fakellm.Step
		want time.Duration
		text string
	}{
		{"silence before the response", fakellm.Step{Hang: true}, 20 * time.Second,
			"no byte arrived within the idle timeout (20s)"},
		{"silence within the stream", fakellm.Step{Text: good, Hang: true, HangAfter: 200}, 20 * time.Second,
			"no byte arrived within the idle timeout (20s)"},
		{"a trickle", fakellm.Step{Text: strings.Repeat("a", 1000), Pause: 15 * time.Second}, 3 * time.Minute,
			"no complete answer within the timeout (3m0s)"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			srv := fakellm.New(tt.step)
			change := func(cfg *llm.Config, _ *llm.LedgerConfig) {
				cfg.IdleTimeout, cfg.Timeout = 20*time.Second, 3*time.Minute
			}
			inBubble(t, srv, change, func(t *testing.T, c *llm.Client, l *llm.Ledger) {
				start := time.Now()
				_, err := ask(t.Context(), c, new(note))
				if !errors.Is(err, llm.ErrTimeout) || !strings.Contains(err.Error(), tt.text) {
					t.Errorf("got %v", err)
				}
				if took := time.Since(start); took != tt.want {
					t.Errorf("took %s", took)
				}
				day := l.Today()
				if day.Requests != 1 || day.Failed != 1 || day.Estimated.Input == 0 || day.Reported != (llm.Tokens{}) {
					t.Errorf("the ledger has %+v", day)
				}
			})
		})
	}
}

// A slow stream that keeps coming is not idle.
func TestSlowButAlive(t *testing.T) {
	change := func(cfg *llm.Config, _ *llm.LedgerConfig) { cfg.IdleTimeout = 20 * time.Second }
	inBubble(t, fakellm.New(fakellm.Step{Text: good, Input: 1, Output: 1, Pause: 19 * time.Second}), change,
		func(t *testing.T, c *llm.Client, _ *llm.Ledger) {
			if _, err := ask(t.Context(), c, new(note)); err != nil {
				t.Error(err)
			}
		})
}

// The caller's context ends everything at once, and its error is the caller's.
func TestCancel(t *testing.T) {
	for name, step := range map[string]fakellm.Step{"hanging": {Hang: true}, "waiting to retry": fakellm.Busy(25),
		"streaming": {Text: strings.Repeat("a", 1000), Pause: 10 * time.Second}} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, fakellm.New(step), nil, func(t *testing.T, c *llm.Client, l *llm.Ledger) {
				ctx, cancel := context.WithCancel(t.Context())
				time.AfterFunc(11*time.Second, cancel)
				start := time.Now()
				_, err := ask(ctx, c, new(note))
				if !errors.Is(err, context.Canceled) || errors.Is(err, llm.ErrTimeout) {
					t.Errorf("got %v", err)
				}
				if took := time.Since(start); took > 11*time.Second {
					t.Errorf("took %s", took)
				}
				if l.Today().Requests != 1 {
					t.Errorf("the ledger has %+v", l.Today())
				}
			})
		})
	}
}

// No more questions are under way than allowed; waiting for a turn ends with the context, and does not count as time
// of the question.
func TestConcurrency(t *testing.T) {
	slow := fakellm.Step{Text: good, Input: 1, Output: 1, Pause: 10 * time.Second}
	srv := fakellm.New(slow)
	change := func(cfg *llm.Config, _ *llm.LedgerConfig) { cfg.Timeout = 10 * time.Minute }
	inBubble(t, srv, change, func(t *testing.T, c *llm.Client, l *llm.Ledger) {
		var group sync.WaitGroup
		for range 5 {
			group.Go(func() {
				if _, err := ask(t.Context(), c, new(note)); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		if n := srv.Stats().Requests; n != llm.DefaultConcurrency {
			t.Errorf("%d requests at once", n)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := ask(ctx, c, new(note)); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		group.Wait()
		balanced(t, srv, l)
		if l.Today().Requests != 5 {
			t.Errorf("the ledger has %+v", l.Today())
		}
	})
}

// The budget holds until midnight of the ledger's zone, and no longer.
func TestBudget(t *testing.T) {
	shanghai := time.FixedZone("UTC+8", 8*3600)
	srv := fakellm.New(fakellm.Reply(good, 900, 100))
	change := func(cfg *llm.Config, lcfg *llm.LedgerConfig) {
		cfg.MaxOutputTokens = 200
		lcfg.DailyTokens, lcfg.Location = 3000, shanghai
	}
	inBubble(t, srv, change, func(t *testing.T, c *llm.Client, l *llm.Ledger) {
		for range 2 {
			if _, err := ask(t.Context(), c, new(note)); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := ask(t.Context(), c, new(note)); err != nil {
			t.Fatal(err) // 2,000 used: a small question still fits
		}
		_, err := ask(t.Context(), c, new(note))
		e, ok := errors.AsType[*llm.Error](err)
		if !errors.Is(err, llm.ErrBudget) || !ok || !e.Later {
			t.Fatalf("got %v", err)
		}
		if want := time.Date(2000, 1, 2, 0, 0, 0, 0, shanghai); !e.RetryAt.Equal(want) {
			t.Errorf("retry at %s, want %s", e.RetryAt, want)
		}
		if n := srv.Stats().Requests; n != 3 {
			t.Errorf("%d requests", n)
		}
		time.Sleep(time.Until(e.RetryAt)) // the bubble's time
		if _, err := ask(t.Context(), c, new(note)); err != nil {
			t.Errorf("on the next day: %v", err)
		}
		if day := l.Today(); day.Day != "2000-01-02" || day.Requests != 1 || day.Total() != 1000 {
			t.Errorf("the ledger has %+v", day)
		}
		_, err = c.Do(t.Context(), llm.Request{User: strings.Repeat("many words ", 5000), Schema: []byte(noteSchema)})
		if e, _ := errors.AsType[*llm.Error](err); !errors.Is(err, llm.ErrTooLarge) || e.Later {
			t.Errorf("a question larger than any day: got %v", err)
		}
	})
}

// Questions side by side cannot use together what only one of them may.
func TestBudgetIsSetAside(t *testing.T) {
	srv := fakellm.New(fakellm.Step{Text: good, Input: 100, Output: 100, Pause: time.Second})
	change := func(cfg *llm.Config, lcfg *llm.LedgerConfig) { cfg.MaxOutputTokens, lcfg.DailyTokens = 600, 1000 }
	inBubble(t, srv, change, func(t *testing.T, c *llm.Client, _ *llm.Ledger) {
		errs := make(chan error, 2)
		for range 2 {
			go func() {
				_, err := ask(t.Context(), c, new(note))
				errs <- err
			}()
		}
		if a, b := <-errs, <-errs; (a == nil) == (b == nil) || !errors.Is(errors.Join(a, b), llm.ErrBudget) {
			t.Errorf("got %v and %v", a, b)
		}
	})
}
