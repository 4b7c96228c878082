package llm

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
)

// maxKeyBytes is more than any key has.
const maxKeyBytes = 8 << 10

// KeyFromEnv reads the key from a variable of the environment. A variable that is not set is an error.
func KeyFromEnv(env func(string) string, name string) func() (string, error) {
	return func() (string, error) {
		key, err := cleanKey(env(name))
		if err != nil {
			return "", fmt.Errorf("the environment variable %s %w", name, err)
		}
		return key, nil
	}
}

// KeyFromFile reads the key from a file that nobody but its owner can read or write: mode 0600 or stricter. White space
// around the key is dropped.
func KeyFromFile(path string) func() (string, error) {
	return func() (string, error) {
		key, err := readKey(path)
		if err != nil {
			return "", fmt.Errorf("the key file %s %w", path, err)
		}
		return key, nil
	}
}

func readKey(path string) (string, error) {
	// Without O_NONBLOCK a pipe would be waited for.
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		if pe, ok := errors.AsType[*os.PathError](err); ok {
			err = pe.Err
		}
		return "", fmt.Errorf("cannot be opened: %w", err)
	}
	defer f.Close()
	// What was opened is looked at, not the path: it cannot be changed in between.
	info, err := f.Stat()
	if err != nil {
		return "", fmt.Errorf("cannot be looked at: %w", err)
	}
	if !info.Mode().IsRegular() {
		return "", errors.New("is not a regular file")
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		return "", fmt.Errorf("has mode %04o, so that others can get at the key; run chmod 600 on it", mode)
	}
	data, err := io.ReadAll(io.LimitReader(f, maxKeyBytes+1))
	if err != nil {
		return "", fmt.Errorf("cannot be read: %w", err)
	}
	return cleanKey(string(data))
}

// cleanKey refuses what would not survive as the value of a header. The error must not quote the key.
func cleanKey(s string) (string, error) {
	s = strings.TrimSpace(s)
	switch {
	case s == "":
		return "", errors.New("holds no key")
	case len(s) > maxKeyBytes:
		return "", errors.New("is too long to be a key")
	case strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' }):
		return "", errors.New("holds more than a key: one line of printable ASCII characters without spaces is expected")
	}
	return s, nil
}
