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
	exitUsage       = 2 // the command line or the request is wrong
	exitUnreachable = 3 // no daemon answers
	exitLocked      = 4 // another daemon holds the data directory
	exitCorrupt     = 5 // data on the disk is damaged
	exitInterrupted = 130
)

// cliError says what happened to what, and what to do about it.
type cliError struct {
	what  string
	hint  string // what to do; may be empty or several lines
	code  int    // exit code; 0 is exitError
	cause error
}

func (e *cliError) Error() string {
	if e.hint == "" {
		return e.what
	}
	return e.what + "\n" + e.hint
}

func (e *cliError) Unwrap() error { return e.cause }

func (e *cliError) exitCode() int {
	if e.code == 0 {
		return exitError
	}
	return e.code
}

func usagef(format string, args ...any) error {
	return &cliError{what: fmt.Sprintf(format, args...), code: exitUsage}
}

// usageErrorOf marks an error of the command line and says where its help is.
func usageErrorOf(cmd *cobra.Command, err error) error {
	e := asCLIError(err)
	e.code = exitUsage
	what, _, _ := strings.Cut(e.what, "\n\nRun ")
	e.what = strings.TrimSpace(what)
	e.hint = fmt.Sprintf("Run \"%s --help\" for how to use it.", cmd.CommandPath())
	return e
}

// asCLIError translates whatever a command failed with.
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
		e.hint = "Use the newer memsidecar; this one does not touch the data."
	case errors.Is(err, memory.ErrCorrupt):
		e.hint = "Look at it with \"memsidecar check\"; \"memsidecar repair\" puts the damaged part aside and goes on."
	case errors.Is(err, memory.ErrIncomplete):
		e.hint = "Nothing else touches this directory until then. To give the restore up, remove the directory."
	case errors.Is(err, memory.ErrUnsupportedFS):
		e.hint = "Choose a directory on a local disk with --data."
	}
	return e
}

func codeOf(err error) int {
	switch {
	case errors.Is(err, memory.ErrLocked):
		return exitLocked
	case errors.Is(err, memory.ErrCorrupt), errors.Is(err, memory.ErrIncomplete):
		return exitCorrupt
	}
	return exitError
}

// translate says for people what a daemon answered: every violation, and what to do.
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
				lines = append(lines, fmt.Sprintf("  %s %s", v.GetField(), v.GetDescription()))
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
		e.code = exitUnreachable
		if reason == "" {
			e.what, e.hint = "the daemon does not answer: "+e.what, "Look at \"memsidecar status\" and \"memsidecar doctor\"."
		}
	case codes.DataLoss:
		e.code = exitCorrupt
		e.hint = "Stop the daemon, then look at it with \"memsidecar check\"; \"memsidecar repair\" puts the damaged part aside."
	case codes.DeadlineExceeded:
		e.what, e.hint = "the daemon did not answer in time", "Allow more time with --timeout; \"memsidecar status\" says how it does."
	case codes.Canceled:
		e.code, e.what, e.cause = exitInterrupted, "interrupted", context.Canceled
	case codes.NotFound:
		e.hint = lists[meta["type"]]
	case codes.Internal:
		e.hint = "The daemon's log says more; \"memsidecar status\" names it."
	case codes.PermissionDenied:
		e.hint = "The daemon belongs to another user. Use your own, or another socket with --socket."
	case codes.Unimplemented:
		e.hint = "This daemon is of another version: memsidecar restart"
	}
	if hint := hints[reason]; hint != "" {
		e.hint = hint
	}
	if file := meta["file"]; file != "" && !strings.Contains(e.what, file) {
		e.what += " (" + file + ")"
	}
	return e
}

// hints say what to do, by the reason of the daemon's error.
var hints = map[string]string{
	"STALE_REVISION":         "Read it again (memsidecar get), then repeat with --expect and the revision it has now.",
	"IDEMPOTENCY_KEY_REUSED": "Use another --key for another request.",
	"READ_ONLY":              "Reading goes on. See \"memsidecar doctor\", then \"memsidecar restart\".",
	"DISK_FULL":              "Reading goes on. Free some space; writing works again by itself.",
	"PAUSED":                 "Go on with \"memsidecar resume\".",
	"EPOCH_CHANGED":          "A backup was restored. Begin anew: memsidecar watch --from 1",
	"NOT_UNDOABLE":           "See what it did: memsidecar ops show",
	"HISTORY_TRIMMED":        "History is kept for history_days; see \"memsidecar config\".",
	"BUSY":                   "Try again in a moment.",
	"SHUTTING_DOWN":          "Try again in a moment, or: memsidecar start",
	"ALREADY_EXISTS":         "Choose another id, or change the one that is there.",
	"EDIT_REFUSED":           "Mend the file, and it is taken over by itself; or discard the edit. See \"memsidecar edits\".",
	"REQUEST_TOO_LARGE":      "Send it in several parts.",
}

// lists say where to look for what was not found, by its type.
var lists = map[string]string{
	"memory":    "Look for it with \"memsidecar list --all\" or \"memsidecar search\"; spaces are separate, see --space.",
	"session":   "\"memsidecar session list\" shows the sessions; spaces are separate, see --space.",
	"operation": "\"memsidecar ops --all\" lists the operations.",
	"space":     "\"memsidecar status\" counts the spaces; one begins with the first thing that is put into it.",
	"edit":      "\"memsidecar edits\" lists those that wait.",
	"log":       "\"memsidecar log list\" shows the days that have a log; spaces are separate, see --space.",
}

func quote(s string) string { return strconv.Quote(s) }
