package publish

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/memsidecar/memsidecar/internal/store/durable"
)

// ManifestEntry is what was last published under a name.
type ManifestEntry struct {
	Hash     string    `json:"hash,omitempty"` // SHA-256, hexadecimal
	Size     int64     `json:"size"`
	ModTime  time.Time `json:"mtime,omitzero"`
	Revision int64     `json:"revision"`
	// Claimed is the hash of what somebody else wrote there since, and that is in the store.
	Claimed string `json:"claimed,omitempty"`
	// Pending says that Hash is about to be published, or just was. The manifest is written before the file: after a
	// crash either may be there.
	Pending          bool   `json:"pending,omitempty"`
	Previous         string `json:"previous,omitempty"` // the hash from before, while Pending
	PreviousRevision int64  `json:"previous_revision,omitempty"`
}

// matches reports whether a file with this hash may be replaced.
func (k ManifestEntry) matches(hash string) bool {
	return hash != "" && (hash == k.Hash || hash == k.Claimed || hash == k.Previous)
}

// sameStat reports whether info describes a file of the size and time that was published.
func (k ManifestEntry) sameStat(info fs.FileInfo) bool {
	return !k.ModTime.IsZero() && k.Size == info.Size() && k.ModTime.Equal(info.ModTime())
}

// Published returns what was published last under name, and whether anything was.
func (f *Files) Published(name string) (k ManifestEntry, ok bool, err error) {
	err = f.do(func() error {
		if k = f.entries[name]; k.Pending {
			// Whether it came to that is for the file to say; when it does not, the older one is the safe answer.
			p, err := f.inspectLocked(name)
			if err != nil && !errors.Is(err, ErrNotRegular) {
				return err
			}
			if p.hash != k.Hash {
				k = ManifestEntry{Hash: k.Previous, Revision: k.PreviousRevision}
			}
		}
		ok = k.Hash != ""
		return nil
	})
	return k, ok, err
}

// Revision returns the revision of the state that the file name holds. It is 0 when there is no such file, when a
// crash kept it from being replaced, or when it was claimed and not replaced since. A file that somebody else
// changed still counts as what was published.
func (f *Files) Revision(name string) (revision int64, err error) {
	err = f.do(func() error {
		k, ok := f.entries[name]
		if !ok {
			return nil
		}
		p, err := f.inspectLocked(name)
		switch {
		case errors.Is(err, ErrNotRegular):
			return nil // publishing will say so
		case err != nil:
			return err
		case !p.exists || p.hash != k.Hash && k.matches(p.hash):
			return nil
		}
		revision = k.Revision
		return nil
	})
	return revision, err
}

// Names lists the names in the manifest, sorted.
func (f *Files) Names() (names []string, err error) {
	err = f.do(func() error {
		names = slices.Sorted(maps.Keys(f.entries))
		return nil
	})
	return names, err
}

// Claim says that the bytes with SHA-256 hash that somebody wrote into name are in the store, or are not needed:
// they may be replaced. Durable on return.
func (f *Files) Claim(name, hash string) error {
	return f.do(func() error { return f.claimLocked(name, hash) })
}

// claimLocked is Claim with the lock held.
func (f *Files) claimLocked(name, hash string) error {
	k := f.entries[name]
	if k.matches(hash) {
		return nil
	}
	k.Claimed = hash
	return f.recordLocked(manifestChange{name: &k}, synced)
}

// Drop removes name from the manifest: nothing is published there any more. Durable on return.
func (f *Files) Drop(name string) error {
	return f.do(func() error { return f.dropLocked(name) })
}

// dropLocked is Drop with the lock held.
func (f *Files) dropLocked(name string) error {
	if _, ok := f.entries[name]; !ok {
		return nil
	}
	return f.recordLocked(manifestChange{name: nil}, synced)
}

// Claim records contents, by file name, in a manifest, as the method does. It is for the time before the Files of
// that manifest are used. Durable on return.
func Claim(fsys durable.FS, manifest string, contents map[string][sha256.Size]byte) error {
	f := NewFiles(fsys, manifest, nil, slog.New(slog.DiscardHandler))
	change := manifestChange{}
	for name, sum := range contents {
		change[name] = &ManifestEntry{Claimed: hex.EncodeToString(sum[:])}
	}
	return f.do(func() error { return f.recordLocked(change, synced) })
}
