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

	"github.com/memsidecar/memsidecar/internal/dailylog"
	"github.com/memsidecar/memsidecar/internal/durable"
	"github.com/memsidecar/memsidecar/internal/jsonstore"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/store"
)

// Source is a store that can be backed up, and the directory it is in. All fields are required.
type Source struct {
	Store *store.Store
	FS    durable.FS
	Now   func() time.Time
}

// Write writes an archive of everything durable now. Writes go on meanwhile; old files are kept until it returns. It needs no memory that grows with the
// store, but for lists of what is in it. After an error what was written is not a backup.
func (s *Source) Write(ctx context.Context, w io.Writer) (Info, error) {
	if err := s.Store.FlushTouches(ctx); err != nil && !errors.Is(err, memory.ErrReadOnly) && !errors.Is(err, memory.ErrDiskFull) {
		return Info{}, fmt.Errorf("back up: %w", err)
	}
	view, files, err := s.Store.Pin(ctx)
	if err != nil {
		return Info{}, fmt.Errorf("back up: %w", err)
	}
	defer view.Close()
	a := &archive{ctx: ctx, fs: s.FS, view: view, files: files, at: s.Now().UTC().Truncate(time.Second)}
	if err := a.list(); err != nil {
		return Info{}, fmt.Errorf("back up: %w", err)
	}
	info, err := a.write(w)
	if err != nil {
		return Info{}, fmt.Errorf("back up: %w", err)
	}
	return info, nil
}

// archive is one that is being written.
type archive struct {
	ctx     context.Context
	fs      durable.FS
	view    *store.View
	files   *store.Files
	at      time.Time
	members []member

	tar  *tar.Writer
	sums []sum
}

// member is a file of the archive. write must write exactly size bytes.
type member struct {
	name  string
	size  int64
	write func(io.Writer) error
}

// list says what the archive will hold, in order. The lengths must be known before.
func (a *archive) list() error {
	for _, space := range a.view.Spaces() {
		if err := a.published(space); err != nil {
			return fmt.Errorf("space %s: %w", space, err)
		}
	}
	if len(a.files.Manifest) > 0 {
		a.bytes(snapshotFile, a.files.Manifest)
	}
	for _, name := range a.files.Snapshot {
		if err := a.file(name); err != nil {
			return err
		}
	}
	for _, segment := range a.files.Journal {
		a.part(segment.Name, segment.Bytes)
	}
	entries, err := a.fs.ReadDir("quarantine")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("list quarantine: %w", err)
	}
	for _, e := range entries {
		if name := "quarantine/" + e.Name(); e.Type().IsRegular() && wellNamed(name) && !strings.Contains(name, ".tmp-") {
			if err := a.file(name); err != nil {
				return err
			}
		}
	}
	if _, err := a.fs.Lstat(pausedName); err == nil {
		return a.file(pausedName)
	}
	return nil
}

// published adds the files that people read, as they are at the archive's position.
func (a *archive) published(space string) error {
	v := a.view.Space(space)
	if v.Revision() > 0 {
		extra, err := jsonstore.UnknownFields(a.fs, space)
		if err != nil {
			return err
		}
		err = a.made(jsonstore.Path(space), func(w io.Writer) error { return jsonstore.Encode(w, jsonstore.FileOf(v, a.at, extra)) })
		if err != nil {
			return err
		}
	}
	for _, d := range v.Days() {
		err := a.made(dailylog.Path(space, d.Date), func(w io.Writer) error {
			day, entries, err := v.Log(d.Date)
			if err != nil {
				return err
			}
			return dailylog.Encode(w, &dailylog.File{Day: *day, Entries: entries})
		})
		if err != nil {
			return err
		}
	}
	logs := v.Archived()
	if len(logs) == 0 {
		return nil
	}
	return a.made(dailylog.ArchivePath(space), func(w io.Writer) error {
		return dailylog.EncodeArchive(w, &dailylog.Archive{Logs: logs, Revision: v.ArchiveRevision()})
	})
}

// made adds a member that is written twice, the first time only to learn its length.
func (a *archive) made(name string, write func(io.Writer) error) error {
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

type counter int64

func (n *counter) Write(p []byte) (int, error) { *n += counter(len(p)); return len(p), nil }

func (a *archive) bytes(name string, data []byte) {
	a.members = append(a.members, member{name, int64(len(data)), func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	}})
}

// file adds a file at its present length.
func (a *archive) file(name string) error {
	info, err := a.fs.Lstat(name)
	if err != nil {
		return fmt.Errorf("look at %s: %w", name, err)
	}
	a.part(name, info.Size())
	return nil
}

// part adds the first bytes of a file.
func (a *archive) part(name string, size int64) {
	a.members = append(a.members, member{name, size, func(w io.Writer) error {
		f, err := a.fs.OpenFile(name, os.O_RDONLY, 0)
		if err != nil {
			return err
		}
		defer f.Close()
		n, err := io.Copy(w, io.NewSectionReader(f, 0, size))
		if err == nil && n < size {
			err = fmt.Errorf("it became shorter: %w", io.ErrUnexpectedEOF)
		}
		return err
	}})
}

func (a *archive) write(w io.Writer) (Info, error) {
	h := header{Kind: kind, Version: Version, Store: a.view.Origin, Epoch: a.view.Epoch, LSN: a.view.LSN, At: a.at, Members: len(a.members)}
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
	if err := a.add(headerName, append(first, '\n')); err != nil {
		return Info{}, err
	}
	for _, m := range a.members {
		if err := a.member(m); err != nil {
			return Info{}, fmt.Errorf("%s: %w", m.name, err)
		}
	}
	digest, err := a.view.Digest()
	if err != nil {
		return Info{}, err
	}
	last, err := manifest{Digest: digest, Members: a.sums}.encode()
	if err == nil {
		err = a.add(manifestName, last)
	}
	if err = errors.Join(err, a.tar.Close(), zip.Close()); err != nil {
		return Info{}, err
	}
	info := h.info()
	info.Digest = digest
	return info, nil
}

func (a *archive) add(name string, data []byte) error {
	return a.member(member{name, int64(len(data)), func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	}})
}

func (a *archive) member(m member) error {
	if err := a.tar.WriteHeader(&tar.Header{Name: m.name, Size: m.size, Mode: 0o600, ModTime: a.at, Format: tar.FormatPAX}); err != nil {
		return err
	}
	hash := sha256.New()
	if err := m.write(ctxWriter{a.ctx, io.MultiWriter(a.tar, hash)}); err != nil {
		return err
	}
	a.sums = append(a.sums, sum{Name: m.name, Bytes: m.size, SHA256: hex.EncodeToString(hash.Sum(nil))})
	return nil
}

// ctxWriter fails once its context has ended.
type ctxWriter struct {
	ctx context.Context
	w   io.Writer
}

func (c ctxWriter) Write(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.w.Write(p)
}
