package durable

import (
	"os"

	"golang.org/x/sys/unix"
)

// exchangeAt swaps two names in one step (renameat2).
func exchangeAt(inA *os.File, a string, inB *os.File, b string) error {
	return withDescriptors(inA, inB, func(fdA, fdB int) error {
		return unix.Renameat2(fdA, a, fdB, b, unix.RENAME_EXCHANGE)
	})
}
