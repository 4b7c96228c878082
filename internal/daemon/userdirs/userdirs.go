// Package userdirs finds the directories and the socket of a user's daemon, from environment variables alone. Daemon
// and clients agree on them here.
package userdirs

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"

	"github.com/memsidecar/memsidecar/internal/rpc/unixsock/socketpath"
)

// Data is the data directory used when none is named.
func Data(env func(string) string) (string, error) {
	return userDir(env, "XDG_DATA_HOME", ".local/share")
}

// State is the directory for what belongs to the machine rather than to the memories: the log of a daemon that
// runs in the background, and the mark that it was stopped on purpose.
func State(env func(string) string) (string, error) {
	return userDir(env, "XDG_STATE_HOME", ".local/state")
}

// ConfigFile is the configuration file that is read, when it exists, if none is named.
func ConfigFile(env func(string) string) (string, error) {
	dir, err := userDir(env, "XDG_CONFIG_HOME", ".config")
	return filepath.Join(dir, "config.yaml"), err
}

// userDir ignores a relative path in the variable, as the XDG specification demands.
func userDir(env func(string) string, variable, fallback string) (string, error) {
	if dir := env(variable); filepath.IsAbs(dir) {
		return filepath.Join(dir, "memsidecar"), nil
	}
	home := env("HOME")
	if !filepath.IsAbs(home) {
		return "", fmt.Errorf("cannot find your directories: neither HOME nor %s is set to an absolute path", variable)
	}
	return filepath.Join(home, fallback, "memsidecar"), nil
}

// Socket is the path of the socket that belongs to a data directory, the same for the daemon and its clients: the
// default one for the default directory, and one named after a hash of the path for any other, so that several
// daemons can run side by side. A directory is the same whatever symbolic links lead to it.
func Socket(data string, env func(string) string) (string, error) {
	path, err := socketpath.Default(env)
	if err != nil {
		return "", err
	}
	name, err := Instance(data, env)
	if err != nil || name == "" {
		return path, err
	}
	path = filepath.Join(filepath.Dir(path), "memsidecar-"+name+".sock")
	return path, socketpath.Check(path)
}

// Instance names the daemon of a data directory among those of the user: empty for the default directory, else a
// short hash of its path.
func Instance(data string, env func(string) string) (string, error) {
	dir, err := realPath(data)
	if err != nil {
		return "", err
	}
	if def, err := Data(env); err == nil {
		if def, err = realPath(def); err == nil && def == dir {
			return "", nil
		}
	}
	sum := sha256.Sum256([]byte(dir))
	return hex.EncodeToString(sum[:6]), nil
}

// realPath resolves symbolic links in the part of the path that exists.
func realPath(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("data directory: %w", err)
	}
	rest := ""
	for dir := path; ; dir = filepath.Dir(dir) {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			return filepath.Join(real, rest), nil
		}
		if dir == filepath.Dir(dir) {
			return path, nil
		}
		rest = filepath.Join(filepath.Base(dir), rest)
	}
}
