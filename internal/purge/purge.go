// Package purge erases memories and texts for good from everything in the data directory. The store erases from what it holds; this package
// brings the other files in line, and finishes after a crash what was begun. docs/purge.md describes every step.
package purge

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/memsidecar/memsidecar/internal/durable"
	"github.com/memsidecar/memsidecar/internal/erase"
	"github.com/memsidecar/memsidecar/internal/journal"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/store"
)

// Limits of a request.
const (
	MaxTexts  = 100
	maxReason = 200
)

// reason of a purge that names none.
const defaultReason = "purge"

// Publisher keeps published files up to date.
type Publisher interface {
	Apply(rec *journal.Record)
	PublishAll(ctx context.Context) error
}

// MemoryPublisher also keeps text that is in no record.
type MemoryPublisher interface {
	Publisher
	Erase(texts erase.Texts)
}

// Config of a Service. All fields but Waiting and Stopping are required.
type Config struct {
	Store    *store.Store
	FS       durable.FS
	Memories MemoryPublisher
	Logs     Publisher
	Save     func() error // saves the search index
	Logger   *slog.Logger
	// Waiting takes over what people wrote into published files, and names the files with edits that wait for a person; nil for none.
	Waiting  func(ctx context.Context) (files []string, err error)
	Stopping <-chan struct{} // closed when the daemon stops: a purge in progress is left to the next start
}

// Service is safe for concurrent use; one purge runs at a time.
type Service struct {
	cfg Config
	mu  sync.Mutex // held by a purge
}

// New returns a Service that does nothing by itself.
func New(cfg Config) *Service { return &Service{cfg: cfg} }

// Request says what to erase.
type Request struct {
	store.PurgeRequest
	DryRun bool // only say what would be erased
}

// Result says what was erased.
type Result struct {
	Op     int64 // 0 in a dry run
	Places map[string]int64
	Left   []string // files that hold the text and are not memsidecar's, sorted
	Waited time.Duration
}

