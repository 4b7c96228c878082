package archiver

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/redact"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/textscrub"
)

// plan is the planned archiving of a log, based on a snapshot.
type plan struct {
	space string
	// header of the snapshot
	day  *memory.Day
	mark archiveMark
	// input of the summary
	log     Log
	summary string // the log's summary
	// note about the summary
	note string
	// entries that a purge did not blank
	unscrubbed []*memory.Entry
	// entries worth a memory; nil until there is a summary
	candidates []candidate
	// candidates that become memories, best first
	promoted []candidate
	// the other candidates
	skipped       []Skipped
	summaryMemory *memory.Memory
}

// spaceIndex indexes the memories of a space, including those that the run adds.
type spaceIndex struct {
	texts *textIndex
	// memories with the summary of a log, in any state, by title
	logSummaries map[string]*memory.Memory
}

// newSpaceIndex indexes memories in any state.
func newSpaceIndex(memories []*memory.Memory) *spaceIndex {
	k := &spaceIndex{texts: newTextIndex(memories), logSummaries: map[string]*memory.Memory{}}
	for _, m := range memories {
		if isLogSummary(m) {
			k.logSummaries[m.Title] = m
		}
	}
	return k
}

// prepare plans the archiving of logs and summarises them together. Logs that are archived already get no plan; logs
// that could not be summarised get a plan without a summary. It reads durable state only and holds no lock while it
// summarises.
func (r *run) prepare(ctx context.Context, space string, dates []string) error {
	var wanting []*plan
	size := 0
	for _, date := range dates {
		delete(r.plans, date)
		r.planned[date] = true
		day, entries, err := r.a.store.Space(space).Log(date)
		if errors.Is(err, memory.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		if isFullyArchived(day, entries) {
			continue
		}
		p, err := r.plan(ctx, space, day, entries)
		if err != nil {
			return err
		}
		r.plans[date] = p
		if p.summary == "" && len(p.log.Entries) > 0 {
			wanting = append(wanting, p)
		}
		for _, e := range p.log.Entries {
			size += len(e.Content)
		}
		// The entries of a batch are in RAM at once.
		if size > maxBatchBytes {
			break
		}
	}
	return r.summarise(ctx, wanting)
}

// summarise summarises the logs of plans, unless that failed before in this run.
func (r *run) summarise(ctx context.Context, plans []*plan) error {
	if len(plans) == 0 || r.summariserDown {
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
		// One failure is enough: the other logs of this run would wait for the same model.
		r.summariserDown, r.report.Waiting = true, waits
		return nil
	}
	if err != nil {
		r.summariserDown = true
		r.errs = append(r.errs, fmt.Errorf("sum up logs: %w", err))
		return nil
	}
	for i, p := range plans {
		p.summary, p.note = clip(strings.TrimSpace(summaries[i].Text), maxSummary), summaries[i].Note
	}
	return nil
}

// plan plans the archiving of a log, except for a new summary.
func (r *run) plan(ctx context.Context, space string, day *memory.Day, entries []*memory.Entry) (*plan, error) {
	// a purge blanked the others
	telling := slices.DeleteFunc(slices.Clone(entries), func(e *memory.Entry) bool {
		return textscrub.OnlyPlaceholders(e.Content)
	})
	for i, e := range telling {
		runtime.Gosched() // see findCandidates
		telling[i] = withoutSecrets(e)
	}
	p := &plan{space: space, day: day, mark: archiveMarkOf(entries), log: Log{Date: day.Date}, unscrubbed: telling}
	if _, ours := readArchiveMark(day); day.Archived && !ours {
		p.summary = day.Summary // keep the summary of another tool
	}
	records := r.a.store.Space(space).ArchivedOn(day.Date)
	if n := len(records); n == 0 || !records[n-1].Deleted() {
		p.summaryMemory = r.index.logSummaries[logTitle(day.Date)]
	}
	// An empty transaction, to see forgotten values that are not durable yet. It needs no sync: apply looks again.
	_, err := r.a.store.Stage(ctx, store.Meta{Space: space}, func(tx *store.Tx) error {
		for _, e := range telling {
			if !tx.IsForgotten(e.Content) {
				p.log.Entries = append(p.log.Entries, e)
			}
		}
		return nil
	})
	return p, err
}

// withoutSecrets returns an entry as a summary or a memory may quote it. What a person wrote into a log stays there,
// and nothing that we make of it repeats a secret.
func withoutSecrets(e *memory.Entry) *memory.Entry {
	var c redact.Cleaner
	clean := *e
	clean.Content, clean.Tool, clean.Error = c.Text("content", e.Content), c.Text("tool", e.Tool), c.Text("error", e.Error)
	if !c.Changed {
		return e
	}
	return &clean
}
