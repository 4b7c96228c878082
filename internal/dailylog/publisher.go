package dailylog

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"iter"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/publish"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

// Manifest is the file that remembers what was published. It may be deleted.
const Manifest = "index/published-logs.json"

// View is the daily logs of one space, as *store.Space shows them.
type View interface {
	Days() []*memory.Day
	Log(date string) (*memory.Day, []*memory.Entry, error)
	Archived() []*memory.Archived
	ArchiveRevision() int64
}

// Config of a Publisher. The index of archived logs is replaced even where OnEdit is set.
type Config = publish.Config[View]

// FromStore returns st as the source of a Publisher.
func FromStore(st *store.Store) publish.Source[View] { return storeSource{st} }

// storeSource narrows the spaces of a store to a View.
type storeSource struct{ *store.Store }

func (s storeSource) Space(name string) View { return s.Store.Space(name) }

// Publisher keeps the files of all daily logs, and the indexes of archived ones, up to date in the background. A key of
// its Status is SPACE/DATE, or SPACE/archive for an index. It is a store.Projection and safe for concurrent use.
//
// A file that somebody else changed is not replaced; see publish.Config.OnEdit. The file of a day that the store has no
// longer is removed, unless somebody else changed it.
type Publisher struct{ *publish.Publisher[View] }

// NewPublisher does no I/O.
func NewPublisher(cfg Config) *Publisher {
	p := &Publisher{}
	p.Publisher = publish.NewPublisher(cfg, publish.Format[View]{
		Name: "logs", Manifest: Manifest, KeyOf: keyOfPath, Files: filesOfSpace, Publish: p.publish, Removes: true,
	})
	return p
}

// key names the file of a day, or of the index, among those of all spaces.
func key(space, date string) string { return space + "/" + date }

// keyOfPath returns the key of the file at a path.
func keyOfPath(name string) (string, bool) {
	space, date, ok := parsePath(name)
	return key(space, date), ok
}

// filesOfSpace yields the file of each day and, if there is one, that of the index.
func filesOfSpace(space string, view View) iter.Seq2[string, int64] {
	return func(yield func(string, int64) bool) {
		for _, d := range view.Days() {
			if !yield(Path(space, d.Date), d.Revision) {
				return
			}
		}
		if len(view.Archived()) > 0 {
			yield(ArchivePath(space), view.ArchiveRevision())
		}
	}
}

// parsePath is the inverse of Path.
func parsePath(name string) (space, date string, ok bool) {
	space = publish.SpaceOf(name)
	if date, ok = DateOf(path.Base(name)); path.Base(name) == ArchiveName {
		date, ok = archive, true
	}
	return space, date, ok && Path(space, date) == name
}

// Apply records which files rec makes out of date. It does no I/O.
func (p *Publisher) Apply(rec *journal.Record) {
	last := "" // a record that appends many entries is mostly about one day
	for i := range rec.Changes {
		date := ""
		switch c := &rec.Changes[i]; {
		case c.Entry != nil:
			date = c.Entry.Date
		case c.Day != nil:
			date = c.Day.Date
		case c.Archive != nil:
			date = archive
		}
		if date != "" && date != last {
			p.Invalidate(key(rec.Space, date))
			last = date
		}
	}
}

// HasState reports whether the store holds what is published as name. A file without it was never adopted.
func (p *Publisher) HasState(name string) bool {
	space, date, ok := parsePath(name)
	if !ok || !slices.Contains(p.Source().Spaces(), space) {
		return false
	}
	view := p.Source().Space(space)
	if date == archive {
		return view.ArchiveRevision() > 0
	}
	return slices.ContainsFunc(view.Days(), func(d *memory.Day) bool { return d.Date == date })
}

// publish writes or removes the file of a key. No change of a log is deferred.
func (p *Publisher) publish(key string, _ bool) (publish.Written, error) {
	space, date, _ := strings.Cut(key, "/")
	if date == archive && memory.IsSlug(space) {
		return p.publishArchive(space)
	}
	if _, err := time.Parse(memory.DateLayout, date); err != nil || !memory.IsSlug(space) {
		return publish.Written{}, fmt.Errorf("%q cannot be a file's name", key)
	}
	name := Path(space, date)
	day, entries, err := p.Source().Space(space).Log(date)
	if errors.Is(err, memory.ErrNotFound) {
		return publish.Written{}, p.Remove(name)
	}
	if err != nil {
		return publish.Written{}, err
	}
	f := &File{Day: *day, Entries: entries}
	return p.Replace(name, day.Revision, false, func(w io.Writer) error { return Encode(w, f) })
}

// publishArchive writes the index of a space's archived logs, and removes it when there are none. The index only
// reports what happened, so an edit of it changes nothing: it is quarantined and replaced, whatever OnEdit says.
func (p *Publisher) publishArchive(space string) (publish.Written, error) {
	view, name, files := p.Source().Space(space), ArchivePath(space), p.Files()
	a := &Archive{Revision: view.ArchiveRevision(), Logs: view.Archived()}
	if len(a.Logs) == 0 {
		return publish.Written{}, files.UnlessEdited(name, nil, func() error { return files.Remove(name) })
	}
	var done publish.Written
	replace := func() (err error) {
		done, err = files.Replace(name, a.Revision, false, func(w io.Writer) error { return EncodeArchive(w, a) })
		return err
	}
	err := files.UnlessEdited(name, nil, func() error {
		err := replace()
		edited, ok := errors.AsType[*publish.EditedError](err)
		if !ok || edited.Hash != a.hash() {
			return err
		}
		// The file is ours: the manifest was lost.
		if err := files.Claim(name, edited.Hash); err != nil {
			return err
		}
		return replace()
	})
	return done, err
}

// hash is the SHA-256 of the encoded index, "" if it cannot be encoded.
func (a *Archive) hash() string {
	sum := sha256.New()
	if EncodeArchive(sum, a) != nil {
		return ""
	}
	return hex.EncodeToString(sum.Sum(nil))
}
