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

	"github.com/memsidecar/memsidecar/internal/durable"
	"github.com/memsidecar/memsidecar/internal/journal"
	"github.com/memsidecar/memsidecar/internal/memory"
)

// intentFile exists while a purge is under way. It holds what is being erased, so it is the last of it to go.
const intentFile = "purge.json"

const intentVersion = 1

// intent is a purge as the next start needs it to finish it. It is one line with a CRC.
type intent struct {
	Version  int              `json:"version"`
	Op       int64            `json:"op"` // the LSN that its record has, or is to get
	At       time.Time        `json:"at"`
	Space    string           `json:"space"`
	Reason   string           `json:"reason"`
	IDs      []string         `json:"ids,omitempty"`
	Texts    []string         `json:"texts,omitempty"`
	Entries  []entryRef       `json:"entries,omitempty"`
	Sessions []string         `json:"sessions,omitempty"` // whose messages go
	Purge    journal.Purge    `json:"purge"`
	Changes  []journal.Change `json:"changes"` // of the record
}

// readIntent returns nil when there is none.
func readIntent(fsys durable.FS) (*intent, error) {
	raw, err := durable.ReadFile(fsys, intentFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", intentFile, err)
	}
	in := new(intent)
	if line := bytes.TrimSuffix(raw, []byte("\n")); !durable.LineGood(line) || json.Unmarshal(line, in) != nil {
		return nil, fmt.Errorf("%s is damaged: it says which purge is to be finished; remove the file and purge again: %w", intentFile, memory.ErrCorrupt)
	}
	if in.Version > intentVersion {
		return nil, fmt.Errorf("%s has format %d, this memsidecar knows %d: %w", intentFile, in.Version, intentVersion, memory.ErrNewerVersion)
	}
	return in, nil
}

// writeIntent makes an intent durable: the commit point of a purge. unknown is set when nobody knows whether it is.
func writeIntent(fsys durable.FS, in *intent) (unknown bool, err error) {
	line, err := durable.AppendLine(nil, in)
	if err != nil {
		return false, err
	}
	temp := intentFile + ".tmp-" + rand.Text() // named so that durable.CleanTemp finds it
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
			return false, errors.Join(err, fmt.Errorf("%s is left and holds what was to be erased: %w", temp, removeErr))
		}
		return false, err
	}
	if err = fsys.Rename(temp, intentFile); err == nil {
		err = fsys.SyncDir(".")
	}
	return err != nil, err
}

// removeIntent ends a purge.
func removeIntent(fsys durable.FS) error {
	if err := fsys.Remove(intentFile); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return fsys.SyncDir(".")
}
