package publish

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"path"
	"slices"
	"time"

	"github.com/memsidecar/memsidecar/internal/durable"
)

// Known is what was last published under a name.
type Known struct {
	Hash     string    `json:"hash"` // SHA-256, hexadecimal
	Size     int64     `json:"size"`
	ModTime  time.Time `json:"mtime,omitzero"`
	Revision int64     `json:"revision"`
	// Previous is the hash from before. The ledger is written before the file: after a crash either may be there.
	Previous string `json:"previous,omitempty"`
}

type ledgerFile struct {
	Version int              `json:"version"`
	Files   map[string]Known `json:"files"`
}

// NewFiles returns Files that remember in ledger, a file below index/. It is read at the first use.
func NewFiles(fsys durable.FS, ledger string, now func() time.Time, logger *slog.Logger) *Files {
	return &Files{fsys: fsys, ledger: ledger, now: now, logger: logger}
}

// loadLocked reads the ledger once. One that is missing or damaged is an empty one.
func (f *Files) loadLocked() error {
	if f.known != nil {
		return nil
	}
	data, err := durable.ReadFile(f.fsys, f.ledger)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read what was published: %w", err)
	}
	var l ledgerFile
	if err == nil {
		if err := json.Unmarshal(data, &l); err != nil || l.Version != 1 {
			f.logger.Warn("it is not known any more what was published; present files will be kept aside", "file", f.ledger)
			l.Files = nil
		}
	}
	if f.known = l.Files; f.known == nil {
		f.known = map[string]Known{}
	}
	return nil
}

// Revision returns the revision of the state that the file name holds: 0 when there is no such file or a crash kept
// it from being replaced. A file that somebody else changed still counts as what was published last.
func (f *Files) Revision(name string) (int64, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.loadLocked(); err != nil {
		return 0, err
	}
	k, ok := f.known[name]
	if !ok {
		return 0, nil
	}
	p, err := f.inspect(name, "")
	switch {
	case errors.Is(err, ErrNotRegular):
		return 0, nil // publishing will say so
	case err != nil:
		return 0, err
	case !p.exists || p.hash != k.Hash && p.hash == k.Previous:
		return 0, nil
	}
	return k.Revision, nil
}

// Names lists the names that are remembered, sorted.
func (f *Files) Names() ([]string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.loadLocked(); err != nil {
		return nil, err
	}
	return slices.Sorted(maps.Keys(f.known)), nil
}

// Claim notes contents, by file name, in a ledger at revision 0: they were taken into the store and may be replaced. It is for the
// time before the Files of that ledger are used. Durable on return.
func Claim(fsys durable.FS, ledger string, contents map[string][sha256.Size]byte) error {
	f := NewFiles(fsys, ledger, nil, slog.New(slog.DiscardHandler))
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.loadLocked(); err != nil {
		return err
	}
	for name, sum := range contents {
		f.known[name] = Known{Hash: hex.EncodeToString(sum[:])}
	}
	return f.saveLocked()
}

func (f *Files) saveLocked() error {
	if err := makeDir(f.fsys, path.Dir(f.ledger)); err != nil {
		return err
	}
	data, err := json.Marshal(ledgerFile{Version: 1, Files: f.known})
	if err != nil {
		return fmt.Errorf("encode what was published: %w", err)
	}
	return durable.WriteFile(f.fsys, f.ledger, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

// noteLocked makes the ledger know new contents before they can be seen.
func (f *Files) noteLocked(noted map[string]Known) error {
	before := maps.Clone(f.known)
	maps.Copy(f.known, noted)
	if err := f.saveLocked(); err != nil {
		f.known = before
		return fmt.Errorf("note what is published: %w", err)
	}
	return nil
}
