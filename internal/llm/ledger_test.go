package llm_test

import (
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/memsidecar/memsidecar/internal/llm"
	"github.com/memsidecar/memsidecar/internal/memtest"
	"github.com/memsidecar/memsidecar/internal/memtest/fakellm"
	"github.com/memsidecar/memsidecar/internal/store/durable"
)

// inFile keeps a ledger in a file, as a daemon does.
func inFile(t *testing.T, lcfg *llm.LedgerConfig) durable.FS {
	t.Helper()
	root, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	fsys := durable.Dir(root)
	lcfg.Load = func() ([]byte, error) {
		data, err := durable.ReadFile(fsys, "llm.json")
		if errors.Is(err, os.ErrNotExist) {
			return nil, nil
		}
		return data, err
	}
	lcfg.Save = func(data []byte) error {
		return durable.WriteFile(fsys, "llm.json", func(w io.Writer) error { _, err := w.Write(data); return err })
	}
	return fsys
}

func TestLedgerFile(t *testing.T) {
	clock := new(memtest.Clock)
	srv := fakellm.Start(t, fakellm.Reply(good, 812, 96), fakellm.Status(401, ""),
		fakellm.Step{Text: good, NoUsage: true})
	var fsys durable.FS
	var reopen llm.LedgerConfig
	c, ledger := open(t, llm.OpenAI, srv.URL, func(_ *llm.Config, lcfg *llm.LedgerConfig) {
		lcfg.Now = clock.Now
		fsys = inFile(t, lcfg)
		reopen = *lcfg
	})
	for _, want := range []error{nil, llm.ErrKey, nil} {
		if _, err := ask(t.Context(), c, new(note)); !errors.Is(err, want) {
			t.Fatalf("got %v, want %v", err, want)
		}
	}
	data, err := durable.ReadFile(fsys, "llm.json")
	if err != nil {
		t.Fatal(err)
	}
	day := ledger.Today()
	if day.Estimated.Input == 0 || day.Estimated.Output == 0 {
		t.Errorf("nothing was estimated: %+v", day)
	}
	if !strings.HasPrefix(string(data), `{"format":1,"day":"2026-02-21","requests":3,"failed":1,`+
		`"reported":{"input":812,"output":96},"estimated":{"input":`) {
		t.Errorf("the file holds %s", data)
	}
	again, err := llm.OpenLedger(reopen)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(day, again.Today()); diff != "" {
		t.Error(diff)
	}
}

