//go:build unix

package main

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/memsidecar/memsidecar/internal/daemon/userdirs"
	"github.com/memsidecar/memsidecar/internal/rpc/unixsock/socketpath"
)

// socketOf is the socket of the daemon that a command is for, as far as arguments and environment tell. A configuration
// file may tell something else: the daemon that is found then refuses the command. "" is none.
func socketOf(args []string) string {
	if address := option(args, "--socket", "MEMSIDECAR_SOCKET"); address != "" {
		path, err := socketpath.Of(address)
		if err != nil {
			return ""
		}
		path, _ = filepath.Abs(path)
		return path
	}
	data := option(args, "--data", "MEMSIDECAR_DATA")
	if data == "" {
		path, err := socketpath.Default(os.Getenv)
		if err != nil {
			return ""
		}
		return path
	}
	path, err := userdirs.Socket(data, os.Getenv)
	if err != nil {
		return ""
	}
	return path
}

// option is the value of the last flag of a name, else of an environment variable.
func option(args []string, flag, variable string) string {
	value := os.Getenv(variable)
	for i, arg := range args {
		if v, ok := strings.CutPrefix(arg, flag+"="); ok {
			value = v
		} else if arg == flag && i+1 < len(args) {
			value = args[i+1]
		}
	}
	return value
}
