package llm

import (
	"errors"
	"fmt"
	"sync"
	"time"
)

// ledgerFormat is the version of the ledger file.
const ledgerFormat = 1

// Tokens counts input and output tokens.
type Tokens struct {
	Input  int64 `json:"input"`
	Output int64 `json:"output"`
}

func (t Tokens) sum() int64 { return t.Input + t.Output }

// add adds o to t.
func (t *Tokens) add(o Tokens) {
	t.Input += o.Input
	t.Output += o.Output
}

// Day is the usage of one day, and the content of the ledger file:
//
//	{"format":1,"day":"2026-02-21","requests":3,"failed":1,
//	 "reported":{"input":812,"output":96},"estimated":{"input":270,"output":0}}
type Day struct {
	Format int `json:"format"`
	// in the ledger's time zone
	Day string `json:"day"`
	// attempts, including retries and repairs
	Requests int64 `json:"requests"`
	// attempts without a usable response
	Failed int64 `json:"failed"`
	// counts from servers
	Reported Tokens `json:"reported"`
	// where the server did not report a count
	Estimated Tokens `json:"estimated"`
}

// Total is the sum of all tokens.
func (d Day) Total() int64 { return d.Reported.sum() + d.Estimated.sum() }

// LedgerConfig configures a Ledger.
type LedgerConfig struct {
	// DailyTokens is the limit of input and output tokens per day; 0 means no limit.
	DailyTokens int64
	// Location is the time zone of days. Default: local.
	Location *time.Location
	// Now is the clock. Required.
	Now func() time.Time
	// Load returns the data of the last Save, nil if there is none. A nil Load starts empty.
	Load func() ([]byte, error)
	// Save stores a few hundred bytes. It is called before and after each request, never concurrently, and should be
	// durable on return. A nil Save stores nothing.
	Save func([]byte) error
}

// Ledger counts the tokens of a day and refuses requests that could exceed the limit. The maximum cost of a request
// is reserved, and its estimate saved, before the request is sent. So neither concurrent requests nor a crash can
// exceed the limit. It is safe for concurrent use. A nil *Ledger counts nothing.
type Ledger struct {
	cfg LedgerConfig

	mu sync.Mutex
	// guarded by mu: completed requests
	day Day
	// guarded by mu: requests in flight
	reserved map[*ledgerEntry]reservation
}

// reservation is the maximum cost of a request in flight, in tokens.
type reservation struct{ input, output int64 }

// ledgerEntry is one request in the ledger. Its pointer is the key in Ledger.reserved.
type ledgerEntry struct{ ledger *Ledger }

// cost is the token usage of one request.
type cost struct{ Reported, Estimated Tokens }

// add counts one request with its cost.
func (u *Usage) add(c cost) {
	u.Requests++
	u.Input += int(c.Reported.Input + c.Estimated.Input)
	u.Output += int(c.Reported.Output + c.Estimated.Output)
	u.Estimated = u.Estimated || c.Estimated != Tokens{}
}

// OpenLedger loads a ledger. Undecodable data is an error: starting from zero would allow the day's tokens to be
// spent again.
func OpenLedger(cfg LedgerConfig) (*Ledger, error) {
	if cfg.Location == nil {
		cfg.Location = time.Local
	}
	l := &Ledger{cfg: cfg, reserved: map[*ledgerEntry]reservation{}}
	if cfg.Load != nil {
		data, err := cfg.Load()
		if err != nil {
			return nil, fmt.Errorf("load the token ledger: %w", err)
		}
		if len(data) > 0 {
			if err := l.day.decode(data); err != nil {
				return nil, fmt.Errorf("the token ledger is damaged: %w", err)
			}
		}
	}
	l.rollLocked()
	return l, nil
}

