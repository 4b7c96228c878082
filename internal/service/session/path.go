package session

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/memsidecar/memsidecar/internal/memory"
)

// Path is a resolved path of a session.
type Path struct {
	Full     string // absolute and clean; symbolic links are not resolved
	Relative string // relative to the run directory, "" if outside
	Outside  bool   // outside the run directory, directly or through a symbolic link
}

// ResolvePath resolves a path in a session: relative paths are below the run directory, "~/" is the user's home. The
// file need not exist. Unless outside is set, a path out of the run directory is rejected, whether it is absolute,
// contains ".." or follows a symbolic link.
//
// Errors: *memory.InvalidError, memory.ErrNotFound.
func (s *Service) ResolvePath(space, id, path string, outside bool) (Path, error) {
	var c memory.Check
	checkSession(&c, &space, id, true)
	if c.Text("path", path, maxPath, true); strings.ContainsRune(path, 0) {
		c.Add("path", "INVALID_PATH", "must not hold a NUL")
	}
	if err := c.Err(); err != nil {
		return Path{}, err
	}
	header, err := s.Get(space, id)
	if err != nil {
		return Path{}, err
	}
	dir := header.Cwd
	if rest, ok := strings.CutPrefix(path, "~"); ok && (rest == "" || rest[0] == '/') {
		if home, err := os.UserHomeDir(); err == nil {
			path = filepath.Join(home, rest)
		}
	}
	if !filepath.IsAbs(path) && !filepath.IsAbs(dir) {
		c.Add("path", "NO_RUN_DIRECTORY", "is relative, but the session has no run directory; start it with cwd, or "+
			"set one")
		return Path{}, c.Err()
	}
	out := Path{Full: absolute(dir, path)}
	relative, within := relativeTo(dir, out.Full)
	if within {
		// Compared twice: as written, and with links resolved, since either may lead out.
		_, within = relativeTo(resolveLinks(dir), resolveLinks(out.Full))
	}
	if out.Outside = !within; within {
		out.Relative = relative
	} else if !outside {
		c.Add("path", "OUTSIDE", "is outside the session's run directory")
	}
	return out, c.Err()
}

// relativeTo returns path relative to dir, "." for dir itself; ok is false if it is not below dir.
func relativeTo(dir, path string) (relative string, ok bool) {
	if !filepath.IsAbs(dir) {
		return "", false
	}
	relative, err := filepath.Rel(dir, path)
	return relative, err == nil && filepath.IsLocal(relative)
}

// resolveLinks resolves the symbolic links of a path as far as it exists. A dangling link counts as its target.
func resolveLinks(path string) string {
	const most = 64 // maximum number of dangling links in a chain
	rest := ""
	for at, links := filepath.Clean(path), 0; ; {
		if found, err := filepath.EvalSymlinks(at); err == nil {
			return filepath.Join(found, rest)
		}
		if to, err := os.Readlink(at); err == nil && links < most {
			if links++; !filepath.IsAbs(to) {
				to = filepath.Join(filepath.Dir(at), to)
			}
			at = filepath.Clean(to)
			continue
		}
		if at == filepath.Dir(at) {
			return filepath.Join(at, rest)
		}
		rest = filepath.Join(filepath.Base(at), rest)
		at = filepath.Dir(at)
	}
}
