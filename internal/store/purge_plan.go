package store

import (
	"context"
	"errors"
	"slices"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/store/journal"
	"github.com/memsidecar/memsidecar/internal/store/textscrub"
)

// PlanPurge determines and counts what a purge would erase. It changes nothing. Error: *memory.NotFoundError when the
// request has no texts and none of its ids was ever used; *memory.ReadOnlySpaceError when a space that is only received
// holds some of it.
func (s *Store) PlanPurge(ctx context.Context, req PurgeRequest) (*Purge, error) {
	if req.Space == "" {
		req.Space = memory.DefaultSpace
	}
	p := &Purge{store: s, req: req}
	if err := p.plan(ctx); err != nil {
		return nil, err
	}
	if req.Received {
		return p, nil // nobody asks how much it is
	}
	return p, p.count(ctx)
}

// plan builds the intent: ids, texts, entries, sessions, and the changes of the record.
func (p *Purge) plan(ctx context.Context) error {
	p.intent = &purgeIntent{Version: purgeIntentVersion, Space: p.req.Space, Texts: slices.Clone(p.req.Texts),
		Received: p.req.Received, Only: p.req.Only}
	p.revisions = map[string]int64{}
	var values []string
	for _, id := range p.req.IDs {
		if slices.Contains(p.intent.IDs, id) {
			continue
		}
		revision := p.store.Space(p.req.Space).lastOperation(id)
		p.revisions[id] = revision
		if revision == 0 {
			continue
		}
		versions, err := p.versions(ctx, id)
		if err != nil {
			return err
		}
		p.intent.IDs = append(p.intent.IDs, id)
		for _, m := range versions {
			// Every earlier version, since history keeps them all.
			values = append(values, p.addVersion(m)...)
		}
	}
	if len(p.intent.IDs) == 0 && len(p.req.Texts) == 0 {
		name := ""
		if len(p.req.IDs) > 0 {
			name = p.req.IDs[0]
		}
		return &memory.NotFoundError{Kind: "memory", Name: name}
	}
	slices.Sort(p.intent.Texts)
	p.intent.Texts = slices.Compact(p.intent.Texts)
	p.intent.Purge = journal.Purge{Memories: len(p.intent.IDs), Texts: len(p.req.Texts), Transcripts: p.req.Transcripts}
	p.scrub = newScrubber(p.intent)
	if err := p.checkWritable(); err != nil {
		return err
	}
	values = append(values, p.req.Texts...)
	if p.req.Received {
		values = nil // the log says what is forgotten
	}
	return p.changes(values)
}

// addVersion adds the text of one version of a memory, and the entries and sessions that it names. It returns the
// version's content.
func (p *Purge) addVersion(m *memory.Memory) []string {
	if m == nil || m.Content == textscrub.Placeholder {
		return nil
	}
	if text, ok := PurgedText(m); ok {
		p.intent.Texts = append(p.intent.Texts, text)
	}
	for _, e := range m.Evidence() {
		if ref := (entryRef{e.Log, e.Entry}); e.Log != "" && e.Entry != "" && !slices.Contains(p.intent.Entries, ref) {
			p.intent.Entries = append(p.intent.Entries, ref)
		}
		p.addSession(e.Session)
	}
	if m.Context() != nil {
		p.addSession(sessionOf(m.Context().LearnedFrom))
	}
	return []string{m.Content}
}

// PurgedText is the text by which a version of a purged memory is found elsewhere. It is not ok for one that is too
// short, or was purged.
func PurgedText(m *memory.Memory) (text string, ok bool) {
	text = textscrub.MatchText(m.Content)
	return text, m.Content != textscrub.Placeholder && textscrub.Allowed(text)
}

// addSession adds a session whose messages are erased, if the request asks for that.
func (p *Purge) addSession(id string) {
	if p.req.Transcripts && id != "" && !slices.Contains(p.intent.Sessions, id) {
		p.intent.Sessions = append(p.intent.Sessions, id)
	}
}

// sessionOf returns the session id in a memory's learned_from, "" for none.
func sessionOf(learnedFrom string) string {
	const prefix = "session_"
	if len(learnedFrom) > len(prefix) && learnedFrom[:len(prefix)] == prefix {
		return learnedFrom[len(prefix):]
	}
	return ""
}

// versions returns every image of a memory that the state and the history hold.
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

