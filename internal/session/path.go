package session

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/memsidecar/memsidecar/internal/memory"
)

// Path is a file that an agent named.
type Path struct {
	Full     string // absolute and clean; links are left as they are
	Relative string // the same below the run directory, "" when it is outside
	Outside  bool   // of the run directory, in itself or because of a link
}

// ResolvePath says which file a path means in a session: a relative one is below the run directory, one that begins with ~/ below the
// home of the user. The file need not exist. Unless outside is set, a path that leads out of the run directory is refused, be it by
// "..", by itself or by a symbolic link.
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
		c.Add("path", "NO_RUN_DIRECTORY", "is relative, and the session has no run directory; start it with cwd, or set one")
		return Path{}, c.Err()
	}
	out := Path{Full: absolute(dir, path)}
	relative, within := below(dir, out.Full)
	if within {
		_, within = below(real(dir), real(out.Full))
	}
	if out.Outside = !within; within {
		out.Relative = relative
	} else if !outside {
		c.Add("path", "OUTSIDE", "leads out of the run directory of the session")
	}
	return out, c.Err()
}

// below is where path lies below dir, "." for dir itself; ok is false when it does not.
func below(dir, path string) (relative string, ok bool) {
	if !filepath.IsAbs(dir) {
		return "", false
	}
	relative, err := filepath.Rel(dir, path)
	return relative, err == nil && filepath.IsLocal(relative)
}

// real follows the links of a path as far as it exists. A link that leads to nothing counts as leading where it says.
func real(path string) string {
	const most = 64 // links that lead on to others
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