// What was sent and not answered is not free: a crash in between leaves the estimate.
func TestLedgerAcrossCrash(t *testing.T) {
	var saved [][]byte
	srv := fakellm.Start(t, fakellm.Reply(good, 812, 96))
	c, _ := open(t, llm.OpenAI, srv.URL, func(_ *llm.Config, lcfg *llm.LedgerConfig) {
		lcfg.Save = func(data []byte) error { saved = append(saved, data); return nil }
	})
	if _, err := ask(t.Context(), c, new(note)); err != nil {
		t.Fatal(err)
	}
	if len(saved) != 2 {
		t.Fatalf("saved %d times", len(saved))
	}
	l, err := llm.OpenLedger(llm.LedgerConfig{Now: time.Now, Location: time.UTC, Load: func() ([]byte, error) {
		return saved[0], nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	if day := l.Today(); day.Requests != 1 || day.Estimated.Input == 0 || day.Reported != (llm.Tokens{}) {
		t.Errorf("the ledger has %+v", day)
	}
}

func TestLedgerThatCannotSave(t *testing.T) {
	full := errors.New("no space left")
	srv := fakellm.Start(t, fakellm.Reply(good, 1, 1))
	c, ledger := open(t, llm.OpenAI, srv.URL, func(_ *llm.Config, lcfg *llm.LedgerConfig) {
		lcfg.Save = func([]byte) error { return full }
	})
	_, err := ask(t.Context(), c, new(note))
	if e, ok := errors.AsType[*llm.Error](err); !ok || !errors.Is(err, llm.ErrLedger) || !errors.Is(err, full) ||
		!e.Later {
		t.Errorf("got %v", err)
	}
	if srv.Stats().Requests != 0 || ledger.Today().Requests != 0 {
		t.Errorf("the server has %+v, the ledger %+v", srv.Stats(), ledger.Today())
	}
}

func TestLedgerDamaged(t *testing.T) {
	const whole = `{"format":1,"day":"2026-02-21","requests":3,"failed":1,"reported":{"input":812,"output":96},` +
		`"estimated":{"input":0,"output":0}}`
	for name, text := range map[string]string{
		"cut":      whole[:40],
		"format":   strings.Replace(whole, `"format":1`, `"format":2`, 1),
		"day":      strings.Replace(whole, `2026-02-21`, `yesterday`, 1),
		"negative": strings.Replace(whole, `812`, `-812`, 1),
		"missing":  strings.Replace(whole, `"failed":1,`, ``, 1),
		"unknown":  strings.Replace(whole, `"failed":1,`, `"failed":1,"x":1,`, 1),
		"trailing": whole + "x",
	} {
		t.Run(name, func(t *testing.T) {
			_, err := llm.OpenLedger(llm.LedgerConfig{Now: time.Now, Load: func() ([]byte, error) {
				return []byte(text), nil
			}})
			if err == nil || !strings.Contains(err.Error(), "damaged") {
				t.Errorf("got %v", err)
			}
		})
	}
	broken := errors.New("broken disk")
	if _, err := llm.OpenLedger(llm.LedgerConfig{Now: time.Now, Load: func() ([]byte, error) {
		return nil, broken
	}}); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
}

// A clock set back by hours gives nothing back; one that was wrong by days does not hold the ledger in the future.
func TestLedgerClock(t *testing.T) {
	at := time.Date(2026, 2, 21, 1, 0, 0, 0, time.UTC)
	const today = `{"format":1,"day":"2026-02-21","requests":3,"failed":0,"reported":{"input":800,"output":100},` +
		`"estimated":{"input":0,"output":0}}`
	tests := []struct {
		name string
		move time.Duration
		day  string
		used int64
	}{
		{"later that day", 20 * time.Hour, "2026-02-21", 900},
		{"the next day", 23 * time.Hour, "2026-02-22", 0},
		{"an hour back, across midnight", -2 * time.Hour, "2026-02-21", 900},
		{"days back", -72 * time.Hour, "2026-02-18", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l, err := llm.OpenLedger(llm.LedgerConfig{Location: time.UTC, Now: func() time.Time {
				return at.Add(tt.move)
			}, Load: func() ([]byte, error) { return []byte(today), nil }})
			if err != nil {
				t.Fatal(err)
			}
			if d := l.Today(); d.Day != tt.day || d.Total() != tt.used {
				t.Errorf("the ledger has %+v", d)
			}
		})
	}
}

func TestUnreachable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refused := &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
		dials := 0
		c, ledger := open(t, llm.OpenAI, "http://localhost/v1", func(cfg *llm.Config, _ *llm.LedgerConfig) {
			cfg.Transport = roundTripper(func(*http.Request) (*http.Response, error) { dials++; return nil, refused })
		})
		_, err := ask(t.Context(), c, new(note))
		if e, ok := errors.AsType[*llm.Error](err); !ok || !errors.Is(err, llm.ErrUnreachable) || !e.Later ||
			e.Status != 0 {
			t.Errorf("got %v", err)
		}
		// Nothing was sent, so nothing was used.
		if day := ledger.Today(); dials != 4 || day.Requests != 4 || day.Failed != 4 || day.Total() != 0 {
			t.Errorf("%d dials, the ledger has %+v", dials, day)
		}
	})
}

// The transport's own errors can quote what the server sent, which can quote the request.
func TestEchoIsNotQuoted(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	defer serving.Wait()
	defer listener.Close()
	serving.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Read(make([]byte, 10))
			_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nBearer "+secret+"\r\n\r\n")
			conn.Close()
		}
	})
	c, _ := open(t, llm.OpenAI, "http://"+listener.Addr().String(), nil)
	_, err = c.Do(t.Context(), llm.Request{User: "x", Schema: []byte(noteSchema), NoRetry: true})
	if !errors.Is(err, llm.ErrUnreachable) || strings.Contains(err.Error(), secret) {
		t.Errorf("got %v", err)
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestTLS(t *testing.T) {
	srv := fakellm.New(fakellm.Reply(good, 1, 1))
	unknown := httptest.NewUnstartedServer(srv)
	unknown.Config.ErrorLog = log.New(io.Discard, "", 0)
	unknown.StartTLS()
	defer unknown.Close()
	plain := fakellm.Start(t, fakellm.Reply(good, 1, 1))
	for name, base := range map[string]string{"unknown authority": unknown.URL, "no TLS at all": "https" +
		strings.TrimPrefix(plain.URL, "http")} {
		t.Run(name, func(t *testing.T) {
			c, ledger := open(t, llm.OpenAI, base, nil)
			_, err := ask(t.Context(), c, new(note))
			if e, ok := errors.AsType[*llm.Error](err); !ok || !errors.Is(err, llm.ErrTLS) || !e.Later {
				t.Errorf("got %v", err)
			}
			if day := ledger.Today(); day.Requests != 1 || day.Total() != 0 {
				t.Errorf("the ledger has %+v", day)
			}
		})
	}
}

func TestKeyThatCannotBeRead(t *testing.T) {
	srv := fakellm.Start(t, fakellm.Reply(good, 1, 1))
	c, ledger := open(t, llm.OpenAI, srv.URL, func(cfg *llm.Config, _ *llm.LedgerConfig) {
		cfg.Key = llm.KeyFromFile("/nowhere/key")
	})
	_, err := ask(t.Context(), c, new(note))
	if !errors.Is(err, llm.ErrKey) || !strings.Contains(err.Error(), "/nowhere/key cannot be opened") {
		t.Errorf("got %v", err)
	}
	if srv.Stats().Requests != 0 || ledger.Today().Requests != 0 {
		t.Error("a request was made without the key")
	}
}
