package jsonstore

import (
	"crypto/sha256"
	"io"
	"time"

	"github.com/memsidecar/memsidecar/internal/publish"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/durable"
)

// BackupFiles puts the memory.json of every space into backups. It implements backup.PublishedFiles.
type BackupFiles struct{}

// Owns reports whether name is the path of a memory.json, of whatever space.
func (BackupFiles) Owns(name string) bool {
	_, ok := spaceOf(name)
	return ok
}

// Each calls add with the memory.json of a space as of the view, unless nothing was ever written to the space. Fields
// that memsidecar does not know are read from the present file.
func (BackupFiles) Each(
	fsys durable.FS,
	view *store.ReadView,
	space string,
	at time.Time,
	add func(name string, encode func(io.Writer) error) error,
) error {
	v := view.Space(space)
	if v.Revision() == 0 {
		return nil
	}
	extra, err := UnknownFields(fsys, space)
	if err != nil {
		return err
	}
	return add(Path(space), func(w io.Writer) error { return Encode(w, FileOf(v, at, extra)) })
}

// Claim records restored files, by their SHA-256, as published by memsidecar, so that they may be replaced.
// Durable on return.
func (BackupFiles) Claim(fsys durable.FS, sums map[string][sha256.Size]byte) error {
	return publish.Claim(fsys, manifest, sums)
}
