package share

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/share/merge"
	"github.com/memsidecar/memsidecar/internal/share/pglog"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

// purgeEpoch begins the epoch of rows that announce purges: they are no operations of a store, whose numbers they would
// take.
const purgeEpoch = "purge-"

// purgeMark is what a row says of the purge that it announces.
type purgeMark struct {
	ID  string   `json:"id"`
	IDs []string `json:"ids,omitempty"` // of memories
}

// publish erases from the log what was purged here, oldest first, and says whether there was something. The log has it
// as rows that this machine receives like any others. Error: pglog.ErrBehind.
func (s *Service) publish(ctx context.Context, log *pglog.Log, sp *space) (did bool, err error) {
	list := s.purgesOf(sp.name)
	if len(list) == 0 || list[0].running { // the exchange is woken when it is done
		return false, nil
	}
	p := &list[0]
	if !p.Local {
		if err := s.eraseAgain(ctx, sp, p); err != nil {
			return false, err
		}
	}
	row, err := p.row(s.cfg.Store.Origin())
	if err != nil {
		return false, err
	}
	e := &eraser{space: sp.name, ids: append([]string{}, p.IDs...), texts: slices.Clone(p.Texts), elsewhere: p.Elsewhere}
	announced, err := log.Purge(ctx, sp.state.Remote.ID, sp.state.Remote.Head, p.ID, row, e, s.format().Erase())
	if err == nil && !announced {
		err = s.dropNeedless(p)
	}
	return true, err
}

// dropNeedless ends a purge of another space of which the log holds nothing. Durable on return.
func (s *Service) dropNeedless(p *pendingPurge) error {
	if err := s.changePurges(without([]pendingPurge{*p})); err != nil {
		return err
	}
	s.purgesMu.Lock()
	defer s.purgesMu.Unlock()
	s.needless = append(s.needless, p.ID)
	return nil
}

// eraseAgain erases here what was announced before a crash.
func (s *Service) eraseAgain(ctx context.Context, sp *space, p *pendingPurge) error {
	req := store.PurgeRequest{Space: p.Space, IDs: p.IDs, Texts: p.Texts, Reason: "purge"}
	if _, err := s.cfg.Erase(ctx, req); err != nil {
		return err
	}
	if err := s.scrub(sp, store.NewScrub(p.Space, p.IDs, p.Texts)); err != nil {
		return err
	}
	p.Local, p.Position = true, sp.state.Remote.Head.Seq
	return s.changePurges(func(list []pendingPurge) []pendingPurge {
		return append(without([]pendingPurge{*p})(list), *p)
	})
}

// row is the row that announces the purge: what it leaves, for the machines that add up the log.
func (p *pendingPurge) row(origin string) (pglog.Row, error) {
	rec := record{Version: purgeRecordVersion, Actor: journal.ActorClient, Reason: "purge", Purge: &purgeMark{p.ID, p.IDs}}
	for _, id := range p.IDs {
		rec.Changes = append(rec.Changes, merge.Change{Memory: &merge.MemoryValue{ID: id}})
	}
	for _, hash := range p.Forgotten {
		rec.Changes = append(rec.Changes, merge.Change{Forgotten: &merge.ForgottenValue{Hash: hash, At: p.At}})
	}
	raw, err := json.Marshal(rec)
	if err != nil {
		return pglog.Row{}, fmt.Errorf("encode a purge for the log: %w", err)
	}
	return pglog.Row{Origin: origin, Epoch: purgeEpoch + p.ID, Op: 1, At: p.At, Record: string(raw)}, nil
}

// isPurge reports whether a row announces a purge.
func isPurge(r *pglog.Row) bool { return strings.HasPrefix(r.Epoch, purgeEpoch) }

// receivePurge erases here what a row says, before the row is applied. The row is read again after a crash until it is
// applied, so nothing is left out. Texts that only this machine had are announced in turn. Durable on return. Errors:
// memory.ErrRefused while an edit waits for a person, those of a purge.
func (s *Service) receivePurge(ctx context.Context, log *pglog.Log, sp *space, r *pglog.Row) error {
	rec, err := decodeRecord(r)
	if err != nil {
		return err
	}
	if rec.Purge == nil {
		return fmt.Errorf("row %d of the log: %w", r.Seq, errRecord)
	}
	texts, err := log.PurgeTexts(ctx, sp.state.Remote.ID, r.Seq)
	if err != nil {
		return err
	}
	own := slices.DeleteFunc(s.purgesOf(sp.name), func(p pendingPurge) bool { return p.ID != rec.Purge.ID })
	var extra []string // who only receives has none
	if r.Seq > sp.done && !hasErased(own, r, texts) {
		erased, err := s.cfg.Erase(ctx, store.PurgeRequest{Space: sp.name, IDs: rec.Purge.IDs, Texts: texts,
			Reason: "purged at another machine", Received: true})
		if err != nil {
			return err
		}
		if !sp.readOnly {
			extra = slices.DeleteFunc(erased, func(text string) bool { return slices.Contains(texts, text) })
		}
	}
	if err := s.scrub(sp, store.NewScrub(sp.name, rec.Purge.IDs, append(extra, texts...))); err != nil {
		return err
	}
	sp.memberAt = time.Time{}
	sp.purges.due, sp.purges.confirms, sp.purges.arrived = true, true, s.cfg.Now()
	return s.changePurges(func(list []pendingPurge) []pendingPurge {
		if list = without(own)(list); len(extra) > 0 {
			list = append(list, pendingPurge{ID: store.NewID(), Space: sp.name, At: r.At, IDs: rec.Purge.IDs, Texts: extra,
				Local: true, Position: r.Seq})
		}
		return list
	})
}

