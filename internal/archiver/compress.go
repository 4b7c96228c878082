package archiver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/memsidecar/memsidecar/internal/journal"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/store"
)

const (
	// DefaultCompressDays is the age in days from which memories are compressed, unless CompressOptions say otherwise.
	DefaultCompressDays = 90
	// DefaultMaxGroups bounds the groups merged in one run.
	DefaultMaxGroups = 50
	// hardlyUsed is the access count from which a memory is left alone.
	hardlyUsed = 5
	// maxCandidates bounds the memories of one category that are compared with each other in one run, the oldest first.
	maxCandidates = 5000
)

// CompressOptions of one run. The zero value compresses all spaces with the defaults.
type CompressOptions struct {
	Space     string // "" is every space
	Days      int    // only memories created and changed at least this many days ago; 0 is DefaultCompressDays
	MaxGroups int    // merged at most in one run; 0 is DefaultMaxGroups
	DryRun    bool   // report exactly what would happen and change nothing
	// Unasked is a run that no person asked for: what came with an adopted directory, an import or a restored backup it leaves alone for as long as old logs
	// that came so wait to be deleted.
	Unasked bool
}

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
		c.Add("max_groups", "OUT_OF_RANGE", "must be at least 1")
	}
	return c.Err()
}

// CompressReport says what a run did, or would do.
type CompressReport struct {
	Groups     []Group // by space and category
	Candidates int     // memories old enough and used little enough
	Postponed  string  // why nothing was looked at, "" when it was
	DryRun     bool
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

// Group is some memories that became fewer.
type Group struct {
	Space, Category string
	Originals       []string // ids, that of the memory whose text was kept whole first
	Results         []Merged // one to three, fewer than there were originals
	Reason          string   // why it was left alone, "" when it was not
	Op              int64    // the operation; 0 in a dry run and when nothing was changed
}

// Merged is a memory that took the place of others.
type Merged struct {
	ID         string // empty in a dry run
	Content    string
	Supersedes []string
}

// Compress merges memories that are old, hardly used and alike: three or more of one category become one to three. Every sentence of them is
// kept. The originals are superseded, name their successor, and can be restored. Each group is one operation. Memories that are pinned, have a
// title, an expiry, structured data or fields of other programs are left alone, and so are those that differ in a number or a negation where
// they otherwise say the same. Durable on return. Errors: *memory.InvalidError, those of the store.
func (a *Archiver) Compress(ctx context.Context, opts CompressOptions) (CompressReport, error) {
	if err := opts.fill(); err != nil {
		return CompressReport{}, err
	}
	report := CompressReport{DryRun: opts.DryRun}
	now, doubt, err := a.store.TrustedNow(ctx)
	if report.Postponed = doubt; err != nil || doubt != "" {
		return report, err
	}
	if opts.Unasked {
		if report.Postponed, err = a.compressionWaits(ctx, now); err != nil || report.Postponed != "" {
			return report, err
		}
	}
	spaces := []string{opts.Space}
	if opts.Space == "" {
		spaces = a.store.Spaces()
	}
	for _, space := range spaces {
		if err := a.compressSpace(ctx, space, now, opts, &report); err != nil {
			return report, err
		}
	}
	level := slog.LevelInfo
	if report.Merged() == 0 {
		level = slog.LevelDebug
	}
	a.logger.Log(ctx, level, "memories compressed", "candidates", report.Candidates, "groups", report.Merged(), "dry_run", opts.DryRun)
	return report, nil
}

func (a *Archiver) compressSpace(ctx context.Context, space string, now time.Time, opts CompressOptions, report *CompressReport) error {
	before := now.AddDate(0, 0, -opts.Days)
	kinds := map[kind][]*memory.Memory{}
	for _, m := range a.store.Space(space).Memories() {
		if compressible(m, before) {
			kinds[kindOf(m)] = append(kinds[kindOf(m)], m)
			report.Candidates++
		}
	}
	order := make([]kind, 0, len(kinds))
	for k := range kinds {
		order = append(order, k)
	}
	slices.SortFunc(order, func(a, b kind) int {
		return cmp.Or(cmp.Compare(a.category, b.category), cmp.Compare(a.tool, b.tool), cmp.Compare(a.class, b.class), cmp.Compare(a.signature, b.signature))
	})
	for _, k := range order {
		of := kinds[k]
		slices.SortStableFunc(of, func(a, b *memory.Memory) int { return a.CreatedAt.Compare(b.CreatedAt) })
		for _, members := range groups(of[:min(len(of), maxCandidates)]) {
			if report.Merged() == opts.MaxGroups {
				return nil
			}
			if err := ctx.Err(); err != nil {
				return err
			}
			if opts.Unasked {
				reason, err := a.importedLately(ctx, members, now)
				if err != nil {
					return err
				}
				if reason != "" {
					report.Groups = append(report.Groups, leftAlone(space, members, reason))
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

// kind divides the memories: only those of one kind are merged.
type kind struct{ category, tool, class, signature string }

func kindOf(m *memory.Memory) kind {
	k := kind{category: m.Category}
	if m.Context != nil {
		k.tool, k.class, k.signature = m.Context.Tool, m.Context.ErrorType, m.Context.Signature
	}
	return k
}

// compressible reports whether nothing but its text and its numbers would have to survive of m. The summary of a log is not merged: it speaks
// for a day, and is made of entries only.
func compressible(m *memory.Memory, before time.Time) bool {
	return m.IsActive() && !m.Pinned && m.AccessCount < hardlyUsed && m.CreatedAt.Before(before) && m.UpdatedAt.Before(before) &&
		m.ExpiresAt.IsZero() && m.Title == "" && len(m.StructuredData) == 0 && len(m.Extra) == 0 &&
		(m.Context == nil || len(m.Context.Extra) == 0) && !isLogSummary(m)
}

// merge carries a group out as one operation, unless one of its memories changed meanwhile.
func (a *Archiver) merge(ctx context.Context, space string, members []*memory.Memory, dry bool) (Group, error) {
	g := Group{Space: space, Category: members[0].Category}
	parts, _ := join(members)
	meta := store.Meta{
		Space: space, Actor: journal.ActorArchive, Reason: fmt.Sprintf("compress %d memories of category %s to %d", len(members), g.Category, len(parts)),
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

// put replaces the members of a part by the memory they become.
func (p *part) put(tx *store.Tx, g *Group) error {
	for _, m := range p.members {
		now := tx.Memory(m.ID)
		if now == nil || now.Revision != m.Revision || now.AccessCount >= hardlyUsed {
			return &memory.StaleError{Kind: "memory", Name: m.ID, Expected: m.Revision}
		}
		c := now.Clone()
		c.Status, c.SupersededBy = memory.Superseded, p.merged.ID
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
	g.Results = append(g.Results, Merged{ID: m.ID, Content: m.Content, Supersedes: slices.Clone(m.Supersedes)})
	return nil
}
