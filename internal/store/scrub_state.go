package store

import (
	"maps"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

// scrubbed is what a purge changes in one space of a state; applyScrub installs it.
type scrubbed struct {
	memories map[string]*memory.Memory
	summary  *string
	days     map[string]day
	archive  map[string]*memory.Archived
	sessions map[string]session
	receipts map[string]*journal.Receipt // nil: dropped
}

// scrub computes what the scrubber changes in a space. It only reads, so readers can run beside it. shared maps
// memories to their scrubbed copies, so that both states keep sharing them. Error: *journal.CorruptError, when memories
// cannot be read; what it returns has the rest.
func (sp *spaceState) scrub(sc *scrubber, shared map[*memory.Memory]*memory.Memory) (*scrubbed, error) {
	out := &scrubbed{
		memories: map[string]*memory.Memory{}, days: map[string]day{}, archive: map[string]*memory.Archived{},
		sessions: map[string]session{}, receipts: map[string]*journal.Receipt{},
	}
	if sc.only && sp.name != sc.space {
		return out, nil
	}
	memories, err := sp.mayScrub(sc)
	for _, m := range memories {
		// Both states point to the same memories; two copies would double the RAM of what was scrubbed.
		clean, known := shared[m]
		if !known {
			var did bool
			if clean, did = sc.memory(sp.name, m); !did {
				continue
			}
			shared[m] = clean
		}
		out.memories[m.ID] = clean
	}
	if text, did := sc.texts.Replace(sp.summary); did {
		out.summary = &text
	}
	for date, d := range sp.days {
		header, did := sc.day(d.header)
		body, bodyDid := d.body.scrubbed(sc, sp.name)
		if did || bodyDid {
			out.days[date] = day{header: header, body: body}
		}
	}
	for id, r := range sp.archive {
		if clean, did := sc.archived(r); did {
			out.archive[id] = clean
		}
	}
	for id, s := range sp.sessions {
		header, did := sc.session(sp.name, s.header)
		body, bodyDid := s.body.scrubbed(sc, sp.name)
		if did || bodyDid {
			out.sessions[id] = session{header: header, body: body}
		}
	}
	for key, r := range sp.receipts {
		if clean, did := sc.receipt(&r.Receipt); did {
			out.receipts[key] = clean
		}
	}
	return out, err
}

// mayScrub returns the memories that may have to change. It decodes none of a cold space that has none.
func (sp *spaceState) mayScrub(sc *scrubber) ([]*memory.Memory, error) {
	if sp.cold == nil {
		return sp.memories(), nil
	}
	lines, err := sp.cold.lines()
	if err != nil || !sc.mayChange(lines) {
		return nil, err
	}
	return sp.cold.decode(lines)
}

// scrubbed returns a body with a scrubbed tail. Its file is scrubbed whenever it is read, until a snapshot replaces it.
func (d body) scrubbed(sc *scrubber, space string) (body, bool) {
	if d.file != "" {
		d.scrub = sc
	}
	var tail []journal.Change // a copy, because readers may hold the old one
	for i := range d.tail {
		if c, did := sc.change(space, &d.tail[i]); did {
			if tail == nil {
				tail = append(tail, d.tail...)
			}
			tail[i] = c
		}
	}
	if tail != nil {
		d.tail = tail
	}
	return d, d.file != "" || tail != nil
}

// applyScrub installs what scrub computed. The caller holds the lock of the state.
func (sp *spaceState) applyScrub(s *scrubbed) {
	if len(s.memories) > 0 {
		sp.warm() // they were just read
	}
	for id, m := range s.memories {
		if sp.memory(id) != nil {
			sp.setMemory(id, m, 0) // the operation only matters for a removal
		}
	}
	if s.summary != nil {
		sp.summary = *s.summary
	}
	for date, d := range s.days {
		sp.days[date] = &d
	}
	maps.Copy(sp.archive, s.archive)
	for id, se := range s.sessions {
		sp.sessions[id] = &se
	}
	for key, r := range s.receipts {
		if r == nil {
			delete(sp.receipts, key)
			continue
		}
		kept := *sp.receipts[key] // a copy, because the states share it
		kept.Receipt = *r
		sp.receipts[key] = &kept
	}
}
