package transfer

import (
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/memory/graphform"
	"github.com/memsidecar/memsidecar/internal/reflector/guard"
	"github.com/memsidecar/memsidecar/internal/search"
	"github.com/memsidecar/memsidecar/internal/store"
)

// Reasons why something of another system was merged into what is there, which stays as it is.
const (
	ReasonExactDuplicate = guard.ReasonExactDuplicate
	ReasonNearDuplicate  = guard.ReasonNearDuplicate
)

// Merge is one imported thing that another memory already says.
type Merge struct {
	Line     int64 // in the import
	Kind, ID string
	Into     string // the memory that says it
	Reason   string // exact or near duplicate
}

// neighbours is how many memories are compared with one that comes from another system.
const neighbours = 5

// findNearDuplicates finds, for each memory from another system, one here that says the same in other words. What the
// import itself brings is left as different as it was, so each is compared with what the space held before it: the
// work grows with that, and not with the square of what is imported.
func (d *decision) findNearDuplicates(batch []*item) {
	d.near = map[*item]string{}
	if !d.external || d.service.near == nil {
		return
	}
	space := batch[0].space
	view := d.service.store.Space(space)
	similar, known := d.similar[space]
	if !known { // the first batch of the space: nothing of this import is there yet
		active := slices.DeleteFunc(slices.Clone(view.Memories()), func(m *memory.Memory) bool { return !m.IsActive() })
		similar = d.service.near.Among(active)
		d.similar[space] = similar
	}
	if similar == nil {
		return
	}
	// A search and the comparison of five texts take most of an import's time, and no two wait for each other.
	found := make([]string, len(batch))
	var group errgroup.Group
	parts := runtime.GOMAXPROCS(0)
	for part := range parts {
		group.Go(func() error {
			claims := guard.Claims{} // of a batch: what many texts resemble is understood once
			for i := part; i < len(batch); i += parts {
				found[i] = repeatedBy(batch[i], view, similar, claims)
			}
			return nil
		})
	}
	_ = group.Wait() // no part fails
	for i, id := range found {
		if id != "" {
			d.near[batch[i]] = id
		}
	}
}

// repeatedBy returns the memory that says the same as an item, "" for none and for what is no candidate: other things
// than memories, parts of a graph, and what is there already.
func repeatedBy(it *item, view *store.Space, similar func(string, int) []search.Hit, claims guard.Claims) string {
	if it.kind != Memory || !it.memory.IsActive() || isPart(it.memory) {
		return ""
	}
	if _, err := view.Get(it.id); err == nil {
		return ""
	}
	var near []guard.Neighbour
	for _, h := range similar(it.memory.Content, neighbours) {
		near = append(near, guard.Neighbour{Memory: h.Memory, Score: h.Score})
	}
	return claims.Repeated(guard.Item{Memory: *it.memory.Clone()}, near)
}

// externalMemory decides about a memory from another system. Its id is derived from its text, so an equal id means
// that it was imported before.
func (d *decision) externalMemory(tx *store.Tx, it *item) verdict {
	m := it.memory
	if _, seen := d.seenHash(it, m.ID); seen {
		return verdict{reason: merged, detail: ReasonExactDuplicate, into: m.ID}
	}
	text := hashOf(it.space + "\x00" + m.Category + "\x00" + memory.Normalize(m.Content))
	if have := tx.Memory(m.ID); have != nil {
		d.recordSeen(it, m.ID, "")
		if memory.Normalize(have.Content) != memory.Normalize(m.Content) {
			return verdict{reason: ReasonExists, detail: "was imported before and has been changed here since"}
		}
		d.recordText(text, m.ID)
		return verdict{reason: same}
	}
	// What a person made this store forget does not come back through another system's copy.
	if tx.IsForgotten(m.Content) {
		return verdict{reason: ReasonForgotten, detail: "its text was forgotten here"}
	}
	if m.IsActive() && !isPart(m) {
		if id := d.textOwner(text); id != "" {
			return verdict{reason: merged, detail: ReasonExactDuplicate, into: id}
		}
		if equal := tx.Equal(m.Category, m.Content); equal != nil && !equal.Expired(tx.Now()) {
			return verdict{reason: merged, detail: ReasonExactDuplicate, into: equal.ID}
		}
		// Near duplicates were looked for outside the transaction; the memory may have changed since.
		if near := tx.Memory(d.near[it]); near != nil && near.IsActive() && !near.Expired(tx.Now()) {
			return verdict{reason: merged, detail: ReasonNearDuplicate, into: near.ID}
		}
		d.recordText(text, m.ID)
	}
	d.recordSeen(it, m.ID, "")
	return verdict{reason: added}
}

// isPart reports whether a memory is part of a knowledge graph. It is not merged into one that says the same: the graph
// would lose it.
func isPart(m *memory.Memory) bool {
	_, ok := graphform.Of(m)
	return ok
}

// textOwner returns the memory of this import that had a text first.
func (d *decision) textOwner(text [16]byte) string {
	if id := d.newTextOwners[text]; id != "" {
		return id
	}
	return d.textOwners[text]
}

// recordText records which memory had a text first.
func (d *decision) recordText(text [16]byte, id string) {
	if d.textOwner(text) == "" {
		d.newTextOwners[text] = id
	}
}

// merge reports an item that another memory already says.
func (im *importing) merge(it *item, v verdict) {
	im.count(it).Merged++
	if len(im.report.Merged) < maxSkipped {
		im.report.Merged = append(
			im.report.Merged,
			Merge{Line: it.line, Kind: it.kind, ID: it.id, Into: v.into, Reason: v.detail},
		)
	}
}
