package llm

import (
	"errors"
	"strconv"
	"strings"
	"time"
)

// The values of Error.Reason, for errors.Is.
var (
	ErrUnreachable  = errors.New("the model server cannot be reached")
	ErrTLS          = errors.New("the TLS connection to the model server cannot be verified")
	ErrTimeout      = errors.New("the model server did not answer in time")
	ErrKey          = errors.New("the API key is missing or was refused")
	ErrNotFound     = errors.New("model or endpoint not found")
	ErrRateLimited  = errors.New("the model server limits the rate of requests")
	ErrServer       = errors.New("the model server failed")
	ErrNotModel     = errors.New("the endpoint does not answer like a model server")
	ErrBudget       = errors.New("the daily token limit is reached")
	ErrLedger       = errors.New("token usage cannot be recorded")
	ErrRejected     = errors.New("the model server rejected the request")
	ErrTooLarge     = errors.New("the question or the reply is too large")
	ErrRefused      = errors.New("the model refused to answer")
	ErrTruncated    = errors.New("the reply was cut off")
	ErrInvalidReply = errors.New("the reply does not match the schema")
)

// Error is why a question has no answer. Its text contains nothing of prompts, replies or keys. Cause may quote the
// reply, so it is not part of the text.
type Error struct {
	// Reason is one of the Err variables above.
	Reason error
	// Later is true when the server, the account or the token limit is the cause, not the question: ask again at
	// RetryAt, or later. If false, the same question will fail again; continue without the model.
	Later bool
	// RetryAt is the earliest useful time of a new attempt; zero when unknown.
	RetryAt time.Time
	// Status is the status of the last HTTP response; 0 without one.
	Status int
	// Code is the server's error code, such as model_not_found; "" if it does not look like an identifier.
	Code string
	// Detail is a further explanation in this package's words; may be empty.
	Detail string
	// Usage counts the requests and tokens spent on the failed question.
	Usage Usage
	// Cause is the underlying error, if any.
	Cause error
}

// Error combines reason, detail, status and code.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("ask the model: " + e.Reason.Error())
	if e.Detail != "" {
		b.WriteString(": " + e.Detail)
	}
	switch {
	case e.Status != 0 && e.Code != "":
		b.WriteString(" (HTTP " + strconv.Itoa(e.Status) + ", " + e.Code + ")")
	case e.Status != 0:
		b.WriteString(" (HTTP " + strconv.Itoa(e.Status) + ")")
	case e.Code != "":
		b.WriteString(" (" + e.Code + ")")
	}
	return b.String()
}

// Unwrap returns the reason and the cause.
func (e *Error) Unwrap() []error {
	if e.Cause == nil {
		return []error{e.Reason}
	}
	return []error{e.Reason, e.Cause}
}

// Causes of a context that this package cancelled.
var (
	errTotalTimeout = errors.New("no complete answer within the timeout")
	errIdleTimeout  = errors.New("no byte arrived within the idle timeout")
)
