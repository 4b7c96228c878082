package durable

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"syscall"
)

// Exchange opens both directories inside the root and gives only the last elements to the kernel, whose call knows no
// root.
func (d dir) Exchange(a, b string) error {
	if err := d.exchange(a, b); err != nil {
		return &os.LinkError{Op: "exchange", Old: a, New: b, Err: err}
	}
	return nil
}

// exchange is Exchange without the error's context.
func (d dir) exchange(a, b string) error {
	inA, err := d.parent(a)
	if err != nil {
		return err
	}
	defer inA.Close()
	inB, err := d.parent(b)
	if err != nil {
		return err
	}
	defer inB.Close()
	err = exchangeAt(inA, path.Base(a), inB, path.Base(b))
	if errors.Is(err, syscall.EINVAL) { // what a file system says that has no exchange
		return fmt.Errorf("%w: %w", errors.ErrUnsupported, err)
	}
	return err
}

// parent opens the directory that holds name.
func (d dir) parent(name string) (*os.File, error) {
	if base := path.Base(name); name == "" || base == "." || base == ".." || base == "/" {
		return nil, syscall.EBUSY
	}
	f, err := d.root.OpenFile(path.Dir(path.Clean(name)), os.O_RDONLY|oDirectory, 0)
	if of := (*fs.PathError)(nil); errors.As(err, &of) {
		err = of.Err // Exchange names what it was about
	}
	return f, err
}
