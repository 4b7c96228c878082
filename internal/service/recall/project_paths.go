package recall

import (
	"path"
	"path/filepath"
	"strings"
)

// pathsToward returns the paths of names in root and in each directory from root down to dir, one list a directory,
// nearest to dir last. If dir is not below root, it returns those in root only. Paths are relative to root and use
// slashes.
func pathsToward(root, dir string, names []string) [][]string {
	out := [][]string{names}
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
		var here []string
		for _, name := range names {
			here = append(here, path.Join(at, name))
		}
		out = append(out, here)
	}
	return out
}

// eachAlone returns one list a name: no file stands for another.
func eachAlone(names []string) (out [][]string) {
	for _, name := range names {
		out = append(out, []string{name})
	}
	return out
}
