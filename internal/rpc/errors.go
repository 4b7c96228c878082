package rpc

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/publish"
)

// Domain is the domain of every ErrorInfo.
const Domain = "memsidecar.v1"

// retryAfter is sent to clients when waiting helps.
const retryAfter = time.Second

// errTooLarge is a request over memory.MaxMessage.
var errTooLarge = errors.New("request is too large")

// table says what an error is for a client; the first row that matches counts.
var table = []struct {
	target error
	code   codes.Code
	reason string
}{
	// Before the causes that they wrap. DeadlineExceeded says of a write that it may have happened.
	{memory.ErrOutcomeUnknown, codes.DeadlineExceeded, "OUTCOME_UNKNOWN"},
	{memory.ErrNotReached, codes.DeadlineExceeded, "POSITION_NOT_REACHED"},
	{memory.ErrShareStopped, codes.FailedPrecondition, "SHARE_STOPPED"},
	{memory.ErrNoMirror, codes.FailedPrecondition, "NO_MIRROR"},
	{memory.ErrDatabaseAway, codes.Unavailable, "DATABASE_UNAVAILABLE"},
	{memory.ErrNotOpen, codes.Unavailable, "SPACE_NOT_OPEN"},
	{memory.ErrDatabase, codes.FailedPrecondition, "DATABASE"},
	{memory.ErrUnsent, codes.FailedPrecondition, "UNSENT"},
	{memory.ErrUnfinished, codes.FailedPrecondition, "PURGE_UNFINISHED"},
	{memory.ErrUnauthorized, codes.PermissionDenied, "UNAUTHORIZED"},
	{memory.ErrOwnProcess, codes.FailedPrecondition, "OWN_PROCESS"},
	{memory.ErrShuttingDown, codes.Unavailable, "SHUTTING_DOWN"},
	{memory.ErrDiskFull, codes.ResourceExhausted, "DISK_FULL"},
	{memory.ErrReadOnlySpace, codes.FailedPrecondition, "READ_ONLY_SPACE"},
	{memory.ErrReadOnly, codes.FailedPrecondition, "READ_ONLY"},
	{memory.ErrBusy, codes.ResourceExhausted, "BUSY"},
	{memory.ErrPaused, codes.FailedPrecondition, "PAUSED"},
	{memory.ErrHostPaused, codes.FailedPrecondition, "HOST_PAUSED"},
	{memory.ErrStale, codes.FailedPrecondition, "STALE_REVISION"},
	{memory.ErrKeyReused, codes.FailedPrecondition, "IDEMPOTENCY_KEY_REUSED"},
	{memory.ErrEpoch, codes.FailedPrecondition, "EPOCH_CHANGED"},
	{memory.ErrIncomplete, codes.FailedPrecondition, "INCOMPLETE_RESTORE"},
	{memory.ErrNotUndoable, codes.FailedPrecondition, "NOT_UNDOABLE"},
	{memory.ErrTrimmed, codes.OutOfRange, "HISTORY_TRIMMED"},
	{memory.ErrRefused, codes.FailedPrecondition, "EDIT_REFUSED"},
	{memory.ErrNotFound, codes.NotFound, "NOT_FOUND"},
	{memory.ErrExists, codes.AlreadyExists, "ALREADY_EXISTS"},
	{memory.ErrCorrupt, codes.DataLoss, "CORRUPT"},
	{memory.ErrNewerVersion, codes.FailedPrecondition, "NEWER_VERSION"},
	{memory.ErrLocked, codes.FailedPrecondition, "LOCKED"},
	{memory.ErrUnsupportedFS, codes.FailedPrecondition, "UNSUPPORTED_FILE_SYSTEM"},
	{publish.ErrBusyFile, codes.Aborted, "FILE_BUSY"},
	{publish.ErrNotRegular, codes.FailedPrecondition, "NOT_A_REGULAR_FILE"},
	{errTooLarge, codes.ResourceExhausted, "REQUEST_TOO_LARGE"},
	{context.Canceled, codes.Canceled, "CANCELED"},
	{context.DeadlineExceeded, codes.DeadlineExceeded, "DEADLINE_EXCEEDED"},
}

