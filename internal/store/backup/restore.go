package backup

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/durable"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

// NotEmptyError names an entry of a directory that a restore would have to overwrite. errors.Is(err, memory.ErrExists)
// holds for it.
type NotEmptyError struct{ Name string }

// Error names one entry of the directory, so that a person sees what is in the way.
func (e *NotEmptyError) Error() string {
	return "the directory is not empty: it holds " + e.Name + "; a restore never overwrites anything"
}

// Is makes errors.Is(err, memory.ErrExists) true.
func (e *NotEmptyError) Is(target error) bool { return target == memory.ErrExists }

// CheckEmpty returns a *NotEmptyError for a directory into which nothing may be restored. A directory with an
// unfinished restore is accepted.
func CheckEmpty(fsys durable.FS, layout Layout) error {
	entries, err := fsys.ReadDir(".")
	if err != nil {
		return fmt.Errorf("list the directory: %w", err)
	}
	unfinished := slices.ContainsFunc(entries, func(e os.DirEntry) bool { return e.Name() == store.RestoringFile })
	for _, e := range entries {
		name := e.Name()
		ours := name == "LOCK" || strings.HasPrefix(name, store.RestoringFile) ||
			unfinished && layout.createdByRestore(name)
		if !ours {
			return &NotEmptyError{Name: name}
		}
	}
	return nil
}

// restoreNames are the entries of the data directory that a restore creates, besides the published files.
var restoreNames = []string{"journal", "snapshots", "quarantine", "logs", "spaces", "index", pausedName}

// createdByRestore reports whether a restore may create the entry name of the data directory.
func (l Layout) createdByRestore(name string) bool {
	return slices.Contains(restoreNames, name) || l.owner(name) != nil
}

// Options of Restore. All fields are required.
type Options struct {
	Published Layout
	// EpochSuffix is random. It makes the name of the new epoch unique.
	EpochSuffix string
	// Now is when the new epoch begins.
	Now time.Time
	// Remedy says, for people, what to do when the restore is interrupted.
	Remedy string
}

// Restore creates a data directory from an archive. fsys must be empty, or hold an unfinished restore. The caller holds
// the lock of the directory. A restore begins a new epoch, so that operations after it are not confused with those that
// the backed-up store made after the backup. The identity of the store stays, and so forgotten values stay forgotten.
//
// Durable on return; the commit point is the removal of store.RestoringFile. After an error the directory is empty
// again. After a crash it is empty, complete, or refused by store.Open with o.Remedy.
//
// Errors: *NotEmptyError, *NotBackupError, *DamagedError, memory.ErrNewerVersion.
func Restore(ctx context.Context, fsys durable.FS, archive io.Reader, o Options) (info Info, err error) {
	if err := CheckEmpty(fsys, o.Published); err != nil {
		return Info{}, err
	}
	r := &restore{ctx: ctx, fs: fsys, published: o.Published, dirs: map[string]bool{".": true},
		publishedSums: map[string][sha256.Size]byte{}}
	if err := r.readHeader(archive); err != nil { // before the directory is changed
		return Info{}, err
	}
	if err := clearUnfinished(fsys, o.Published); err != nil {
		return Info{}, fmt.Errorf("remove the unfinished restore: %w", err)
	}
	err = durable.WriteFile(fsys, store.RestoringFile, func(w io.Writer) error {
		_, err := io.WriteString(w, o.Remedy+"\n")
		return err
	})
	if err != nil {
		return Info{}, fmt.Errorf("restore: %w", err)
	}
	if err = r.extract(); err == nil {
		err = r.finish(o)
	}
	if err != nil {
		// otherwise RestoringFile stays, and Open refuses the directory
		if undo := clearUnfinished(fsys, o.Published); undo == nil {
			_ = removeRestoringFile(fsys)
		}
		return Info{}, fmt.Errorf("restore: %w", err)
	}
	return r.info, nil
}

// restore is a restore in progress.
type restore struct {
	ctx       context.Context
	fs        durable.FS
	published Layout
	zip       *gzip.Reader
	tar       *tar.Reader
	head      header
	info      Info
	sums      []memberSum
	// dirs are the directories that got a new entry and must be synced.
	dirs          map[string]bool
	publishedSums map[string][sha256.Size]byte // of the published files, by name
	bytes         int64
}

