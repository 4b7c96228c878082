package reconcile

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/memsidecar/memsidecar/internal/dailylog"
	"github.com/memsidecar/memsidecar/internal/publish"
)

// missingFiles handles published files that were deleted. A deleted memory.json is published again: to delete all
// memories is rarely meant, and an empty list says it better. A deleted daily log means that the day goes.
func (r *pass) missingFiles(ctx context.Context) error {
	logs := map[string][]target{}
	for name, since := range r.missing {
		if !r.final && r.cfg.Now().Sub(since) < stableAfter {
			continue
		}
		t, _ := parsePath(name)
		if found, err := r.files(t).Inspect(name); err != nil || found.Exists {
			delete(r.missing, name)
			continue
		}
		if t.date != "" {
			logs[t.space] = append(logs[t.space], t)
			continue
		}
		r.cfg.Logger.Info("a published file was deleted; publishing it again", "file", name)
		r.cfg.Memories.RepublishEdited(name)
		delete(r.missing, name)
	}
	for space, targets := range logs {
		r.recordFailure(dailylog.Dir(space), r.missingLogs(ctx, space, targets))
	}
	return nil
}

// More deleted logs than both of these wait for a person: a directory that was moved, or not mounted, looks the same.
const (
	maxDeletedLogs  = 3   // files
	maxDeletedShare = 0.2 // of the days that the store has
)

// missingLogs removes the days whose files were deleted. So many deletions that they may be a mistake wait for a
// person.
func (r *pass) missingLogs(ctx context.Context, space string, targets []target) error {
	all := r.cfg.Store.Space(space).Days()
	days := map[string]bool{}
	for _, d := range all {
		days[d.Date] = true
	}
	targets = slices.DeleteFunc(targets, func(t target) bool {
		if !days[t.date] { // the store does not have it any more either
			delete(r.missing, t.name)
		}
		return !days[t.date]
	})
	if len(targets) > maxDeletedLogs && float64(len(targets)) > maxDeletedShare*float64(len(all)) {
		return r.quarantineDeletions(space, targets, len(all))
	}
	for _, t := range targets {
		if err := r.missingLog(ctx, t); err != nil {
			return err
		}
		delete(r.missing, t.name)
	}
	return nil
}

// missingLog removes one day, unless it changed after it was published: then the person deleted an older version.
func (r *pass) missingLog(ctx context.Context, t target) error {
	known, _, err := r.cfg.Logs.Files().Published(t.name)
	if err != nil {
		return err
	}
	ours, err := r.currentDay(t.space, t.date)
	if err != nil {
		return err
	}
	if ours.header.Revision != known.Revision {
		r.cfg.Logger.Info("a daily log was deleted, but had changed since; publishing it again", "file", t.name)
		r.cfg.Logs.Republish(t.name)
		return nil
	}
	p := &plan{target: target{name: t.name, space: t.space, isDeletion: true}, dates: []string{t.date}}
	if _, _, err := r.apply(ctx, p, "deleted"); err != nil {
		return err
	}
	r.cfg.Logger.Info("adopted the deletion of a daily log", "file", t.name)
	return r.cfg.Logs.Files().Drop(t.name)
}

// deletionFile holds the list of deleted logs until it is in quarantine/.
const deletionFile = "index/deleted-logs"

// quarantineDeletions records, as one edit that waits, that many logs of a space were deleted. A newer list
// supersedes the one before.
func (r *pass) quarantineDeletions(space string, targets []target, all int) error {
	var dates []string
	for _, t := range targets {
		dates = append(dates, t.date)
	}
	slices.Sort(dates)
	data, err := json.Marshal(dates)
	if err != nil {
		return fmt.Errorf("note deleted logs: %w", err)
	}
	name := dailylog.Dir(space)
	records, err := publish.Edits(r.cfg.FS)
	if err != nil {
		return err
	}
	for _, e := range records {
		switch {
		case e.File != name || e.Resolved != "":
		// The same list waits already; every pass would otherwise add another edit.
		case e.Hash == hashOf(data):
			return nil
		default:
			e.Resolved = publish.Superseded
			if err := e.Save(r.cfg.FS); err != nil {
				return err
			}
		}
	}
	if err := writeFile(r.cfg.FS, deletionFile, data); err != nil {
		return err
	}
	r.cfg.Logger.Warn(
		"many daily logs were deleted; the edit waits for a decision, see `memsidecar edits`",
		"dir",
		name,
		"files",
		len(dates),
	)
	_, err = publish.QuarantineEdit(r.cfg.FS, deletionFile, publish.Edit{
		File: name, Kind: publish.Ambiguous, At: r.cfg.Now(),
		Details: []string{fmt.Sprintf("%d of %d logs were deleted: %s", len(dates), all, strings.Join(dates, ", "))},
	})
	return err
}
