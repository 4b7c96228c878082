package archiver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

const (
	// DefaultCompressDays is the default number of whole days after which unused memories are compressed.
	DefaultCompressDays = 90
	// DefaultMaxGroups is the default maximum number of groups merged per run.
	DefaultMaxGroups = 50
	// maxAccessCount is the access count from which a memory is not merged.
	maxAccessCount = 5
	// maxCandidates is the maximum number of memories of one mergeKey that are compared per run, oldest first.
	maxCandidates = 5000
)

// CompressOptions of one run. The zero value handles all spaces with the defaults.
type CompressOptions struct {
	Space string // "" is every space
	// whole days for more than which a memory was neither accessed nor changed; 0 means DefaultCompressDays
	Days int
	// maximum number of groups merged; 0 means DefaultMaxGroups
	MaxGroups int
	// report exactly what would happen and change nothing
	DryRun bool
	// Scheduled is true for runs that no person requested. They skip memories of a recently adopted directory, import
	// or restored backup, for the same grace period as Run does for deletions.
	Scheduled bool
}

// fill sets defaults and validates.
func (o *CompressOptions) fill() error {
	o.Days = cmp.Or(o.Days, DefaultCompressDays)
	o.MaxGroups = cmp.Or(o.MaxGroups, DefaultMaxGroups)
	var c memory.Check
	if o.Space != "" {
		c.Slug("space", o.Space)
	}
	if o.Days < 1 {
		c.Add("days", "OUT_OF_RANGE", "must be at least 1")
	}
	if o.MaxGroups < 1 {
		c.Add("limit", "OUT_OF_RANGE", "must be at least 1")
	}
	return c.Err()
}

// CompressReport is the result of a run, or of a dry run.
type CompressReport struct {
	// by space and category
	Groups []Group
	// number of memories that were old and little used enough
	Candidates int
	// why the run did nothing; "" if it ran
	Postponed string
	DryRun    bool
}

// Merged counts the groups that were merged.
func (r *CompressReport) Merged() (n int) {
	for i := range r.Groups {
		if r.Groups[i].Reason == "" {
			n++
		}
	}
	return n
}

// Group is a cluster of similar memories that was merged or skipped.
type Group struct {
	Space, Category string
	// ids of the merged memories; the first one's text is kept completely
	Originals []string
	// one to three memories, fewer than Originals
	Results []Merged
	// why it was skipped; "" if it was merged
	Reason string
	// the operation; 0 in a dry run or if nothing changed
	Op int64
}

// Merged is a memory that replaces others.
type Merged struct {
	// "" in a dry run
	ID         string
	Content    string
	Supersedes []string
}

// Compress merges memories that are old, rarely accessed and similar: three or more of one category become one to
// three. Every distinct sentence is kept. The originals become superseded, name their successor, and can be restored.
// Each group is one operation. Pinned memories and those with a title, an expiry, structured data or unknown fields are
// not merged; neither are memories that contradict each other in a number or a negation, or those of a space that is
// only received. Durable on return. Errors: *memory.InvalidError, those of the store.
func (a *Archiver) Compress(ctx context.Context, opts CompressOptions) (CompressReport, error) {
	if err := opts.fill(); err != nil {
		return CompressReport{}, err
	}
	report := CompressReport{DryRun: opts.DryRun}
	// A clock that jumped ahead would make everything old at once.
	now, doubt, err := a.store.TrustedNow(ctx)
	if report.Postponed = doubt; err != nil || doubt != "" {
		return report, err
	}
	if opts.Scheduled {
		if report.Postponed, err = a.compressPostponed(ctx, now); err != nil || report.Postponed != "" {
			return report, err
		}
	}
	for space := range a.spaces(opts.Space) {
		if a.store.Writable(space) != nil {
			continue // a machine that may write does it
		}
		if err := ctx.Err(); err != nil {
			return report, err
		}
		if err := a.compressSpace(ctx, space, now, opts, &report); err != nil {
			return report, err
		}
	}
	level := slog.LevelInfo
	if report.Merged() == 0 {
		level = slog.LevelDebug
	}
	a.logger.Log(ctx, level, "memories compressed", "candidates", report.Candidates, "groups", report.Merged(),
		"dry_run", opts.DryRun)
	return report, nil
}

