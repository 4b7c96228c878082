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

	"github.com/memsidecar/memsidecar/internal/durable"
	"github.com/memsidecar/memsidecar/internal/journal"
	"github.com/memsidecar/memsidecar/internal/jsonstore"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/store"
)

// NotEmptyError names something in a directory that a restore would have to overwrite.
type NotEmptyError struct{ Name string }

func (e *NotEmptyError) Error() string {
	return "the directory is not empty: it holds " + e.Name + "; a restore never overwrites anything"
}

// Is makes errors.Is(err, memory.ErrExists) true.
func (e *NotEmptyError) Is(target error) bool { return target == memory.ErrExists }

// CheckEmpty returns a *NotEmptyError for a directory that a restore must not touch. One with an unfinished restore may be restored again.
func CheckEmpty(fsys durable.FS) error {
	entries, err := fsys.ReadDir(".")
	if err != nil {
		return fmt.Errorf("look into the directory: %w", err)
	}
	unfinished := slices.ContainsFunc(entries, func(e os.DirEntry) bool { return e.Name() == store.RestoringFile })
	for _, e := range entries {
		name := e.Name()
		ours := name == "LOCK" || strings.HasPrefix(name, store.RestoringFile) || unfinished && restored[name]
		if !ours {
			return &NotEmptyError{Name: name}
		}
	}
	return nil
}

// restored is what a restore makes in the data directory.
var restored = map[string]bool{
	"journal": true, "snapshots": true, "quarantine": true, "logs": true, "spaces": true, "index": true, jsonstore.FileName: true, pausedName: true,
}

// Options of a restore. All fields are required.
type Options struct {
	Fresh  string    // random; names the new epoch
	Now    time.Time // when that begins
	Remedy string    // what to do when the restore is cut short, for people
}

// Restore makes a data directory of an archive. fsys must be empty, or hold a restore that was not finished. The caller holds its lock. The restore
// begins another epoch: operations after the restore are not taken for those that the store went on to after the backup. The identity of the store
// stays, and with it what was forgotten stays forgotten.
//
// Durable on return. After an error the directory is empty again; after a crash it is so, or whole, or store.Open refuses it and says o.Remedy.
//
// Errors: *NotEmptyError, *ForeignError, *DamagedError, memory.ErrNewerVersion.
func Restore(ctx context.Context, fsys durable.FS, archive io.Reader, o Options) (info Info, err error) {
	if err := CheckEmpty(fsys); err != nil {
		return Info{}, err
	}
	r := &restore{ctx: ctx, fs: fsys, dirs: map[string]bool{".": true}, claims: map[string][sha256.Size]byte{}}
	if err := r.begin(archive); err != nil { // before anything is changed
		return Info{}, err
	}
	if err := clearUnfinished(fsys); err != nil {
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
		if undo := clearUnfinished(fsys); undo == nil { // else the mark stays, and the directory is refused
			_ = removeMark(fsys)
		}
		return Info{}, fmt.Errorf("restore: %w", err)
	}
	return r.info, nil
}

// restore is one that is under way.
type restore struct {
	ctx    context.Context
	fs     durable.FS
	zip    *gzip.Reader
	tar    *tar.Reader
	head   header
	info   Info
	sums   []sum
	dirs   map[string]bool // that got a name
	claims map[string][sha256.Size]byte
	bytes  int64
}

