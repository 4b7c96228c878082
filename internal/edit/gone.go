package edit

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/memsidecar/memsidecar/internal/dailylog"
	"github.com/memsidecar/memsidecar/internal/publish"
)

// gone deals with published files that are not there any more.
func (r *round) gone(ctx context.Context) error {
	logs := map[string][]target{}
	for name, since := range r.missing {
		if !r.final && r.cfg.Now().Sub(since) < settleTime {
			continue
		}
		t, _ := parse(name)
		if found, err := r.files(t).Look(name); err != nil || found.Exists {
			delete(r.missing, name)
			continue
		}
		if t.date != "" {
			logs[t.space] = append(logs[t.space], t)
			continue
		}
		r.cfg.Logger.Info("a published file was deleted; it is published again", "file", name)
		r.cfg.Memories.Mark(name)
		delete(r.missing, name)
	}
	for space, targets := range logs {
		r.failed(dailylog.Dir(space), r.goneLogs(ctx, space, targets))
	}
	return nil
}

// goneLogs removes the days whose files were deleted, unless these are so many that it must be a mistake.
func (r *round) goneLogs(ctx context.Context, space string, targets []target) error {
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
	if len(targets) > 3 && 5*len(targets) > len(all) {
		return r.manyGone(space, targets, len(all))
	}
	for _, t := range targets {
		if err := r.goneLog(ctx, t); err != nil {
			return err
		}
		delete(r.missing, t.name)
	}
	return nil
}

func (r *round) goneLog(ctx context.Context, t target) error {
	known, _, err := r.cfg.Logs.Files().Known(t.name)
	if err != nil {
		return err
	}
	ours, err := r.presentDay(t.space, t.date)
	if err != nil {
		return err
	}
	if ours.header.Revision != known.Revision {
		r.cfg.Logger.Info("a daily log was deleted, but had changed since; it is published again", "file", t.name)
		r.cfg.Logs.Mark(t.name)
		return nil
	}
	p := &plan{target: target{name: t.name, space: t.space, list: true}, dates: []string{t.date}}
	if _, _, err := r.take(ctx, p, "deleted"); err != nil {
		return err
	}
	r.cfg.Logger.Info("took over the deletion of a daily log", "file", t.name)
	return r.cfg.Logs.Files().Drop(t.name)
}

// deletionFile holds the list of deleted logs until it is in quarantine/.
const deletionFile = "index/deleted-logs"

// manyGone notes that many logs of a space were deleted.
func (r *round) manyGone(space string, targets []target, all int) error {
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
	r.cfg.Logger.Warn("many daily logs were deleted; that waits for a decision; see `memsidecar edits`", "dir", name, "files", len(dates))
	_, err = publish.KeepEdit(r.cfg.FS, deletionFile, publish.Edit{
		File: name, Kind: publish.Ambiguous, At: r.cfg.Now(),
		Details: []string{fmt.Sprintf("%d of %d logs were deleted: %s", len(dates), all, strings.Join(dates, ", "))},
	})
	return err
}
