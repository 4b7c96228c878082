package session_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/reflector"
	"github.com/memsidecar/memsidecar/internal/search"
	"github.com/memsidecar/memsidecar/internal/service/session"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/durable/crashfs"
)

// TestContextSummary: a host that compacts its context hands in what it made of it. That is kept, what was said so
// far is learnt from at once, and the session goes on with the numbers of its messages.
func TestContextSummary(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		engine := search.New(search.Config{Now: time.Now})
		st, err := store.Open(store.Config{FS: crashfs.New(), Now: time.Now, Logger: slog.New(slog.DiscardHandler),
			Projections: []store.Projection{engine}})
		if err != nil {
			t.Fatal(err)
		}
		defer st.Close(context.WithoutCancel(t.Context()))
		svc := session.New(session.Config{Store: st, Now: time.Now, Logger: slog.New(slog.DiscardHandler),
			Reflector: reflector.New(reflector.Config{Store: st, Search: engine, Now: time.Now})})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- svc.Run(ctx) }()
		put := func(first int64, summary string, texts ...string) session.AppendResult {
			t.Helper()
			res, err := svc.Append(t.Context(),
				session.AppendRequest{ID: "s", FirstSeq: first, Messages: say(texts...), Summary: summary})
			if err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			return res
		}
		put(1, "", "I prefer tabs", "hello")
		if n := st.Space("").Count(); n != 0 {
			t.Errorf("%d memories before the session ended", n)
		}
		res := put(0, "They agreed on tabs; the token is ghp_"+strings.Repeat("a1", 20))
		h, err := svc.Get("", "s")
		if err != nil || h.State != memory.SessionOpen || h.Messages != 2 || h.ReflectedSeq != 3 || res.NextSeq != 3 ||
			res.Redacted != 1 || st.Space("").Count() != 1 {
			t.Errorf("%+v, %v; next is %d; %d memories", h, err, res.NextSeq, st.Space("").Count())
		}
		if text, err := svc.ContextSummary("", "s"); err != nil || !strings.HasPrefix(text, "They agreed on tabs") ||
			strings.Contains(text, "ghp_") {
			t.Errorf("kept %q, %v", text, err)
		}
		if again := put(0, "They agreed on tabs; the token is ghp_"+strings.Repeat("a1", 20)); again.Op != 0 {
			t.Errorf("the same again was operation %d", again.Op)
		}
		put(3, "", "I like tea")
		if _, err := svc.End(t.Context(), "", "s", ""); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if h, _ := svc.Get("", "s"); h.State != memory.SessionReflected || st.Space("").Count() != 2 {
			t.Errorf("at the end: %+v with %d memories", h, st.Space("").Count())
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// TestContextSummaryIsAtHand: the summary becomes that of the working memory, so that the agent is told it again.
func TestContextSummaryIsAtHand(t *testing.T) {
	fsys := crashfs.New()
	st := openStore(t, fsys)
	svc := serviceOn(st)
	for i, summary := range []string{"Step 1 of 2 is done", "Step 2 is done too"} {
		if _, err := svc.Append(t.Context(),
			session.AppendRequest{ID: "s", Messages: say("go on"), Summary: summary}); err != nil {
			t.Fatal(err)
		}
		// From what is kept at hand, and read again by another service.
		for _, s := range []*session.Service{svc, serviceOn(st)} {
			w, err := s.Working("", "s")
			if err != nil || w.Summary != summary || w.SummaryAt.IsZero() || w.Compactions != i+1 {
				t.Errorf("working memory %+v, %v; want the summary %q", w, err, summary)
			}
		}
	}
}
