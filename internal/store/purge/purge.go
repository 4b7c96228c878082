// Package purge erases memories and texts for good from everything in the data directory. The store erases from its own
// files; this package does the same for the files that are published, saved or left over beside them, and finishes a
// purge that a crash interrupted. docs/purge.md describes every step.
//
// It knows published files only through Publisher, and other files by their names.
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

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/durable"
	"github.com/memsidecar/memsidecar/internal/store/textscrub"
)

// MaxTexts is how many texts a request may name; maxReason bounds its reason, in characters.
const (
	MaxTexts  = 100
	maxReason = 200
)

// defaultReason is the reason of a request that gives none.
const defaultReason = "purge"

// Publisher keeps published files of one kind up to date.
type Publisher interface {
	// Owns reports whether name is the path of a file that the publisher writes.
	Owns(name string) bool
	// HasState reports whether the store holds what is published as name.
	HasState(name string) bool
	// Republish makes PublishAll write the file name again although its content did not change.
	Republish(name string)
	// PublishAll writes every file that is out of date. Durable on return.
	PublishAll(ctx context.Context) error
}

// MemoryPublisher also publishes text that is in no record: fields of memory.json that memsidecar does not know.
type MemoryPublisher interface {
	Publisher
	// Erase takes texts out of those fields whenever a file is written from now on.
	Erase(texts textscrub.Texts)
}

// Config configures New. All fields but PendingEdits and Stopping are required.
type Config struct {
	Store    *store.Store
	FS       durable.FS
	Memories MemoryPublisher
	Logs     Publisher
	// SaveIndex saves the search index, which by then holds nothing of what was erased.
	SaveIndex func() error
	Logger    *slog.Logger
	// PendingEdits applies what people wrote into published files, and names the files with edits that wait for a
	// decision. It may be nil.
	PendingEdits func(ctx context.Context) (files []string, err error)
	// Announce records, durably, what the machines of shared spaces are to erase, before it is erased here, and gives the
	// announcements ids. Ended, if not nil, is called with the error of the purge, when another may run again. Announce
	// may be nil.
	Announce func(p *store.Purge) (ids []string, ended func(error) error, err error)
	// Only erases the texts of each purge in its own space only.
	Only bool
	// Stopping is closed when the daemon stops. A purge in progress is then left to the next start.
	Stopping <-chan struct{}
}

// Service runs purges, one at a time. It is safe for concurrent use.
type Service struct {
	cfg Config
	mu  sync.Mutex // held by a purge
}

// New returns a Service. It does no I/O.
func New(cfg Config) *Service { return &Service{cfg: cfg} }

// Request says what to erase.
type Request struct {
	store.PurgeRequest
	// DryRun only reports what would be erased.
	DryRun bool
}

// Result says what was erased.
type Result struct {
	Op int64 // 0 in a dry run
	// Places counts what was erased by kind of place.
	Places map[string]int64
	// Remaining names the files that hold the text and are not memsidecar's, sorted.
	Remaining []string
	// Waited is how long writers had to wait.
	Waited time.Duration
	// Announced are the ids of what other machines are told.
	Announced []string
}

// Run erases. When ctx ends before the purge is durable, nothing happens; after that Run continues without ctx. Durable
// on return.
//
// Errors: *memory.InvalidError, *memory.NotFoundError, memory.ErrRefused while an edit waits, memory.ErrDiskFull,
// memory.ErrReadOnly, memory.ErrUnfinished, and those of the file system. An error says what it leaves.
func (s *Service) Run(ctx context.Context, req Request) (Result, error) {
	if err := validate(&req); err != nil {
		return Result{}, err
	}
	s.mu.Lock()
	res, ended, err := s.run(ctx, req)
	s.mu.Unlock()
	if ended != nil {
		err = errors.Join(err, ended(err))
	}
	if err != nil {
		return Result{}, err
	}
	return res, nil
}

// run is Run for a request that was checked. Ended is what is left to do when another purge may run; it may be nil. The
// caller holds mu.
func (s *Service) run(ctx context.Context, req Request) (res Result, ended func(error) error, err error) {
	if !req.DryRun {
		if err := s.prepare(ctx); err != nil {
			return res, nil, err
		}
	}
	req.Only = s.cfg.Only
	p, err := s.cfg.Store.PlanPurge(ctx, req.PurgeRequest)
	if err != nil {
		return res, nil, err
	}
	res.Places = maps.Clone(p.Counts())
	found, err := s.findMatches(p.Texts())
	if err != nil {
		return res, nil, err
	}
	found.count(res.Places)
	if res.Remaining = found.foreignFiles(); req.DryRun {
		return res, nil, nil
	}
	if err := s.refusePendingEdits(ctx, found); err != nil {
		return res, nil, err
	}
	if s.cfg.Announce != nil {
		if res.Announced, ended, err = s.cfg.Announce(p); err != nil {
			return res, nil, err
		}
	}
	if err := s.erase(ctx, p); err != nil {
		return res, ended, err
	}
	res.Op, res.Waited = p.Op(), p.Waited()
	s.cfg.Logger.Info("purged", "op", res.Op, "places", len(res.Places), "writers_waited", res.Waited, "left",
		len(res.Remaining))
	return res, ended, nil
}

