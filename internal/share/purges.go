package share

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/durable"
)

// purgesFile holds the purges that are not in a log yet. It has the texts that are erased, so each is removed from it
// as soon as the log has it.
const purgesFile = dir + "/purges"

// purgesVersion is the version of purgesFile.
const purgesVersion = 1

// pendingPurge is what the log and the other machines of a shared space are to erase.
type pendingPurge struct {
	ID    string    `json:"id"`
	Space string    `json:"space"` // local name
	At    time.Time `json:"at"`
	IDs   []string  `json:"ids,omitempty"`
	Texts []string  `json:"texts,omitempty"`
	// Elsewhere says that the purge is one of another space: texts that this one does not hold stay on this machine.
	Elsewhere bool `json:"elsewhere,omitempty"`
	// Forgotten are the hashes of the values.
	Forgotten []string `json:"forgotten,omitempty"`
	// Local says that this machine has erased it, when it had received the rows up to Position.
	Local    bool  `json:"local"`
	Position int64 `json:"position"`

	// running says that this machine is erasing it now.
	running bool
}

// purgeList is the contents of purgesFile.
type purgeList struct {
	Version int            `json:"version"`
	Purges  []pendingPurge `json:"purges"`
}

// loadPurges reads the file. Error: memory.ErrNewerVersion.
func loadPurges(fsys durable.FS) (list purgeList, err error) {
	raw, err := durable.ReadFile(fsys, purgesFile)
	if errors.Is(err, fs.ErrNotExist) {
		return list, nil
	}
	if err != nil {
		return list, fmt.Errorf("read %s: %w", purgesFile, err)
	}
	if err := json.Unmarshal(raw, &list); err != nil {
		return list, fmt.Errorf("%s: %w; remove it and purge again", purgesFile, memory.ErrCorrupt)
	}
	if list.Version > purgesVersion {
		return list, fmt.Errorf("%s: %w", purgesFile, memory.ErrNewerVersion)
	}
	return list, nil
}

// changePurges changes the list of purges that are not in a log yet. Durable on return; after an error the list is as
// it was.
func (s *Service) changePurges(change func([]pendingPurge) []pendingPurge) error {
	s.purgesMu.Lock()
	defer s.purgesMu.Unlock()
	next := change(slices.Clone(s.purges))
	if len(next) == 0 && len(s.purges) == 0 {
		return nil
	}
	if err := errors.Join(s.cfg.FS.MkdirAll(dir), s.cfg.FS.SyncDir(".")); err != nil {
		return fmt.Errorf("create %s: %w", dir, err)
	}
	var err error
	if len(next) == 0 {
		err = errors.Join(s.cfg.FS.Remove(purgesFile), s.cfg.FS.SyncDir(dir))
	} else {
		err = durable.WriteFile(s.cfg.FS, purgesFile, func(w io.Writer) error {
			return json.NewEncoder(w).Encode(purgeList{purgesVersion, next})
		})
	}
	if err != nil {
		return fmt.Errorf("record what is purged in shared spaces: %w", err)
	}
	s.purges = next
	return nil
}

// purgesOf lists the purges of a space that are not in its log yet, oldest first.
func (s *Service) purgesOf(space string) (out []pendingPurge) {
	s.purgesMu.Lock()
	defer s.purgesMu.Unlock()
	for _, p := range s.purges {
		if p.Space == space {
			out = append(out, p)
		}
	}
	return out
}

// Announce records what the machines of the shared spaces are to erase, before this one does: from then on it happens,
// here and there, unless the purge fails before its commit point. Ended is to be called with the error of the purge; it
// erases from what the exchange remembers and begins to tell the others. IDs are for AwaitPurges. Durable on return.
func (s *Service) Announce(p *store.Purge) (ids []string, ended func(error) error, err error) {
	var fresh []pendingPurge
	for _, st := range s.Status() {
		if s.fleet != nil && st.Space != p.Space() {
			continue // it is somebody else's, and keeps its texts
		}
		if st.ReadOnly { // the store lets no purge begin that concerns it
			continue
		}
		at := s.cfg.Now().UTC().Truncate(time.Microsecond)
		fresh = append(fresh, pendingPurge{ID: store.NewID(), Space: st.Space, At: at, Position: st.Position, running: true})
		ids = append(ids, fresh[len(fresh)-1].ID)
	}
	if len(fresh) == 0 {
		return nil, nil, nil
	}
	fill(fresh, p)
	err = s.changePurges(func(list []pendingPurge) []pendingPurge { return append(list, fresh...) })
	if err != nil {
		return nil, nil, err
	}
	return ids, func(err error) error { return s.announced(p, fresh, err) }, nil
}

