package importers

import (
	"archive/zip"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

const (
	maxFiles = 50_000   // files of a directory or an archive
	maxText  = 8 << 20  // bytes of a Markdown file, which is read whole
	maxItem  = 32 << 20 // bytes of one item of a JSON file; a longer one is passed over
	maxTotal = 8 << 30  // bytes of one file, unpacked
)

// tree is the files of a directory or an archive, or one file.
type tree struct {
	fs.FS
	name    string // of the whole, for people
	files   []file // by name
	skipped []unreadFile
	closers []io.Closer
}

// file is one file of a tree.
type file struct {
	name string // with slashes
	mod  time.Time
}

// base returns the last element of the name.
func (f file) base() string { return path.Base(f.name) }

// ext is the suffix in lower case, with its dot.
func (f file) ext() string { return strings.ToLower(path.Ext(f.name)) }

// unreadFile is a file that was not read, with the reason.
type unreadFile struct{ name, why string }

// openTree opens a directory, a zip archive or a single file. Links inside are not followed.
func openTree(name string) (*tree, error) {
	real, err := filepath.EvalSymlinks(name)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(real)
	if err != nil {
		return nil, err
	}
	switch {
	case info.IsDir():
		return openDir(real)
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is neither a file nor a directory", name)
	}
	if isZip(real) {
		z, err := zip.OpenReader(real)
		if err != nil {
			return nil, fmt.Errorf("%s is a damaged zip archive: %w", name, err)
		}
		t := &tree{FS: z, name: filepath.Base(real), closers: []io.Closer{z}}
		if err := t.list(); err != nil {
			return nil, errors.Join(err, t.Close())
		}
		return t, nil
	}
	root, err := os.OpenRoot(filepath.Dir(real))
	if err != nil {
		return nil, err
	}
	return &tree{FS: root.FS(), name: filepath.Base(real), files: []file{{filepath.Base(real), info.ModTime()}},
		closers: []io.Closer{root}}, nil
}

// openDir opens a directory so that no link leads out of it.
func openDir(name string) (*tree, error) {
	root, err := os.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	t := &tree{FS: root.FS(), name: filepath.Base(name), closers: []io.Closer{root}}
	if err := t.list(); err != nil {
		return nil, errors.Join(err, t.Close())
	}
	return t, nil
}

// Close closes what is behind the tree.
func (t *tree) Close() error {
	var errs []error
	for _, c := range t.closers {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}

// isZip reports whether the file begins with the signature of a zip archive.
func isZip(name string) bool {
	f, err := os.Open(name)
	if err != nil {
		return false
	}
	defer f.Close()
	var magic [4]byte
	_, err = io.ReadFull(f, magic[:])
	return err == nil && bytes.Equal(magic[:], []byte("PK\x03\x04"))
}

// list finds the files. Hidden ones and what archivers and package managers add are nobody's memories.
func (t *tree) list() error {
	err := fs.WalkDir(t, ".", func(name string, d fs.DirEntry, err error) error {
		base := path.Base(name)
		hidden := name != "." && (strings.HasPrefix(base, ".") || base == "__MACOSX" || base == "node_modules")
		switch {
		case err != nil && name == ".":
			return err
		case err != nil:
			t.skipped = append(t.skipped, unreadFile{name, "cannot be read"})
			return fs.SkipDir
		case d.IsDir() && hidden:
			return fs.SkipDir
		case d.IsDir() || hidden || !d.Type().IsRegular() && d.Type()&fs.ModeSymlink == 0:
			return nil
		case len(t.files) == maxFiles:
			t.skipped = append(t.skipped, unreadFile{name,
				fmt.Sprintf("comes after %d other files; neither it nor those behind it were read", maxFiles)})
			return fs.SkipAll
		}
		info, err := fs.Stat(t, name)
		switch {
		case err != nil:
			t.skipped = append(t.skipped, unreadFile{name, "leads out of the directory, or cannot be read"})
		case info.IsDir():
			t.skipped = append(t.skipped, unreadFile{name, "is a link to a directory, which was not followed"})
		case info.Mode().IsRegular():
			t.files = append(t.files, file{name, info.ModTime()})
		}
		return nil
	})
	slices.SortFunc(t.files, func(a, b file) int { return cmp.Compare(a.name, b.name) })
	return err
}

// find returns the files that match.
func (t *tree) find(match func(file) bool) []file {
	var found []file
	for _, f := range t.files {
		if match(f) {
			found = append(found, f)
		}
	}
	return found
}

// named returns the files with a base name, whatever their letter case and directory.
func (t *tree) named(base string) []file {
	return t.find(func(f file) bool { return strings.EqualFold(f.base(), base) })
}

// markdown returns the Markdown files.
func (t *tree) markdown() []file {
	return t.find(func(f file) bool { return f.ext() == ".md" || f.ext() == ".markdown" })
}

// text reads a file whole.
func (t *tree) text(f file) ([]byte, error) {
	h, err := t.Open(f.name)
	if err != nil {
		return nil, err
	}
	defer h.Close()
	data, err := io.ReadAll(io.LimitReader(h, maxText+1))
	if err == nil && len(data) > maxText {
		return nil, fmt.Errorf("has more than %d bytes", maxText)
	}
	return data, err
}

// head reads the beginning of a file, nil when it cannot be read.
func (t *tree) head(f file, n int64) []byte {
	h, err := t.Open(f.name)
	if err != nil {
		return nil
	}
	defer h.Close()
	data, _ := io.ReadAll(io.LimitReader(h, n))
	return data
}
