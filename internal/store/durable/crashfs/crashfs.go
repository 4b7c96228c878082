// Package crashfs is a durable.FS in memory, for tests. It knows which states a crash may leave. It also fails and
// fills up on demand. It is at least as forgetful as the file systems that memsidecar runs on. The idea of enumerating
// crash states is from T. S. Pillai et al., "All file systems are not created equal", OSDI 2014 (ALICE); tests compare
// the visible behaviour with the real file system.
//
// # What is durable
//
// A file has visible contents, which readers see, and durable contents. A write changes the visible ones, page by page
// (4,096 bytes). Every version that a page went through since the last sync may be what a crash leaves. So may every
// size that the file went through by writing, truncating and allocating, independently of the pages: a new size may be
// there without the data, which then reads as zeros. Sync and Datasync, which are the same here, make the file's
// contents and size durable, and nothing else: not its name.
//
// A directory has visible and durable names in the same way. Creating, renaming, linking, removing and making a
// directory change the directory that holds the name. The changes become durable in the order in which they were made,
// at the latest at SyncDir of that directory; a crash leaves some prefix of them. Directories are independent of each
// other and of the contents of files: a name may survive whose file is empty, or the removal of one name but not a link
// made earlier in another directory. A rename or an exchange is atomic, between directories too: a crash leaves the old
// or the new names, and a SyncDir of either directory makes it durable.
//
// # Operations
//
// Each of these is one operation: write, truncate (also by os.O_TRUNC), allocate, sync, syncdir, rename, exchange,
// link, remove, create, and mkdir, one per directory made. They are numbered from 1 in the order in which they happen.
// Calls that are refused at once, such as the removal of a file that does not exist, and calls that only read are no
// operations.
//
// A test runs its workload once to learn Ops, and then once per operation n with CrashAt(n), and passes what Crash
// returns to the code that recovers. The operation that crashed is pending: Lost leaves the state as if it had not
// begun, Kept as if it had happened without being reported. That holds for a sync too.
//
// # Failures
//
// A sync that FailAt makes fail drops what there was to write, as Linux kernels do (A. Rebello et al., "Can
// applications recover from fsync failures?", USENIX ATC 2020): the data stays visible, a later sync succeeds without
// writing it, and a crash may lose it. A page becomes durable once it was written again and synced. A directory whose
// sync failed never becomes durable again, although later syncs of it succeed.
//
// # Space
//
// With SetFree, a file takes as many bytes as its furthest byte written or allocated since it was last shorter; names
// and directories take none. A file releases its space when it has no name and is not open.
//
// There are no symbolic links, and permissions are not checked.
package crashfs

import (
	"errors"
	"fmt"
	"io/fs"
	"sync"

	"github.com/memsidecar/memsidecar/internal/store/durable"
)

// ErrCrashed is the error of every call from the crash on, except Close.
var ErrCrashed = errors.New("simulated crash")

var _ durable.FS = (*FS)(nil)

// FS is a simulated disk with the operating system that uses it. It is safe for concurrent use, and so are its files.
type FS struct {
	mu   sync.Mutex // guards all below, and all nodes and files of this FS
	root *node
	// dirs is every directory that ever existed: a crash may restore a removed one.
	dirs  []*node
	trace []string
	// crashAt is the operation that crashes, 0 for none.
	crashAt  int
	crashed  bool
	failures map[int]failure
	used     int64
	// limit of used; noLimit for none.
	limit int64
}

const noLimit = -1

// failure is the error of an operation, and whether half of it happens before.
type failure struct {
	err    error
	partly bool
}

// New returns an empty FS with unlimited space.
func New() *FS {
	f := &FS{failures: map[int]failure{}, limit: noLimit}
	f.root = f.newDir()
	return f
}

// Ops is the number of operations so far.
func (f *FS) Ops() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.trace)
}

// Trace says what each operation was; that of operation n is at n-1.
func (f *FS) Trace() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]string(nil), f.trace...)
}

// CrashAt makes operation n, and every call after it, fail with ErrCrashed. 0 cancels it.
func (f *FS) CrashAt(n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.crashAt = n
}

// Crashed reports whether the operation given to CrashAt was reached.
func (f *FS) Crashed() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.crashed
}

// FailAt makes operation n alone fail with err and do nothing, except that a failed sync drops what it should have
// written.
func (f *FS) FailAt(n int, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.failures[n] = failure{err: err}
}

// FailPartial is FailAt, but a write writes its first half, and an allocation extends the file by half of the request.
func (f *FS) FailPartial(n int, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.failures[n] = failure{err: err, partly: true}
}

// SetFree limits the space to what is used now and so many bytes more. A write beyond the limit writes what fits and
// returns syscall.ENOSPC; an allocation does nothing and returns the same. A negative number removes the limit.
func (f *FS) SetFree(bytes int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.limit = noLimit
	if bytes >= 0 {
		f.limit = f.used + bytes
	}
}

// outcome is how much of an operation happens.
type outcome int

const (
	none outcome = iota
	partly
	whole
)

// beginLocked numbers an operation and decides how much of it happens, and its error.
func (f *FS) beginLocked(format string, args ...any) (outcome, error) {
	if f.crashed {
		return none, ErrCrashed
	}
	f.trace = append(f.trace, fmt.Sprintf(format, args...))
	n := len(f.trace)
	if f.crashAt > 0 && n >= f.crashAt {
		f.crashed = true
		return whole, ErrCrashed
	}
	if fail, ok := f.failures[n]; ok {
		if fail.partly {
			return partly, fail.err
		}
		return none, fail.err
	}
	return whole, nil
}

// changeLocked is an operation on names. It happens completely or not at all.
func (f *FS) changeLocked(c *change, format string, args ...any) error {
	eff, err := f.beginLocked(format, args...)
	if eff == whole {
		f.applyLocked(c)
	}
	return err
}

// spaceForLocked returns up to which byte file n can grow, at most end, with the space that is left.
func (f *FS) spaceForLocked(n *node, end int64) int64 {
	if f.limit == noLimit || end <= n.space {
		return end
	}
	return min(end, n.space+max(0, f.limit-f.used))
}

// setSpaceLocked sets the space that n takes.
func (f *FS) setSpaceLocked(n *node, size int64) {
	f.used += size - n.space
	n.space = size
}

// releaseSpaceLocked releases the space of n once it has no name and is not open.
func (f *FS) releaseSpaceLocked(n *node) {
	if n.links == 0 && n.opens == 0 {
		f.setSpaceLocked(n, 0)
	}
}

// pathError is the error that package os returns for op.
func pathError(op, name string, err error) error {
	return &fs.PathError{Op: op, Path: name, Err: err}
}
