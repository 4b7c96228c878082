package memsidecar

import (
	"fmt"
	"strings"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/memsidecar/memsidecar/clients/go/gen/memsidecar/v1"
)

// Error is the error of a call.
type Error struct {
	// Code is the gRPC code.
	Code codes.Code
	// Reason is UPPER_SNAKE and stable, such as STALE_REVISION; empty when no daemon answered.
	Reason string
	// Message is for people.
	Message string
	// Metadata has details of the reason, such as the current revision.
	Metadata map[string]string
	// Violations are all invalid fields of the request.
	Violations []Violation

	status *status.Status
}

// Violation is an invalid field of a request.
type Violation struct {
	// Field is its path, such as items[0].salience.
	Field string
	// Description is for people.
	Description string
}

// Error returns the message and the reason.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("memsidecar: ")
	b.WriteString(e.Message)
	if e.Reason != "" {
		fmt.Fprintf(&b, " (%s)", e.Reason)
	}
	return b.String()
}

// GRPCStatus lets status.Code and status.FromError see the status.
func (e *Error) GRPCStatus() *status.Status { return e.status }

// errorOf converts an error of gRPC into an *Error.
func errorOf(err error) error {
	st, ok := status.FromError(err)
	if !ok {
		return err
	}
	e := &Error{Code: st.Code(), Message: st.Message(), status: st}
	for _, d := range st.Details() {
		switch d := d.(type) {
		case *errdetails.ErrorInfo:
			e.Reason, e.Metadata = d.GetReason(), d.GetMetadata()
		case *errdetails.BadRequest:
			for _, v := range d.GetFieldViolations() {
				e.Violations = append(e.Violations, Violation{Field: v.GetField(), Description: v.GetDescription()})
			}
		}
	}
	return e
}

// unavailable is the error for a daemon that cannot be found or started.
func unavailable(message string) error {
	return &Error{Code: codes.Unavailable, Message: message, status: status.New(codes.Unavailable, message)}
}

// rejected is the error for an item that the daemon did not write.
func rejected(o *pb.Outcome) error {
	message := "rejected: " + o.GetId()
	return &Error{
		Code: codes.FailedPrecondition, Reason: o.GetReason(), Message: message,
		status: status.New(codes.FailedPrecondition, message),
	}
}
