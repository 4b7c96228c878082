package web

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// httpError is an error of this package; the daemon was not called, or its outcome is an error in HTTP alone.
type httpError struct {
	status  int    // HTTP status
	reason  string // UPPER_SNAKE
	message string
}

// Error returns the message.
func (p *httpError) Error() string { return p.message }

// invalidRequest is an httpError with the status 400.
func invalidRequest(format string, args ...any) error {
	return &httpError{http.StatusBadRequest, "INVALID_REQUEST", fmt.Sprintf(format, args...)}
}

// errorBody is the body of an error response, under the name "error". Reason, violations and metadata are those of
// the gRPC API.
type errorBody struct {
	Reason     string            `json:"reason"`
	Message    string            `json:"message"`
	Violations []violation       `json:"violations,omitempty"`
	Metadata   map[string]string `json:"metadata,omitempty"`
}

// violation is a field of the request that is not valid.
type violation struct {
	Field       string `json:"field"`
	Description string `json:"description"`
	Reason      string `json:"reason"`
}

// httpStatusByCode maps gRPC codes to HTTP status codes. A code that is not here is 500.
var httpStatusByCode = map[codes.Code]int{
	codes.InvalidArgument: http.StatusBadRequest, codes.NotFound: http.StatusNotFound,
	codes.AlreadyExists: http.StatusConflict, codes.FailedPrecondition: http.StatusConflict,
	codes.Aborted: http.StatusConflict, codes.OutOfRange: http.StatusGone,
	codes.PermissionDenied: http.StatusForbidden, codes.ResourceExhausted: http.StatusTooManyRequests,
	codes.Unimplemented: http.StatusNotImplemented, codes.Unavailable: http.StatusServiceUnavailable,
	codes.Canceled: http.StatusServiceUnavailable, codes.DeadlineExceeded: http.StatusGatewayTimeout,
}

// httpStatusByReason has the reasons for which HTTP has a more exact status than for their code.
var httpStatusByReason = map[string]int{
	"REQUEST_TOO_LARGE": http.StatusRequestEntityTooLarge,
	"DISK_FULL":         http.StatusInsufficientStorage,
}

// writeError sends an error response, unless a response has started already: then its client sees a body cut short.
func (s *Server) writeError(w http.ResponseWriter, err error) {
	if rec, ok := w.(*responseRecorder); ok && rec.started {
		return
	}
	code, body := errorResponse(err)
	if code == http.StatusServiceUnavailable || code == http.StatusTooManyRequests {
		w.Header().Set("Retry-After", "1")
	}
	if code == http.StatusInternalServerError {
		s.cfg.Logger.Error("http request failed", "reason", body.Reason, "request", body.Metadata["request_id"])
	}
	writeJSON(w, code, map[string]errorBody{"error": body})
}

// errorResponse returns the HTTP status and the body for an error: of this package, of the size limit, or of the
// daemon. An error of another kind is a bug; its text may hold memory text and is not sent.
func errorResponse(err error) (int, errorBody) {
	if tooLarge, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return http.StatusRequestEntityTooLarge, errorBody{
			Reason: "REQUEST_TOO_LARGE", Message: fmt.Sprintf("the limit of a request is %d bytes", tooLarge.Limit),
		}
	}
	if p, ok := errors.AsType[*httpError](err); ok {
		return p.status, errorBody{Reason: p.reason, Message: p.message}
	}
	st, ok := status.FromError(err)
	if !ok {
		return http.StatusInternalServerError, errorBody{
			Reason: "INTERNAL", Message: "internal error; see the daemon's log",
		}
	}
	body := errorBody{Reason: reasonOfCode(st.Code()), Message: st.Message()}
	for _, d := range st.Details() {
		switch d := d.(type) {
		case *errdetails.ErrorInfo:
			body.Reason, body.Metadata = d.GetReason(), d.GetMetadata()
		case *errdetails.BadRequest:
			for _, v := range d.GetFieldViolations() {
				field := httpFieldName(v.GetField())
				body.Violations = append(body.Violations, violation{field, v.GetDescription(), v.GetReason()})
			}
		}
	}
	// A reason can be more exact than its gRPC code: a full disk is 507, not 429.
	if code, ok := httpStatusByReason[body.Reason]; ok {
		return code, body
	}
	code, ok := httpStatusByCode[st.Code()]
	if !ok {
		code = http.StatusInternalServerError
	}
	return code, body
}

// reasonOfCode is the reason for a status that comes from the gRPC library and has no ErrorInfo.
func reasonOfCode(c codes.Code) string {
	switch c {
	case codes.Unavailable:
		return "UNREACHABLE"
	case codes.DeadlineExceeded:
		return "DEADLINE_EXCEEDED"
	case codes.Canceled:
		return "CANCELED"
	case codes.ResourceExhausted:
		return "REQUEST_TOO_LARGE"
	}
	return "INTERNAL"
}

// httpFieldName is the name that a field of a gRPC request has in the HTTP request.
func httpFieldName(field string) string {
	for _, prefix := range []string{"items[0].", "patch.", "filter."} {
		field = strings.TrimPrefix(field, prefix)
	}
	return field
}
