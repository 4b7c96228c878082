package store

import (
	"context"
	"errors"
	"slices"

	"github.com/memsidecar/memsidecar/internal/erase"
	"github.com/memsidecar/memsidecar/internal/journal"
	"github.com/memsidecar/memsidecar/internal/memory"
)

// PlanPurge reads what a purge would erase and counts it. It changes nothing.
// Errors: *memory.NotFoundError when there are ids and none was ever known, and no texts.
func (s *Store) PlanPurge(ctx context.Context, req PurgeRequest) (*Purge, error) {
	if req.Space == "" {
		req.Space = memory.DefaultSpace
	}
	p := &Purge{store: s, req: req}
	if err := p.plan(ctx); err != nil {
		return nil, err
	}
	return p, p.count(ctx)
}

// plan collects ids, texts, entries and sessions.
func (p *Purge) plan(ctx context.Context) error {
	p.in = &intent{Version: intentVersion, Space: p.req.Space, Texts: slices.Clone(p.req.Texts)}
	p.known = map[string]int64{}
	var values []string
	for _, id := range p.req.IDs {
		if slices.Contains(p.in.IDs, id) {
			continue
		}
		revision := p.store.Space(p.req.Space).lastOf(id)
		p.known[id] = revision
		if revision == 0 {
			continue
		}
		versions, err := p.versions(ctx, id)
		if err != nil {
			return err
		}
		p.in.IDs = append(p.in.IDs, id)
		for _, m := range versions {
			values = append(values, p.version(m)...)
		}
	}
	if len(p.in.IDs) == 0 && len(p.req.Texts) == 0 {
		name := ""
		if len(p.req.IDs) > 0 {
			name = p.req.IDs[0]
		}
		return &memory.NotFoundError{Kind: "memory", Name: name}
	}
	slices.Sort(p.in.Texts)
	p.in.Texts = slices.Compact(p.in.Texts)
	p.in.Purge = journal.Purge{Memories: len(p.in.IDs), Texts: len(p.req.Texts), Transcripts: p.req.Transcripts}
	p.scrub = newScrubber(p.in)
	return p.changes(append(values, p.req.Texts...))
}

// version notes what one version of a memory says and names, and returns its value.
func (p *Purge) version(m *memory.Memory) []string {
	if m == nil || m.Content == erase.Mark {
		return nil
	}
	if text := erase.Core(m.Content); erase.Allowed(text) {
		p.in.Texts = append(p.in.Texts, text)
	}
	for _, e := range m.Evidence {
		if ref := (entryRef{e.Log, e.Entry}); e.Log != "" && e.Entry != "" && !slices.Contains(p.in.Entries, ref) {
			p.in.Entries = append(p.in.Entries, ref)
		}
		p.session(e.Session)
	}
	if m.Context != nil {
		p.session(sessionOf(m.Context.LearnedFrom))
	}
	return []string{m.Content}
}

func (p *Purge) session(id string) {
	if p.req.Transcripts && id != "" && !slices.Contains(p.in.Sessions, id) {
		p.in.Sessions = append(p.in.Sessions, id)
	}
}

func sessionOf(learnedFrom string) string {
	const prefix = "session_"
	if len(learnedFrom) > len(prefix) && learnedFrom[:len(prefix)] == prefix {
		return learnedFrom[len(prefix):]
	}
	return ""
}

// versions returns every image of a memory that the history still holds.
func (p *Purge) versions(ctx context.Context, id string) ([]*memory.Memory, error) {
	var out []*memory.Memory
	if m, err := p.store.Space(p.req.Space).Get(id); err == nil {
		out = append(out, m)
	}
	history, err := p.store.History(ctx, p.req.Space, id, int(^uint(0)>>1))
	if err != nil {
		return nil, err
	}
	for _, rec := range history {
		for _, c := range rec.Changes {
			if c.Memory != nil && c.Memory.ID == id {
				out = append(out, c.Memory.Before, c.Memory.After)
			}
		}
	}
	return out, nil
}

// lastOf is the newest operation that changed or removed a memory, 0 when it was never known.
func (v *Space) lastOf(id string) (op int64) {
	v.read(func(sp *spaceState) {
		if m := sp.memory(id); m != nil {
			op = m.Revision
		} else {
			op = sp.removed[id]
		}
	})
	return op
}

