package llm

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
)

// maxKeyBytes is above the length of any real key.
const maxKeyBytes = 8 << 10

// KeyFromEnv reads the key from an environment variable. An unset or empty variable is an error.
func KeyFromEnv(env func(string) string, name string) func() (string, error) {
	return func() (string, error) {
		key, err := validateKey(env(name))
		if err != nil {
			return "", fmt.Errorf("the environment variable %s %w", name, err)
		}
		return key, nil
	}
}

// KeyFromFile reads the key from a regular file with mode 0600 or stricter. Surrounding white space is removed.
func KeyFromFile(path string) func() (string, error) {
	return func() (string, error) {
		key, err := readKey(path)
		if err != nil {
			return "", fmt.Errorf("the key file %s %w", path, err)
		}
		return key, nil
	}
}

// readKey reads and validates a key file. The error continues "the key file PATH".
func readKey(path string) (string, error) {
	// Without O_NONBLOCK, opening a named pipe would block.
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		if pe, ok := errors.AsType[*os.PathError](err); ok {
			err = pe.Err
		}
		return "", fmt.Errorf("cannot be opened: %w", err)
	}
	defer f.Close()
	// Stat of the open file, not of the path: the path could be replaced in between.
	info, err := f.Stat()
	if err != nil {
		return "", fmt.Errorf("cannot be examined: %w", err)
	}
	if !info.Mode().IsRegular() {
		return "", errors.New("is not a regular file")
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		return "", fmt.Errorf("has mode %04o, so other users can read or change the key; run chmod 600 on it", mode)
	}
	data, err := io.ReadAll(io.LimitReader(f, maxKeyBytes+1))
	if err != nil {
		return "", fmt.Errorf("cannot be read: %w", err)
	}
	return validateKey(string(data))
}

// validateKey trims a key and checks that it is one printable ASCII token, fit for an HTTP header. The error does not
// quote the key.
func validateKey(s string) (string, error) {
	s = strings.TrimSpace(s)
	switch {
	case s == "":
		return "", errors.New("is empty")
	case len(s) > maxKeyBytes:
		return "", errors.New("is too long to be a key")
	case strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' }):
		return "", errors.New("must contain one line of printable ASCII characters without spaces")
	}
	return s, nil
}