// hasErased reports whether a purge of this machine erased everything that a row names, and nothing came since.
func hasErased(own []pendingPurge, r *pglog.Row, texts []string) bool {
	return len(own) == 1 && own[0].Local && own[0].Position >= r.Seq-1 &&
		!slices.ContainsFunc(texts, func(text string) bool { return !slices.Contains(own[0].Texts, text) })
}

// eraseAtJoining erases what was purged in a space before this machine joined it, or while it was away.
func (s *Service) eraseAtJoining(ctx context.Context, log *pglog.Log, sp *space, remote pglog.Space) error {
	if _, _, changed := s.cfg.Store.Space(sp.name).Look(nil); changed == 0 {
		return nil
	}
	ids, texts, err := log.Erased(ctx, remote.ID)
	if err != nil || len(ids)+len(texts) == 0 {
		return err
	}
	_, err = s.cfg.Erase(ctx, store.PurgeRequest{Space: sp.name, IDs: ids, Texts: texts,
		Reason: "purged in the shared space", Received: true})
	return err
}

// eraser is a pglog.Eraser.
type eraser struct {
	space      string
	ids, texts []string
	// elsewhere says that the purge is one of another space, whose texts are nobody's business here unless this space
	// holds them.
	elsewhere bool
	found     []string          // texts that the log held, of a purge of another space
	evidence  []memory.Evidence // of the memories: entries that are erased as a whole
	// clean is made of ids and texts when all are known.
	clean *store.Scrub
}

// IDs are the memories that are erased.
func (e *eraser) IDs() []string { return e.ids }

// Texts are the texts that the other machines are to erase: of a purge of another space, only those that were here.
func (e *eraser) Texts() []string {
	if e.elsewhere {
		return e.found
	}
	return e.texts
}

// Needless reports whether a purge of another space found nothing here.
func (e *eraser) Needless() bool { return e.elsewhere && len(e.found) == 0 }

// Collect notes the contents of the memories.
func (e *eraser) Collect(data string, part bool) error {
	note := func(m *memory.Memory) {
		if m == nil || !slices.Contains(e.ids, m.ID) {
			return
		}
		e.evidence = append(e.evidence, m.Evidence()...)
		if text, ok := store.PurgedText(m); ok && !slices.Contains(e.texts, text) {
			e.texts = append(e.texts, text)
		}
	}
	if part {
		v, err := decodePart(data)
		if err != nil {
			return fmt.Errorf("a part of a snapshot: %w", err)
		}
		for _, m := range v.Memories {
			note(m)
		}
		return nil
	}
	rec, err := decodeRecord(&pglog.Row{Record: data})
	for i := range rec.Changes {
		if c := rec.Changes[i].Memory; c != nil {
			note(c.Value)
		}
	}
	return err
}

// Clean returns a record, or a part of a snapshot, without what is erased.
func (e *eraser) Clean(data string, part bool) (clean string, changed bool, err error) {
	if e.clean == nil {
		sc := store.NewScrub(e.space, e.ids, e.texts, e.evidence...)
		e.clean = &sc
	}
	clean, changed, err = e.cleaned(*e.clean, data, part)
	if err != nil || !changed || !e.elsewhere {
		return clean, changed, err
	}
	for _, text := range e.texts {
		if slices.Contains(e.found, text) {
			continue
		}
		if _, holds, _ := e.cleaned(store.NewScrub(e.space, nil, []string{text}), data, part); holds {
			e.found = append(e.found, text)
		}
	}
	return clean, changed, nil
}

// cleaned returns a record, or a part of a snapshot, as a scrub leaves it.
func (e *eraser) cleaned(sc store.Scrub, data string, part bool) (clean string, changed bool, err error) {
	var v any
	if part {
		v, changed, err = e.cleanPart(sc, data)
	} else {
		v, changed, err = cleanRecord(sc, data)
	}
	if err != nil || !changed {
		return data, false, err
	}
	raw, err := json.Marshal(v)
	return string(raw), err == nil, err
}

// cleanPart returns a part of a snapshot without what is erased.
func (e *eraser) cleanPart(sc store.Scrub, data string) (v merge.Values, changed bool, err error) {
	if v, err = decodePart(data); err != nil {
		return v, false, err
	}
	for id, m := range v.Memories {
		if slices.Contains(e.ids, id) {
			delete(v.Memories, id)
			changed = true
		} else if clean, did := sc.Memory(m); did {
			v.Memories[id], changed = clean, true
		}
	}
	if v.Summary != nil {
		if clean, did := sc.Text(*v.Summary); did {
			v.Summary, changed = &clean, true
		}
	}
	return v, changed, nil
}

