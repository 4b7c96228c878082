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

	"github.com/memsidecar/memsidecar/internal/llm"
	"github.com/memsidecar/memsidecar/internal/rpc"
	"github.com/memsidecar/memsidecar/internal/store/durable"
)

// ledgerFile stores the token usage of the day. It contains no text.
const ledgerFile = "llm.json"

// model is the daemon's language model with its recent health. It is safe for concurrent use.
type model struct {
	// nil when broken says why
	client *llm.Client
	ledger *llm.Ledger
	broken error
	name   string
	// tokens of a day, 0 without limit
	limit int64
	now   func() time.Time

	mu sync.Mutex
	// of the last answer; zero before the first; guarded by mu
	last time.Time
	// of the first failure after it; zero when the last question was answered; guarded by mu
	since  time.Time
	reason *llm.Error
}

// openModel makes the client of the configured model, nil if there is none. An unreadable ledger disables the model,
// but not the daemon.
func (d *daemon) openModel() (*model, error) {
	conf, ok := d.cfg.LLM.Client(os.Getenv)
	if !ok {
		return nil, nil
	}
	m := &model{name: d.cfg.LLM.Model, limit: max(d.cfg.LLM.DailyTokens, 0), now: d.now}
	// Without a readable ledger the day's budget is unknown, so no question is asked.
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
		d.log.Error("model disabled: its token ledger cannot be read", "file", d.path(ledgerFile),
			"err", m.broken)
		return m, nil
	}
	conf.Ledger, conf.Now, conf.Logger = m.ledger, d.now, d.log
	var err error
	if m.client, err = llm.New(conf); err != nil {
		return nil, fmt.Errorf("language model: %w", err)
	}
	return m, nil
}

// Do asks the model and records the result.
func (m *model) Do(ctx context.Context, req llm.Request) (llm.Reply, error) {
	if m.broken != nil {
		return llm.Reply{}, &llm.Error{Reason: llm.ErrLedger, Later: true, Cause: m.broken}
	}
	reply, err := m.client.Do(ctx, req)
	m.observe(err)
	return reply, err
}

// observe records the result of a question for doctor. Errors of a single question, and cancelled callers, say
// nothing about the server.
func (m *model) observe(err error) {
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

// findModel reports the health of the model. It asks no question, because that costs tokens.
func (d *daemon) findModel() rpc.Finding {
	const name = "model"
	m := d.model
	if m == nil {
		return ok(name, "none is configured; rules decide")
	}
	finding := func(level rpc.Level, detail, remedy []rpc.Text) rpc.Finding {
		return rpc.Finding{Name: name, Level: level, Detail: append(detail, m.usage()...), Remedy: remedy}
	}
	if m.broken != nil {
		return rpc.Finding{Name: name, Level: rpc.LevelWarn, Detail: rpc.Say("%s is not asked: %v", m.name, m.broken),
			Remedy: rpc.Say("remove %s, which begins the count of today's tokens anew, and run `memsidecar daemon restart`",
				d.path(ledgerFile))}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	at := func(t time.Time) string { return t.In(d.cfg.Location()).Format(time.DateTime) }
	switch {
	// A reached budget is what the person asked for, not a fault of the model.
	case m.reason != nil && errors.Is(m.reason, llm.ErrBudget) && d.now().Before(m.reason.RetryAt):
		return finding(rpc.LevelWarn, rpc.Say("%s: the daily token limit is reached until %s", m.name, at(m.reason.RetryAt)),
			rpc.Say("raise llm_daily_tokens if that is too early"))
	case m.reason != nil:
		return finding(rpc.LevelWarn, rpc.Say("%s fails since %s: %v", m.name, at(m.since), m.reason),
			rpc.Say("run `memsidecar config test-llm`; sessions wait meanwhile"))
	case m.last.IsZero():
		return finding(rpc.LevelOK, rpc.Say("%s was not asked since the start", m.name), nil)
	}
	return finding(rpc.LevelOK, rpc.Say("%s answered last at %s", m.name, at(m.last)), nil)
}

// usage describes the token usage of the day.
func (m *model) usage() []rpc.Text {
	today := m.ledger.Today()
	if m.limit == 0 {
		return rpc.Say("%d tokens today", today.Total())
	}
	return rpc.Say("%d of %d tokens used today", today.Total(), m.limit)
}
