package memory

import (
	"errors"
	"fmt"
	"strings"
)

// The errors of the domain. Layers wrap them with what they concern; callers test with errors.Is.
var (
	ErrNotFound      = errors.New("not found")
	ErrExists        = errors.New("already exists")
	ErrStale         = errors.New("changed since it was read")
	ErrKeyReused     = errors.New("idempotency key was used for another request")
	ErrNotUndoable   = errors.New("operation cannot be undone")
	ErrTrimmed       = errors.New("history this old is no longer kept")
	ErrReadOnly      = errors.New("store is read-only until the daemon is restarted")
	ErrReadOnlySpace = errors.New("the space is only received on this machine")
	ErrDiskFull      = errors.New("disk is full")
	ErrCorrupt       = errors.New("damaged data")
	ErrNewerVersion  = errors.New("written by a newer version of memsidecar")
	ErrLocked        = errors.New("data directory is in use by another daemon")
	ErrUnsupportedFS = errors.New("data directory is on a file system without reliable locks and sync")
	ErrShuttingDown  = errors.New("daemon is shutting down")
	ErrBusy          = errors.New("too much work in progress")
	ErrPaused        = errors.New("capture is paused")
	ErrHostPaused    = errors.New("the host is paused")
	ErrUnfinished    = errors.New("purge is not finished")
	ErrEpoch         = errors.New("the store was restored from a backup, which changed its epoch")
	ErrIncomplete    = errors.New("data directory holds an unfinished restore")
	ErrRefused       = errors.New("edit cannot be adopted as it is")
	ErrUnauthorized  = errors.New("caller is not allowed")
	ErrDatabase      = errors.New("the database of the shared space")
	// ErrDatabaseAway is a database that does not answer now.
	ErrDatabaseAway = errors.New("the database does not answer")
	// ErrNoMirror is a search of a mirror where there is none, or where it is not known which one is meant.
	ErrNoMirror = errors.New("there is no mirror to search")
	ErrUnsent   = errors.New("operations wait to be sent")
	// ErrOutcomeUnknown is a write that is durable here and perhaps not in the log of its shared space.
	ErrOutcomeUnknown = errors.New("durable on this machine, and not known to be in the shared log")
	// ErrNotReached is a position in the log of a shared space that did not arrive in time.
	ErrNotReached = errors.New("the position is not reached")
	// ErrShareStopped is a shared space that is not exchanged any more.
	ErrShareStopped = errors.New("the shared space is not exchanged any more")
	// ErrNotOpen is a space of a fleet that is not on this node, and cannot be brought here now.
	ErrNotOpen    = errors.New("the space is not open on this node")
	ErrOwnProcess = errors.New("the command needs a process of its own")
)

// NotOpenError is a write to a space of a fleet that is not open on this node. It matches ErrNotOpen.
type NotOpenError struct{ Space string }

// Error names the space.
func (e *NotOpenError) Error() string { return fmt.Sprintf("space %q: %v", e.Space, ErrNotOpen) }

// Is makes errors.Is(err, ErrNotOpen) true.
func (e *NotOpenError) Is(target error) bool { return target == ErrNotOpen }

// Violation is one thing wrong with a request.
type Violation struct {
	Field  string // path into the request, "memories[3].tags[2]"
	Reason string // UPPER_SNAKE, stable
	Detail string // for people; never holds memory text
}

// InvalidError carries all violations of a request, so that a caller can correct them at once.
type InvalidError struct{ Violations []Violation }

// Error lists the violations; it holds no memory text.
func (e *InvalidError) Error() string {
	parts := make([]string, len(e.Violations))
	for i, v := range e.Violations {
		parts[i] = v.Field + ": " + v.Detail
	}
	return "invalid request: " + strings.Join(parts, "; ")
}

// NotFoundError names what was not found. It is an ErrNotFound.
type NotFoundError struct{ Kind, Name string }

// Error says what was not found.
func (e *NotFoundError) Error() string { return fmt.Sprintf("%s %q not found", e.Kind, e.Name) }

// Is makes errors.Is(err, ErrNotFound) true.
func (e *NotFoundError) Is(target error) bool { return target == ErrNotFound }

// StaleError says which revision was expected and which is current. It is an ErrStale.
type StaleError struct {
	Kind, Name        string
	Expected, Current int64
}

// Error says what the caller should do.
func (e *StaleError) Error() string {
	return fmt.Sprintf("%s %q is at revision %d, not the expected %d; read it again and decide anew",
		e.Kind, e.Name, e.Current, e.Expected)
}

// Is makes errors.Is(err, ErrStale) true.
func (e *StaleError) Is(target error) bool { return target == ErrStale }

// OutcomeUnknownError is a write that is durable on this machine and of which it is not known whether the log of its
// shared space has it. It is an ErrOutcomeUnknown.
type OutcomeUnknownError struct {
	Space string
	Key   string // idempotency key with which the request can be repeated, "" for none
	Err   error  // why it is not known
}

// Error says what the caller should do.
func (e *OutcomeUnknownError) Error() string {
	what := fmt.Sprintf("the write to space %q is durable on this machine, and was not confirmed by the shared log: %v; "+
		"it is sent as soon as that is possible", e.Space, e.Err)
	if e.Key == "" {
		return what
	}
	return what + fmt.Sprintf("; the same request with idempotency key %s waits for that again, and writes nothing twice",
		e.Key)
}

// Unwrap is why it is not known.
func (e *OutcomeUnknownError) Unwrap() error { return e.Err }

// Is makes errors.Is(err, ErrOutcomeUnknown) true.
func (e *OutcomeUnknownError) Is(target error) bool { return target == ErrOutcomeUnknown }

// ExistsError names what exists already. It is an ErrExists.
type ExistsError struct{ Kind, Name string }

// Error says what exists.
func (e *ExistsError) Error() string { return fmt.Sprintf("%s %q already exists", e.Kind, e.Name) }

// Is makes errors.Is(err, ErrExists) true.
func (e *ExistsError) Is(target error) bool { return target == ErrExists }

// ReadOnlySpaceError is a change of a space that this machine receives and must not change. It is an ErrReadOnlySpace.
type ReadOnlySpaceError struct{ Space string }

// Error says what the caller can do.
func (e *ReadOnlySpaceError) Error() string {
	return fmt.Sprintf("space %q is shared read-only: this machine receives its memories and does not change them; make the change on a "+
		"machine that may write to it, use another space, or end the sharing here with `memsidecar share leave %s`, which "+
		"keeps the memories", e.Space, e.Space)
}

// Is makes errors.Is(err, ErrReadOnlySpace) true.
func (e *ReadOnlySpaceError) Is(target error) bool { return target == ErrReadOnlySpace }
