package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
	"time"

	"github.com/memsidecar/memsidecar/internal/durable"
	"github.com/memsidecar/memsidecar/internal/llm"
	"github.com/memsidecar/memsidecar/internal/rpc"
)

// ledgerFile counts the tokens of the day. It holds no text.
const ledgerFile = "llm.json"

// model is the daemon's one language model, with what is known of how it does. It is safe for concurrent use.
type model struct {
	client *llm.Client // nil when broken says why
	ledger *llm.Ledger
	broken error
	name   string
	limit  int64 // tokens of a day, 0 without limit
	now    func() time.Time

	mu     sync.Mutex
	last   time.Time // of the last answer; zero before the first; guarded by mu
	since  time.Time // of the first failure after it; zero when the last question was answered; guarded by mu
	reason *llm.Error
}

// openModel makes the client of the model that is configured, nil when none is. A ledger that cannot be read leaves the model out of use, not the
// daemon: memories are served without one.
func (d *daemon) openModel() (*model, error) {
	conf, ok := d.cfg.LLM.Client(os.Getenv)
	if !ok {
		return nil, nil
	}
	m := &model{name: d.cfg.LLM.Model, limit: max(d.cfg.LLM.DailyTokens, 0), now: d.now}
	m.ledger, m.broken = llm.OpenLedger(llm.LedgerConfig{
		DailyTokens: m.limit, Location: d.cfg.Location(), Now: d.now,
		Load: func() ([]byte, error) {
			data, err := durable.ReadFile(d.fs, ledgerFile)
			if errors.Is(err, fs.ErrNotExist) {
				return nil, nil
			}
			return data, err
		},
		Save: func(data []byte) error {
			return durable.WriteFile(d.fs, ledgerFile, func(w io.Writer) error { _, err := w.Write(data); return err })
		},
	})
	if m.broken != nil {
		d.log.Error("the model is not asked until the ledger of its tokens can be read", "file", d.path(ledgerFile), "err", m.broken)
		return m, nil
	}
	conf.Ledger, conf.Now, conf.Logger = m.ledger, d.now, d.log
	var err error
	if m.client, err = llm.New(conf); err != nil {
		return nil, fmt.Errorf("language model: %w", err)
	}
	return m, nil
}

// Do is llm.Client's, watched.
func (m *model) Do(ctx context.Context, req llm.Request) (llm.Reply, error) {
	if m.broken != nil {
		return llm.Reply{}, &llm.Error{Reason: llm.ErrLedger, Later: true, Cause: m.broken}
	}
	reply, err := m.client.Do(ctx, req)
	m.note(err)
	return reply, err
}

// note keeps how a question went. What is wrong with one question says nothing about the server, and neither does a caller that went away.
func (m *model) note(err error) {
	e, failed := errors.AsType[*llm.Error](err)
	if err != nil && !failed {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case err == nil || !e.Later:
		m.last, m.since, m.reason = m.now(), time.Time{}, nil
	case m.since.IsZero():
		m.since, m.reason = m.now(), e
	default:
		m.reason = e
	}
}

// findModel tells how the model does. It asks nothing: that costs tokens.
func (d *daemon) findModel() rpc.Finding {
	const name = "model"
	m := d.model
	if m == nil {
		return ok(name, "none is configured; rules decide")
	}
	warn := func(remedy, format string, args ...any) rpc.Finding {
		return rpc.Finding{Name: name, Level: rpc.LevelWarn, Detail: fmt.Sprintf(format, args...), Remedy: remedy}
	}
	if m.broken != nil {
		return warn(fmt.Sprintf("remove %s, which begins the count of today's tokens anew, and run `memsidecar restart`", d.path(ledgerFile)), "%s is not asked: %v", m.name, m.broken)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	at := func(t time.Time) string { return t.In(d.cfg.Location()).Format(time.DateTime) }
	used := m.usage()
	switch {
	case m.reason != nil && errors.Is(m.reason, llm.ErrBudget) && d.now().Before(m.reason.RetryAt):
		return warn("raise llm_daily_tokens if that is too early", "%s: the tokens of the day are used up until %s; %s", m.name, at(m.reason.RetryAt), used)
	case m.reason != nil:
		return warn("run `memsidecar llm test`; sessions wait meanwhile", "%s fails since %s: %v; %s", m.name, at(m.since), m.reason, used)
	case m.last.IsZero():
		return ok(name, "%s was not asked since the start; %s", m.name, used)
	}
	return ok(name, "%s answered last at %s; %s", m.name, at(m.last), used)
}

// usage says what was used today.
func (m *model) usage() string {
	today := m.ledger.Today()
	if m.limit == 0 {
		return fmt.Sprintf("%d tokens today", today.Total())
	}
	return fmt.Sprintf("%d of %d tokens used today", today.Total(), m.limit)
}
