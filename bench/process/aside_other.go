//go:build !linux

package process

// Aside cannot tell processors apart here. Error: ErrOneProcessor.
func Aside(func() error) (restore func() error, err error) { return nil, ErrOneProcessor }
