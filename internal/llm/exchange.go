package llm

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/memsidecar/memsidecar/internal/redact"
)

// Bounds of one question.
const (
	maxRetries  = 3                // of requests that failed on the way, over the whole question
	firstWait   = time.Second / 2  // before the first retry, doubled for each further one
	maxWait     = 30 * time.Second // a server that asks for more is told goodbye instead
	maxRetryAt  = 24 * time.Hour   // how far away RetryAt can be
	maxRepair   = 500              // bytes of an error told to the model
	maxRepeated = 16 << 10         // bytes of a bad reply shown to the model again
)

// mode is how to talk to a server, found out as it refuses things.
type mode struct {
	rung             int  // index into the wire's rungs
	tell             bool // put the schema into the prompt: nobody enforces it
	completionTokens bool // the bound on output is called max_completion_tokens
	noStreamOptions  bool
	noStream         bool
}

// turn is one message of a conversation.
type turn struct{ role, text string }

// exchange is one question under way. It belongs to one goroutine.
type exchange struct {
	client  *Client
	req     Request
	retries int // left
	mode    mode
	usage   Usage
}

// failure is an *Error with what is to be done about it.
type failure struct {
	*Error
	retry bool          // the same request may work
	after time.Duration // asked for by the server
	adapt string        // the server's words, lower case, when another form of the request may work
}

func failed(reason error, detail string) *failure {
	return &failure{Error: &Error{Reason: reason, Later: later(reason), Detail: detail}}
}

// later reports whether a reason has nothing to do with the question asked.
func later(reason error) bool {
	return slices.Contains([]error{ErrUnreachable, ErrTLS, ErrTimeout, ErrKey, ErrNotFound, ErrRateLimited, ErrServer, ErrNotModel, ErrBudget, ErrLedger}, reason)
}

// run asks, and asks once more when the reply is not accepted.
func (x *exchange) run(ctx context.Context) (Reply, error) {
	ans, err := x.ask(ctx, []turn{{"user", x.req.User}})
	if err != nil {
		return Reply{}, err
	}
	raw, bad := x.judge(ans)
	if bad == nil {
		return Reply{JSON: raw, Rung: x.rung()}, nil
	}
	if !errors.Is(bad, ErrInvalidReply) {
		return Reply{}, bad
	}
	x.mode.tell = true
	x.client.learn(x.mode)
	if ans, err = x.ask(ctx, x.repair(ans.text.String(), bad)); err != nil {
		return Reply{}, err
	}
	if raw, bad = x.judge(ans); bad != nil {
		return Reply{}, bad
	}
	return Reply{JSON: raw, Rung: x.rung(), Repaired: true}, nil
}

func (x *exchange) rung() Rung { return x.client.wire.rungs[x.mode.rung] }

// judge looks for a reply in what was answered.
func (x *exchange) judge(ans *answer) (raw []byte, bad *Error) {
	raw, err := find(ans.text.String(), x.req.Check)
	switch {
	case err == nil:
		return raw, nil // even when more was to come: it is whole
	case ans.finish == finishRefused:
		return nil, &Error{Reason: ErrRefused, Code: ans.code}
	case ans.finish == finishLength:
		return nil, &Error{Reason: ErrTruncated, Detail: fmt.Sprintf("it reached the bound of %d tokens", x.req.MaxOutputTokens)}
	case errors.Is(err, errCut):
		return nil, &Error{Reason: ErrTruncated, Detail: "it ends in the middle"}
	}
	return nil, &Error{Reason: ErrInvalidReply, Cause: err}
}

// repair is the conversation that asks for a better reply. The schema is in the system prompt by now.
func (x *exchange) repair(reply string, bad *Error) []turn {
	reply, _ = redact.Text(reply) // what a model makes up may look like what must not be sent
	why, _ := redact.Text(bad.Cause.Error())
	why = clip(why, maxRepair)
	again := "Your reply could not be used: " + why + "\nReply again with one JSON object that matches the schema, and nothing else."
	turns := []turn{{"user", x.req.User}}
	if reply = strings.TrimSpace(clip(reply, maxRepeated)); reply != "" {
		turns = append(turns, turn{"assistant", reply})
	} else {
		turns[0].text += "\n\n"
	}
	return append(turns, turn{"user", again})
}

// clip shortens s to n bytes, at the border of a character.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}

