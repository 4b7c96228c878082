package dailylog

import (
	"crypto/sha256"
	"io"
	"time"

	"github.com/memsidecar/memsidecar/internal/publish"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/durable"
)

// BackupFiles puts the daily logs, and the indexes of archived ones, into backups. It implements backup.PublishedFiles.
type BackupFiles struct{}

// Owns reports whether name is the path of a daily log or of an index, of whatever space.
func (BackupFiles) Owns(name string) bool {
	_, _, ok := parsePath(name)
	return ok
}

// Each calls add with every daily log of a space as of the view, and with the index of archived logs if there are any.
func (BackupFiles) Each(
	_ durable.FS,
	view *store.ReadView,
	space string,
	_ time.Time,
	add func(name string, encode func(io.Writer) error) error,
) error {
	v := view.Space(space)
	for _, d := range v.Days() {
		err := add(Path(space, d.Date), func(w io.Writer) error {
			day, entries, err := v.Log(d.Date)
			if err != nil {
				return err
			}
			return Encode(w, &File{Day: *day, Entries: entries})
		})
		if err != nil {
			return err
		}
	}
	logs := v.Archived()
	if len(logs) == 0 {
		return nil
	}
	return add(ArchivePath(space), func(w io.Writer) error {
		return EncodeArchive(w, &Archive{Logs: logs, Revision: v.ArchiveRevision()})
	})
}

// Claim records restored files, by their SHA-256, as published by memsidecar, so that they may be replaced.
// Durable on return.
func (BackupFiles) Claim(fsys durable.FS, sums map[string][sha256.Size]byte) error {
	return publish.Claim(fsys, Manifest, sums)
}
