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
	// per question, after transient failures
	maxRetries   = 3
	firstBackoff = time.Second / 2 // before the first retry, doubled for each further retry
	// a longer Retry-After ends the question
	maxBackoff = 30 * time.Second
	// upper limit of RetryAt from now
	maxRetryAt = 24 * time.Hour
	// bytes of the Check error in the repair message
	maxRepairError = 500
	// bytes of the refused reply in the repair message
	maxRepairReply = 16 << 10
)

// dialect is the form of request that a server accepts. It starts strict and changes when the server rejects a request.
type dialect struct {
	// index into provider.outputModes
	outputMode int
	// repeat the schema in the prompt, because the server does not enforce it
	schemaInPrompt bool
	// use max_completion_tokens instead of max_tokens
	completionTokens bool
	noStreamOptions  bool
	noStream         bool
	noTemperature    bool
}

// sentTemperature is low, because a decision about memories should not depend on chance.
const sentTemperature = 0.3

// temperature returns what a request says of it, nil for nothing.
func (d *dialect) temperature() *float64 {
	if d.noTemperature {
		return nil
	}
	return new(sentTemperature)
}

// message is one message of a conversation; role is "user" or "assistant".
type message struct{ role, text string }

// exchange is one question in flight, with its retries and repair. It belongs to one goroutine.
type exchange struct {
	client      *Client
	req         Request
	retriesLeft int // left
	dialect     dialect
	usage       Usage
}

// failure is an *Error and the possible reactions to it.
type failure struct {
	*Error
	// repeating the same request may succeed
	retry bool
	// the server's Retry-After
	after time.Duration
	// lower-case error body, set when another dialect may succeed
	serverMessage string
}

// newFailure is a failure without retry; isTransient decides Error.Later.
func newFailure(reason error, detail string) *failure {
	return &failure{Error: &Error{Reason: reason, Later: isTransient(reason), Detail: detail}}
}

// isTransient reports whether a reason is independent of the question, so that asking later may succeed.
func isTransient(reason error) bool {
	return slices.Contains([]error{ErrUnreachable, ErrTLS, ErrTimeout, ErrKey, ErrNotFound, ErrRateLimited, ErrServer,
		ErrNotModel, ErrBudget, ErrLedger}, reason)
}

// run asks, and once more with the error when Check refuses the reply.
func (x *exchange) run(ctx context.Context) (Reply, error) {
	ans, err := x.sendWithRetries(ctx, []message{{"user", x.req.User}})
	if err != nil {
		return Reply{}, err
	}
	raw, bad := x.extractReply(ans)
	if bad == nil {
		return Reply{JSON: raw, OutputMode: x.outputMode()}, nil
	}
	if !errors.Is(bad, ErrInvalidReply) {
		return Reply{}, bad
	}
	x.dialect.schemaInPrompt = true
	x.client.rememberDialect(x.dialect)
	if ans, err = x.sendWithRetries(ctx, x.repairConversation(ans.text.String(), bad)); err != nil {
		return Reply{}, err
	}
	if raw, bad = x.extractReply(ans); bad != nil {
		return Reply{}, bad
	}
	return Reply{JSON: raw, OutputMode: x.outputMode(), Repaired: true}, nil
}

// outputMode is the mode of the next request.
func (x *exchange) outputMode() OutputMode {
	return x.client.provider.outputModes[x.dialect.outputMode]
}

// extractReply returns the accepted JSON object of an answer, or why there is none.
func (x *exchange) extractReply(ans *answer) (raw []byte, bad *Error) {
	raw, err := extractJSON(ans.text.String(), x.req.Check)
	switch {
	case err == nil:
		return raw, nil // a complete object is valid even if the answer was cut off behind it
	case ans.finish == finishRefused:
		return nil, &Error{Reason: ErrRefused, Code: ans.code}
	case ans.finish == finishLength:
		return nil, &Error{Reason: ErrTruncated,
			Detail: fmt.Sprintf("it reached the limit of %d tokens", x.req.MaxOutputTokens)}
	case errors.Is(err, errTruncated):
		return nil, &Error{Reason: ErrTruncated, Detail: "it ends in the middle"}
	}
	return nil, &Error{Reason: ErrInvalidReply, Cause: err}
}

// repairConversation asks for a corrected reply. The schema is in the system prompt by then.
func (x *exchange) repairConversation(reply string, bad *Error) []message {
	reply, _ = redact.Text(reply) // an invented secret looks like a real one, and neither may be sent
	why, _ := redact.Text(bad.Cause.Error())
	why = clip(why, maxRepairError)
	again := "Your reply could not be used: " + why +
		"\nReply again with one JSON object that matches the schema, and nothing else."
	turns := []message{{"user", x.req.User}}
	if reply = strings.TrimSpace(clip(reply, maxRepairReply)); reply != "" {
		turns = append(turns, message{"assistant", reply})
	} else {
		turns[0].text += "\n\n"
	}
	return append(turns, message{"user", again})
}

