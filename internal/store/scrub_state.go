package store

import (
	"maps"

	"github.com/memsidecar/memsidecar/internal/journal"
	"github.com/memsidecar/memsidecar/internal/memory"
)

// scrubbed is what a purge changes in one space of a state; swap puts it in place.
type scrubbed struct {
	memories map[string]*memory.Memory
	summary  *string
	days     map[string]day
	archive  map[string]*memory.Archived
	sessions map[string]session
	receipts map[string]*journal.Receipt // nil: dropped
}

// scrub finds out what the scrubber changes in a space. It only reads. shared keeps what it made of a memory, so that both states go on sharing it.
func (sp *spaceState) scrub(sc *scrubber, shared map[*memory.Memory]*memory.Memory) *scrubbed {
	out := &scrubbed{
		memories: map[string]*memory.Memory{}, days: map[string]day{}, archive: map[string]*memory.Archived{},
		sessions: map[string]session{}, receipts: map[string]*journal.Receipt{},
	}
	for _, m := range sp.slots {
		if m == nil {
			continue
		}
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
		body, bodyDid := d.doc.scrubbed(sc, sp.name)
		if did || bodyDid {
			out.days[date] = day{header: header, doc: body}
		}
	}
	for id, r := range sp.archive {
		if clean, did := sc.archived(r); did {
			out.archive[id] = clean
		}
	}
	for id, s := range sp.sessions {
		header, did := sc.session(sp.name, s.header)
		body, bodyDid := s.doc.scrubbed(sc, sp.name)
		if did || bodyDid {
			out.sessions[id] = session{header: header, doc: body}
		}
	}
	for key, r := range sp.receipts {
		if clean, did := sc.receipt(&r.Receipt); did {
			out.receipts[key] = clean
		}
	}
	return out
}

// scrubbed returns a body whose tail is clean and whose file is cleaned as it is read, for want of another.
func (d doc) scrubbed(sc *scrubber, space string) (doc, bool) {
	if d.file != "" {
		d.scrub = sc
	}
	var tail []journal.Change // readers hold the other one
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

// swap puts in place what scrub found.
func (sp *spaceState) swap(s *scrubbed) {
	for id, m := range s.memories {
		if sp.memory(id) != nil {
			sp.setMemory(id, m, 0) // the number counts only when one is removed
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
		kept := sp.receipts[key]
		kept.Receipt = *r
		sp.receipts[key] = kept
	}
}