// begin reads the header.
func (r *restore) begin(archive io.Reader) (err error) {
	if r.zip, err = gzip.NewReader(archive); err != nil {
		return &ForeignError{Detail: "it is not compressed with gzip"}
	}
	r.tar = tar.NewReader(r.zip)
	h, err := r.tar.Next()
	if err != nil || h.Name != headerName || h.Typeflag != tar.TypeReg || h.Size > maxHeader {
		if err != nil && !errors.Is(err, tar.ErrHeader) {
			return &DamagedError{Detail: "its beginning cannot be read: " + err.Error()}
		}
		return &ForeignError{Detail: "it does not begin with " + headerName}
	}
	data, err := io.ReadAll(r.tar)
	if err != nil {
		return damaged(headerName, err)
	}
	if err := json.Unmarshal(data, &r.head); err != nil || r.head.Kind != kind {
		return &ForeignError{Detail: headerName + " is not that of a backup"}
	}
	if r.head.Version > Version {
		return fmt.Errorf("the backup has format %d, this memsidecar knows %d: %w", r.head.Version, Version, memory.ErrNewerVersion)
	}
	if r.head.Members > maxMembers || r.head.LSN < 0 || r.head.Bytes < 0 || !memory.IsSlug(r.head.Store) {
		return &DamagedError{Detail: headerName + " is out of all bounds"}
	}
	of := sha256.Sum256(data)
	r.sums = append(r.sums, sum{Name: headerName, Bytes: int64(len(data)), SHA256: hex.EncodeToString(of[:])})
	r.info = r.head.info()
	return nil
}

func damaged(name string, err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return &DamagedError{Detail: "it ends in the middle of " + name}
	}
	return &DamagedError{Detail: name + " cannot be read: " + err.Error()}
}

// extract writes every member and compares them with the manifest.
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
			return r.check(h)
		}
		if err := r.member(h); err != nil {
			return err
		}
	}
}

func (r *restore) member(h *tar.Header) error {
	r.bytes += h.Size
	switch {
	case h.Typeflag != tar.TypeReg || !wellNamed(h.Name):
		return &DamagedError{Detail: fmt.Sprintf("a member %q does not belong into a backup", h.Name)}
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
	hash := sha256.New()
	source := &reading{r: r.tar}
	_, err = io.CopyBuffer(struct{ io.Writer }{io.MultiWriter(hash, ctxWriter{r.ctx, f})}, source, make([]byte, 256<<10))
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
	r.sums = append(r.sums, sum{Name: h.Name, Bytes: h.Size, SHA256: hex.EncodeToString(of[:])})
	if published(h.Name) {
		r.claims[h.Name] = of
	}
	return nil
}

// reading remembers whether it was reading that failed.
type reading struct {
	r   io.Reader
	err error
}

func (r *reading) Read(p []byte) (int, error) {
	n, err := r.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		r.err = err
	}
	return n, err
}

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

// check reads the manifest, which must be the last member, and compares.
func (r *restore) check(h *tar.Header) error {
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
	if _, err := io.Copy(io.Discard, r.zip); err != nil { // the end of the compressed stream has a checksum too
		return damaged("its last bytes", err)
	}
	r.info.Digest = m.Digest
	return nil
}

// finish begins the new epoch and makes everything durable.
func (r *restore) finish(o Options) error {
	if err := jsonstore.Claim(r.fs, r.claims); err != nil {
		return err
	}
	if err := r.makeDir("journal"); err != nil {
		return err
	}
	epoch, err := journal.Branch(r.fs, r.head.Store, o.Fresh, r.head.LSN, o.Now)
	if err != nil {
		return err
	}
	for _, dir := range slices.Backward(slices.Sorted(maps.Keys(r.dirs))) {
		if err := r.fs.SyncDir(dir); err != nil {
			return fmt.Errorf("sync directory %s: %w", dir, err)
		}
	}
	if err := removeMark(r.fs); err != nil { // the commit point
		return err
	}
	r.info.Epoch = epoch
	return nil
}

func removeMark(fsys durable.FS) error {
	if err := fsys.Remove(store.RestoringFile); err != nil {
		return err
	}
	return fsys.SyncDir(".")
}

// clearUnfinished removes what a restore before left, but not its mark.
func clearUnfinished(fsys durable.FS) error {
	if _, err := durable.CleanTemp(fsys, "."); err != nil {
		return err
	}
	entries, err := fsys.ReadDir(".")
	if err != nil {
		return err
	}
	for _, e := range entries {
		if restored[e.Name()] {
			if err := removeAll(fsys, e.Name(), e.IsDir()); err != nil {
				return err
			}
		}
	}
	return fsys.SyncDir(".")
}

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