// compressSpace merges the groups of one space and adds them to the report.
func (a *Archiver) compressSpace(ctx context.Context, space string, now time.Time, opts CompressOptions,
	report *CompressReport) error {
	kinds := map[mergeKey][]*memory.Memory{}
	for _, m := range a.store.Space(space).Memories() {
		if compressible(m, now, opts.Days) {
			kinds[mergeKeyOf(m)] = append(kinds[mergeKeyOf(m)], m)
			report.Candidates++
		}
	}
	order := make([]mergeKey, 0, len(kinds))
	for k := range kinds {
		order = append(order, k)
	}
	// A fixed order, so that a dry run foretells what a run does.
	slices.SortFunc(order, func(a, b mergeKey) int {
		return cmp.Or(cmp.Compare(a.category, b.category), cmp.Compare(a.tool, b.tool), cmp.Compare(a.class, b.class),
			cmp.Compare(a.signature, b.signature))
	})
	for _, k := range order {
		of := kinds[k]
		slices.SortStableFunc(of, func(a, b *memory.Memory) int { return a.CreatedAt.Compare(b.CreatedAt) })
		for _, members := range findClusters(of[:min(len(of), maxCandidates)]) {
			if report.Merged() == opts.MaxGroups {
				return nil
			}
			if err := ctx.Err(); err != nil {
				return err
			}
			if opts.Scheduled {
				reason, err := a.recentImportReason(ctx, members, now)
				if err != nil {
					return err
				}
				if reason != "" {
					report.Groups = append(report.Groups, skippedGroup(space, members, reason))
					continue
				}
			}
			g, err := a.merge(ctx, space, members, opts.DryRun)
			if err != nil {
				return fmt.Errorf("merge memories of space %s: %w", space, err)
			}
			report.Groups = append(report.Groups, g)
		}
	}
	return nil
}

// mergeKey partitions the memories: only memories with equal keys are merged.
type mergeKey struct{ category, tool, class, signature string }

// mergeKeyOf returns the key of a memory.
func mergeKeyOf(m *memory.Memory) mergeKey {
	k := mergeKey{category: m.Category}
	if m.Context() != nil {
		k.tool, k.class, k.signature = m.Context().Tool, m.Context().ErrorType, m.Context().Signature
	}
	return k
}

// compressible reports whether m is unused for more than so many whole days, and a merge would lose nothing of it. A
// memory that was never accessed counts from its creation. Summaries of logs are not merged: each stands for its day.
func compressible(m *memory.Memory, now time.Time, days int) bool {
	for _, at := range []time.Time{m.CreatedAt, m.UpdatedAt, m.LastAccessed()} {
		if !at.IsZero() && int(now.Sub(at)/(24*time.Hour)) <= days {
			return false
		}
	}
	return m.IsActive() && !m.Pinned && m.AccessCount() < maxAccessCount &&
		m.ExpiresAt().IsZero() && m.Title == "" && len(m.StructuredData()) == 0 && len(m.Extra()) == 0 &&
		(m.Context() == nil || len(m.Context().Extra) == 0) && !isLogSummary(m)
}

// merge merges a group as one operation. If a member changed concurrently, the group is skipped with a reason.
func (a *Archiver) merge(ctx context.Context, space string, members []*memory.Memory, dry bool) (Group, error) {
	g := Group{Space: space, Category: members[0].Category}
	parts, _ := joinMemories(members)
	meta := store.Meta{
		Space: space, Actor: journal.ActorArchive,
		Reason: fmt.Sprintf("compress %d memories of category %s to %d", len(members), g.Category, len(parts)),
	}
	for _, m := range members {
		g.Originals = append(g.Originals, m.ID)
	}
	res, err := a.store.Update(ctx, meta, func(tx *store.Tx) error {
		for _, p := range parts {
			if err := p.put(tx, &g); err != nil {
				return err
			}
		}
		if dry {
			return errDryRun
		}
		return nil
	})
	switch {
	case errors.Is(err, errDryRun):
		for i := range g.Results {
			// The ids of a dry run would not be those of a run.
			g.Results[i].ID = ""
		}
	case errors.Is(err, memory.ErrStale), errors.Is(err, memory.ErrExists):
		g.Reason, g.Results = err.Error(), nil
	case err != nil:
		return g, err
	}
	g.Op = res.Op
	return g, nil
}

// put supersedes the members of a part and adds the merged memory.
func (p *mergedPart) put(tx *store.Tx, g *Group) error {
	for _, m := range p.members {
		now := tx.Memory(m.ID)
		// Used or changed since the group was formed: it is not stale knowledge any more.
		if now == nil || now.Revision != m.Revision || now.AccessCount() >= maxAccessCount {
			return &memory.StaleError{Kind: "memory", Name: m.ID, Expected: m.Revision}
		}
		c := now.Clone()
		c.Status = memory.Superseded
		c.SetSupersededBy(p.merged.ID)
		if err := tx.Put(c); err != nil {
			return err
		}
	}
	if equal := tx.Equal(p.merged.Category, p.merged.Content); equal != nil {
		return &memory.ExistsError{Kind: "memory", Name: equal.ID}
	}
	if tx.IsForgotten(p.merged.Content) {
		return &memory.StaleError{Kind: "memory", Name: p.merged.ID}
	}
	m := p.merged.Clone()
	if err := tx.Put(m); err != nil {
		return err
	}
	g.Results = append(g.Results, Merged{ID: m.ID, Content: m.Content, Supersedes: slices.Clone(m.Supersedes())})
	return nil
}
