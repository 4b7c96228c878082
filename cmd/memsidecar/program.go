package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// programPath returns the path by which configurations and services call this program. A package manager keeps the
// name on the PATH and replaces what it links to, so that name survives an upgrade; the file that it links to does
// not. In order: the name on the PATH, if it is this program; the name by which it was called; its file.
func programPath() (string, error) {
	self, err := os.Executable() // on Linux with all links resolved
	if err != nil {
		return "", fmt.Errorf("find this program: %w", err)
	}
	for _, name := range []string{"memsidecar", os.Args[0]} {
		path, err := exec.LookPath(name) // a name with a slash is not searched
		if err != nil {
			continue
		}
		if path, err = filepath.Abs(path); err == nil && sameFile(path, self) {
			return path, nil
		}
	}
	return self, nil
}

// sameFile reports whether two paths lead to one file, through links.
func sameFile(a, b string) bool {
	infoA, err := os.Stat(a)
	if err != nil {
		return false
	}
	infoB, err := os.Stat(b)
	return err == nil && os.SameFile(infoA, infoB)
}