// readHeader reads the first member and checks its bounds.
func (r *restore) readHeader(archive io.Reader) (err error) {
	if r.zip, err = gzip.NewReader(archive); err != nil {
		return &NotBackupError{Detail: "it is not compressed with gzip"}
	}
	r.tar = tar.NewReader(r.zip)
	h, err := r.tar.Next()
	if err != nil || h.Name != headerName || h.Typeflag != tar.TypeReg || h.Size > maxHeader {
		if err != nil && !errors.Is(err, tar.ErrHeader) {
			return &DamagedError{Detail: "its beginning cannot be read: " + err.Error()}
		}
		return &NotBackupError{Detail: "it does not begin with " + headerName}
	}
	data, err := io.ReadAll(r.tar)
	if err != nil {
		return damaged(headerName, err)
	}
	if err := json.Unmarshal(data, &r.head); err != nil || r.head.Kind != kind {
		return &NotBackupError{Detail: headerName + " is not that of a backup"}
	}
	if r.head.Version > Version || r.head.MinReader > Minor {
		return fmt.Errorf("the backup has format %d.%d and needs a reader of %d.%d; this memsidecar knows %d.%d: %w",
			r.head.Version, r.head.Minor, r.head.Version, r.head.MinReader, Version, Minor, memory.ErrNewerVersion)
	}
	// The header bounds what is written from here on, so its own values are bounded first.
	if r.head.Members > maxMembers || r.head.LSN < 0 || r.head.Bytes < 0 || !memory.IsSlug(r.head.Store) {
		return &DamagedError{Detail: headerName + " has impossible values"}
	}
	of := sha256.Sum256(data)
	r.sums = append(r.sums, memberSum{Name: headerName, Bytes: int64(len(data)), SHA256: hex.EncodeToString(of[:])})
	r.info = r.head.info()
	return nil
}

// damaged is the *DamagedError of a member that could not be read.
func damaged(name string, err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return &DamagedError{Detail: "it ends in the middle of " + name}
	}
	return &DamagedError{Detail: name + " cannot be read: " + err.Error()}
}

// extract writes every member, and then compares all of them with the manifest.
func (r *restore) extract() error {
	for {
		if err := r.ctx.Err(); err != nil {
			return err
		}
		h, err := r.tar.Next()
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return &DamagedError{Detail: "it ends before its manifest"}
		}
		if err != nil {
			return damaged("the next member", err)
		}
		if h.Name == manifestName {
			return r.checkManifest(h)
		}
		if err := r.member(h); err != nil {
			return err
		}
	}
}

// member writes one member. It refuses names and sizes that the header did not announce.
func (r *restore) member(h *tar.Header) error {
	r.bytes += h.Size
	switch {
	case h.Typeflag != tar.TypeReg || !r.published.validMemberName(h.Name):
		return &DamagedError{Detail: fmt.Sprintf("a member %q does not belong in a backup", h.Name)}
	case r.bytes > r.head.Bytes || len(r.sums) > r.head.Members:
		return &DamagedError{Detail: "it holds more than its header says"}
	}
	if err := r.makeDir(path.Dir(h.Name)); err != nil {
		return err
	}
	f, err := r.fs.OpenFile(h.Name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, os.ErrExist) {
		return &DamagedError{Detail: fmt.Sprintf("a member %q is there twice", h.Name)}
	}
	if err != nil {
		return fmt.Errorf("create %s: %w", h.Name, err)
	}
	// Hashed while it is written; the manifest at the end of the archive decides whether the restore stands.
	hash := sha256.New()
	source := &readErrorTracker{r: r.tar}
	_, err = io.CopyBuffer(struct{ io.Writer }{io.MultiWriter(hash, ctxWriter{r.ctx, f})}, source,
		make([]byte, 256<<10))
	if err == nil {
		err = f.Sync()
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if source.err != nil {
		return damaged(h.Name, source.err)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", h.Name, err)
	}
	of := [sha256.Size]byte(hash.Sum(nil))
	r.sums = append(r.sums, memberSum{Name: h.Name, Bytes: h.Size, SHA256: hex.EncodeToString(of[:])})
	if r.published.owner(h.Name) != nil {
		r.publishedSums[h.Name] = of
	}
	return nil
}

// readErrorTracker remembers an error of reading, to tell damage of the archive from a failure to write.
type readErrorTracker struct {
	r   io.Reader
	err error
}

// Read reads and remembers any error but io.EOF.
func (r *readErrorTracker) Read(p []byte) (int, error) {
	n, err := r.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		r.err = err
	}
	return n, err
}

