package store

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/store/durable"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

// purgeIntentFile exists while a purge runs. It holds the text that is erased, so it is the last file that is removed.
const purgeIntentFile = "purge.json"

// purgeIntentVersion is the version of its format; a higher one is refused.
const purgeIntentVersion = 1

// purgeIntent is what the next start needs to finish a purge. The file is one line with a CRC-32C.
type purgeIntent struct {
	Version  int              `json:"version"`
	Op       int64            `json:"op"` // the LSN that its record has, or is to get
	At       time.Time        `json:"at"`
	Space    string           `json:"space"`
	Reason   string           `json:"reason"`
	IDs      []string         `json:"ids,omitempty"`
	Texts    []string         `json:"texts,omitempty"`
	Entries  []entryRef       `json:"entries,omitempty"`
	Sessions []string         `json:"sessions,omitempty"` // whose messages go
	Received bool             `json:"received,omitempty"`
	Only     bool             `json:"only,omitempty"`
	Purge    journal.Purge    `json:"purge"`
	Changes  []journal.Change `json:"changes"` // of the record
}

// readPurgeIntent returns nil when no purge is unfinished. Errors: memory.ErrCorrupt, memory.ErrNewerVersion.
func readPurgeIntent(fsys durable.FS) (*purgeIntent, error) {
	raw, err := durable.ReadFile(fsys, purgeIntentFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", purgeIntentFile, err)
	}
	in := new(purgeIntent)
	if line := bytes.TrimSuffix(raw, []byte("\n")); !durable.ValidLine(line) || json.Unmarshal(line, in) != nil {
		return nil, fmt.Errorf("%s is damaged: it says which purge is to be finished; remove the file and purge "+
			"again: %w", purgeIntentFile, memory.ErrCorrupt)
	}
	if in.Version > purgeIntentVersion {
		return nil, fmt.Errorf("%s has format %d, this memsidecar knows %d: %w", purgeIntentFile, in.Version,
			purgeIntentVersion,
			memory.ErrNewerVersion)
	}
	if err := durable.DecodeLine(bytes.TrimSuffix(raw, []byte("\n")), in); err != nil {
		return nil, fmt.Errorf("%s: %w", purgeIntentFile, err)
	}
	return in, nil
}

// writePurgeIntent makes an intent durable. Its directory sync is the commit point of a purge. unknown is true when an
// error leaves open whether the intent is durable.
func writePurgeIntent(fsys durable.FS, in *purgeIntent) (unknown bool, err error) {
	line, err := durable.AppendLine(nil, in)
	if err != nil {
		return false, err
	}
	temp := purgeIntentFile + ".tmp-" + rand.Text() // named so that durable.CleanTemp finds it
	f, err := fsys.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err == nil {
		_, err = f.Write(line)
		if err == nil {
			err = f.Sync()
		}
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		if removeErr := fsys.Remove(temp); removeErr != nil && !errors.Is(removeErr, fs.ErrNotExist) {
			return false, errors.Join(err,
				fmt.Errorf("%s is left and holds what was to be erased: %w", temp, removeErr))
		}
		return false, err
	}
	if err = fsys.Rename(temp, purgeIntentFile); err == nil {
		err = fsys.SyncDir(".")
	}
	return err != nil, err
}

// removePurgeIntent ends a purge. Durable on return.
func removePurgeIntent(fsys durable.FS) error {
	if err := fsys.Remove(purgeIntentFile); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return fsys.SyncDir(".")
}
