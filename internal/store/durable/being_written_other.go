//go:build !linux

package durable

// BeingWritten cannot tell on this system. It only fails for a name that does not exist.
func (d dir) BeingWritten(name string) (bool, error) {
	_, err := d.root.Lstat(name)
	return false, err
}

// Unshared cannot tell either.
func (d dir) Unshared(name string) (bool, error) { return d.BeingWritten(name) }