// toStatus turns an error of the domain into what a client sees: a code, one ErrorInfo, and details that programs can
// act on. What is not in the table is an internal error, of which clients get only the request id.
func toStatus(err error, requestID string) *status.Status {
	info := &errdetails.ErrorInfo{Domain: Domain, Metadata: map[string]string{"request_id": requestID}}
	if invalid, ok := errors.AsType[*memory.InvalidError](err); ok {
		info.Reason = "INVALID_REQUEST"
		return withDetails(codes.InvalidArgument, invalid.Error(), info, badRequest(invalid))
	}
	for _, row := range table {
		if errors.Is(err, row.target) {
			info.Reason = row.reason
			return withDetails(row.code, err.Error(), info, details(err, row.code, info)...)
		}
	}
	info.Reason = "INTERNAL"
	return withDetails(codes.Internal, "internal error; the daemon's log tells more about request "+requestID, info)
}

// details adds what is known beyond the code, to the metadata of info too.
func details(err error, code codes.Code, info *errdetails.ErrorInfo) []protoadapt.MessageV1 {
	if e, ok := errors.AsType[*memory.NotFoundError](err); ok {
		info.Metadata["type"], info.Metadata["name"] = e.Kind, e.Name
		return []protoadapt.MessageV1{&errdetails.ResourceInfo{ResourceType: e.Kind, ResourceName: e.Name,
			Description: e.Error()}}
	}
	if e, ok := errors.AsType[*memory.ExistsError](err); ok {
		info.Metadata["type"], info.Metadata["name"] = e.Kind, e.Name
		return []protoadapt.MessageV1{&errdetails.ResourceInfo{ResourceType: e.Kind, ResourceName: e.Name,
			Description: e.Error()}}
	}
	if e, ok := errors.AsType[*memory.OutcomeUnknownError](err); ok {
		info.Metadata["idempotency_key"] = e.Key
	}
	// A client that lost a race reads the current revision here instead of asking again.
	if e, ok := errors.AsType[*memory.StaleError](err); ok {
		info.Metadata["type"], info.Metadata["name"] = e.Kind, e.Name
		info.Metadata["expected"], info.Metadata["current"] = fmt.Sprint(e.Expected), fmt.Sprint(e.Current)
		return []protoadapt.MessageV1{precondition("ETAG", e.Name, e.Error())}
	}
	switch {
	case code == codes.NotFound, code == codes.AlreadyExists:
		return []protoadapt.MessageV1{&errdetails.ResourceInfo{Description: err.Error()}}
	case code == codes.FailedPrecondition:
		return []protoadapt.MessageV1{precondition(info.Reason, "memsidecar", err.Error())}
	// Only these two pass by themselves, so only they invite a retry.
	case errors.Is(err, memory.ErrShuttingDown), errors.Is(err, memory.ErrBusy):
		return []protoadapt.MessageV1{&errdetails.RetryInfo{RetryDelay: durationpb.New(retryAfter)}}
	}
	return nil
}

// precondition describes one failed precondition. kind is a reason, or ETAG for a revision.
func precondition(kind, subject, description string) *errdetails.PreconditionFailure {
	return &errdetails.PreconditionFailure{Violations: []*errdetails.PreconditionFailure_Violation{
		{Type: kind, Subject: subject, Description: description},
	}}
}

// badRequest lists the violations of a request, all of them.
func badRequest(e *memory.InvalidError) *errdetails.BadRequest {
	out := &errdetails.BadRequest{}
	for _, v := range e.Violations {
		out.FieldViolations = append(out.FieldViolations,
			&errdetails.BadRequest_FieldViolation{Field: v.Field, Description: v.Detail, Reason: v.Reason})
	}
	return out
}

// withDetails makes a status with an ErrorInfo and further details.
func withDetails(code codes.Code, message string, info *errdetails.ErrorInfo,
	more ...protoadapt.MessageV1) *status.Status {
	const longest = 4096 // a status travels in a header: a thousand violations must not make it too large
	if len(message) > longest {
		message = message[:longest] + "…"
	}
	st := status.New(code, message)
	detailed, err := st.WithDetails(append([]protoadapt.MessageV1{info}, more...)...)
	if err != nil {
		return st // only a detail that cannot be encoded leads here; the code is what matters
	}
	return detailed
}
