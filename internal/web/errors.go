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

// problem is an error of HTTP itself: the daemon was not asked.
type problem struct {
	status  int
	reason  string // UPPER_SNAKE
	message string
}

func (p *problem) Error() string { return p.message }

func invalid(format string, args ...any) error {
	return &problem{http.StatusBadRequest, "INVALID_REQUEST", fmt.Sprintf(format, args...)}
}

// errorBody is what a client gets of an error; reason and violations are those of the gRPC API.
type errorBody struct {
	Reason     string            `json:"reason"`
	Message    string            `json:"message"`
	Violations []violation       `json:"violations,omitempty"`
	Metadata   map[string]string `json:"metadata,omitempty"`
}

type violation struct {
	Field       string `json:"field"`
	Description string `json:"description"`
	Reason      string `json:"reason"`
}

// statuses say what a code is in HTTP; what is not there is 500.
var statuses = map[codes.Code]int{
	codes.InvalidArgument:    http.StatusBadRequest,
	codes.NotFound:           http.StatusNotFound,
	codes.AlreadyExists:      http.StatusConflict,
	codes.FailedPrecondition: http.StatusConflict,
	codes.Aborted:            http.StatusConflict,
	codes.OutOfRange:         http.StatusGone,
	codes.PermissionDenied:   http.StatusForbidden,
	codes.ResourceExhausted:  http.StatusTooManyRequests,
	codes.Unimplemented:      http.StatusNotImplemented,
	codes.Unavailable:        http.StatusServiceUnavailable,
	codes.Canceled:           http.StatusServiceUnavailable,
	codes.DeadlineExceeded:   http.StatusGatewayTimeout,
}

// reasons are more exact than their codes.
var reasons = map[string]int{
	"REQUEST_TOO_LARGE": http.StatusRequestEntityTooLarge,
	"DISK_FULL":         http.StatusInsufficientStorage,
}

// fail answers with an error. After the beginning of an answer there is nothing left to say.
func (s *Server) fail(w http.ResponseWriter, err error) {
	if rec, ok := w.(*recorder); ok && rec.begun {
		return
	}
	code, body := describe(err)
	if code == http.StatusServiceUnavailable || code == http.StatusTooManyRequests {
		w.Header().Set("Retry-After", "1")
	}
	if code == http.StatusInternalServerError {
		s.cfg.Logger.Error("http request failed", "reason", body.Reason, "request", body.Metadata["request_id"])
	}
	reply(w, code, map[string]errorBody{"error": body})
}

func describe(err error) (int, errorBody) {
	if tooLarge, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return http.StatusRequestEntityTooLarge, errorBody{Reason: "REQUEST_TOO_LARGE", Message: fmt.Sprintf("the limit of a request is %d bytes", tooLarge.Limit)}
	}
	if p, ok := errors.AsType[*problem](err); ok {
		return p.status, errorBody{Reason: p.reason, Message: p.message}
	}
	st, ok := status.FromError(err)
	if !ok {
		return http.StatusInternalServerError, errorBody{Reason: "INTERNAL", Message: "internal error; the daemon's log tells more"}
	}
	body := errorBody{Reason: codeReason(st.Code()), Message: st.Message()}
	for _, d := range st.Details() {
		switch d := d.(type) {
		case *errdetails.ErrorInfo:
			body.Reason, body.Metadata = d.GetReason(), d.GetMetadata()
		case *errdetails.BadRequest:
			for _, v := range d.GetFieldViolations() {
				body.Violations = append(body.Violations, violation{fieldOf(v.GetField()), v.GetDescription(), v.GetReason()})
			}
		}
	}
	if code, ok := reasons[body.Reason]; ok {
		return code, body
	}
	code, ok := statuses[st.Code()]
	if !ok {
		code = http.StatusInternalServerError
	}
	return code, body
}

// codeReason is the reason of a status that gRPC itself made.
func codeReason(c codes.Code) string {
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

// fieldOf is a field of a gRPC request as a client of HTTP knows it.
func fieldOf(field string) string {
	for _, prefix := range []string{"items[0].", "patch.", "filter."} {
		field = strings.TrimPrefix(field, prefix)
	}
	return field
}
