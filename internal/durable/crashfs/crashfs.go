// Package crashfs is a durable.FS in memory, for tests, that knows what a crash may leave of it. It also fails and fills
// up on demand. It is at least as forgetful as the file systems memsidecar runs on, never more faithful.
//
// # What is durable
//
// A file has what its readers see and what is on disk. A write changes the first, page by page (4,096 bytes); every
// version a page went through since the last sync may be what a crash leaves. So may every size the file went through by
// writing, truncating and allocating, independently of the pages: a new size may come without the data, which then
// reads as zeros. Sync and Datasync, which are the same here, put the file's contents and size on disk, and nothing else:
// not its name.
//
// A directory likewise has the names that are seen and those on disk. Creating, renaming, linking, removing and making a
// directory are changes of the directory that holds the name; they reach the disk in the order they were made, at the
// latest at SyncDir of that directory. After a crash some first part of them is there. Directories are independent of each
// other and of the contents of files: a name may survive whose file is empty, or the removal of one name but not a
// link made earlier in another directory. A rename or an exchange is atomic, between directories too: a crash leaves the old or the new
// names, and a SyncDir of either directory makes it durable.
//
// # Operations
//
// Each of these is one operation: write, truncate (also by os.O_TRUNC), allocate, sync, syncdir, rename, exchange, link, remove,
// create, and mkdir, one per directory made. They are numbered from 1 in the order they happen. Calls that are refused at
// once, such as the removal of a file that does not exist, and calls that only read are no operations.
//
// A test runs its workload once to learn Ops, and then once per operation n with CrashAt(n), and gives what Crash
// returns to the code that recovers. The operation that crashed is pending: Lost is as if it had not
// begun, Kept as if it had happened and was not reported, and that is so for a sync too.
//
// # Failures
//
// A sync that FailAt makes fail forgets that there was anything to write, as kernels do: the data is still seen, a later
// sync succeeds without writing it, and a crash may lose it. A page is on disk again after it was written anew and
// synced. A directory whose sync failed gets nothing to disk any more, though later syncs of it succeed.
//
// # Space
//
// With SetFree, a file takes as many bytes as its furthest byte written or allocated since it was last shorter; names and
// directories take none. A file gives its space back when it has no name and is not open.
//
// There are no symbolic links, and no permissions are checked.
package crashfs

import (
	"errors"
	"fmt"
	"io/fs"
	"sync"

	"github.com/memsidecar/memsidecar/internal/durable"
)

// ErrCrashed is what every call returns from the crash on, Close excepted.
var ErrCrashed = errors.New("simulated crash")

var _ durable.FS = (*FS)(nil)

// FS is one simulated disk with the system that uses it. It is safe for concurrent use, and so are its files.
type FS struct {
	mu       sync.Mutex // guards all below, and all nodes and files of this FS
	root     *node
	dirs     []*node // every directory there ever was
	trace    []string
	crashAt  int // 0 for never
	crashed  bool
	failures map[int]failure
	used     int64
	limit    int64 // of used; noLimit for none
}

const noLimit = -1

// failure is what an operation is to return, and how much of it is to happen before.
type failure struct {
	err  error
	part bool
}

// New returns an empty FS with endless space.
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

// CrashAt makes operation n, and every call after it, fail with ErrCrashed. 0 takes it back.
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

// FailAt makes operation n alone fail with err without doing anything, save for what a failed sync forgets.
func (f *FS) FailAt(n int, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.failures[n] = failure{err: err}
}

// FailPartial is FailAt, but a write writes the first half, and an allocation extends the file by half of what was asked.
func (f *FS) FailPartial(n int, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.failures[n] = failure{err: err, part: true}
}

// SetFree limits the space to what is used now and so many bytes more. A write beyond it writes what fits and returns
// syscall.ENOSPC, an allocation does nothing and returns the same. A negative number lifts the limit.
func (f *FS) SetFree(bytes int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.limit = noLimit
	if bytes >= 0 {
		f.limit = f.used + bytes
	}
}

// effect is how much of an operation is to happen.
type effect int

const (
	none effect = iota
	part
	whole
)

// beginLocked numbers an operation that is about to happen and says what becomes of it.
func (f *FS) beginLocked(format string, args ...any) (effect, error) {
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
		if fail.part {
			return part, fail.err
		}
		return none, fail.err
	}
	return whole, nil
}

// changeLocked is an operation on names: it happens as a whole or not at all.
func (f *FS) changeLocked(c *change, format string, args ...any) error {
	eff, err := f.beginLocked(format, args...)
	if eff == whole {
		f.applyLocked(c)
	}
	return err
}

// fitLocked is how many of the bytes up to end file n has space for, beyond what it has already.
func (f *FS) fitLocked(n *node, end int64) int64 {
	if f.limit == noLimit || end <= n.taken {
		return end
	}
	return min(end, n.taken+max(0, f.limit-f.used))
}

// takeLocked sets the space that n takes.
func (f *FS) takeLocked(n *node, size int64) {
	f.used += size - n.taken
	n.taken = size
}

// releaseLocked gives the space of n back when nothing can reach it any more.
func (f *FS) releaseLocked(n *node) {
	if n.links == 0 && n.opens == 0 {
		f.takeLocked(n, 0)
	}
}

func pathError(op, name string, err error) error {
	return &fs.PathError{Op: op, Path: name, Err: err}
}
