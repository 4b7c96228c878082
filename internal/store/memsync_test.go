package store_test

import (
	"io/fs"

	"github.com/memsidecar/memsidecar/internal/store/durable"
)

// memSync is a file system whose files are not synced, to build a large journal quickly.
type memSync struct{ durable.FS }

func (m memSync) OpenFile(name string, flag int, perm fs.FileMode) (durable.File, error) {
	f, err := m.FS.OpenFile(name, flag, perm)
	return noSync{f}, err
}

type noSync struct{ durable.File }

func (noSync) Datasync() error { return nil }