// cleanRecord returns a record without what is erased.
func cleanRecord(sc store.Scrub, data string) (rec record, changed bool, err error) {
	if rec, err = decodeRecord(&pglog.Row{Record: data}); err != nil {
		return rec, false, err
	}
	rec.Reason, changed = sc.Text(rec.Reason)
	for i := range rec.Changes {
		switch c := &rec.Changes[i]; {
		case c.Memory != nil:
			clean, did := sc.Memory(c.Memory.Value)
			c.Memory.Value, changed = clean, changed || did
		case c.Summary != nil:
			clean, did := sc.Text(*c.Summary)
			c.Summary, changed = &clean, changed || did
		}
	}
	for i := range rec.Entries {
		clean, did := sc.Entry(rec.Entries[i].Date, rec.Entries[i].Value)
		rec.Entries[i].Value, changed = clean, changed || did
	}
	return rec, changed, nil
}

// Purge is how far a purge in a shared space has come.
type Purge struct {
	ID        string
	Position  int64 // of the row that announces it; 0 while it is not in the log
	At        time.Time
	Confirmed []string // machines that have erased it
	Missing   []string // machines that have not
}

// purgeFresh is how long after a purge every exchange looks for confirmations; after that, those between two polls do
// not.
const purgeFresh = time.Minute

// purges is what the link of a space knows of its purges.
type purges struct {
	due      bool      // look again
	confirms bool      // the others are to look at what this machine confirms
	open     bool      // some machine has not erased one
	arrived  time.Time // when the newest one was received
	looked   time.Time
}

// showPurges updates what people see of purges, while some machine has not erased one.
func (s *Service) showPurges(ctx context.Context, log *pglog.Log, sp *space) error {
	now, k := s.cfg.Now(), &sp.purges
	if k.confirms {
		if err := log.Wake(ctx, sp.state.Remote.ID); err != nil { // who asked for the purge looks at the confirmations
			return err
		}
		k.confirms = false
	}
	fresh := now.Sub(k.arrived) < purgeFresh || now.Sub(k.looked) >= s.cfg.Poll
	if !k.due && !(k.open && fresh) {
		return nil
	}
	list, err := log.Purges(ctx, sp.state.Remote.ID)
	if err != nil {
		return err
	}
	if !sp.readOnly { // behind the list, which then includes the last machine that confirmed
		if err := log.ForgetTexts(ctx, sp.state.Remote.ID); err != nil {
			return err
		}
	}
	var shown []Purge
	k.open = false
	for _, p := range list {
		shown = append(shown, Purge{p.ID, p.Seq, p.At, p.Confirmed, p.Missing})
		k.open = k.open || len(p.Missing) > 0
	}
	sp.mu.Lock()
	sp.shown.Purges = shown
	sp.mu.Unlock()
	k.due, k.looked = false, now
	return nil
}

// awaitConfirmations bounds how long AwaitPurges waits for other machines.
const awaitConfirmations = 5 * time.Second

// SpacePurge is a purge of a shared space.
type SpacePurge struct {
	Space string
	Purge
}

// AwaitPurges waits for a few seconds until all machines have confirmed the purges with some ids, and returns how far
// they have come. Where the database does not answer it does not wait. A purge of another space is not among them when
// the shared space held nothing of it.
func (s *Service) AwaitPurges(ctx context.Context, ids []string) (out []SpacePurge) {
	if len(ids) == 0 {
		return nil
	}
	limit := awaitConfirmations
	if deadline, ok := ctx.Deadline(); ok { // the caller has still to tell its client
		limit = min(limit, deadline.Sub(s.cfg.Now())/2)
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for {
		out = out[:0]
		waits := false
		for _, st := range s.Status() {
			for _, p := range st.Purges {
				if slices.Contains(ids, p.ID) {
					out = append(out, SpacePurge{st.Space, p})
					waits = waits || (p.Position == 0 || len(p.Missing) > 0) && st.Error == ""
				}
			}
		}
		if len(out)+s.countNeedless(ids) == len(ids) && !waits || ctx.Err() != nil {
			return out
		}
		sleep(ctx, 20*time.Millisecond)
	}
}

// countNeedless counts the purges with some ids that a log did not need.
func (s *Service) countNeedless(ids []string) (n int) {
	s.purgesMu.Lock()
	defer s.purgesMu.Unlock()
	for _, id := range s.needless {
		if slices.Contains(ids, id) {
			n++
		}
	}
	return n
}

// isRefused reports whether an error waits for a person, at this space only: an edit, or a right in the database.
func isRefused(err error) bool {
	return errors.Is(err, memory.ErrRefused) || errors.Is(err, pglog.ErrNoSpace) || pglog.IsForbidden(err)
}
