package purge

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/memsidecar/memsidecar/internal/dailylog"
	"github.com/memsidecar/memsidecar/internal/durable"
	"github.com/memsidecar/memsidecar/internal/erase"
	"github.com/memsidecar/memsidecar/internal/journal"
	"github.com/memsidecar/memsidecar/internal/jsonstore"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/pattern"
)

// kind of a file in which the text was found.
type kind int

const (
	other      kind = iota // somebody's: left alone
	own                    // the store's: clean by then
	published              // written anew
	leftover               // of publishing and of adoption: deleted
	quarantine             // deleted with what belongs to it
	index                  // deleted
	snapshot               // counted only
)

// holder is a file that holds the text.
type holder struct {
	name string
	kind kind
	// of a published file; date is "" for a memory.json
	space, date string
}

type holders []holder

// walk finds every regular file below the data directory that holds one of the texts.
func (s *Service) walk(texts erase.Texts) (holders, error) {
	var found holders
	if texts.Len() == 0 {
		return nil, nil
	}
	var visit func(dir string) error
	visit = func(dir string) error {
		entries, err := s.cfg.FS.ReadDir(dir)
		if err != nil {
			return err
		}
		for _, e := range entries {
			name := path.Join(dir, e.Name())
			if e.IsDir() {
				err = visit(name)
			} else if e.Type().IsRegular() {
				err = s.look(name, texts, &found)
			}
			if err != nil && !errors.Is(err, fs.ErrNotExist) { // publishers go on
				return err
			}
		}
		return nil
	}
	if err := visit("."); err != nil {
		return nil, fmt.Errorf("look for the text: %w", err)
	}
	return found, nil
}

func (s *Service) look(name string, texts erase.Texts, found *holders) error {
	h := classify(name)
	if h.kind == own {
		return nil
	}
	data, err := durable.ReadFile(s.cfg.FS, name)
	if err != nil || !texts.In(data) {
		return err
	}
	if h.kind == published && !s.known(h) {
		h.kind = other // a file that was never taken in
	}
	*found = append(*found, h)
	return nil
}

// known reports whether the store has what a published file is of.
func (s *Service) known(h holder) bool {
	if !slices.Contains(s.cfg.Store.Spaces(), h.space) {
		return false
	}
	if h.date == "" {
		return s.cfg.Store.Space(h.space).Revision() > 0
	}
	if h.date == archived {
		return s.cfg.Store.Space(h.space).ArchiveRevision() > 0
	}
	return slices.ContainsFunc(s.cfg.Store.Space(h.space).Days(), func(d *memory.Day) bool { return d.Date == h.date })
}

// archived stands for the date of the index of archived logs.
const archived = "archived"

var (
	segmentName  = pattern.New(`^journal/([0-9]{16}\.jsonl|mark\.json)$`)
	snapshotName = pattern.New(`^snapshots/([^/]+\.jsonl|MANIFEST(\.prev)?\.json)$`)
	tempSuffix   = pattern.New(`\.tmp-[A-Z2-7]{26}$`)
	migrated     = pattern.New(`\.migrated(\.[0-9]+)?$`)
)

// classify says whose a file is, by its name.
func classify(name string) holder {
	h := holder{name: name}
	switch top, _, _ := strings.Cut(name, "/"); {
	case name == "LOCK" || name == "purge.json" || name == "llm.json" || segmentName.MatchString(name):
		h.kind = own
	case snapshotName.MatchString(name):
		h.kind = snapshot
	case top == "quarantine":
		h.kind = quarantine
	case top == "index":
		h.kind = index
	case migrated.MatchString(name) || tempSuffix.MatchString(name):
		h.kind = leftover
	default:
		h.space, h.date, h.kind = publishedAs(name)
		for stripped := name; h.kind == other; {
			before := stripped
			stripped = strings.TrimSuffix(strings.TrimSuffix(stripped, ".next"), ".bak")
			if stripped == before {
				break
			}
			if _, _, k := publishedAs(stripped); k == published {
				h.kind = leftover
			}
		}
	}
	return h
}

