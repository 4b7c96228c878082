package recall

import (
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// pathsToward returns the paths of names in root and in each directory from root down to dir, nearest to dir last. If
// dir is not below root, it returns those in root only. Paths are relative to root and use slashes.
func pathsToward(root, dir string, names []string) []string {
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
