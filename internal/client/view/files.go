package view

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"
	"time"

	"github.com/memsidecar/memsidecar/internal/store/durable"
)

// fileState is a file as it was when the pass began.
type fileState struct {
	data    []byte
	hash    string // "" when it is not there
	mod     time.Time
	writing bool // somebody has it open for writing
}

// exists reports whether the file was there.
func (f fileState) exists() bool { return f.hash != "" }

// errBusy says that a file changed since it was looked at: the next pass looks again.
var errBusy = errors.New("is being changed by another program at this moment")

// scan reads the Markdown files of the directory and of those directories inside it that the layout uses.
//
// blocked are those that stand there and cannot be read as files, and why: they are not missing.
func scan(fsys durable.FS, dirs []string) (files map[string]fileState, blocked map[string]string, err error) {
	files, blocked = map[string]fileState{}, map[string]string{}
	for _, dir := range dirs {
		entries, err := fsys.ReadDir(dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, nil, fmt.Errorf("look at the view: %w", err)
		}
		for _, e := range entries {
			name := path.Join(dir, e.Name())
			// Editors keep their swap files under hidden names.
			if !strings.HasSuffix(e.Name(), ".md") || strings.HasPrefix(e.Name(), ".") {
				continue
			}
			f, err := readFile(fsys, name)
			switch {
			case errors.Is(err, fs.ErrPermission), errors.Is(err, errNotFile):
				blocked[name] = err.Error()
			case err != nil:
				return nil, nil, err
			case f.exists():
				files[name] = f
			}
		}
	}
	return files, blocked, nil
}

// errNotFile says that something stands under a name that is no file of the view.
var errNotFile = errors.New("is not a regular file of at most 32 MiB")

// maxFile is the largest file that is read: larger ones are none of ours.
const maxFile = 32 << 20

// readFile returns the present state of a file. Errors: errNotFile and those of the file system.
func readFile(fsys durable.FS, name string) (fileState, error) {
	info, err := fsys.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return fileState{}, nil
	}
	if err == nil && (!info.Mode().IsRegular() || info.Size() > maxFile) {
		return fileState{}, errNotFile
	}
	if err != nil {
		return fileState{}, fmt.Errorf("look at %s: %w", name, err)
	}
	// Asked before the file is read: a writer that starts later changes the hash, which the next pass sees.
	writing, err := fsys.BeingWritten(name)
	if err == nil {
		var data []byte
		if data, err = durable.ReadFile(fsys, name); err == nil {
			return fileState{data: data, hash: hashOf(data), mod: info.ModTime(), writing: writing}, nil
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		return fileState{}, nil
	}
	return fileState{}, fmt.Errorf("read %s: %w", name, err)
}

// replaceFile makes data the content of name, which must be as old says. There is no moment without a whole file, and
// what somebody else puts there at this moment stays: errBusy then. The bytes are durable on return; the name is once
// the directory was synced.
func replaceFile(fsys durable.FS, name string, old fileState, data []byte) error {
	temp, err := durable.WriteTemp(fsys, name, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
	if err != nil {
		return err
	}
	defer func() { _ = fsys.Remove(temp) }() // what is under it by then is known
	if !old.exists() {
		if err := fsys.Link(temp, name); !errors.Is(err, fs.ErrExist) && !errors.Is(err, errors.ErrUnsupported) &&
			!errors.Is(err, fs.ErrPermission) {
			return err
		}
		if _, err := fsys.Lstat(name); !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s %w", name, errBusy)
		}
		return fsys.Rename(temp, name) // a file system without links
	}
	now, err := readFile(fsys, name)
	if err != nil {
		return err
	}
	if now.hash != old.hash || now.writing {
		return fmt.Errorf("%s %w", name, errBusy)
	}
	err = fsys.Exchange(temp, name)
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		return fsys.Rename(temp, name)
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s %w", name, errBusy)
	case err != nil:
		return fmt.Errorf("replace %s: %w", name, err)
	}
	return restoreDisplaced(fsys, temp, name, old.hash, hashOf(data))
}

// restoreDisplaced looks at what came out from under name, and puts it back when somebody wrote it in the last moment.
func restoreDisplaced(fsys durable.FS, temp, name, expected, ours string) error {
	out, err := readFile(fsys, temp)
	if err != nil || out.hash == expected && !out.writing {
		return err
	}
	if err := fsys.Exchange(temp, name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("give back %s: %w", name, err)
	}
	// An edit made in between must not be lost either.
	if out, err = readFile(fsys, temp); err == nil && out.exists() && out.hash != ours {
		if _, err := keepCopy(fsys, name, out.data); err != nil {
			return err
		}
	}
	return errors.Join(err, fmt.Errorf("%s %w", name, errBusy))
}

// removeFile removes name, which must be as old says.
func removeFile(fsys durable.FS, name string, old fileState) error {
	temp := path.Join(Dir, "out-"+rand.Text())
	if err := fsys.Rename(name, temp); errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return fmt.Errorf("remove %s: %w", name, err)
	}
	out, err := readFile(fsys, temp)
	if err != nil {
		return err
	}
	if out.hash != old.hash || out.writing {
		if err := fsys.Link(temp, name); err != nil { // somebody made another file meanwhile, or there are no links
			if _, keepErr := keepCopy(fsys, name, out.data); keepErr != nil {
				return errors.Join(err, keepErr)
			}
		}
		return errors.Join(fsys.Remove(temp), fmt.Errorf("%s %w", name, errBusy))
	}
	return fsys.Remove(temp)
}

// keepCopy puts a copy of data aside and returns its name. What is kept already is not kept again.
func keepCopy(fsys durable.FS, name string, data []byte) (string, error) {
	base, ext := strings.ReplaceAll(name, "/", "_"), path.Ext(name)
	dest := path.Join(keptDir, strings.TrimSuffix(base, ext)+"-"+hashOf(data)[:12]+ext)
	if _, err := fsys.Lstat(dest); err == nil {
		return dest, nil
	}
	if err := fsys.MkdirAll(keptDir); err != nil {
		return "", fmt.Errorf("keep %s aside: %w", name, err)
	}
	err := durable.WriteFile(fsys, dest, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
	if err != nil {
		return "", fmt.Errorf("keep %s aside: %w", name, err)
	}
	return dest, nil
}

// cleanUp removes what a crash left under the names of put and takeAway. What the view did not write itself is kept.
func cleanUp(fsys durable.FS, dirs []string, ours func(hash string) bool) error {
	for _, dir := range append([]string{Dir}, dirs...) {
		entries, err := fsys.ReadDir(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("look at the view: %w", err)
		}
		for _, e := range entries {
			swapped, _, isTemp := strings.Cut(e.Name(), ".md.tmp-")
			isTemp = isTemp && e.Type().IsRegular()
			if !isTemp && (dir != Dir || !strings.HasPrefix(e.Name(), "out-")) {
				continue
			}
			name := path.Join(dir, e.Name())
			f, err := readFile(fsys, name)
			if err != nil {
				return err
			}
			// A text of a person may have been swapped out just before the crash; it is kept and not removed.
			if len(f.data) > 0 && !ours(f.hash) {
				if _, err := keepCopy(fsys, swapped+".md", f.data); err != nil {
					return err
				}
			}
			if err := fsys.Remove(name); err != nil {
				return fmt.Errorf("remove %s: %w", name, err)
			}
		}
	}
	for _, dir := range []string{Dir, keptDir} {
		if _, err := durable.CleanTemp(fsys, dir); err != nil {
			return err
		}
	}
	return nil
}