// ask sends a conversation until there is an answer: again after a passing failure, and in another form when the
// server does not take this one.
func (x *exchange) ask(ctx context.Context, turns []turn) (*answer, error) {
	for {
		ans, fail := x.attempt(ctx, turns)
		if fail == nil {
			x.client.learn(x.mode)
			return ans, nil
		}
		switch {
		case ctx.Err() != nil:
			return nil, fail.Error
		case fail.adapt != "" && x.adapt(fail.adapt):
			continue
		case !fail.retry || x.retries == 0:
			return nil, fail.Error
		}
		if !x.pause(ctx, fail) {
			return nil, fail.Error
		}
		x.retries--
	}
}

// adapt changes the form of the request by what the server said of it, and reports whether there was something left to change. Each change
// is made once, so it ends.
func (x *exchange) adapt(said string) bool {
	m := &x.mode
	switch {
	case !m.completionTokens && strings.Contains(said, "max_completion_tokens"):
		m.completionTokens = true
	case !m.noStream && !m.noStreamOptions && strings.Contains(said, "stream_options"):
		m.noStreamOptions = true
	case !m.noStream && strings.Contains(said, "stream") && !strings.Contains(said, "stream_options"):
		m.noStream = true
	case m.rung+1 < len(x.client.wire.rungs):
		m.rung++
	default:
		return false
	}
	return true
}

// pause waits before a retry and reports whether there is time for it.
func (x *exchange) pause(ctx context.Context, fail *failure) bool {
	wait := firstWait << (maxRetries - x.retries)
	wait = wait/2 + rand.N(wait/2) // spread, so that clients do not come back together
	wait = max(wait, fail.after)
	if deadline, ok := ctx.Deadline(); wait > maxWait || ok && time.Until(deadline) <= wait {
		return false
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// attempt makes one request, counted and logged.
func (x *exchange) attempt(ctx context.Context, turns []turn) (*answer, *failure) {
	c := x.client
	key, fail := c.key()
	if fail != nil {
		return nil, fail
	}
	q := x.query(turns)
	entry, err := c.cfg.Ledger.begin(q.estimate(), q.maxOutput)
	if err != nil {
		return nil, &failure{Error: err}
	}
	start := c.cfg.Now()
	got := c.send(ctx, key, c.wire.body(q), !q.mode.noStream)
	used := got.cost(q.estimate(), q.maxOutput)
	if err := entry.end(used, got.fail != nil); err != nil {
		c.log.LogAttrs(ctx, levelWarn, "tokens used not recorded", errAttr(err))
	}
	x.usage.add(used)
	c.logRequest(ctx, c.cfg.Now().Sub(start), q, got, used)
	return &got.answer, got.fail
}

func (c *Client) key() (string, *failure) {
	if c.cfg.Key == nil {
		return "", nil
	}
	key, err := c.cfg.Key()
	if err != nil {
		return "", failed(ErrKey, err.Error())
	}
	return key, nil
}

// query is all that the body of a request is made of.
type query struct {
	model     string
	system    string
	turns     []turn
	name      string
	schema    []byte
	maxOutput int
	rung      Rung
	mode      mode
}

func (x *exchange) query(turns []turn) query {
	q := query{model: x.client.cfg.Model, turns: turns, name: x.req.Name, schema: x.req.Schema, maxOutput: x.req.MaxOutputTokens, rung: x.rung(), mode: x.mode}
	q.system = strings.TrimSpace(x.req.System + "\n\nReply with one JSON object and nothing else.")
	if q.mode.tell || q.rung == RungObject || q.rung == RungPlain {
		q.system += " It must match this JSON schema:\n" + string(q.schema)
	}
	return q
}

// estimate is about how many tokens the question has.
func (q query) estimate() int {
	n := EstimateTokens(q.system) + EstimateTokens(string(q.schema))
	for _, t := range q.turns {
		n += EstimateTokens(t.text)
	}
	return n
}

// retryAfter reads the header of that name, in seconds or as a date; 0 when there is none.
func retryAfter(h http.Header, now time.Time) time.Duration {
	v := strings.TrimSpace(h.Get("Retry-After"))
	if v == "" {
		return 0
	}
	var d time.Duration
	if at, err := http.ParseTime(v); err == nil {
		d = at.Sub(now)
	} else if d, err = time.ParseDuration(v + "s"); err != nil {
		return 0
	}
	return min(max(d, 0), maxRetryAt)
}