// clip shortens s to n bytes at a character boundary.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}

// sendWithRetries sends a conversation until there is an answer. It repeats after transient failures and changes the
// dialect when the server rejects the request.
func (x *exchange) sendWithRetries(ctx context.Context, turns []message) (*answer, error) {
	for {
		ans, fail := x.sendOnce(ctx, turns)
		if fail == nil {
			x.client.rememberDialect(x.dialect)
			return ans, nil
		}
		switch {
		case ctx.Err() != nil:
			return nil, fail.Error
		case fail.serverMessage != "" && x.adapt(fail.serverMessage):
			continue
		case !fail.retry || x.retriesLeft == 0:
			return nil, fail.Error
		}
		if !x.backOff(ctx, fail) {
			return nil, fail.Error
		}
		x.retriesLeft--
	}
}

// adapt changes the dialect as the server's error message suggests. It returns false when no change is left; each
// change happens at most once, so the loop around it terminates.
func (x *exchange) adapt(said string) bool {
	m := &x.dialect
	switch {
	case !m.completionTokens && strings.Contains(said, "max_completion_tokens"):
		m.completionTokens = true
	case !m.noTemperature && strings.Contains(said, "temperature"):
		m.noTemperature = true
	case !m.noStream && !m.noStreamOptions && strings.Contains(said, "stream_options"):
		m.noStreamOptions = true
	case !m.noStream && strings.Contains(said, "stream") && !strings.Contains(said, "stream_options"):
		m.noStream = true
	case m.outputMode+1 < len(x.client.provider.outputModes):
		m.outputMode++
	default:
		return false
	}
	return true
}

// backOff waits before a retry: exponential with jitter, at least the server's Retry-After. It returns false when the
// wait would exceed maxBackoff or the deadline.
func (x *exchange) backOff(ctx context.Context, fail *failure) bool {
	wait := firstBackoff << (maxRetries - x.retriesLeft)
	wait = wait/2 + rand.N(wait/2) // jitter, so that clients do not retry in step
	wait = max(wait, fail.after)
	if deadline, ok := ctx.Deadline(); wait > maxBackoff || ok && time.Until(deadline) <= wait {
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

// sendOnce makes one HTTP request, counts it in the ledger and logs it.
func (x *exchange) sendOnce(ctx context.Context, turns []message) (*answer, *failure) {
	c := x.client
	key, fail := c.key()
	if fail != nil {
		return nil, fail
	}
	q := x.query(turns)
	entry, err := c.cfg.Ledger.reserve(q.estimateTokens(), q.maxOutput)
	if err != nil {
		return nil, &failure{Error: err}
	}
	start := c.cfg.Now()
	got := c.send(ctx, key, c.provider.encodeRequest(q), !q.dialect.noStream)
	used := got.cost(q.estimateTokens(), q.maxOutput)
	if err := entry.complete(used, got.fail != nil); err != nil {
		c.log.LogAttrs(ctx, levelWarn, "token usage not recorded", errAttr(err))
	}
	x.usage.add(used)
	c.logRequest(ctx, c.cfg.Now().Sub(start), q, got, used)
	return &got.answer, got.fail
}

// key returns the current API key, "" when none is configured.
func (c *Client) key() (string, *failure) {
	if c.cfg.Key == nil {
		return "", nil
	}
	key, err := c.cfg.Key()
	if err != nil {
		return "", newFailure(ErrKey, err.Error())
	}
	return key, nil
}

// query holds everything that the body of a request is built from.
type query struct {
	model      string
	system     string
	messages   []message
	name       string
	schema     []byte
	maxOutput  int
	outputMode OutputMode
	dialect    dialect
}

// query builds the next request in the current dialect.
func (x *exchange) query(turns []message) query {
	q := query{model: x.client.cfg.Model, messages: turns, name: x.req.Name, schema: x.req.Schema,
		maxOutput: x.req.MaxOutputTokens, outputMode: x.outputMode(), dialect: x.dialect}
	// OpenAI's json_object mode requires the word JSON in the prompt.
	q.system = strings.TrimSpace(x.req.System + "\n\nReply with one JSON object and nothing else.")
	if q.dialect.schemaInPrompt || q.outputMode == OutputJSON || q.outputMode == OutputPlain {
		q.system += " It must match this JSON schema:\n" + string(q.schema)
	}
	return q
}

// estimateTokens estimates the input tokens of the request.
func (q query) estimateTokens() int {
	n := EstimateTokens(q.system) + EstimateTokens(string(q.schema))
	for _, t := range q.messages {
		n += EstimateTokens(t.text)
	}
	return n
}

// retryAfter parses the Retry-After header, in seconds or as a date (RFC 9110, section 10.2.3); 0 when it is missing
// or malformed.
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
