package jsonstore

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"

	"github.com/memsidecar/memsidecar/internal/store/durable"
)

// markerName is a file that exists from before the first operation of an adoption until everything is durable and
// the files of the first layout have their new names.
const markerName = "adopting"

// Migrated is a file of the first layout that was adopted, with its new name.
type Migrated struct {
	From string `json:"from"`
	To   string `json:"to"`
}

// markerFile is the content of the marker. Renames are listed once everything is in the store: only they are left
// to do.
type markerFile struct {
	Note    string     `json:"note"`
	Renames []Migrated `json:"renames,omitempty"`
}

// writeMarker writes the marker. Durable on return.
func (a *adoption) writeMarker(renames []Migrated) error {
	data, err := json.Marshal(
		markerFile{Note: "An adoption is under way. memsidecar goes on with it at the next start.", Renames: renames},
	)
	if err != nil {
		return err
	}
	return durable.WriteFile(a.fsys, markerName, func(w io.Writer) error {
		_, err := w.Write(append(data, '\n'))
		return err
	})
}

// readMarker returns the renames that an interrupted adoption has left to do. None means that it has to start
// again, or never began.
func readMarker(fsys durable.FS) ([]Migrated, error) {
	data, err := durable.ReadFile(fsys, markerName)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("go on with the adoption: %w", err)
	}
	var m markerFile
	if json.Unmarshal(data, &m) != nil {
		return nil, nil // taking everything again does no harm
	}
	return m.Renames, nil
}

// keepOriginals copies each memory.json that is adopted to memory.json.orig, byte for byte: the publications that
// follow replace the file and then its backup. A copy that is there already stays. Durable on return.
func (a *adoption) keepOriginals(spaces []SpaceFiles) error {
	for _, s := range spaces {
		name := Path(s.Name)
		data, err := durable.ReadFile(a.fsys, name)
		if errors.Is(err, fs.ErrNotExist) {
			continue // only of the first layout
		}
		if err != nil {
			return fmt.Errorf("keep the original of %s: %w", name, err)
		}
		kept, err := durable.ReadFile(a.fsys, name+originalSuffix)
		if err == nil && bytes.Equal(kept, data) {
			continue
		}
		to, err := a.freeName(name, originalSuffix)
		if err != nil {
			return err
		}
		err = durable.WriteFile(a.fsys, to, func(w io.Writer) error {
			_, err := w.Write(data)
			return err
		})
		if err != nil {
			return fmt.Errorf("keep the original of %s: %w", name, err)
		}
	}
	return nil
}

// originalSuffix is appended to the name of the copy of an adopted memory.json.
const originalSuffix = ".orig"

// migratedName returns a free name for a file that was adopted.
func (a *adoption) migratedName(name string) (string, error) { return a.freeName(name, migratedSuffix) }

// freeName returns a name with a suffix that no file has.
func (a *adoption) freeName(name, suffix string) (string, error) {
	to := name + suffix
	for n := 2; ; n++ {
		if _, err := a.fsys.Lstat(to); errors.Is(err, fs.ErrNotExist) {
			return to, nil
		} else if err != nil {
			return "", fmt.Errorf("look at %s: %w", to, err)
		}
		to = fmt.Sprintf("%s%s.%d", name, suffix, n)
	}
}

// rename gives the files of the first layout their new names and ends the adoption. It may be repeated after a
// crash.
func (a *adoption) rename(list []Migrated) error {
	dirs := map[string]bool{}
	for i, m := range list {
		dirs[path.Dir(m.From)] = true
		if _, err := a.fsys.Lstat(m.From); errors.Is(err, fs.ErrNotExist) {
			continue // before the crash
		} else if err != nil {
			return fmt.Errorf("look at %s: %w", m.From, err)
		}
		to, err := a.migratedName(m.From) // another one than planned, if somebody took that name meanwhile
		if err != nil {
			return err
		}
		if err := a.fsys.Rename(m.From, to); err != nil {
			return fmt.Errorf("rename %s: %w", m.From, err)
		}
		list[i].To = to
	}
	for dir := range dirs {
		if err := a.fsys.SyncDir(dir); err != nil {
			return fmt.Errorf("rename the files that were adopted: %w", err)
		}
	}
	return a.removeMarker()
}
