package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/memsidecar/memsidecar/internal/memory"
)

// Exit codes, by cause.
const (
	exitOK          = 0
	exitError       = 1
	exitUsage       = 2 // invalid command line or request
	exitUnreachable = 3 // no daemon is running
	exitLocked      = 4 // another daemon holds the data directory
	exitCorrupt     = 5 // stored data is damaged
	exitInterrupted = 130
)

// cliError is an error for a person: what happened, to what, and what to do.
type cliError struct {
	what  string
	hint  string // what to do; empty or several lines
	code  int    // exit code; 0 is exitError
	cause error
}

// Error is the text and the hint.
func (e *cliError) Error() string {
	if e.hint == "" {
		return e.what
	}
	return e.what + "\n" + e.hint
}

// Unwrap is the cause.
func (e *cliError) Unwrap() error { return e.cause }

// exitCode is the exit code; the default is exitError.
func (e *cliError) exitCode() int {
	if e.code == 0 {
		return exitError
	}
	return e.code
}

// usagef is an error of the command line.
func usagef(format string, args ...any) error {
	return &cliError{what: fmt.Sprintf(format, args...), code: exitUsage}
}

// usageErrorOf turns err into a usage error that points to the help of cmd.
func usageErrorOf(cmd *cobra.Command, err error) error {
	e := asCLIError(err)
	e.code = exitUsage
	what, _, _ := strings.Cut(e.what, "\n\nRun ")
	e.what = userWords(cmd, strings.TrimSpace(what))
	e.hint = fmt.Sprintf("Run \"%s --help\" for usage.", cmd.CommandPath())
	return e
}

// asCLIError translates any error of a command.
func asCLIError(err error) *cliError {
	if e, ok := errors.AsType[*cliError](err); ok {
		return e
	}
	e := &cliError{what: err.Error(), code: codeOf(err), cause: err}
	if st, ok := status.FromError(err); ok && st.Code() != codes.Unknown {
		return translate(st)
	}
	switch {
	case errors.Is(err, memory.ErrNewerVersion):
		e.hint = "Use the newer memsidecar. This version does not change the data."
	case errors.Is(err, memory.ErrCorrupt):
		e.hint = "\"memsidecar check\" shows the damage; \"memsidecar daemon repair\" quarantines it."
	case errors.Is(err, memory.ErrIncomplete):
		e.hint = "No other command uses this directory until then. To abandon the restore, remove the directory."
	case errors.Is(err, memory.ErrUnsupportedFS):
		e.hint = "Choose a directory on a local disk with --data."
	}
	return e
}

// codeOf is the exit code for an error of a local package.
func codeOf(err error) int {
	switch {
	case errors.Is(err, memory.ErrLocked):
		return exitLocked
	case errors.Is(err, memory.ErrCorrupt), errors.Is(err, memory.ErrIncomplete):
		return exitCorrupt
	}
	return exitError
}

// translate turns a gRPC status into an error for a person, with every field violation.
func translate(st *status.Status) *cliError {
	e := &cliError{what: st.Message(), code: exitError, cause: st.Err()}
	var reason string
	var meta map[string]string
	var lines []string
	for _, d := range st.Details() {
		switch d := d.(type) {
		case *errdetails.ErrorInfo:
			reason, meta = d.GetReason(), d.GetMetadata()
		case *errdetails.BadRequest:
			for _, v := range d.GetFieldViolations() {
				lines = append(lines, fmt.Sprintf("  %s %s", fieldWords(v.GetField()), v.GetDescription()))
			}
		}
	}
	switch st.Code() {
	case codes.InvalidArgument:
		e.code = exitUsage
		if len(lines) > 0 {
			e.what = "the request is not valid:\n" + strings.Join(lines, "\n")
		}
	case codes.Unavailable:
		if reason == "DATABASE_UNAVAILABLE" {
			break // the daemon has answered
		}
		e.code = exitUnreachable
		if reason == "" {
			e.what, e.hint = "the daemon does not answer: "+e.what,
				"See \"memsidecar status\" and \"memsidecar doctor\"."
		}
	case codes.DataLoss:
		e.code = exitCorrupt
		e.hint = "Stop the daemon. \"memsidecar check\" shows the damage; \"memsidecar daemon repair\" quarantines it."
	case codes.DeadlineExceeded:
		if reason != "" && reason != "DEADLINE_EXCEEDED" {
			break // its message says more
		}
		e.what, e.hint = "the daemon did not answer in time", "Increase --timeout, or see \"memsidecar status\"."
	case codes.Canceled:
		e.code, e.what, e.cause = exitInterrupted, "interrupted", context.Canceled
	case codes.NotFound:
		e.hint = lists[meta["type"]]
	case codes.Internal:
		e.hint = "See the daemon's log; \"memsidecar status\" prints its path."
	case codes.PermissionDenied:
		e.hint = "The daemon belongs to another user. Use your own daemon, or choose another --socket."
	case codes.Unimplemented:
		e.hint = "The daemon has another version. Run `memsidecar daemon restart`."
	}
	if hint := hints[reason]; hint != "" {
		e.hint = hint
	}
	if file := meta["file"]; file != "" && !strings.Contains(e.what, file) {
		e.what += " (" + file + ")"
	}
	return e
}

// hints say what to do, by the reason code of the error.
var hints = map[string]string{
	"STALE_REVISION": "Read the memory again (memsidecar get), then repeat with --expect and its current " +
		"revision.",
	"IDEMPOTENCY_KEY_REUSED": "Use a new --key for a different request.",
	"READ_ONLY":              "Reads still work. See \"memsidecar doctor\", then run \"memsidecar daemon restart\".",
	"DISK_FULL":              "Reads still work. Free some disk space; writes resume automatically.",
	"PAUSED":                 "Resume with \"memsidecar daemon resume\".",
	"EPOCH_CHANGED":          "A backup was restored. Read the operations again: memsidecar ops watch --after 0",
	"NOT_UNDOABLE":           "See its changes: memsidecar ops show",
	"HISTORY_TRIMMED":        "Operations are kept for history_days; see \"memsidecar config\".",
	"BUSY":                   "Try again in a moment.",
	"SHUTTING_DOWN":          "Try again in a moment, or run: memsidecar daemon start",
	"ALREADY_EXISTS":         "Choose another id, or update the existing one.",
	"EDIT_REFUSED":           "Fix the file and the daemon adopts it, or reject the edit. See \"memsidecar edits\".",
	"REQUEST_TOO_LARGE":      "Send it in several parts.",
}

// lists are the hints of NOT_FOUND errors, by type.
var lists = map[string]string{
	"memory":    "Find it with \"memsidecar list --all\" or \"memsidecar search\"; use --space for another space.",
	"session":   "\"memsidecar session list\" lists sessions; use --space for another space.",
	"operation": "\"memsidecar ops --all\" lists the operations.",
	"space":     "\"memsidecar memory stats\" lists the spaces. The first write to a space creates it.",
	"edit":      "\"memsidecar edits\" lists pending edits.",
	"log":       "\"memsidecar log list\" lists the daily logs; use --space for another space.",
}

// quote quotes a text for a message.
func quote(s string) string { return strconv.Quote(s) }