// makeDir creates a directory, and remembers it and its parents for finish to sync.
func (r *restore) makeDir(dir string) error {
	if r.dirs[dir] {
		return nil
	}
	if err := r.fs.MkdirAll(dir); err != nil {
		return fmt.Errorf("make directory %s: %w", dir, err)
	}
	for ; !r.dirs[dir]; dir = path.Dir(dir) {
		r.dirs[dir] = true
	}
	return nil
}

// checkManifest reads the manifest, which must be the last member, and compares every checksum.
func (r *restore) checkManifest(h *tar.Header) error {
	if h.Size > maxManifest {
		return &DamagedError{Detail: "its manifest is too large"}
	}
	data, err := io.ReadAll(r.tar)
	if err != nil {
		return damaged(manifestName, err)
	}
	m, err := decodeManifest(data)
	if err != nil {
		return err
	}
	for i, s := range r.sums {
		if i >= len(m.Members) || m.Members[i] != s {
			return &DamagedError{Detail: s.Name + " is not what its manifest says"}
		}
	}
	if len(m.Members) != len(r.sums) {
		return &DamagedError{Detail: m.Members[len(r.sums)].Name + " is missing"}
	}
	if _, err := r.tar.Next(); !errors.Is(err, io.EOF) {
		return &DamagedError{Detail: "something follows its manifest"}
	}
	if _, err := io.Copy(io.Discard, r.zip); err != nil { // reads the checksum at the end of the compressed stream
		return damaged("its last bytes", err)
	}
	r.info.Digest = m.Digest
	return nil
}

// finish begins the new epoch and makes everything durable, directories from the deepest up.
func (r *restore) finish(o Options) error {
	if err := r.claim(); err != nil {
		return err
	}
	if err := r.makeDir("journal"); err != nil {
		return err
	}
	epoch, err := journal.StartEpoch(r.fs, r.head.Store, o.EpochSuffix, r.head.LSN, o.Now)
	if err != nil {
		return err
	}
	for _, dir := range slices.Backward(slices.Sorted(maps.Keys(r.dirs))) {
		if err := r.fs.SyncDir(dir); err != nil {
			return fmt.Errorf("sync directory %s: %w", dir, err)
		}
	}
	if err := removeRestoringFile(r.fs); err != nil { // the commit point
		return err
	}
	r.info.Epoch = epoch
	return nil
}

// claim makes the restored published files replaceable. Otherwise they would count as edited by somebody else.
func (r *restore) claim() error {
	for _, kind := range r.published {
		own := maps.Clone(r.publishedSums)
		maps.DeleteFunc(own, func(name string, _ [sha256.Size]byte) bool { return !kind.Owns(name) })
		if err := kind.Claim(r.fs, own); err != nil {
			return err
		}
	}
	return nil
}

// removeRestoringFile commits a restore, or ends one that was cleaned up. Durable on return.
func removeRestoringFile(fsys durable.FS) error {
	if err := fsys.Remove(store.RestoringFile); err != nil {
		return err
	}
	return fsys.SyncDir(".")
}

// clearUnfinished removes everything that an unfinished restore created, except store.RestoringFile.
func clearUnfinished(fsys durable.FS, layout Layout) error {
	if _, err := durable.CleanTemp(fsys, "."); err != nil {
		return err
	}
	entries, err := fsys.ReadDir(".")
	if err != nil {
		return err
	}
	for _, e := range entries {
		if layout.createdByRestore(e.Name()) {
			if err := removeAll(fsys, e.Name(), e.IsDir()); err != nil {
				return err
			}
		}
	}
	return fsys.SyncDir(".")
}

// removeAll removes a file, or a directory with everything in it.
func removeAll(fsys durable.FS, name string, isDir bool) error {
	if isDir {
		entries, err := fsys.ReadDir(name)
		if err != nil {
			return err
		}
		for _, e := range entries {
			if err := removeAll(fsys, path.Join(name, e.Name()), e.IsDir()); err != nil {
				return err
			}
		}
	}
	return fsys.Remove(name)
}