// publishedAs is the inverse of the publishers' paths.
func publishedAs(name string) (space, date string, k kind) {
	space = memory.DefaultSpace
	if rest, below := strings.CutPrefix(name, "spaces/"); below {
		space, _, _ = strings.Cut(rest, "/")
	}
	if name == jsonstore.Path(space) {
		return space, "", published
	}
	if name == dailylog.ArchivePath(space) {
		return space, archived, published
	}
	if date, ok := dailylog.DateOf(path.Base(name)); ok && name == dailylog.Path(space, date) {
		return space, date, published
	}
	return "", "", other
}

// mark makes the publishers write anew what holds the text.
func (found holders) mark(memories, logs Publisher) {
	for _, h := range found {
		switch {
		case h.kind != published:
		case h.date == "":
			memories.Apply(&journal.Record{Space: h.space, Changes: []journal.Change{{Summary: &journal.SummaryChange{}}}})
		case h.date == archived:
			logs.Apply(&journal.Record{Space: h.space, Changes: []journal.Change{{Archive: &journal.ArchiveChange{}}}})
		default:
			logs.Apply(&journal.Record{Space: h.space, Changes: []journal.Change{{Day: &journal.DayChange{Date: h.date}}}})
		}
	}
}

// left names the files that stay as they are.
func (found holders) left() (names []string) {
	for _, h := range found {
		if h.kind == other {
			names = append(names, h.name)
		}
	}
	slices.Sort(names)
	return names
}

func (found holders) count(places map[string]int64) {
	for _, h := range found {
		if k := map[kind]string{snapshot: "snapshot", published: "published", leftover: "published", quarantine: "quarantine", index: "index"}[h.kind]; k != "" {
			places[k]++
		}
	}
}

// remove deletes the leftovers, and from quarantine and index. Durable on return.
func (s *Service) remove(found holders) error {
	var names []string
	for _, h := range found {
		switch h.kind {
		case leftover, index:
			names = append(names, h.name)
		case quarantine:
			belonging, err := s.belonging(h.name)
			if err != nil {
				return err
			}
			names = append(names, belonging...)
		}
	}
	return s.delete(names)
}

// belonging lists a file in quarantine with those that say why it is there: they have its name and something behind it.
func (s *Service) belonging(name string) ([]string, error) {
	stem := strings.TrimSuffix(name, ".reason.txt")
	entries, err := s.cfg.FS.ReadDir(path.Dir(name))
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if full := path.Join(path.Dir(name), e.Name()); e.Type().IsRegular() && (full == stem || strings.HasPrefix(full, stem+".")) {
			names = append(names, full)
		}
	}
	return names, nil
}

// dropIndex deletes the saved indexes, of words and of meanings.
func (s *Service) dropIndex() error {
	entries, err := s.cfg.FS.ReadDir("index")
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var names []string
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".keyword") || strings.HasSuffix(e.Name(), ".vectors") {
			names = append(names, "index/"+e.Name())
		}
	}
	return s.delete(names)
}

// delete removes files. Durable on return.
func (s *Service) delete(names []string) error {
	for _, name := range names {
		if err := s.cfg.FS.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("delete %s: %w", name, err)
		}
	}
	return s.syncAll(".")
}

// syncAll makes the names in every directory durable, those too that an interrupted purge removed or replaced: that cannot be seen any more.
// The store syncs its own.
func (s *Service) syncAll(dir string) error {
	entries, err := s.cfg.FS.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		if name := path.Join(dir, e.Name()); e.IsDir() && name != "journal" && name != "snapshots" {
			if err := s.syncAll(name); err != nil {
				return err
			}
		}
	}
	if err := s.cfg.FS.SyncDir(dir); err != nil {
		return fmt.Errorf("sync directory %s: %w", dir, err)
	}
	return nil
}
