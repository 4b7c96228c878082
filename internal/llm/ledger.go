package llm

import (
	"errors"
	"fmt"
	"sync"
	"time"
)

// ledgerFormat is the version of the ledger's file.
const ledgerFormat = 1

// Tokens counts what was read and written.
type Tokens struct {
	Input  int64 `json:"input"`
	Output int64 `json:"output"`
}

func (t Tokens) sum() int64 { return t.Input + t.Output }

func (t *Tokens) add(o Tokens) {
	t.Input += o.Input
	t.Output += o.Output
}

// Day is what was used on one day. It is the ledger's file:
//
//	{"format":1,"day":"2026-02-21","requests":3,"failed":1,"reported":{"input":812,"output":96},"estimated":{"input":270,"output":0}}
type Day struct {
	Format    int    `json:"format"`
	Day       string `json:"day"`       // in the ledger's time zone
	Requests  int64  `json:"requests"`  // tried, with retries and repairs
	Failed    int64  `json:"failed"`    // of these, those without a usable response
	Reported  Tokens `json:"reported"`  // by the servers
	Estimated Tokens `json:"estimated"` // where a server did not report them, or did not get to it
}

// Total is the sum of all tokens.
func (d Day) Total() int64 { return d.Reported.sum() + d.Estimated.sum() }

// LedgerConfig says how to keep a ledger.
type LedgerConfig struct {
	// DailyTokens is how many tokens a day may use; 0 is without limit.
	DailyTokens int64
	// Location decides which day it is. Default local.
	Location *time.Location
	// Now is the clock. Required.
	Now func() time.Time
	// Load returns what Save got last, nothing if it never did. Nil starts empty.
	Load func() ([]byte, error)
	// Save keeps a few hundred bytes; it is called before and after each request, never twice at once. It should be durable on
	// return. Nil keeps nothing.
	Save func([]byte) error
}

// Ledger counts the tokens of the day and refuses what would exceed the limit. What a request may use at most is set aside before it is
// sent, and its estimate saved, so that neither requests side by side nor a crash use more than the day has. It is safe for concurrent use.
// A nil *Ledger counts nothing.
type Ledger struct {
	cfg LedgerConfig

	mu   sync.Mutex
	day  Day              // guarded by mu: requests that are over
	open map[*entry]claim // guarded by mu: requests under way
}

// claim is what is set aside for a request under way.
type claim struct{ input, output int64 }

// entry is one request in the ledger.
type entry struct{ ledger *Ledger }

// cost is what a request has used.
type cost struct{ Reported, Estimated Tokens }

func (u *Usage) add(c cost) {
	u.Requests++
	u.Input += int(c.Reported.Input + c.Estimated.Input)
	u.Output += int(c.Reported.Output + c.Estimated.Output)
	u.Estimated = u.Estimated || c.Estimated != Tokens{}
}

// OpenLedger loads a ledger. What was loaded and cannot be read is an error: counting anew would be spending anew.
func OpenLedger(cfg LedgerConfig) (*Ledger, error) {
	if cfg.Location == nil {
		cfg.Location = time.Local
	}
	l := &Ledger{cfg: cfg, open: map[*entry]claim{}}
	if cfg.Load != nil {
		data, err := cfg.Load()
		if err != nil {
			return nil, fmt.Errorf("load the ledger of tokens: %w", err)
		}
		if len(data) > 0 {
			if err := l.day.read(data); err != nil {
				return nil, fmt.Errorf("the ledger of tokens is damaged: %w", err)
			}
		}
	}
	l.rollLocked()
	return l, nil
}

func (d *Day) read(data []byte) error {
	var v Day
	if err := Into(&v)(data); err != nil {
		return err
	}
	if v.Format != ledgerFormat {
		return fmt.Errorf("format %d is not known", v.Format)
	}
	if _, err := time.Parse(time.DateOnly, v.Day); err != nil {
		return errors.New("day must be a date such as 2026-02-21")
	}
	for _, n := range []int64{v.Requests, v.Failed, v.Reported.Input, v.Reported.Output, v.Estimated.Input, v.Estimated.Output} {
		if n < 0 {
			return errors.New("a count is negative")
		}
	}
	*d = v
	return nil
}

// Today is what was used so far, the estimates of requests under way included.
func (l *Ledger) Today() Day {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rollLocked()
	return l.totalLocked()
}

// rollLocked begins a new day. A clock that is set back by a day or less, or a change of zone, does not: that would give tokens back.
func (l *Ledger) rollLocked() {
	now := l.cfg.Now().In(l.cfg.Location)
	today := now.Format(time.DateOnly)
	if l.day.Day >= today && l.day.Day <= now.AddDate(0, 0, 1).Format(time.DateOnly) {
		return
	}
	l.day = Day{Format: ledgerFormat, Day: today}
}

func (l *Ledger) totalLocked() Day {
	d := l.day
	for _, c := range l.open {
		d.Requests++
		d.Estimated.Input += c.input
	}
	return d
}

// begin sets aside what a request may use at most.
func (l *Ledger) begin(input, output int) (*entry, *Error) {
	if l == nil {
		return nil, nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rollLocked()
	want := claim{int64(input), int64(output)}
	if limit := l.cfg.DailyTokens; limit > 0 {
		used := l.day.Total()
		for _, c := range l.open {
			used += c.input + c.output
		}
		switch need := want.input + want.output; {
		case need > limit:
			return nil, &Error{Reason: ErrTooLarge, Detail: fmt.Sprintf("it may need %d tokens, a day has %d", need, limit)}
		case used+need > limit:
			return nil, &Error{Reason: ErrBudget, Later: true, RetryAt: l.tomorrowLocked(), Detail: fmt.Sprintf("%d of %d are used, and this may need %d", used, limit, need)}
		}
	}
	e := &entry{ledger: l}
	l.open[e] = want
	if err := l.saveLocked(); err != nil {
		delete(l.open, e)
		return nil, &Error{Reason: ErrLedger, Later: true, Detail: err.Error(), Cause: err}
	}
	return e, nil
}

// tomorrowLocked is when the day of the ledger ends.
func (l *Ledger) tomorrowLocked() time.Time {
	day, _ := time.ParseInLocation(time.DateOnly, l.day.Day, l.cfg.Location) // it was written by rollLocked or checked
	return time.Date(day.Year(), day.Month(), day.Day()+1, 0, 0, 0, 0, l.cfg.Location)
}

// end puts what was used in the place of what was set aside. The error is that of saving it; the count in memory is right anyway.
func (e *entry) end(used cost, failed bool) error {
	if e == nil {
		return nil
	}
	l := e.ledger
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rollLocked()
	delete(l.open, e)
	l.day.Requests++
	if failed {
		l.day.Failed++
	}
	l.day.Reported.add(used.Reported)
	l.day.Estimated.add(used.Estimated)
	return l.saveLocked()
}

func (l *Ledger) saveLocked() error {
	if l.cfg.Save == nil {
		return nil
	}
	return l.cfg.Save(append(encode(l.totalLocked()), '\n'))
}
