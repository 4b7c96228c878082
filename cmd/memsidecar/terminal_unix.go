//go:build unix

package main

import (
	"os"

	"golang.org/x/sys/unix"
)

// terminalWidth is how many columns a terminal has; an error for anything else.
func terminalWidth(f *os.File) (int, error) {
	size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0, err
	}
	return int(size.Col), nil
}

// isTerminal reports whether a file is a terminal.
func isTerminal(f *os.File) bool {
	_, err := terminalWidth(f)
	return err == nil
}