// lastOperation is the newest operation that changed or removed a memory, 0 when the id was never used.
func (v *Space) lastOperation(id string) (op int64) {
	v.readMemories(func(sp *spaceState) {
		if m := sp.memory(id); m != nil {
			op = m.Revision
		} else {
			op = sp.removed[id]
		}
	})
	return op
}

// changes builds the changes of the record: the removals, without content, and the hashes of values. Memories that were
// removed earlier are included, so that their history shows the purge.
func (p *Purge) changes(values []string) error {
	v := p.store.Space(p.req.Space)
	p.intent.Changes = nil
	for _, id := range p.intent.IDs {
		p.intent.Changes = append(p.intent.Changes,
			journal.Change{Memory: &journal.MemoryChange{ID: id, Prior: p.revisions[id], Purged: true}})
	}
	for _, ref := range p.intent.Entries {
		_, entries, err := v.Log(ref.Date)
		if err != nil && !errors.Is(err, memory.ErrNotFound) {
			return err
		}
		for _, e := range entries {
			if e.ID == ref.ID {
				outline, _ := p.scrub.entry(p.req.Space, ref.Date, e)
				p.intent.Changes = append(p.intent.Changes,
					journal.Change{Entry: &journal.EntryChange{Date: ref.Date, ID: ref.ID, Before: outline,
						Purged: true}})
			}
		}
	}
	done := map[string]bool{}
	forgotten := v.Forgotten()
	for _, value := range values {
		hash := memory.ForgottenHash(p.store.Origin(), value)
		if done[hash] {
			continue
		}
		done[hash] = true
		// The time is new even when the value was forgotten before. Otherwise undoing that earlier operation would
		// unforget the value.
		p.intent.Changes = append(p.intent.Changes,
			journal.Change{Forgotten: &journal.ForgottenChange{Hash: hash, Before: forgotten[hash]}})
	}
	return nil
}

// Counts says how much is erased, by kind of place, except from files that are not the store's. The map belongs to the
// caller.
func (p *Purge) Counts() map[string]int64 { return p.counts }

// Erased is what other machines need to erase the same: ids, texts, and the hashes of the values that are forgotten.
func (p *Purge) Erased() (ids, texts, forgotten []string) {
	for i := range p.intent.Changes {
		if f := p.intent.Changes[i].Forgotten; f != nil {
			forgotten = append(forgotten, f.Hash)
		}
	}
	return slices.Clone(p.intent.IDs), slices.Clone(p.intent.Texts), forgotten
}

// Space is the space of the request.
func (p *Purge) Space() string { return p.intent.Space }

// InSpaceOnly reports whether other spaces keep the texts.
func (p *Purge) InSpaceOnly() bool { return p.intent.Received || p.intent.Only }

// Committed reports whether the purge cannot be cancelled any more.
func (p *Purge) Committed() bool { return p.committed }

// Empty reports whether there is nothing to erase: no texts are known, and the memories are gone.
func (p *Purge) Empty() bool {
	return len(p.intent.Texts) == 0 && !slices.ContainsFunc(p.intent.IDs, func(id string) bool {
		_, err := p.store.Space(p.req.Space).Get(id)
		return err == nil
	})
}

// count fills in Counts by a dry run.
func (p *Purge) count(ctx context.Context) error {
	n := map[string]int64{}
	p.counts = n
	for _, c := range p.intent.Changes {
		if c.Memory != nil {
			if _, err := p.store.Space(p.intent.Space).Get(c.Memory.ID); err == nil {
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
			if m := c.Memory; m != nil && m.After != nil && rec.Space == p.intent.Space && p.scrub.ids[m.ID] &&
				m.After.Content != textscrub.Placeholder {
				n["version"]++
			}
		}
		return p.scrub.record(rec)
	}
	// The code that erases also counts, so that a preview cannot differ from the purge.
	found, err := p.store.journal.Rewrite(ctx,
		journal.RewriteOptions{Before: 1 << 62, DryRun: true, MayChange: p.scrub.mayChange, Change: counting})
	n["journal"] = int64(found.Records)
	return err
}

// countSpace counts what is erased from the state of one space.
func (p *Purge) countSpace(ctx context.Context, v *Space) error {
	n, sc := p.counts, p.scrub
	count := func(kind string, changed bool) {
		if changed {
			n[kind]++
		}
	}
	for _, m := range v.Memories() {
		_, did := sc.memory(v.name, m)
		// Memories that are named are counted by plan; here are those that merely quote a text.
		count("memory", did && !(v.name == p.intent.Space && sc.ids[m.ID]))
	}
	count("summary", sc.texts.Match([]byte(v.Summary())))
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
