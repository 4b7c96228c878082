package transfer

import (
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/plan"
	"github.com/memsidecar/memsidecar/internal/store"
)

// Reasons why something of another system was merged into what is there, which stays as it is.
const (
	ReasonExactDuplicate = plan.ReasonExactDuplicate
	ReasonNearDuplicate  = plan.ReasonNearDuplicate
)

// Merge is one thing that says what another memory says already.
type Merge struct {
	Line     int64
	Kind, ID string
	Into     string // the memory that says it
	Reason   string
}

// neighbours is how many memories are compared with one that comes from another system.
const neighbours = 5

// findNear asks, for each memory of another system, which one says the same in other words. It must not be done in a transaction.
func (d *decision) findNear(batch []*item) error {
	d.near = map[*item]string{}
	if !d.foreign || d.service.near == nil {
		return nil
	}
	view := d.service.store.Space(batch[0].space)
	for _, it := range batch {
		if it.kind != Memory || !it.memory.IsActive() {
			continue
		}
		if _, err := view.Get(it.id); err == nil {
			continue // there already
		}
		hits, err := d.service.near.Similar(d.ctx, it.space, it.memory.Content, neighbours)
		if err != nil {
			return err
		}
		var near []plan.Neighbour
		for _, h := range hits {
			if _, ours := d.seen(it, h.Memory.ID); !ours { // what one import brings is left as different as it was
				near = append(near, plan.Neighbour{Memory: h.Memory, Score: h.Score})
			}
		}
		if got := plan.Decide(plan.Item{Memory: *it.memory.Clone()}, near); got.Action == plan.Noop {
			d.near[it] = got.Target
		}
	}
	return nil
}

// foreignMemory decides about a memory of another system. Its id follows from what it says, so the same id means that it was imported before.
func (d *decision) foreignMemory(tx *store.Tx, it *item) verdict {
	m := it.memory
	if _, seen := d.seen(it, m.ID); seen {
		return verdict{reason: merged, detail: ReasonExactDuplicate, into: m.ID}
	}
	text := hashOf(it.space + "\x00" + m.Category + "\x00" + memory.Normalize(m.Content))
	if have := tx.Memory(m.ID); have != nil {
		d.note(it, m.ID, "")
		if memory.Normalize(have.Content) != memory.Normalize(m.Content) {
			return verdict{reason: ReasonExists, detail: "was imported before and has been changed here since"}
		}
		d.say(text, m.ID)
		return verdict{reason: same}
	}
	if tx.IsForgotten(m.Content) {
		return verdict{reason: ReasonForgotten, detail: "its text was forgotten here"}
	}
	if m.IsActive() {
		if id := d.said(text); id != "" {
			return verdict{reason: merged, detail: ReasonExactDuplicate, into: id}
		}
		if equal := tx.Equal(m.Category, m.Content); equal != nil && !equal.Expired(tx.Now()) {
			return verdict{reason: merged, detail: ReasonExactDuplicate, into: equal.ID}
		}
		if near := tx.Memory(d.near[it]); near != nil && near.IsActive() && !near.Expired(tx.Now()) {
			return verdict{reason: merged, detail: ReasonNearDuplicate, into: near.ID}
		}
		d.say(text, m.ID)
	}
	d.note(it, m.ID, "")
	return verdict{reason: added}
}

// said returns the memory of this import that said a text first.
func (d *decision) said(text [16]byte) string {
	if id := d.newTexts[text]; id != "" {
		return id
	}
	return d.texts[text]
}

func (d *decision) say(text [16]byte, id string) {
	if d.said(text) == "" {
		d.newTexts[text] = id
	}
}

func (im *importing) merge(it *item, v verdict) {
	im.count(it).Merged++
	if len(im.report.Merged) < maxSkipped {
		im.report.Merged = append(im.report.Merged, Merge{Line: it.line, Kind: it.kind, ID: it.id, Into: v.into, Reason: v.detail})
	}
}
