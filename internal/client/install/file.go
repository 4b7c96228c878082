package install

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/memsidecar/memsidecar/internal/client/hook"
)

// File is a configuration of a host with the parts that it holds: some hosts keep hooks and MCP servers in one file.
type File struct {
	Path    string
	Targets []*Target

	state string
}

// Files returns the files of a host in a scope. A part for which the host has no such file is left out.
func Files(h *hook.Host, scope Scope, env Env, program string, args []string) []*File {
	var out []*File
	for _, part := range Parts() {
		t, err := NewTarget(h, part, scope, env, program, args)
		if err != nil {
			continue
		}
		i := slices.IndexFunc(out, func(f *File) bool { return f.Path == t.Path })
		if i < 0 {
			i, out = len(out), append(out, &File{Path: t.Path, state: env.State})
		}
		out[i].Targets = append(out[i].Targets, t)
	}
	return out
}

// Host returns the host whose file it is.
func (f *File) Host() *hook.Host { return f.Targets[0].Host }

// Holds returns those of the parts that the file holds.
func (f *File) Holds(parts []Part) (out []Part) {
	for _, t := range f.Targets {
		if slices.Contains(parts, t.Part) {
			out = append(out, t.Part)
		}
	}
	return out
}

// Change is what an installation does to a file. Nothing is written before Write.
type Change struct {
	*File

	Path          string // behind symbolic links
	Before, After []byte // nil is no file
}

// Same reports whether there is nothing to do.
func (c *Change) Same() bool {
	return (c.Before == nil) == (c.After == nil) && bytes.Equal(c.Before, c.After)
}

// Install returns the change that registers parts once, in the order of Parts.
func (f *File) Install(parts []Part) (*Change, error) {
	c, err := f.read()
	for _, t := range f.Targets {
		if err == nil && c.Before != nil && t.Host.Name == "gemini" && t.Part == Hooks {
			err = checkCommas(c.Before)
		}
		if err == nil && slices.Contains(parts, t.Part) {
			c.After, err = t.editor.add(t, c.After)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Path, err)
	}
	return c, nil
}

// Uninstall returns the change that takes out what Install put in, last first.
func (f *File) Uninstall(parts []Part) (*Change, error) {
	c, err := f.read()
	for _, t := range slices.Backward(f.Targets) {
		if err == nil && c.After != nil && slices.Contains(parts, t.Part) {
			c.After, err = t.editor.remove(t, c.After)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Path, err)
	}
	// A file that was there before, however little it held, comes back as it was: also without a last line's end.
	if old, err := os.ReadFile(backupOf(c.Path)); err == nil && !c.Same() &&
		(c.After == nil || bytes.Equal(bytes.TrimRight(old, "\r\n"), bytes.TrimRight(c.After, "\r\n"))) {
		c.After = old
	}
	return c, nil
}

// read begins a change with the text of the file as it is. Symbolic links are followed.
func (f *File) read() (*Change, error) {
	path, err := filepath.EvalSymlinks(f.Path)
	if err != nil {
		path = f.Path
	}
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("read the configuration: %w", err)
	}
	if err == nil && text == nil {
		text = []byte{}
	}
	return &Change{Path: path, Before: text, After: text, File: f}, nil
}

// backupOf returns the path of the copy of the original.
func backupOf(path string) string { return path + ".memsidecar.bak" }

// exists reports whether something has this path, a broken link included.
func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// foreign reports whether a text holds nothing of ours.
func (f *File) foreign(text []byte) bool {
	for _, t := range f.Targets {
		if n, err := t.editor.commands(t, text); err != nil || len(n) > 0 {
			return false
		}
	}
	return true
}

// Write carries out a change. When the file was there before anything of ours was, it is kept as PATH.memsidecar.bak,
// which goes when the file is as it was again. A file that only we made goes with the directories made for it. The
// name of a backup that was written is returned.
func (c *Change) Write() (backup string, err error) {
	if c.Same() {
		return "", nil
	}
	if now, err := os.ReadFile(c.Path); err == nil != (c.Before != nil) || err == nil && !bytes.Equal(now, c.Before) {
		return "", fmt.Errorf("%s was changed meanwhile; try again", c.Path)
	}
	if c.After == nil {
		if err := os.Remove(c.Path); err != nil {
			return "", fmt.Errorf("remove the configuration: %w", err)
		}
		return "", removeDirs(c.state, filepath.Dir(c.Path))
	}
	mode := os.FileMode(0o600)
	if info, err := os.Stat(c.Path); err == nil {
		mode = info.Mode().Perm()
	} else if c.Targets[0].Scope == Project {
		mode = 0o644
	}
	if err := makeDirs(c.state, filepath.Dir(c.Path)); err != nil {
		return "", fmt.Errorf("make the directory of the configuration: %w", err)
	}
	if c.Before != nil && c.foreign(c.Before) {
		backup = backupOf(c.Path)
		if err := writeFile(backup, c.Before, mode); err != nil {
			return "", fmt.Errorf("write the backup: %w", err)
		}
	}
	if err := writeFile(c.Path, c.After, mode); err != nil {
		return backup, fmt.Errorf("write the configuration: %w", err)
	}
	if old, err := os.ReadFile(backupOf(c.Path)); backup == "" && err == nil && bytes.Equal(old, c.After) {
		_ = os.Remove(backupOf(c.Path)) // it says what the file says
	}
	return backup, nil
}
