package durable

import (
	"os"

	"golang.org/x/sys/unix"
)

// exchangeAt swaps two names in one step (renameatx_np).
func exchangeAt(inA *os.File, a string, inB *os.File, b string) error {
	return withDescriptors(inA, inB, func(fdA, fdB int) error {
		return unix.RenameatxNp(fdA, a, fdB, b, unix.RENAME_SWAP)
	})
}
