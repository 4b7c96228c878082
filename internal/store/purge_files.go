package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/memsidecar/memsidecar/internal/durable"
	"github.com/memsidecar/memsidecar/internal/erase"
	"github.com/memsidecar/memsidecar/internal/journal"
	"github.com/memsidecar/memsidecar/internal/memory"
)

// Rewrite takes the text out of the journal's segments and the snapshots. Durable on return.
func (p *Purge) Rewrite(ctx context.Context) error {
	s := p.store
	_, err := s.journal.Rewrite(ctx, journal.Rewriting{
		Before: p.in.Op, Concerns: p.scrub.concerns, Change: p.scrub.record, All: p.resumed,
	})
	if err != nil {
		return s.stuck(p, fmt.Errorf("erase from the journal: %w", err), canGoOn(err))
	}
	if _, err := s.Checkpoint(ctx); err != nil {
		return s.stuck(p, fmt.Errorf("erase from the snapshots: %w", err), false)
	}
	if err := s.onlySnapshot(); err != nil {
		return s.stuck(p, fmt.Errorf("erase from the snapshots: %w", err), false)
	}
	return nil
}

// onlySnapshot makes the newest snapshot the only one: both manifests name it, and the files of all others are removed.
func (s *Store) onlySnapshot() error {
	s.snapshots.writing.Lock()
	defer s.snapshots.writing.Unlock()
	s.snapshots.mu.Lock()
	current := s.snapshots.current
	s.snapshots.mu.Unlock()
	line, err := durable.AppendLine(nil, current)
	if err != nil {
		return err
	}
	// Both are written, not linked: after a failed sync, in this life or one before, only new files are known to be durable.
	for _, name := range []string{manifestFile, previousFile} {
		err := durable.WriteFile(s.fs, name, func(w io.Writer) error { _, err := w.Write(line); return err })
		if err != nil {
			return err
		}
	}
	named := map[string]bool{}
	for _, sp := range current.Spaces {
		named[sp.File] = true
		for _, f := range s.snapshots.docFiles[sp.File] {
			named[f] = true
		}
	}
	entries, err := s.fs.ReadDir(snapshotDir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".jsonl") && !named[e.Name()] {
			if err := s.fs.Remove(snapshotDir + "/" + e.Name()); err != nil {
				return err
			}
		}
	}
	if _, err := durable.CleanTemp(s.fs, snapshotDir); err != nil {
		return err
	}
	return s.fs.SyncDir(snapshotDir)
}

// Finish removes the intent: nothing of what was erased is left, as far as the store knows. Durable on return.
func (p *Purge) Finish() error {
	if err := removeIntent(p.store.fs); err != nil {
		return p.store.stuck(p, fmt.Errorf("remove %s: %w", intentFile, err), false)
	}
	p.store.setPurging(nil)
	return nil
}

// Stuck keeps a purge whose other files could not be cleaned because of err for the next start, and returns err.
func (p *Purge) Stuck(err error) error { return p.store.stuck(p, err, false) }

// canGoOn reports whether err, of the journal, leaves no doubt about what is on the disk.
func canGoOn(err error) bool {
	return !errors.Is(err, memory.ErrReadOnly) && (errors.Is(err, memory.ErrDiskFull) || errors.Is(err, context.Canceled))
}

// stuck notes why a purge that was committed could not be finished.
func (s *Store) stuck(p *Purge, err error, again bool) error {
	how := "the next start of the daemon finishes the purge"
	if again {
		how = "another purge, or the next start of the daemon, finishes the purge"
	}
	err = fmt.Errorf("%w: the memories are gone for readers, but not from all files; %s: %w", memory.ErrUnfinished, how, err)
	pending := &purging{purge: p}
	if !again {
		pending.stuck = err
	}
	s.setPurging(pending)
	return err
}

func (s *Store) setPurging(p *purging) {
	s.purgeMu.Lock()
	defer s.purgeMu.Unlock()
	s.purging = p
}

// PendingPurge returns a purge that was committed and is not finished, nil when there is none. An error says why only the next start can finish it.
func (s *Store) PendingPurge() (*Purge, error) {
	s.purgeMu.Lock()
	defer s.purgeMu.Unlock()
	if s.purging == nil {
		return nil, nil
	}
	return s.purging.purge, s.purging.stuck
}

// Maintain keeps others from copying the files until release is called, which backups do; it waits for those that are at it.
func (s *Store) Maintain(ctx context.Context) (release func(), err error) {
	for !s.keep.TryLock() {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(10 * time.Millisecond):
		}
	}
	return s.keep.Unlock, nil
}

// resume brings a purge that another process began to where Commit leaves it. What was loaded and replayed is clean already.
func (s *Store) resume(in *intent) error {
	p := &Purge{store: s, in: in, scrub: newScrubber(in), committed: true, resumed: true, req: PurgeRequest{Space: in.Space, Reason: in.Reason}}
	switch synced := s.journal.Synced(); {
	case synced >= in.Op:
		rec, err := s.journal.Operation(in.Op)
		if err != nil {
			return fmt.Errorf("resume purge: %w", err)
		}
		if rec.Purge == nil {
			return fmt.Errorf("%s belongs to operation %d, which is another one: %w", intentFile, in.Op, memory.ErrCorrupt)
		}
	case synced+1 < in.Op:
		return fmt.Errorf("%s is that of operation %d, but the journal ends at %d: %w", intentFile, in.Op, synced, memory.ErrCorrupt)
	default:
		if err := p.append(context.Background()); err != nil {
			return err
		}
	}
	s.mu.Lock()
	s.touchAll(in.Op)
	s.mu.Unlock()
	if _, err := durable.CleanTemp(s.fs, "journal"); err != nil {
		return err
	}
	s.setPurging(&purging{purge: p})
	return nil
}

// Op is the number of the operation, 0 before Commit.
func (p *Purge) Op() int64 { return p.in.Op }

// Texts are what is erased wherever it occurs.
func (p *Purge) Texts() erase.Texts { return p.scrub.texts }

// Waited is how long Commit kept writers waiting.
func (p *Purge) Waited() time.Duration { return p.waited }
