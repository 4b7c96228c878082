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
	Hash     string    `json:"hash,omitempty"` // SHA-256, hexadecimal
	Size     int64     `json:"size"`
	ModTime  time.Time `json:"mtime,omitzero"`
	Revision int64     `json:"revision"`
	// Claimed is the hash of what somebody else wrote there since, and that is in the store.
	Claimed string `json:"claimed,omitempty"`
	// Pending says that Hash is about to be published, or just was. The ledger is written before the file: after a crash
	// either may be there.
	Pending          bool   `json:"pending,omitempty"`
	Previous         string `json:"previous,omitempty"` // the hash from before, while Pending
	PreviousRevision int64  `json:"previous_revision,omitempty"`
}

// is reports whether hash is that of something that may be replaced.
func (k Known) is(hash string) bool {
	return hash != "" && (hash == k.Hash || hash == k.Claimed || hash == k.Previous)
}

// like reports whether info describes a file of the size and time that was published.
func (k Known) like(info fs.FileInfo) bool {
	return !k.ModTime.IsZero() && k.Size == info.Size() && k.ModTime.Equal(info.ModTime())
}

type ledgerFile struct {
	Version int              `json:"version"`
	Files   map[string]Known `json:"files"`
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
			f.logger.Warn("it is not known any more what was published; present files count as changed", "file", f.ledger)
			l.Files = nil
		}
	}
	edits, err := Edits(f.fsys)
	if err != nil {
		return err
	}
	for _, e := range edits {
		if _, ours := l.Files[e.File]; ours && e.Writing {
			f.writing = append(f.writing, e)
		}
	}
	if f.known = l.Files; f.known == nil {
		f.known = map[string]Known{}
	}
	return nil
}

// Known returns what was published last under name, and whether anything was.
func (f *Files) Known(name string) (k Known, ok bool, err error) {
	err = f.do(func() error {
		if k = f.known[name]; k.Pending {
			// Whether it came to that is for the file to say; when it does not, the older one is the safe answer.
			p, err := f.inspectLocked(name)
			if err != nil && !errors.Is(err, ErrNotRegular) {
				return err
			}
			if p.hash != k.Hash {
				k = Known{Hash: k.Previous, Revision: k.PreviousRevision}
			}
		}
		ok = k.Hash != ""
		return nil
	})
	return k, ok, err
}

// Revision returns the revision of the state that the file name holds: 0 when there is no such file, a crash kept
// it from being replaced, or it was claimed and not replaced yet. A file that somebody else changed still counts as what
// was published last.
func (f *Files) Revision(name string) (revision int64, err error) {
	err = f.do(func() error {
		k, ok := f.known[name]
		if !ok {
			return nil
		}
		p, err := f.inspectLocked(name)
		switch {
		case errors.Is(err, ErrNotRegular):
			return nil // publishing will say so
		case err != nil:
			return err
		case !p.exists || p.hash != k.Hash && k.is(p.hash):
			return nil
		}
		revision = k.Revision
		return nil
	})
	return revision, err
}

// Names lists the names that are remembered, sorted.
func (f *Files) Names() (names []string, err error) {
	err = f.do(func() error {
		names = slices.Sorted(maps.Keys(f.known))
		return nil
	})
	return names, err
}

// Claim says that what somebody wrote into name, bytes with SHA-256 hash, is in the store, or need not be: they may be replaced.
// Durable on return.
func (f *Files) Claim(name, hash string) error {
	return f.do(func() error { return f.claimLocked(name, hash) })
}

func (f *Files) claimLocked(name, hash string) error {
	k := f.known[name]
	if k.is(hash) {
		return nil
	}
	k.Claimed = hash
	return f.noteLocked(map[string]Known{name: k})
}

// Drop forgets name: nothing is published there any more. Durable on return.
func (f *Files) Drop(name string) error {
	return f.do(func() error {
		if _, ok := f.known[name]; !ok {
			return nil
		}
		before := maps.Clone(f.known)
		delete(f.known, name)
		if err := f.saveLocked(); err != nil {
			f.known = before
			return err
		}
		return nil
	})
}

// Claim notes contents, by file name, in a ledger, as the method does. It is for the time before the Files of that ledger are
// used. Durable on return.
func Claim(fsys durable.FS, ledger string, contents map[string][sha256.Size]byte) error {
	f := NewFiles(fsys, ledger, nil, slog.New(slog.DiscardHandler))
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.loadLocked(); err != nil {
		return err
	}
	for name, sum := range contents {
		f.known[name] = Known{Claimed: hex.EncodeToString(sum[:])}
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
	err = durable.WriteFile(f.fsys, f.ledger, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
	if err != nil {
		return fmt.Errorf("note what is published: %w", err)
	}
	return nil
}

// noteLocked remembers more, durably. After an error it remembers what it did.
func (f *Files) noteLocked(noted map[string]Known) error {
	before := maps.Clone(f.known)
	maps.Copy(f.known, noted)
	if err := f.saveLocked(); err != nil {
		f.known = before
		return err
	}
	return nil
}
