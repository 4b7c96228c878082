package publish_test

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/memsidecar/memsidecar/internal/publish"
	"github.com/memsidecar/memsidecar/internal/store/durable"
)

// watched is an FS that calls before ahead of every call that concerns it, with what the call is, so that somebody
// else can act between any two of them. It can be one that cannot exchange names, has no links, or cannot tell who
// is writing.
type watched struct {
	durable.FS
	before                        func(call string)
	noExchange, noLinks, noLeases bool
}

func (w *watched) call(parts ...string) {
	if before := w.before; before != nil {
		w.before = nil // what it does is nobody's business
		before(strings.Join(parts, " "))
		w.before = before
	}
}

func (w *watched) OpenFile(name string, flag int, perm fs.FileMode) (durable.File, error) {
	w.call("open", name)
	f, err := w.FS.OpenFile(name, flag, perm)
	if err != nil {
		return nil, err
	}
	return watchedFile{f, w, name}, nil
}

func (w *watched) Rename(a, b string) error { w.call("rename", a, b); return w.FS.Rename(a, b) }

func (w *watched) Exchange(a, b string) error {
	w.call("exchange", a, b)
	if w.noExchange {
		return &os.LinkError{Op: "exchange", Old: a, New: b, Err: errors.ErrUnsupported}
	}
	return w.FS.Exchange(a, b)
}

func (w *watched) Link(a, b string) error {
	w.call("link", a, b)
	if w.noLinks {
		return &os.LinkError{Op: "link", Old: a, New: b, Err: errors.ErrUnsupported}
	}
	return w.FS.Link(a, b)
}

func (w *watched) BeingWritten(name string) (bool, error) {
	w.call("lease", name)
	writing, err := w.FS.BeingWritten(name)
	return writing && !w.noLeases, err
}

func (w *watched) Remove(name string) error  { w.call("remove", name); return w.FS.Remove(name) }
func (w *watched) SyncDir(name string) error { w.call("syncdir", name); return w.FS.SyncDir(name) }

func (w *watched) Lstat(name string) (fs.FileInfo, error) {
	w.call("lstat", name)
	return w.FS.Lstat(name)
}

type watchedFile struct {
	durable.File
	fsys *watched
	name string
}

func (f watchedFile) Read(p []byte) (int, error) { f.fsys.call("read", f.name); return f.File.Read(p) }
func (f watchedFile) Write(p []byte) (int, error) {
	f.fsys.call("write", f.name)
	return f.File.Write(p)
}
func (f watchedFile) Sync() error  { f.fsys.call("sync", f.name); return f.File.Sync() }
func (f watchedFile) Close() error { f.fsys.call("close", f.name); return f.File.Close() }

// unsynced is an FS that syncs nothing, for what is not about crashes: it is much faster.
type unsynced struct{ durable.FS }

func (unsynced) SyncDir(string) error { return nil }

func (u unsynced) OpenFile(name string, flag int, perm fs.FileMode) (durable.File, error) {
	f, err := u.FS.OpenFile(name, flag, perm)
	if err != nil {
		return nil, err
	}
	return unsyncedFile{f}, nil
}

type unsyncedFile struct{ durable.File }

func (unsyncedFile) Sync() error { return nil }

// editors are the ways in which programs write a file. They sync what they write, so that a crash has no excuse.
var editors = map[string]func(fsys durable.FS, name, text string) error{
	"in place": func(fsys durable.FS, name, text string) error {
		return writeTo(fsys, name, os.O_WRONLY, func(f durable.File) error {
			_, err := f.WriteAt([]byte(text), 0)
			return errors.Join(err, f.Truncate(int64(len(text))))
		})
	},
	"truncating": func(fsys durable.FS, name, text string) error {
		return writeTo(fsys, name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, func(f durable.File) error {
			_, err := f.Write([]byte(text))
			return err
		})
	},
	"by rename": func(fsys durable.FS, name, text string) error {
		err := writeTo(fsys, name+".swp", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, func(f durable.File) error {
			_, err := f.Write([]byte(text))
			return err
		})
		return errors.Join(err, fsys.Rename(name+".swp", name), fsys.SyncDir(path.Dir(name)))
	},
	"anew": func(fsys durable.FS, name, text string) error {
		if err := fsys.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return writeTo(fsys, name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, func(f durable.File) error {
			_, err := f.Write([]byte(text))
			return err
		})
	},
}

func writeTo(fsys durable.FS, name string, flag int, write func(durable.File) error) error {
	f, err := fsys.OpenFile(name, flag, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(write(f), f.Sync(), f.Close(), fsys.SyncDir(path.Dir(name)))
}

// safe reports whether text is under name, or in quarantine/ with a record that is open and says so.
func safe(t testing.TB, fsys durable.FS, name, text string) bool {
	t.Helper()
	if content(fsys, name) == text {
		return true
	}
	return slices.ContainsFunc(edits(t, fsys), func(e publish.Edit) bool {
		return e.File == name && e.Hash == hash(text) && e.Kind == publish.Pending && e.Resolved == "" && !e.InPlace && content(fsys, e.Copy) == text
	})
}

// tidy fails when something of a publication is left lying about.
func tidy(t testing.TB, fsys durable.FS) {
	t.Helper()
	for _, dir := range []string{".", "logs", "index", "quarantine"} {
		entries, err := fsys.ReadDir(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		for _, e := range entries {
			if strings.Contains(e.Name(), ".tmp-") || strings.Contains(e.Name(), ".next") {
				t.Errorf("left behind: %s/%s", dir, e.Name())
			}
		}
	}
}
