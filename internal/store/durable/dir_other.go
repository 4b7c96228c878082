//go:build !linux

package durable

import "os"

const oDirectory = 0

func datasync(f *os.File) error { return f.Sync() }

func allocate(f *os.File, size int64) error { return writeZeros(f, size) }
