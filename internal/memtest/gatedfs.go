package memtest

import (
	"io/fs"

	"github.com/memsidecar/memsidecar/internal/store/durable"
)

// GatedFS is a file system whose syncs of file contents block until Gate is closed, unless Gate is nil. Tests use
// it to act while a commit is in flight.
type GatedFS struct {
	durable.FS
	Gate chan struct{}
}

// OpenFile opens a file whose syncs wait.
func (g *GatedFS) OpenFile(name string, flag int, perm fs.FileMode) (durable.File, error) {
	f, err := g.FS.OpenFile(name, flag, perm)
	return gatedFile{f, g}, err
}

// gatedFile is a file whose syncs block.
type gatedFile struct {
	durable.File
	fs *GatedFS
}

// Datasync blocks, then syncs the data.
func (f gatedFile) Datasync() error {
	f.fs.wait()
	return f.File.Datasync()
}

// Sync blocks, then syncs data and metadata.
func (f gatedFile) Sync() error {
	f.fs.wait()
	return f.File.Sync()
}

// wait blocks until the gate is open.
func (g *GatedFS) wait() {
	if g.Gate != nil {
		<-g.Gate
	}
}
