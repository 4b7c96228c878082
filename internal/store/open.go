package store

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/memsidecar/memsidecar/internal/store/durable"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

// Open loads the newest snapshot, replays the journal behind it and returns the store ready for use. If a purge was
// interrupted, Open removes its text from everything that it loads. The caller holds the lock of the directory and
// calls Run.
//
// Errors: *journal.CorruptError (a memory.ErrCorrupt) when acknowledged data is damaged, *IncompleteError,
// memory.ErrNewerVersion.
func Open(cfg Config) (*Store, error) {
	s := &Store{
		fs: cfg.FS, now: cfg.Now, log: cfg.Logger, projections: cfg.Projections, historyDays: cfg.HistoryDays,
		needed: cfg.Needed, readOnly: cfg.ReadOnly, opened: cfg.Opened, busy: cfg.Busy,
		visible: newVisible(), staged: newStaged(), accesses: map[string]map[string]accessCount{},
	}
	s.packFrom, s.stopBytes = cmp.Or(cfg.PackFrom, packFrom), stopSnapshot
	if s.historyDays == 0 {
		s.historyDays = DefaultHistoryDays
	}
	s.clock = newClock(cfg.Now, cfg.Elapsed)
	s.snapshots.bodyFiles = map[string][]string{}
	unfinished := []string{RestoringFile, RepairingFile}
	if cfg.Repairing {
		unfinished = unfinished[:1]
	}
	if err := refuseIncomplete(cfg.FS, unfinished...); err != nil {
		return nil, err
	}
	m, err := readManifest(cfg.FS, manifestFile)
	if err != nil {
		return nil, err
	}
	in, err := readPurgeIntent(cfg.FS)
	if err != nil {
		return nil, err
	}
	if in != nil {
		// The process before may have died between rename and sync. The intent must be durable before anything is
		// erased.
		if err := cfg.FS.SyncDir("."); err != nil {
			return nil, fmt.Errorf("resume purge: %w", err)
		}
		s.scrubber = newScrubber(in)
	}
	if err := s.load(m); err != nil {
		return nil, err
	}
	s.snapshots.current = m
	if err := dropStaleManifests(cfg.FS, m); err != nil {
		return nil, err
	}
	proofs, err := collectProofs(cfg.FS)
	if err != nil {
		return nil, err
	}
	s.journal, err = journal.Open(journal.Config{
		FS: cfg.FS, Logger: cfg.Logger, Origin: m.Store, NewOrigin: strings.ToLower(rand.Text()[:12]), After: m.LSN,
		Proofs: proofs, SegmentSize: cfg.SegmentSize,
		Replay: func(rec *journal.Record) error {
			s.scrubOld(rec)
			for i := range rec.Changes {
				if c := rec.Changes[i].Memory; c != nil && c.After != nil {
					s.interned.memory(c.After)
				}
			}
			s.visible.apply(rec)
			return nil
		},
		Durable: s.applyDurable, Failed: cfg.Failed,
	})
	if err != nil {
		return nil, err
	}
	if err = s.stageLarge(); err == nil && in != nil {
		err = s.resume(in)
	}
	if err != nil {
		return nil, errors.Join(err, s.journal.Abandon())
	}
	return s, nil
}

// scrubOld removes purged text from a record that is older than an unfinished purge.
func (s *Store) scrubOld(rec *journal.Record) {
	if s.scrubber != nil && rec.Op < s.scrubber.op {
		s.scrubber.record(rec)
	}
}

// makeDir creates a directory and makes its name durable.
func makeDir(fsys durable.FS, name string) error {
	if err := fsys.MkdirAll(name); err != nil {
		return fmt.Errorf("create %s: %w", name, err)
	}
	if err := fsys.SyncDir(path.Dir(name)); err != nil {
		return fmt.Errorf("create %s: %w", name, err)
	}
	return nil
}
