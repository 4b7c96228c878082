package recall

import (
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// toward lists names in the root of a project and in each directory from there to dir, nearest last; in the root alone when dir is not in it.
func toward(root, dir string, names []string) []string {
	out := slices.Clone(names)
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	below, err := filepath.Rel(root, dir)
	if err != nil || !filepath.IsLocal(below) || below == "." {
		return out
	}
	at := ""
	for part := range strings.SplitSeq(filepath.ToSlash(below), "/") {
		at = path.Join(at, part)
		for _, name := range names {
			out = append(out, path.Join(at, name))
		}
	}
	return out
}
