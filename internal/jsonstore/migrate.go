package jsonstore

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"

	"github.com/memsidecar/memsidecar/internal/durable"
)

// adopting exists from before the first operation of an adoption until all of it is durable and the files of the oldest layout have their
// new names.
const adopting = "adopting"

// Migrated is a file of the oldest layout that was taken over, and the name it has since.
type Migrated struct {
	From string `json:"from"`
	To   string `json:"to"`
}

// markFile is what stands in adopting. Renames are there once everything is in the store: all that is left to do is to give those names.
type markFile struct {
	Note    string     `json:"note"`
	Renames []Migrated `json:"renames,omitempty"`
}

// mark writes adopting.
func (a *adoption) mark(renames []Migrated) error {
	data, err := json.Marshal(markFile{Note: "An adoption is under way. memsidecar goes on with it at the next start.", Renames: renames})
	if err != nil {
		return err
	}
	return durable.WriteFile(a.fsys, adopting, func(w io.Writer) error {
		_, err := w.Write(append(data, '\n'))
		return err
	})
}

// readMark returns the renames that an adoption did not come to. None means that it has to be done from the start, or never began.
func readMark(fsys durable.FS) ([]Migrated, error) {
	data, err := durable.ReadFile(fsys, adopting)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("go on with the adoption: %w", err)
	}
	var m markFile
	if json.Unmarshal(data, &m) != nil {
		return nil, nil // taking everything again does no harm
	}
	return m.Renames, nil
}

// migratedName returns a name for a file that was taken over, which no file has.
func (a *adoption) migratedName(name string) (string, error) {
	to := name + migratedSuffix
	for n := 2; ; n++ {
		if _, err := a.fsys.Lstat(to); errors.Is(err, fs.ErrNotExist) {
			return to, nil
		} else if err != nil {
			return "", fmt.Errorf("look at %s: %w", to, err)
		}
		to = fmt.Sprintf("%s%s.%d", name, migratedSuffix, n)
	}
}

// rename gives the files of the oldest layout their new names and ends the adoption. It may be called again after a crash.
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
	return a.finish()
}
