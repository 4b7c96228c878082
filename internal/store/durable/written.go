package durable

import (
	"io/fs"
	"maps"
	"path"
	"strings"
	"sync"
)

// Written counts the bytes that an FS was given to write, by kind of file: what the process handed to write(2). The
// kernel writes whole pages, so the disk may get more. It is safe for concurrent use.
type Written struct {
	mu    sync.Mutex
	bytes map[string]int64 // guarded by mu
}

// CountWritten returns fsys with the counts of what is written through it.
func CountWritten(fsys FS) (FS, *Written) {
	w := &Written{bytes: map[string]int64{}}
	return countingFS{fsys, w}, w
}

// Bytes returns the counts so far: by the directory for files in journal, snapshots, logs and quarantine, by what they
// are for those in index, by the base name for others. Temporary files and backups count for what they stand for.
func (w *Written) Bytes() map[string]int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.bytes)
}

// add counts n bytes of a file of this kind.
func (w *Written) add(kind string, n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.bytes[kind] += int64(n)
}

// kindOf is the kind of the file name. There are few: each becomes a series of a metric.
func kindOf(name string) string {
	name = path.Clean(name)
	if rest, ok := strings.CutPrefix(name, "spaces/"); ok {
		_, name, _ = strings.Cut(rest, "/")
	}
	name, _, _ = strings.Cut(name, tempMark)
	if dir, base, below := strings.Cut(name, "/"); below {
		switch dir {
		case "journal", "snapshots", "logs", "quarantine":
			return dir
		case "index":
			return indexKind(base)
		case "proof":
			return base // high-water.jsonl
		}
		return "other"
	}
	if strings.TrimSuffix(strings.TrimSuffix(name, ".bak"), ".next") == "memory.json" {
		return "memory.json"
	}
	return "other"
}

// indexKind is the kind of a file in index: manifests of publication, keywords or vectors of a space.
func indexKind(base string) string {
	if strings.HasPrefix(base, "published-") {
		return "manifests"
	}
	switch ext := path.Ext(base); ext {
	case ".keyword", ".vectors":
		return ext[1:]
	}
	return "other"
}

// countingFS is an FS whose files count what is written to them.
type countingFS struct {
	FS
	written *Written
}

func (c countingFS) OpenFile(name string, flag int, perm fs.FileMode) (File, error) {
	f, err := c.FS.OpenFile(name, flag, perm)
	if err != nil {
		return nil, err
	}
	return countingFile{f, c.written, kindOf(name)}, nil
}

// countingFile counts what is written to it.
type countingFile struct {
	File
	written *Written
	kind    string
}

func (f countingFile) Write(p []byte) (int, error) {
	n, err := f.File.Write(p)
	f.written.add(f.kind, n)
	return n, err
}

func (f countingFile) WriteAt(p []byte, at int64) (int, error) {
	n, err := f.File.WriteAt(p, at)
	f.written.add(f.kind, n)
	return n, err
}