// Run erases. When ctx ends before the purge is durable, nothing happens; after that it goes on without ctx. Durable on return.
//
// Errors: *memory.InvalidError, *memory.NotFoundError, memory.ErrDiskFull, memory.ErrReadOnly, and those of the file system: what they leave they say.
func (s *Service) Run(ctx context.Context, req Request) (Result, error) {
	if err := check(&req); err != nil {
		return Result{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !req.DryRun {
		if err := s.finishPending(ctx); err != nil {
			return Result{}, err
		}
		if _, err := s.waiting(ctx); err != nil { // an edit that can be taken over is in the state then, and erased there
			return Result{}, err
		}
	}
	p, err := s.cfg.Store.PlanPurge(ctx, req.PurgeRequest)
	if err != nil {
		return Result{}, err
	}
	res := Result{Places: maps.Clone(p.Counts())}
	found, err := s.walk(p.Texts())
	if err != nil {
		return Result{}, err
	}
	found.count(res.Places)
	if res.Left = found.left(); req.DryRun {
		return res, nil
	}
	if err := s.refuseWaiting(ctx, found); err != nil {
		return Result{}, err
	}
	if err := s.erase(ctx, p); err != nil {
		return Result{}, err
	}
	res.Op, res.Waited = p.Op(), p.Waited()
	s.cfg.Logger.Info("purged", "op", res.Op, "places", len(res.Places), "writers_waited", res.Waited, "left", len(res.Left))
	return res, nil
}

func (s *Service) waiting(ctx context.Context) ([]string, error) {
	if s.cfg.Waiting == nil {
		return nil, nil
	}
	return s.cfg.Waiting(ctx)
}

// refuseWaiting does not let a file be erased from that is not published over because somebody's edit of it waits: the edit would go with it.
func (s *Service) refuseWaiting(ctx context.Context, found holders) error {
	files, err := s.waiting(ctx)
	if err != nil {
		return err
	}
	for _, h := range found {
		if h.kind == published && slices.Contains(files, h.name) {
			return fmt.Errorf("%s has the text and an edit that waits for you; accept or discard that first, then purge again: %w", h.name, memory.ErrRefused)
		}
	}
	return nil
}

// Resume finishes a purge that a crash or an error interrupted. It must be called before requests are answered.
func (s *Service) Resume(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	p, err := s.cfg.Store.PendingPurge()
	if p == nil || err != nil {
		return err
	}
	s.cfg.Logger.Warn("finishing a purge that was interrupted", "op", p.Op())
	// The index is not loaded yet, and what a file of it holds of the text cannot be told. It is built anew.
	if err := s.dropIndex(); err != nil {
		return p.Stuck(fmt.Errorf("erase from the index: %w", err))
	}
	return s.erase(ctx, p)
}

// finishPending finishes a purge that could not be before, for want of space.
func (s *Service) finishPending(ctx context.Context) error {
	p, err := s.cfg.Store.PendingPurge()
	if p == nil || err != nil {
		return err
	}
	return s.erase(ctx, p)
}

// erase commits and does everything behind it.
func (s *Service) erase(ctx context.Context, p *store.Purge) error {
	release, err := s.cfg.Store.Maintain(ctx)
	if err != nil {
		return err
	}
	defer release()
	if err := p.Commit(ctx); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	if s.cfg.Stopping != nil {
		stop := make(chan struct{})
		var wg sync.WaitGroup
		wg.Go(func() {
			select {
			case <-s.cfg.Stopping:
				cancel()
			case <-stop:
			}
		})
		defer wg.Wait()
		defer close(stop)
	}
	if err := p.Rewrite(ctx); err != nil {
		return err
	}
	s.cfg.Memories.Erase(p.Texts())
	defer s.cfg.Memories.Erase(erase.Texts{})
	if err := s.cleanFiles(ctx, p); err != nil {
		return p.Stuck(fmt.Errorf("erase from the files: %w", err))
	}
	return p.Finish()
}

// cleanFiles publishes anew what held the text and deletes what is left of memsidecar's own.
func (s *Service) cleanFiles(ctx context.Context, p *store.Purge) error {
	found, err := s.walk(p.Texts())
	if err != nil {
		return err
	}
	found.mark(s.cfg.Memories, s.cfg.Logs)
	if err := errors.Join(s.cfg.Memories.PublishAll(ctx), s.cfg.Logs.PublishAll(ctx), s.cfg.Save()); err != nil {
		return err
	}
	if found, err = s.walk(p.Texts()); err != nil {
		return err
	}
	for _, h := range found {
		if h.kind == published { // written there while this went on, or before a start that found the purge unfinished
			s.cfg.Logger.Warn("somebody edited a published file, and it has the text; purge once more when the edit is taken over", "file", h.name)
		}
	}
	return s.remove(found)
}

func check(req *Request) error {
	var check memory.Check
	if req.Space == "" {
		req.Space = memory.DefaultSpace
	}
	check.Slug("space", req.Space)
	if n := len(req.IDs); n > memory.MaxBatch {
		check.Add("ids", "OUT_OF_RANGE", "has %d items; it must have at most %d", n, memory.MaxBatch)
	}
	if n := len(req.Texts); n > MaxTexts {
		check.Add("texts", "OUT_OF_RANGE", "has %d items; it must have at most %d", n, MaxTexts)
	}
	if len(req.IDs)+len(req.Texts) == 0 {
		check.Add("ids", "OUT_OF_RANGE", "neither ids nor texts are given")
	}
	for i, id := range req.IDs {
		check.ID(fmt.Sprintf("ids[%d]", i), id)
	}
	for i, text := range req.Texts {
		field := fmt.Sprintf("texts[%d]", i)
		check.Text(field, text, memory.MaxContent, true)
		if !erase.Allowed(text) {
			check.Add(field, "TOO_SHORT", "must have %d characters or more and be no part of %s", erase.MinLength, erase.Mark)
		}
	}
	check.Text("reason", req.Reason, maxReason, false)
	if req.Reason == "" {
		req.Reason = defaultReason
	}
	return check.Err()
}
