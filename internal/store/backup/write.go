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
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/durable"
)

// Source is a store that can be backed up, and its directory. All fields are required.
type Source struct {
	Store     *store.Store
	FS        durable.FS
	Published Layout
	Now       func() time.Time
}

// Write writes an archive of everything that is durable now. Writes to the store continue; old files are kept until
// Write returns. Memory grows only with the number of files. After an error, what was written is not a backup.
func (s *Source) Write(ctx context.Context, w io.Writer) (Info, error) {
	if err := s.Store.FlushAccesses(ctx); err != nil && !errors.Is(err, memory.ErrReadOnly) &&
		!errors.Is(err, memory.ErrDiskFull) {
		return Info{}, fmt.Errorf("back up: %w", err)
	}
	view, files, err := s.Store.PinFiles(ctx)
	if err != nil {
		return Info{}, fmt.Errorf("back up: %w", err)
	}
	defer view.Close()
	a := &archive{ctx: ctx, fs: s.FS, published: s.Published, view: view, files: files,
		at: s.Now().UTC().Truncate(time.Second)}
	if err := a.listMembers(); err != nil {
		return Info{}, fmt.Errorf("back up: %w", err)
	}
	info, err := a.write(w)
	if err != nil {
		return Info{}, fmt.Errorf("back up: %w", err)
	}
	return info, nil
}

// archive is an archive that is being written.
type archive struct {
	ctx       context.Context
	fs        durable.FS
	published Layout
	view      *store.ReadView
	files     *store.PinnedFiles
	at        time.Time
	members   []member

	tar  *tar.Writer
	sums []memberSum
}

// member is a file of the archive. write must write exactly size bytes.
type member struct {
	name  string
	size  int64
	write func(io.Writer) error
}

// listMembers determines what the archive will hold, in order, with all lengths: tar stores a length before its data.
func (a *archive) listMembers() error {
	for _, space := range a.view.Spaces() {
		for _, kind := range a.published {
			if err := kind.Each(a.fs, a.view, space, a.at, a.addEncoded); err != nil {
				return fmt.Errorf("space %s: %w", space, err)
			}
		}
	}
	if len(a.files.Manifest) > 0 {
		a.addBytes(snapshotFile, a.files.Manifest)
	}
	for _, name := range a.files.Snapshot {
		if err := a.addFile(name); err != nil {
			return err
		}
	}
	for _, segment := range a.files.Journal {
		// The current segment grows while it is read; the archive takes what was durable when the files were
		// pinned.
		a.addPrefix(segment.Name, segment.Bytes)
	}
	entries, err := a.fs.ReadDir("quarantine")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("list quarantine: %w", err)
	}
	for _, e := range entries {
		if name := "quarantine/" + e.Name(); e.Type().IsRegular() && a.published.validMemberName(name) &&
			!strings.Contains(name, ".tmp-") {
			if err := a.addFile(name); err != nil {
				return err
			}
		}
	}
	if _, err := a.fs.Lstat(pausedName); err == nil {
		return a.addFile(pausedName)
	}
	return nil
}

// addEncoded adds a member that is encoded twice, the first time only to learn its length.
func (a *archive) addEncoded(name string, write func(io.Writer) error) error {
	if err := a.ctx.Err(); err != nil {
		return err
	}
	var n counter
	if err := write(&n); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	a.members = append(a.members, member{name, int64(n), write})
	return nil
}

// counter is an io.Writer that only counts bytes.
type counter int64

func (n *counter) Write(p []byte) (int, error) { *n += counter(len(p)); return len(p), nil }

// addBytes adds a member with contents that are in memory.
func (a *archive) addBytes(name string, data []byte) {
	a.members = append(a.members, member{name, int64(len(data)), func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	}})
}

// addFile adds a file at its present length.
func (a *archive) addFile(name string) error {
	info, err := a.fs.Lstat(name)
	if err != nil {
		return fmt.Errorf("read the length of %s: %w", name, err)
	}
	a.addPrefix(name, info.Size())
	return nil
}

// addPrefix adds the first size bytes of a file that may be growing.
func (a *archive) addPrefix(name string, size int64) {
	a.members = append(a.members, member{name, size, func(w io.Writer) error {
		f, err := a.fs.OpenFile(name, os.O_RDONLY, 0)
		if err != nil {
			return err
		}
		defer f.Close()
		n, err := io.Copy(w, io.NewSectionReader(f, 0, size))
		if err == nil && n < size {
			err = fmt.Errorf("the file became shorter during the backup: %w", io.ErrUnexpectedEOF)
		}
		return err
	}})
}

// write writes header, members and manifest.
func (a *archive) write(w io.Writer) (Info, error) {
	h := header{Kind: kind, Version: Version, Minor: Minor, Store: a.view.Origin, Epoch: a.view.Epoch, LSN: a.view.LSN, At: a.at,
		Members: len(a.members)}
	for _, m := range a.members {
		h.Bytes += m.size
	}
	first, err := json.Marshal(h)
	if err != nil {
		return Info{}, err
	}
	zip, err := gzip.NewWriterLevel(w, gzip.BestSpeed)
	if err != nil {
		return Info{}, err
	}
	a.tar = tar.NewWriter(zip)
	if err := a.writeBytes(headerName, append(first, '\n')); err != nil {
		return Info{}, err
	}
	for _, m := range a.members {
		if err := a.writeMember(m); err != nil {
			return Info{}, fmt.Errorf("%s: %w", m.name, err)
		}
	}
	// The digest of the frozen state: a restore replays the archive and must arrive at the same one.
	digest, err := a.view.Digest()
	if err != nil {
		return Info{}, err
	}
	last, err := manifest{Digest: digest, Members: a.sums}.encode()
	if err == nil {
		err = a.writeBytes(manifestName, last)
	}
	if err = errors.Join(err, a.tar.Close(), zip.Close()); err != nil {
		return Info{}, err
	}
	info := h.info()
	info.Digest = digest
	return info, nil
}

// writeBytes writes a member with contents that are in memory.
func (a *archive) writeBytes(name string, data []byte) error {
	return a.writeMember(member{name, int64(len(data)), func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	}})
}

// writeMember writes one member and remembers its checksum for the manifest.
func (a *archive) writeMember(m member) error {
	if err := a.tar.WriteHeader(&tar.Header{Name: m.name, Size: m.size, Mode: 0o600, ModTime: a.at,
		Format: tar.FormatPAX}); err != nil {
		return err
	}
	hash := sha256.New()
	if err := m.write(ctxWriter{a.ctx, io.MultiWriter(a.tar, hash)}); err != nil {
		return err
	}
	a.sums = append(a.sums, memberSum{Name: m.name, Bytes: m.size, SHA256: hex.EncodeToString(hash.Sum(nil))})
	return nil
}

// ctxWriter is a writer that fails once its context is done.
type ctxWriter struct {
	ctx context.Context
	w   io.Writer
}

// Write stops at the first write after the call was cancelled: an archive may take minutes.
func (c ctxWriter) Write(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.w.Write(p)
}
