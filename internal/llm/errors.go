package llm

import (
	"errors"
	"strconv"
	"strings"
	"time"
)

// The reasons of an *Error, for errors.Is.
var (
	ErrUnreachable  = errors.New("the model server cannot be reached")
	ErrTLS          = errors.New("the model server cannot be trusted")
	ErrTimeout      = errors.New("the model server took too long")
	ErrKey          = errors.New("the key is missing or was refused")
	ErrNotFound     = errors.New("the model or the address is unknown to the server")
	ErrRateLimited  = errors.New("the model server asks to wait")
	ErrServer       = errors.New("the model server failed")
	ErrNotModel     = errors.New("what answers is not a model server")
	ErrBudget       = errors.New("the tokens of the day are used up")
	ErrLedger       = errors.New("the tokens used cannot be recorded")
	ErrRejected     = errors.New("the model server does not take this request")
	ErrTooLarge     = errors.New("the question or the reply is too large")
	ErrRefused      = errors.New("the model refused to answer")
	ErrTruncated    = errors.New("the reply was cut off")
	ErrInvalidReply = errors.New("the reply does not have the form asked for")
)

// Error is why a question has no answer. Its text holds nothing of prompts, replies and keys; what a reply did wrong
// can quote the reply, and is only behind Unwrap.
type Error struct {
	// Reason is one of the errors above.
	Reason error
	// Later says that the server, the account or the budget is in the way, not this question: ask again later, at RetryAt if that is
	// known. Otherwise asking again will not help: do without the model now.
	Later bool
	// RetryAt is when to ask again; zero when nobody knows.
	RetryAt time.Time
	// Status is that of the last HTTP response; 0 when there was none.
	Status int
	// Code is the server's own name for the error, when it has the form of a name.
	Code string
	// Detail says more in this package's words; may be empty.
	Detail string
	// Usage is what was used up nevertheless.
	Usage Usage
	// Cause is the error below, if any.
	Cause error
}

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

// Causes of a context that ended by this package's doing.
var (
	errTotal = errors.New("no answer within the time allowed in all")
	errIdle  = errors.New("not one byte arrived within the time allowed")
)
