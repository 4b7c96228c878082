package dailylog

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path"
	"strings"
	"time"

	"github.com/memsidecar/memsidecar/internal/durable"
	"github.com/memsidecar/memsidecar/internal/journal"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/publish"
	"github.com/memsidecar/memsidecar/internal/store"
)

// Ledger is the file that remembers what was published. It may be deleted.
const Ledger = "index/published-logs.json"

// Source is the state that is published. FromStore makes one of a store.
type Source interface {
	Spaces() []string
	Space(name string) View
}

// View is the daily logs of one space, as *store.Space shows them.
type View interface {
	Days() []*memory.Day
	Log(date string) (*memory.Day, []*memory.Entry, error)
	Archived() []*memory.Archived
	ArchiveRevision() int64
}

// FromStore returns st as a Source.
func FromStore(st *store.Store) Source { return storeSource{st} }

type storeSource struct{ *store.Store }

func (s storeSource) Space(name string) View { return s.Store.Space(name) }

// Config of a Publisher. FS, Now and Logger are required, and Source unless Attach gives it.
type Config struct {
	Source Source
	FS     durable.FS
	Now    func() time.Time
	Logger *slog.Logger

	Quiet    time.Duration // how long a day must go unchanged before it is published; 500 ms when 0
	MaxDelay time.Duration // but no longer than this after its first change; 30 s when 0
	Share    float64       // of the time that publishing one day may take; 0.03 when 0. It goes before MaxDelay.

	// Displaced is told of what somebody else wrote into a file and that turned up elsewhere; see publish.Files. It may be nil.
	Displaced func(publish.Edit)
	// Foreign is told the name of a file that is not published because somebody else changed it; it is published again when
	// it is marked (Mark). When nil, such a file is kept aside in quarantine/ and published over; so is the index always.
	Foreign func(name string)
}

// Publisher keeps the files of all daily logs, and the index of those that were archived, up to date, in the background. It is a store.Projection. It is safe for concurrent use.
//
// A file that somebody else changed is not published over; see Config.Foreign. The file of a day that the store does not have any
// more is removed, unless somebody else changed it.
type Publisher struct {
	source    Source
	files     *publish.Files
	foreign   func(name string)
	publisher *publish.Publisher
}

// NewPublisher does no I/O.
func NewPublisher(cfg Config) *Publisher {
	p := &Publisher{source: cfg.Source, files: publish.NewFiles(cfg.FS, Ledger, cfg.Now, cfg.Logger), foreign: cfg.Foreign}
	p.files.Displaced = cfg.Displaced
	p.publisher = publish.New(publish.Config{
		Publish: p.publish, Behind: p.behind, Now: cfg.Now, Logger: cfg.Logger.With("publisher", "logs"),
		Quiet: cfg.Quiet, MaxDelay: cfg.MaxDelay, Share: cfg.Share,
	})
	return p
}

// Attach sets the source, for a publisher that had to be made before the store that it follows. It must come before Run and PublishAll.
func (p *Publisher) Attach(source Source) { p.source = source }

// Apply notes what rec changed. It does no I/O.
func (p *Publisher) Apply(rec *journal.Record) {
	marked := "" // records that append many entries are mostly about one day
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
		if date != "" && date != marked {
			p.publisher.Mark(key(rec.Space, date))
			marked = date
		}
	}
}

// Run publishes what changed until ctx ends, which is no error. It begins with the days whose file is older than the store.
// Failures are logged, once for each kind, and tried again later.
func (p *Publisher) Run(ctx context.Context) error { return p.publisher.Run(ctx) }

// PublishAll publishes everything that is out of date now. Durable on return. Run may be at work at the same time, or not.
func (p *Publisher) PublishAll(ctx context.Context) error { return p.publisher.PublishAll(ctx) }

// Files are those that the publisher writes.
func (p *Publisher) Files() *publish.Files { return p.files }

// Mark says that the file name, of any space and day, is to be written again. It does no I/O. Other names are ignored.
func (p *Publisher) Mark(name string) {
	if space, date, ok := parsePath(name); ok {
		p.publisher.Mark(key(space, date))
	}
}