// prepare finishes an earlier purge and takes over edits that can be applied: they are in the state then, and erased
// there.
func (s *Service) prepare(ctx context.Context) error {
	if err := s.finishPending(ctx); err != nil {
		return err
	}
	_, err := s.pendingEdits(ctx)
	return err
}

// Erase erases what another machine of a shared space purged, or what Announce recorded before a crash, and returns the
// texts that were erased. Nothing happens when none of it is here. Durable on return. Errors: as those of Run.
func (s *Service) Erase(ctx context.Context, req store.PurgeRequest) (texts []string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.prepare(ctx); err != nil {
		return nil, err
	}
	p, err := s.cfg.Store.PlanPurge(ctx, req)
	if errors.Is(err, memory.ErrNotFound) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	if p.Empty() {
		return nil, nil
	}
	found, err := s.findMatches(p.Texts())
	if err != nil {
		return nil, err
	}
	if req.Received {
		found = found.in(req.Space)
	}
	if err := s.refusePendingEdits(ctx, found); err != nil {
		return nil, err
	}
	if err := s.erase(ctx, p); err != nil {
		return nil, err
	}
	_, texts, _ = p.Erased()
	s.cfg.Logger.Info("erased what was purged in a shared space", "op", p.Op(), "space", req.Space)
	return texts, nil
}

// pendingEdits names the files with edits that wait for a decision.
func (s *Service) pendingEdits(ctx context.Context) ([]string, error) {
	if s.cfg.PendingEdits == nil {
		return nil, nil
	}
	return s.cfg.PendingEdits(ctx)
}

// refusePendingEdits refuses a purge when a published file with the text has an edit that waits for a person: erasing
// from the file would destroy the whole edit.
func (s *Service) refusePendingEdits(ctx context.Context, found textMatches) error {
	files, err := s.pendingEdits(ctx)
	if err != nil {
		return err
	}
	for _, h := range found {
		if h.kind == published && slices.Contains(files, h.name) {
			return fmt.Errorf("%s has the text and an edit that waits for you; accept or discard that first, then "+
				"purge again: %w", h.name, memory.ErrRefused)
		}
	}
	return nil
}

// Resume finishes a purge that a crash or an error interrupted. Call it before requests are served.
func (s *Service) Resume(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	p, err := s.cfg.Store.PendingPurge()
	if p == nil || err != nil {
		return err
	}
	s.cfg.Logger.Warn("finishing a purge that was interrupted", "op", p.Op())
	// The index is not loaded yet, and its format does not show whether it holds the text. Delete it; it is rebuilt.
	if err := s.dropIndex(); err != nil {
		return p.DeferToRestart(fmt.Errorf("erase from the index: %w", err))
	}
	return s.erase(ctx, p)
}

// finishPending finishes a purge that a full disk interrupted.
func (s *Service) finishPending(ctx context.Context) error {
	p, err := s.cfg.Store.PendingPurge()
	if p == nil || err != nil {
		return err
	}
	return s.erase(ctx, p)
}

// erase commits a purge and does everything that follows the commit point, without ctx but until Stopping.
func (s *Service) erase(ctx context.Context, p *store.Purge) error {
	release, err := s.cfg.Store.LockFiles(ctx)
	if err != nil {
		return err
	}
	defer release()
	if err := p.Commit(ctx); err != nil {
		return err
	}
	// After the commit point a client that goes away must not leave half of the text behind.
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
	// Held only while the purge runs: the texts themselves are what must not stay.
	defer s.cfg.Memories.Erase(textscrub.Texts{})
	if err := s.cleanFiles(ctx, p); err != nil {
		return p.DeferToRestart(fmt.Errorf("erase from the files: %w", err))
	}
	return p.Finish()
}

// cleanFiles publishes again what held the text, and deletes what is left of memsidecar's own files.
func (s *Service) cleanFiles(ctx context.Context, p *store.Purge) error {
	search := func() (textMatches, error) {
		found, err := s.findMatches(p.Texts())
		if p.InSpaceOnly() {
			found = found.in(p.Space())
		}
		return found, err
	}
	found, err := search()
	if err != nil {
		return err
	}
	found.republish()
	if err := errors.Join(s.cfg.Memories.PublishAll(ctx), s.cfg.Logs.PublishAll(ctx), s.cfg.SaveIndex()); err != nil {
		return err
	}
	if found, err = search(); err != nil {
		return err
	}
	for _, h := range found {
		if h.kind == published { // written there while this went on, or before a start that found the purge unfinished
			s.cfg.Logger.Warn("somebody edited a published file, and it has the text; purge once more when the edit "+
				"is taken over", "file", h.name)
		}
	}
	return s.remove(found)
}

// validate checks a request and fills in defaults.
func validate(req *Request) error {
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
		if !textscrub.Allowed(text) {
			check.Add(field, "TOO_SHORT", "must have %d characters or more and be no part of %s", textscrub.MinLength,
				textscrub.Placeholder)
		}
	}
	check.Text("reason", req.Reason, maxReason, false)
	if req.Reason == "" {
		req.Reason = defaultReason
	}
	return check.Err()
}
