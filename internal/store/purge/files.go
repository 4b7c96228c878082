package purge

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/memsidecar/memsidecar/internal/lazyregexp"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/store/compressed"
	"github.com/memsidecar/memsidecar/internal/store/durable"
	"github.com/memsidecar/memsidecar/internal/store/textscrub"
)

// kind of a file that holds the text.
type kind int

const (
	other      kind = iota // somebody else's: left alone
	own                    // of the store, or of the sharing, which erase from it themselves
	published              // published again
	leftover               // of publishing or adoption: deleted
	quarantine             // deleted with the files that explain it
	index                  // deleted
	snapshot               // only counted: the store replaces it
)

// textMatch is a file that holds the text.
type textMatch struct {
	name      string
	kind      kind
	publisher Publisher // that writes the file, nil unless it is published
}

// textMatches are the files that hold the text.
type textMatches []textMatch

// findMatches reads every regular file below the data directory and returns those that hold one of the texts.
func (s *Service) findMatches(texts textscrub.Texts) (textMatches, error) {
	var found textMatches
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
				err = s.matchFile(name, texts, &found)
			}
			if err != nil && !errors.Is(err, fs.ErrNotExist) { // publishers and writers go on, so files may disappear
				return err
			}
		}
		return nil
	}
	if err := visit("."); err != nil {
		return nil, fmt.Errorf("search the files for the text: %w", err)
	}
	return found, nil
}

// matchFile adds a file to found if it holds one of the texts.
func (s *Service) matchFile(name string, texts textscrub.Texts, found *textMatches) error {
	h := s.classify(name)
	if h.kind == own {
		return nil
	}
	data, err := durable.ReadFile(s.cfg.FS, name)
	if err != nil {
		return err
	}
	if compressed.Is(data) { // of a snapshot, or of a damaged segment in quarantine
		data = compressed.Decompress(data)
	}
	if !texts.Match(data) {
		return nil
	}
	if h.kind == published && !h.publisher.HasState(name) {
		h.kind = other // it was never adopted, so the publishers do not replace it
	}
	*found = append(*found, h)
	return nil
}

var (
	segmentName  = lazyregexp.New(`^journal/([0-9]{16}\.jsonl|mark\.json)$`)
	snapshotName = lazyregexp.New(`^snapshots/([^/]+\.jsonl|MANIFEST(\.prev)?\.json)$`)
	tempSuffix   = lazyregexp.New(`\.tmp-[A-Z2-7]{26}$`)
	migrated     = lazyregexp.New(`\.(?:migrated|orig)(\.[0-9]+)?$`) // what an adoption left as it was
)

// classify determines by its name what kind of file it is.
func (s *Service) classify(name string) textMatch {
	h := textMatch{name: name}
	switch top, _, _ := strings.Cut(name, "/"); {
	case name == "LOCK" || name == "purge.json" || name == "llm.json" || top == "share" || segmentName.MatchString(name):
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
		if h.publisher = s.publisherOf(name); h.publisher != nil {
			h.kind = published
		}
		for stripped := name; h.kind == other; {
			before := stripped
			stripped = strings.TrimSuffix(strings.TrimSuffix(stripped, ".next"), ".bak")
			if stripped == before {
				break
			}
			if s.publisherOf(stripped) != nil {
				h.kind = leftover
			}
		}
	}
	return h
}

// publisherOf returns the publisher that writes the file name, nil for none.
func (s *Service) publisherOf(name string) Publisher {
	for _, p := range []Publisher{s.cfg.Memories, s.cfg.Logs} {
		if p.Owns(name) {
			return p
		}
	}
	return nil
}

// republish makes the publishers write again what holds the text.
func (found textMatches) republish() {
	for _, h := range found {
		if h.kind == published {
			h.publisher.Republish(h.name)
		}
	}
}

// in returns the matches without the published files of other spaces, and what is left over of them.
func (found textMatches) in(space string) textMatches {
	return slices.DeleteFunc(found, func(h textMatch) bool {
		of := memory.DefaultSpace
		if rest, below := strings.CutPrefix(h.name, "spaces/"); below {
			of, _, _ = strings.Cut(rest, "/")
		}
		return (h.kind == published || h.kind == leftover) && of != space
	})
}

// foreignFiles names the files that stay as they are, sorted.
func (found textMatches) foreignFiles() (names []string) {
	for _, h := range found {
		if h.kind == other {
			names = append(names, h.name)
		}
	}
	slices.Sort(names)
	return names
}

// count adds the files to places, by kind.
func (found textMatches) count(places map[string]int64) {
	for _, h := range found {
		if k := map[kind]string{snapshot: "snapshot", published: "published", leftover: "published",
			quarantine: "quarantine", index: "index"}[h.kind]; k != "" {
			places[k]++
		}
	}
}

// remove deletes leftovers, and matches in quarantine and index. Durable on return.
func (s *Service) remove(found textMatches) error {
	var names []string
	for _, h := range found {
		switch h.kind {
		case leftover, index:
			names = append(names, h.name)
		case quarantine:
			belonging, err := s.quarantineGroup(h.name)
			if err != nil {
				return err
			}
			names = append(names, belonging...)
		}
	}
	return s.delete(names)
}

// quarantineGroup lists a file in quarantine with the files that explain it. Their names begin with its name and a dot.
func (s *Service) quarantineGroup(name string) ([]string, error) {
	stem := strings.TrimSuffix(name, ".reason.txt")
	entries, err := s.cfg.FS.ReadDir(path.Dir(name))
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if full := path.Join(path.Dir(name), e.Name()); e.Type().IsRegular() &&
			(full == stem || strings.HasPrefix(full, stem+".")) {
			names = append(names, full)
		}
	}
	return names, nil
}

// dropIndex deletes the saved search indexes, of words and of vectors. Durable on return.
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
		if slices.Contains([]string{".keyword", ".vectors", ".tokens"}, path.Ext(e.Name())) {
			names = append(names, "index/"+e.Name())
		}
	}
	return s.delete(names)
}

// delete removes files. A missing file is no error. Durable on return.
func (s *Service) delete(names []string) error {
	for _, name := range names {
		if err := s.cfg.FS.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("delete %s: %w", name, err)
		}
	}
	return s.syncAll(".")
}

// syncAll syncs every directory below dir, not only those that changed: an interrupted purge may have removed names
// without a sync, which cannot be seen any more. The store syncs its own directories.
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