// changes makes the changes of the record: what goes, without its content, and the hashes of the values. Removed memories are there too, for their history.
func (p *Purge) changes(values []string) error {
	v := p.store.Space(p.req.Space)
	p.in.Changes = nil
	for _, id := range p.in.IDs {
		p.in.Changes = append(p.in.Changes, journal.Change{Memory: &journal.MemoryChange{ID: id, Prior: p.known[id], Purged: true}})
	}
	for _, ref := range p.in.Entries {
		_, entries, err := v.Log(ref.Date)
		if err != nil && !errors.Is(err, memory.ErrNotFound) {
			return err
		}
		for _, e := range entries {
			if e.ID == ref.ID {
				outline, _ := p.scrub.entry(p.req.Space, ref.Date, e)
				p.in.Changes = append(p.in.Changes, journal.Change{Entry: &journal.EntryChange{Date: ref.Date, ID: ref.ID, Before: outline, Purged: true}})
			}
		}
	}
	done := map[string]bool{}
	forgotten := v.Forgotten()
	for _, value := range values {
		hash := forgottenHash(p.store.Origin(), value)
		if done[hash] {
			continue
		}
		done[hash] = true
		// The time is new even when the value was forgotten before: an undo of that must not take it back.
		p.in.Changes = append(p.in.Changes, journal.Change{Forgotten: &journal.ForgottenChange{Hash: hash, Before: forgotten[hash]}})
	}
	return nil
}

// Counts says how much is erased, by kind of place; what is in other files than the store's is not in it. The map is the caller's.
func (p *Purge) Counts() map[string]int64 { return p.counts }

// count fills in Counts by doing everything but the changes.
func (p *Purge) count(ctx context.Context) error {
	n := map[string]int64{}
	p.counts = n
	for _, c := range p.in.Changes {
		if c.Memory != nil {
			if _, err := p.store.Space(p.in.Space).Get(c.Memory.ID); err == nil {
				n["memory"]++
			}
		}
	}
	for _, name := range p.store.Spaces() {
		if err := p.countSpace(ctx, p.store.Space(name)); err != nil {
			return err
		}
	}
	counting := func(rec *journal.Record) bool {
		for _, c := range rec.Changes {
			if m := c.Memory; m != nil && m.After != nil && rec.Space == p.in.Space && p.scrub.ids[m.ID] && m.After.Content != erase.Mark {
				n["version"]++
			}
		}
		return p.scrub.record(rec)
	}
	found, err := p.store.journal.Rewrite(ctx, journal.Rewriting{Before: 1 << 62, DryRun: true, Concerns: p.scrub.concerns, Change: counting})
	n["journal"] = int64(found.Records)
	return err
}

func (p *Purge) countSpace(ctx context.Context, v *Space) error {
	n, sc := p.counts, p.scrub
	count := func(kind string, changed bool) {
		if changed {
			n[kind]++
		}
	}
	for _, m := range v.Memories() {
		_, did := sc.memory(v.name, m)
		count("memory", did && !(v.name == p.in.Space && sc.ids[m.ID]))
	}
	count("summary", sc.texts.In([]byte(v.Summary())))
	v.read(func(sp *spaceState) {
		for _, r := range sp.receipts {
			_, did := sc.receipt(&r.Receipt)
			count("receipt", did)
		}
	})
	for _, d := range v.Days() {
		_, did := sc.day(d)
		count("summary", did)
		_, entries, err := v.Log(d.Date)
		if err != nil && !errors.Is(err, memory.ErrNotFound) {
			return err
		}
		for _, e := range entries {
			_, did := sc.entry(v.name, d.Date, e)
			count("log_entry", did)
		}
	}
	for _, r := range v.Archived() {
		_, did := sc.archived(r)
		count("archived", did)
	}
	for _, s := range v.Sessions() {
		if err := ctx.Err(); err != nil {
			return err
		}
		_, did := sc.session(v.name, s)
		count("session", did)
		messages, err := v.Messages(s.ID, 0)
		if err != nil && !errors.Is(err, memory.ErrNotFound) {
			return err
		}
		for _, m := range messages {
			_, did := sc.message(v.name, s.ID, m)
			count("message", did)
		}
	}
	return nil
}
