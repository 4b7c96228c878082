package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/store/durable"
	"github.com/memsidecar/memsidecar/internal/store/journal"
	"github.com/memsidecar/memsidecar/internal/store/textscrub"
)

// Rewrite removes the text from the journal's segments and from the snapshots. Durable on return.
func (p *Purge) Rewrite(ctx context.Context) error {
	s := p.store
	_, err := s.journal.Rewrite(ctx, journal.RewriteOptions{
		Before: p.intent.Op, MayChange: p.scrub.mayChange, Change: p.scrub.record, All: p.resumed,
	})
	if err != nil {
		return s.deferPurge(p, fmt.Errorf("erase from the journal: %w", err))
	}
	if _, err := s.Checkpoint(ctx); err != nil {
		return s.deferPurgeToRestart(p, fmt.Errorf("erase from the snapshots: %w", err))
	}
	if err := s.keepOnlyNewestSnapshot(); err != nil {
		return s.deferPurgeToRestart(p, fmt.Errorf("erase from the snapshots: %w", err))
	}
	return nil
}

// keepOnlyNewestSnapshot lets both manifests name the newest snapshot and removes the files of all others. Durable on
// return.
func (s *Store) keepOnlyNewestSnapshot() error {
	s.snapshots.lock()
	defer s.snapshots.writing.Unlock()
	s.snapshots.mu.Lock()
	current := s.snapshots.current
	s.snapshots.mu.Unlock()
	line, err := durable.AppendLine(nil, current)
	if err != nil {
		return err
	}
	// Both are written, not linked: after a failed sync, of this process or one before, only new files are known to be
	// durable.
	for _, name := range []string{manifestFile, previousFile} {
		err := durable.WriteFile(s.fs, name, func(w io.Writer) error { _, err := w.Write(line); return err })
		if err != nil {
			return err
		}
	}
	s.closePacks(current) // on the disk nothing is erased of an open file
	named := map[string]bool{}
	for _, sp := range current.Spaces {
		named[sp.File] = true
		for _, f := range s.snapshots.bodyFiles[sp.File] {
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

// Finish removes the intent, after which nothing of the erased text is left in the store's files. Durable on return.
func (p *Purge) Finish() error {
	if err := removePurgeIntent(p.store.fs); err != nil {
		return p.store.deferPurgeToRestart(p, fmt.Errorf("remove %s: %w", purgeIntentFile, err))
	}
	p.store.setPendingPurge(nil)
	return nil
}

// DeferToRestart leaves a purge to the next start, because err kept its caller from cleaning other files. It returns
// err with that explanation.
func (p *Purge) DeferToRestart(err error) error { return p.store.deferPurgeToRestart(p, err) }

// retryable reports whether err, an error of the journal, leaves no doubt about what is on the disk, so that the purge
// can continue without a restart.
func retryable(err error) bool {
	return !errors.Is(err, memory.ErrReadOnly) &&
		(errors.Is(err, memory.ErrDiskFull) || errors.Is(err, context.Canceled))
}

// deferPurge leaves a committed purge that failed with err, an error of the journal, to another call if err allows
// that, else to the next start. It returns err with that explanation.
func (s *Store) deferPurge(p *Purge, err error) error {
	if !retryable(err) {
		return s.deferPurgeToRestart(p, err)
	}
	s.setPendingPurge(&pendingPurge{purge: p})
	return unfinishedPurge("another purge, or the next start of the daemon, finishes the purge", err)
}

// deferPurgeToRestart leaves a committed purge that failed with err to the next start. It returns err with that
// explanation.
func (s *Store) deferPurgeToRestart(p *Purge, err error) error {
	err = unfinishedPurge("the next start of the daemon finishes the purge", err)
	s.setPendingPurge(&pendingPurge{purge: p, blocked: err})
	return err
}

// unfinishedPurge is the memory.ErrUnfinished of a purge that failed after its commit point; remedy says what finishes
// it.
func unfinishedPurge(remedy string, err error) error {
	return fmt.Errorf("%w: readers no longer see the memories, but some files still hold them; %s: %w",
		memory.ErrUnfinished, remedy, err)
}

// setPendingPurge remembers the unfinished purge; nil when it is finished.
func (s *Store) setPendingPurge(p *pendingPurge) {
	s.purgeMu.Lock()
	defer s.purgeMu.Unlock()
	s.pendingPurge = p
}

// PendingPurge returns a purge that was committed and is not finished, nil when there is none. The error says why only
// the next start can finish it.
func (s *Store) PendingPurge() (*Purge, error) {
	s.purgeMu.Lock()
	defer s.purgeMu.Unlock()
	if s.pendingPurge == nil {
		return nil, nil
	}
	return s.pendingPurge.purge, s.pendingPurge.blocked
}

// LockFiles keeps others from copying the store's files, as backups do, until release is called. It waits for those
// that are copying.
func (s *Store) LockFiles(ctx context.Context) (release func(), err error) {
	for !s.filesMu.TryLock() {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(10 * time.Millisecond):
		}
	}
	return s.filesMu.Unlock, nil
}

// resume brings a purge that another process began to where Commit leaves it. Open has scrubbed what it loaded and
// replayed.
func (s *Store) resume(in *purgeIntent) error {
	p := &Purge{store: s, intent: in, scrub: newScrubber(in), committed: true, resumed: true,
		req: PurgeRequest{Space: in.Space, Reason: in.Reason}}
	switch synced := s.journal.Synced(); {
	// The commit record is durable: only the files remain to be cleaned.
	case synced >= in.Op:
		rec, err := s.journal.Operation(in.Op)
		if err != nil {
			return fmt.Errorf("resume purge: %w", err)
		}
		if rec.Purge == nil {
			return fmt.Errorf("%s names operation %d, which is not a purge: %w", purgeIntentFile, in.Op,
				memory.ErrCorrupt)
		}
	// The intent is written after everything before it is durable, so a gap is lost data.
	case synced+1 < in.Op:
		return fmt.Errorf("%s is that of operation %d, but the journal ends at %d: %w", purgeIntentFile, in.Op, synced,
			memory.ErrCorrupt)
	default:
		if err := p.append(context.Background()); err != nil {
			return err
		}
	}
	s.mu.Lock()
	s.setAllChanged(in.Op)
	s.mu.Unlock()
	if _, err := durable.CleanTemp(s.fs, "journal"); err != nil {
		return err
	}
	s.setPendingPurge(&pendingPurge{purge: p})
	return nil
}

// Op is the number of the operation, 0 before Commit.
func (p *Purge) Op() int64 { return p.intent.Op }

// Texts are the texts that are erased wherever they occur.
func (p *Purge) Texts() textscrub.Texts { return p.scrub.texts }

// Waited is how long Commit blocked writers.
func (p *Purge) Waited() time.Duration { return p.waited }
