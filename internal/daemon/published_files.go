package daemon

import (
	"github.com/memsidecar/memsidecar/internal/dailylog"
	"github.com/memsidecar/memsidecar/internal/jsonstore"
	"github.com/memsidecar/memsidecar/internal/store/backup"
)

// PublishedFiles is every kind of file that the daemon publishes. Backups hold them for people who open an archive
// without memsidecar.
func PublishedFiles() backup.Layout {
	return backup.Layout{jsonstore.BackupFiles{}, dailylog.BackupFiles{}}
}
