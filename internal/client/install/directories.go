package install

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
)

// directoriesFile remembers which directories were made, so that uninstalling takes exactly those away again.
const directoriesFile = "install-directories.json"

// madeDirs reads the list of directories. One that is lost or damaged only leaves empty directories behind.
func madeDirs(state string) (out []string) {
	text, err := os.ReadFile(filepath.Join(state, directoriesFile))
	if err == nil {
		_ = json.Unmarshal(text, &out)
	}
	return out
}

// keepDirs writes the list, or removes the file when nothing is left of it.
func keepDirs(state string, dirs []string) error {
	path := filepath.Join(state, directoriesFile)
	if len(dirs) == 0 {
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		return nil
	}
	text, err := json.MarshalIndent(dirs, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(state, 0o700); err != nil {
		return err
	}
	return writeFile(path, append(text, '\n'), 0o600)
}

// makeDirs makes a directory with its parents and remembers those that were not there. They are remembered first: one
// that is remembered and was never made does no harm.
func makeDirs(state, dir string) error {
	var missing []string
	for d := dir; !exists(d); d = filepath.Dir(d) {
		missing = append(missing, d)
	}
	if len(missing) > 0 && state != "" {
		if err := keepDirs(state, slices.Compact(slices.Sorted(slices.Values(append(madeDirs(state), missing...))))); err != nil {
			return err
		}
	}
	return os.MkdirAll(dir, 0o755)
}

// removeDirs removes a directory and its parents as far as they were made by makeDirs and are empty.
func removeDirs(state, dir string) error {
	made := madeDirs(state)
	left := slices.Clone(made)
	for slices.Contains(made, dir) && os.Remove(dir) == nil {
		left = slices.DeleteFunc(left, func(d string) bool { return d == dir })
		dir = filepath.Dir(dir)
	}
	if len(left) == len(made) {
		return nil
	}
	return keepDirs(state, left)
}