// fill says what is to be erased: memories only in the space of the purge, texts in all.
func fill(list []pendingPurge, p *store.Purge) {
	ids, texts, forgotten := p.Erased()
	for i := range list {
		list[i].Texts, list[i].Elsewhere = texts, list[i].Space != p.Space()
		if !list[i].Elsewhere {
			list[i].IDs, list[i].Forgotten = ids, forgotten
		}
	}
}

// announced ends what Announce began. A purge that failed behind its commit point is finished by the next start, and
// then told to the others.
func (s *Service) announced(p *store.Purge, fresh []pendingPurge, err error) error {
	switch {
	case err != nil && !p.Committed() && s.cfg.Store.Err() == nil:
		return s.changePurges(without(fresh))
	case err != nil:
		return nil
	}
	fill(fresh, p) // somebody may have written to the memories after the announcement
	for i := range fresh {
		if err := s.forget(&fresh[i]); err != nil {
			return err
		}
		fresh[i].Local, fresh[i].running = true, false
	}
	err = s.changePurges(func(list []pendingPurge) []pendingPurge { return append(without(fresh)(list), fresh...) })
	for i := range fresh {
		s.wake(fresh[i].Space)
	}
	return err
}

// without returns what removes purges from a list.
func without(gone []pendingPurge) func([]pendingPurge) []pendingPurge {
	return func(list []pendingPurge) []pendingPurge {
		return slices.DeleteFunc(list, func(p pendingPurge) bool {
			return slices.ContainsFunc(gone, func(q pendingPurge) bool { return p.ID == q.ID })
		})
	}
}

// wake has the exchange look at a space soon.
func (s *Service) wake(space string) {
	s.mu.RLock()
	sp := s.spaces[space]
	s.mu.RUnlock()
	if sp == nil {
		return
	}
	sp.mu.Lock()
	wake := sp.wake
	sp.mu.Unlock()
	if wake != nil {
		wake(false)
	}
}

// forget erases from what the exchange of a space remembers, in memory and in its file. Durable on return.
func (s *Service) forget(p *pendingPurge) error {
	sp, unlock, err := s.lockSpace(p.Space)
	switch {
	case errors.Is(err, memory.ErrNotFound):
		return nil // it is not shared any more
	case err != nil:
		return err
	}
	defer unlock()
	return s.scrub(sp, store.NewScrub(p.Space, p.IDs, p.Texts))
}

// scrub erases from what the exchange of a space remembers. Durable on return. The caller may use the space.
func (s *Service) scrub(sp *space, sc store.Scrub) error {
	_, _, changed := s.cfg.Store.Space(sp.name).Look(nil)
	sp.catchUp(changed)
	sp.scrub(sc)
	return sp.save(s.cfg.FS)
}

// scrub erases from what is remembered of the log and of what waits. The journal has the rest.
func (sp *space) scrub(sc store.Scrub) {
	known := &sp.state.Known
	for id, m := range known.Memories {
		known.Memories[id], _ = sc.Memory(m)
	}
	if known.Summary != nil {
		clean, _ := sc.Text(*known.Summary)
		known.Summary = &clean
	}
	sp.waiting.unload()
	if seed := sp.state.Seed; seed != nil {
		for i := range seed.Changes {
			if c := seed.Changes[i].Memory; c != nil {
				c.Before, _ = sc.Memory(c.Before)
				c.After, _ = sc.Memory(c.After)
			}
		}
		if sp.waiting.seed != nil {
			sp.waiting.seed = seed.operation()
		}
	}
}
