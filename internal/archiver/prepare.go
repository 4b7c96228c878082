package archiver

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/memsidecar/memsidecar/internal/erase"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/store"
)

// plan is what archiving a log comes to, made on a snapshot.
type plan struct {
	space    string
	day      *memory.Day // the snapshot's header
	mark     mark
	log      Log             // what is summed up
	summary  string          // of the log
	note     string          // on the summary
	telling  []*memory.Entry // those of the log that a purge left
	found    []candidate     // entries worth a memory; looked for when there is a summary
	pick     []candidate     // of them, those to promote, best first
	skip     []Skipped       // of them, the others
	knownLog *memory.Memory
}

// known is what a space knew when a run came to it, and what the run adds.
type known struct {
	index *similar
	logs  map[string]*memory.Memory // memories that hold the summary of a log, in whatever state, by title
}

func knownOf(memories []*memory.Memory) *known {
	k := &known{index: newSimilar(memories), logs: map[string]*memory.Memory{}}
	for _, m := range memories {
		if isLogSummary(m) {
			k.logs[m.Title] = m
		}
	}
	return k
}

// prepare plans the archiving of logs, and has them summed up together. Logs that are archived already get no plan. It takes no lock for longer
// than a look and reads only what was durable. When the logs could not be summed up, they get plans without a summary.
func (r *run) prepare(ctx context.Context, space string, dates []string) error {
	var wanting []*plan
	size := 0
	for _, date := range dates {
		delete(r.prepared, date)
		r.looked[date] = true
		day, entries, err := r.a.store.Space(space).Log(date)
		if errors.Is(err, memory.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		if settled(day, entries) {
			continue
		}
		p, err := r.plan(ctx, space, day, entries)
		if err != nil {
			return err
		}
		r.prepared[date] = p
		if p.summary == "" && len(p.log.Entries) > 0 {
			wanting = append(wanting, p)
		}
		for _, e := range p.log.Entries {
			size += len(e.Content)
		}
		if size > batchBytes {
			break
		}
	}
	return r.summarise(ctx, wanting)
}

// summarise sums up the logs of plans, unless that failed in this run before.
func (r *run) summarise(ctx context.Context, plans []*plan) error {
	if len(plans) == 0 || r.down {
		return nil
	}
	logs := make([]Log, len(plans))
	for i, p := range plans {
		logs[i] = p.log
	}
	summaries, err := r.a.summarise(ctx, logs)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err == nil && len(summaries) != len(logs) {
		err = fmt.Errorf("%d summaries of %d logs", len(summaries), len(logs))
	}
	if waits, ok := errors.AsType[*WaitError](err); ok {
		r.down, r.report.Waiting = true, waits
		return nil
	}
	if err != nil {
		r.down = true
		r.errs = append(r.errs, fmt.Errorf("sum up logs: %w", err))
		return nil
	}
	for i, p := range plans {
		p.summary, p.note = clip(strings.TrimSpace(summaries[i].Text), maxSummary), summaries[i].Note
	}
	return nil
}

// plan decides what archiving would do, but for the summary.
func (r *run) plan(ctx context.Context, space string, day *memory.Day, entries []*memory.Entry) (*plan, error) {
	telling := slices.DeleteFunc(slices.Clone(entries), func(e *memory.Entry) bool { return erase.Blank(e.Content) }) // a purge left nothing of the others
	p := &plan{space: space, day: day, mark: markOf(entries), log: Log{Date: day.Date}, telling: telling}
	if _, ours := readMark(day); day.Archived && !ours {
		p.summary = day.Summary // somebody else's words are kept
	}
	records := r.a.store.Space(space).ArchivedOn(day.Date)
	if n := len(records); n == 0 || !records[n-1].Deleted() {
		p.knownLog = r.known.logs[logTitle(day.Date)]
	}
	// A look into the newest state; nothing is changed by it.
	_, err := r.a.store.Update(ctx, store.Meta{Space: space}, func(tx *store.Tx) error {
		for _, e := range telling {
			if !tx.IsForgotten(e.Content) {
				p.log.Entries = append(p.log.Entries, e)
			}
		}
		return nil
	})
	return p, err
}
