package install

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// WriteProgram writes a program in one step, in a directory for the user alone. One that is there and the same is left
// as it is.
func WriteProgram(path, program string) error {
	if old, err := os.ReadFile(path); err == nil && string(old) == program {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("make the directory of %s: %w", filepath.Base(path), err)
	}
	if err := writeFile(path, []byte(program), 0o700); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// RemoveProgram removes a program and its directory, if that is empty then.
func RemoveProgram(path string) error {
	err := os.Remove(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("remove %s: %w", path, err)
	}
	_ = os.Remove(filepath.Dir(path)) // others may have put something there
	return nil
}