// decode validates a ledger file and replaces d; on an error d is unchanged.
func (d *Day) decode(data []byte) error {
	var v Day
	if err := Into(&v)(data); err != nil {
		return err
	}
	if v.Format != ledgerFormat {
		return fmt.Errorf("unknown format %d", v.Format)
	}
	if _, err := time.Parse(time.DateOnly, v.Day); err != nil {
		return errors.New("day must be a date such as 2026-02-21")
	}
	for _, n := range []int64{v.Requests, v.Failed, v.Reported.Input, v.Reported.Output, v.Estimated.Input,
		v.Estimated.Output} {
		if n < 0 {
			return errors.New("a count is negative")
		}
	}
	*d = v
	return nil
}

// Today is the usage so far, including the estimates of requests in flight.
func (l *Ledger) Today() Day {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rollLocked()
	return l.totalLocked()
}

// rollLocked starts a new day if the date changed. A clock set back by at most a day, or a change of time zone, does
// not start one, because that would reset the limit.
func (l *Ledger) rollLocked() {
	now := l.cfg.Now().In(l.cfg.Location)
	today := now.Format(time.DateOnly)
	if l.day.Day >= today && l.day.Day <= now.AddDate(0, 0, 1).Format(time.DateOnly) {
		return
	}
	l.day = Day{Format: ledgerFormat, Day: today}
}

// totalLocked adds the reservations' input to the completed requests.
func (l *Ledger) totalLocked() Day {
	d := l.day
	for _, c := range l.reserved {
		d.Requests++
		d.Estimated.Input += c.input
	}
	return d
}

// reserve reserves the maximum cost of a request and saves its estimate. Errors: ErrTooLarge when the request exceeds
// a whole day, ErrBudget when it exceeds the rest of the day, ErrLedger.
func (l *Ledger) reserve(input, output int) (*ledgerEntry, *Error) {
	if l == nil {
		return nil, nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rollLocked()
	want := reservation{int64(input), int64(output)}
	if limit := l.cfg.DailyTokens; limit > 0 {
		used := l.day.Total()
		for _, c := range l.reserved {
			used += c.input + c.output
		}
		switch need := want.input + want.output; {
		case need > limit:
			return nil, &Error{Reason: ErrTooLarge,
				Detail: fmt.Sprintf("it may need %d tokens; the daily limit is %d", need, limit)}
		case used+need > limit:
			return nil, &Error{Reason: ErrBudget, Later: true, RetryAt: l.tomorrowLocked(),
				Detail: fmt.Sprintf("%d of %d tokens are used, and this request may need %d", used, limit, need)}
		}
	}
	e := &ledgerEntry{ledger: l}
	l.reserved[e] = want
	// Saved before the request is sent: after a crash the estimate counts, and the budget is never exceeded.
	if err := l.saveLocked(); err != nil {
		delete(l.reserved, e)
		return nil, &Error{Reason: ErrLedger, Later: true, Detail: err.Error(), Cause: err}
	}
	return e, nil
}

// tomorrowLocked is the end of the ledger's day.
func (l *Ledger) tomorrowLocked() time.Time {
	// cannot fail: rollLocked wrote it or decode checked it
	day, _ := time.ParseInLocation(time.DateOnly, l.day.Day, l.cfg.Location)
	return time.Date(day.Year(), day.Month(), day.Day()+1, 0, 0, 0, 0, l.cfg.Location)
}

// complete replaces the reservation by the actual cost. The error is that of saving; the count in memory is correct
// anyway.
func (e *ledgerEntry) complete(used cost, failed bool) error {
	if e == nil {
		return nil
	}
	l := e.ledger
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rollLocked()
	delete(l.reserved, e)
	l.day.Requests++
	if failed {
		l.day.Failed++
	}
	l.day.Reported.add(used.Reported)
	l.day.Estimated.add(used.Estimated)
	return l.saveLocked()
}

// saveLocked saves the total, with the estimates of requests in flight.
func (l *Ledger) saveLocked() error {
	if l.cfg.Save == nil {
		return nil
	}
	return l.cfg.Save(append(encode(l.totalLocked()), '\n'))
}
