package memtest

import (
	"io/fs"

	"github.com/memsidecar/memsidecar/internal/durable"
)

// GatedFS is a file system whose syncs of file contents wait for Gate to be closed, while it is not nil.
type GatedFS struct {
	durable.FS
	Gate chan struct{}
}

// OpenFile opens a file whose syncs wait.
func (g *GatedFS) OpenFile(name string, flag int, perm fs.FileMode) (durable.File, error) {
	f, err := g.FS.OpenFile(name, flag, perm)
	return gatedFile{f, g}, err
}

type gatedFile struct {
	durable.File
	fs *GatedFS
}

func (f gatedFile) Datasync() error {
	f.fs.wait()
	return f.File.Datasync()
}

func (f gatedFile) Sync() error {
	f.fs.wait()
	return f.File.Sync()
}

func (g *GatedFS) wait() {
	if g.Gate != nil {
		<-g.Gate
	}
}