// Status says how the publication of each day stands that was published or changed since the start, sorted by Key,
// which is SPACE/DATE, or SPACE/archive for the index.
func (p *Publisher) Status() []publish.Status { return p.publisher.Status() }

func key(space, date string) string { return space + "/" + date }

func (p *Publisher) behind() ([]string, error) {
	var keys []string
	var errs []error
	have := map[string]bool{}
	for _, space := range p.source.Spaces() {
		for _, d := range p.source.Space(space).Days() {
			name := Path(space, d.Date)
			have[name] = true
			published, err := p.files.Revision(name)
			errs = append(errs, err)
			if published != d.Revision {
				keys = append(keys, key(space, d.Date))
			}
		}
		if v := p.source.Space(space); len(v.Archived()) > 0 {
			have[ArchivePath(space)] = true
			published, err := p.files.Revision(ArchivePath(space))
			errs = append(errs, err)
			if published != v.ArchiveRevision() {
				keys = append(keys, key(space, archive))
			}
		}
	}
	names, err := p.files.Names()
	errs = append(errs, err)
	for _, name := range names {
		if space, date, ok := parsePath(name); ok && !have[name] {
			keys = append(keys, key(space, date))
		}
	}
	return keys, errors.Join(errs...)
}

// parsePath is the inverse of Path.
func parsePath(name string) (space, date string, ok bool) {
	space = memory.DefaultSpace
	if rest, below := strings.CutPrefix(name, "spaces/"); below {
		space, _, _ = strings.Cut(rest, "/")
	}
	if date, ok = DateOf(path.Base(name)); path.Base(name) == ArchiveName {
		date, ok = archive, true
	}
	return space, date, ok && Path(space, date) == name
}

func (p *Publisher) publish(key string) (publish.Written, error) {
	space, date, _ := strings.Cut(key, "/")
	if date == archive && memory.IsSlug(space) {
		return p.publishArchive(space)
	}
	if _, err := time.Parse(memory.DateLayout, date); err != nil || !memory.IsSlug(space) {
		return publish.Written{}, fmt.Errorf("%q cannot be a file's name", key)
	}
	name := Path(space, date)
	day, entries, err := p.source.Space(space).Log(date)
	if errors.Is(err, memory.ErrNotFound) {
		return publish.Written{}, p.files.Yield(name, p.foreign, func() error { return p.files.Remove(name) })
	}
	if err != nil {
		return publish.Written{}, err
	}
	f := &File{Day: *day, Entries: entries}
	var size int64
	err = p.files.Yield(name, p.foreign, func() error {
		size, err = p.files.Replace(name, day.Revision, false, func(w io.Writer) error { return Encode(w, f) })
		return err
	})
	return publish.Written{Revision: day.Revision, Bytes: size}, err
}

// publishArchive writes the index of the archived logs of a space; none when there are none. The index only tells what happened, so an edit of it
// changes nothing: it is set aside and published over, even where other files wait for Foreign.
func (p *Publisher) publishArchive(space string) (publish.Written, error) {
	v, name := p.source.Space(space), ArchivePath(space)
	a := &Archive{Revision: v.ArchiveRevision(), Logs: v.Archived()}
	var size int64
	err := p.files.Yield(name, nil, func() (err error) {
		if len(a.Logs) == 0 {
			return p.files.Remove(name)
		}
		replace := func() (int64, error) {
			return p.files.Replace(name, a.Revision, false, func(w io.Writer) error { return EncodeArchive(w, a) })
		}
		size, err = replace()
		if foreign, ok := errors.AsType[*publish.ForeignError](err); ok && foreign.Hash == a.hash() { // a ledger that was lost
			if err = p.files.Claim(name, foreign.Hash); err == nil {
				size, err = replace()
			}
		}
		return err
	})
	if len(a.Logs) == 0 {
		return publish.Written{}, err
	}
	return publish.Written{Revision: a.Revision, Bytes: size}, err
}

// hash is the SHA-256 of the index, "" for one that cannot be encoded.
func (a *Archive) hash() string {
	sum := sha256.New()
	if EncodeArchive(sum, a) != nil {
		return ""
	}
	return hex.EncodeToString(sum.Sum(nil))
}
