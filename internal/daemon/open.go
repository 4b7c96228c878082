package daemon

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"google.golang.org/grpc"

	"github.com/memsidecar/memsidecar/internal/archiver"
	"github.com/memsidecar/memsidecar/internal/dailylog"
	"github.com/memsidecar/memsidecar/internal/jsonstore"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/publish"
	"github.com/memsidecar/memsidecar/internal/reconcile"
	"github.com/memsidecar/memsidecar/internal/reflector"
	"github.com/memsidecar/memsidecar/internal/reflector/consolidator"
	"github.com/memsidecar/memsidecar/internal/reflector/review"
	"github.com/memsidecar/memsidecar/internal/reflector/summary"
	"github.com/memsidecar/memsidecar/internal/rpc"
	"github.com/memsidecar/memsidecar/internal/rpc/unixsock"
	"github.com/memsidecar/memsidecar/internal/search"
	"github.com/memsidecar/memsidecar/internal/search/logindex"
	"github.com/memsidecar/memsidecar/internal/service/graph"
	"github.com/memsidecar/memsidecar/internal/service/memorysvc"
	"github.com/memsidecar/memsidecar/internal/service/recall"
	"github.com/memsidecar/memsidecar/internal/service/session"
	"github.com/memsidecar/memsidecar/internal/service/transfer"
	"github.com/memsidecar/memsidecar/internal/service/usage"
	"github.com/memsidecar/memsidecar/internal/share"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/backup"
	"github.com/memsidecar/memsidecar/internal/store/durable"
)

// open builds everything from the bottom up. On an error nothing is left open.
func (d *daemon) open(ctx context.Context) error {
	// The store comes first: a directory that it refuses stays as it is.
	if err := d.openStore(ctx); err != nil {
		return err
	}
	if err := d.clean(); err != nil {
		return errors.Join(err, d.store.Close(context.WithoutCancel(ctx)))
	}
	if err := d.openServices(ctx); err != nil {
		return errors.Join(err, d.store.Close(context.WithoutCancel(ctx)))
	}
	d.openServer()
	return nil
}

// local is now in the zone of the daily logs.
func (d *daemon) local() time.Time { return d.now().In(d.cfg.Location()) }

// openStore opens the store with everything that follows it.
func (d *daemon) openStore(ctx context.Context) (err error) {
	searching := search.Config{Lambda: d.cfg.DecayLambda, Now: d.now, Logger: d.log}
	if err := d.openModels(); err != nil {
		return err
	}
	searching.Models = d.models
	d.monitor = rpc.NewMonitor(d.log, d.now)
	searching.Busy = d.monitor.Running()
	d.engine = search.New(searching)
	foreign, displaced := func(name string) { d.edits.FileChanged(name) }, func(e publish.Edit) { d.edits.EditQuarantined(e) }
	d.memories = jsonstore.NewPublisher(jsonstore.Config{FS: d.fs, Now: d.now, Logger: d.log, OnEdit: foreign,
		OnDisplaced: displaced, Busy: d.monitor.Running()})
	d.logs = dailylog.NewPublisher(dailylog.Config{FS: d.fs, Now: d.now, Logger: d.log, OnEdit: foreign, OnDisplaced: displaced})
	d.finder = logindex.New(logindex.Config{Search: d.engine, Now: d.local})
	d.failed, d.recallIndex = make(chan error, 1), recall.NewIndex()
	d.share = share.New()
	projections := []store.Projection{d.engine, d.recallIndex, d.finder, d.share}
	if d.cfg.Fleet.URL == "" { // a node publishes nothing
		projections = append(projections, d.memories, d.logs)
	}
	d.store, err = store.Open(store.Config{
		FS: d.fs, Now: d.now, Elapsed: d.elapsed, Logger: d.log, HistoryDays: d.cfg.HistoryDays,
		Projections: projections,
		Needed:      d.share.Needed,
		ReadOnly:    d.share.ReadOnly,
		Opened:      d.share.Opened,
		Busy:        d.monitor.Running(),
		Failed:      func(err error) { d.failed <- err },
	})
	if err != nil {
		return err
	}
	d.engine.Attach(search.Source{
		Spaces: d.store.Spaces, Count: func(space string) int { return d.store.Space(space).Count() },
		Memories: func(space string) []*memory.Memory { return d.store.Space(space).Memories() },
	}, d.fs)
	if err := d.openShare(ctx); err != nil {
		return errors.Join(err, d.store.Close(ctx))
	}
	d.recallIndex.Load(d.store)
	d.finder.SetStore(d.store)
	if d.cfg.Fleet.URL != "" {
		d.memories.Attach(unpublished[jsonstore.View]{jsonstore.FromStore(d.store)})
		d.logs.Attach(unpublished[dailylog.View]{dailylog.FromStore(d.store)})
		return nil
	}
	d.memories.Attach(jsonstore.FromStore(d.store))
	d.logs.Attach(dailylog.FromStore(d.store))
	return nil
}

// unpublished is a source of which nothing is published.
type unpublished[V any] struct{ publish.Source[V] }

// Spaces lists none.
func (unpublished[V]) Spaces() []string { return nil }

// openServices builds what works on the store, and takes over what was written while no daemon ran.
func (d *daemon) openServices(ctx context.Context) (err error) {
	if err := d.adopt(ctx); err != nil {
		return err
	}
	d.edits = reconcile.New(reconcile.Config{
		Store: d.store, FS: d.fs, Memories: d.memories, Logs: d.logs, Now: d.now, Location: d.cfg.Location(), Logger: d.log, Dir: d.cfg.Data,
	})
	if err := d.openPurges(ctx); err != nil {
		return err
	}
	d.pauses = openPauses(d.fs)
	d.takeEdits(ctx, startEdits) // what was edited while no daemon ran is taken over before it is served
	if d.model, err = d.openModel(); err != nil {
		return err
	}
	d.openLearning()
	d.archiver = archiver.New(d.archiving())
	return d.schedule()
}

// openLearning builds what learns, and what tells agents what was learnt.
func (d *daemon) openLearning() {
	hints := &recall.Hints{}
	d.recall = d.newRecall(hints)
	d.reviews, d.summaries = review.New(d.store), summary.New(d.store, d.now)
	reflecting := reflector.Config{
		Store: d.store, Search: d.engine, Now: d.now, Location: d.cfg.Location(), Logger: d.log, Hints: hints, Reviews: d.reviews,
	}
	consolidating := consolidator.Config{
		Store: d.store, Search: d.engine, Now: d.now, Location: d.cfg.Location(), Logger: d.log, Disabled: d.cfg.ConsolidationDisabled,
		Reviews: d.reviews,
	}
	if d.model != nil {
		reflecting.Model, consolidating.Model = d.model, d.model
	}
	d.learner = consolidator.New(consolidating)
	d.sessions = session.New(session.Config{
		Store: d.store, Reflector: reflector.New(reflecting), Now: d.now, Logger: d.log, Location: d.cfg.Location(), IdleAfter: d.cfg.SessionIdle,
		Paused: d.pauses.Capture, Stopping: d.stopping, ReflectDisabled: d.cfg.ReflectDisabled,
	})
}

// openServer registers the services; nothing listens yet.
func (d *daemon) openServer() {
	credentials := unixsock.NewCredentials([]uint32{uint32(os.Getuid())}, unixsock.PeerOf, d.log)
	d.counts = memorysvc.New(d.store, d.local)
	options := append(d.monitor.Options(), rpc.RefusePaused(d.pauses.Host, d.sessions)...)
	options = append(options, rpc.OpenSpaces(d.share)...)
	options = append(options, rpc.Acknowledge(d.share, d.now)...)
	d.server = grpc.NewServer(append(options, grpc.Creds(credentials), grpc.WaitForHandlers(true),
		grpc.ConnectionTimeout(stopWait), grpc.NumStreamWorkers(warmWorkers),
		grpc.StaticStreamWindowSize(unixsock.Window), grpc.StaticConnWindowSize(unixsock.Window))...)
	d.health = rpc.Register(d.server, rpc.Deps{
		Store: d.store, Memories: d.counts, Graph: graph.New(d.store, d.now), Search: d.engine, Logs: d.finder, Recall: d.recall, Sessions: d.sessions,
		Consolidator: d.learner, Reviews: d.reviews, Summaries: d.summaries,
		Backups: &backup.Source{Store: d.store, FS: d.fs, Published: PublishedFiles(), Now: d.now}, Transfer: transfer.New(d.store, d.fs, d.engine, d.local),
		Archiver: d.archiver, Purges: d.purges, Edits: d.edits, Share: d.share, Usage: usage.New(d.store, d.cfg.Location()), Admin: d.admin(), Monitor: d.monitor, Stopping: d.stopping,
		Command: d.command,
	})
}

// clean removes what a crash may have left of files being written.
func (d *daemon) clean() error {
	if err := publish.Recover(d.fs); err != nil {
		return fmt.Errorf("remove left-over files: %w", err)
	}
	for _, dir := range []string{"journal", "snapshots"} {
		if _, err := durable.CleanTemp(d.fs, dir); err != nil {
			return fmt.Errorf("remove left-over files: %w", err)
		}
	}
	return nil
}

// adopt takes over a directory in the published layout or the oldest one, once: when the journal is new, or when a
// crash interrupted it.
func (d *daemon) adopt(ctx context.Context) error {
	unfinished, err := jsonstore.Unfinished(d.fs)
	if err != nil {
		return fmt.Errorf("look for files to adopt: %w", err)
	}
	if d.store.LSN() > 0 && !unfinished || d.cfg.Fleet.URL != "" {
		return nil
	}
	report, err := jsonstore.Adopt(ctx, d.store, d.fs, d.cfg.Location())
	if err != nil {
		return err
	}
	if len(report.Spaces)+len(report.Migrated) > 0 {
		d.keepFoundPrivate()
	}
	switch {
	case unfinished && len(report.Spaces) == 0:
		d.log.Info("ended an adoption that a crash had interrupted", "migrated", len(report.Migrated))
	case len(report.Spaces) > 0:
		d.log.Info("adopted the files found in the data directory", "memories", report.Memories, "logs", report.Days, "entries", report.Entries,
			"migrated", len(report.Migrated), "notes", report.Places(), "report", d.path(jsonstore.ReportName))
	}
	return nil
}

// keepFoundPrivate removes the permissions of other users from what another program left in the data directory: the
// directory itself keeps them out, but its files may be moved. What cannot be changed, as a file of somebody else,
// stays as it is and is logged.
func (d *daemon) keepFoundPrivate() {
	root, err := os.OpenRoot(d.cfg.Data)
	if err != nil {
		d.log.Warn("cannot open the data directory to make its files private", "err", err)
		return
	}
	defer root.Close()
	_ = fs.WalkDir(root.FS(), ".", func(name string, e fs.DirEntry, err error) error {
		if err == nil && (e.IsDir() || e.Type().IsRegular()) {
			err = removeOthers(root, name, e)
		}
		if err != nil { // the others are looked at all the same
			d.log.Warn("other users may read what was found in the data directory", "file", name, "err", err)
		}
		return nil
	})
}

// removeOthers removes the permissions of other users from a file or directory.
func removeOthers(root *os.Root, name string, e fs.DirEntry) error {
	info, err := e.Info()
	if err != nil || info.Mode().Perm()&0o077 == 0 {
		return err
	}
	return root.Chmod(name, info.Mode().Perm()&0o700)
}

// takeEdits takes over what people wrote into the published files, as far as it comes within limit, 0 for none. What
// cannot be taken over now is not published over, and is tried again.
func (d *daemon) takeEdits(ctx context.Context, limit time.Duration) {
	if limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
	}
	switch _, err := d.edits.Scan(ctx, true); {
	case errors.Is(err, context.DeadlineExceeded):
		d.log.Info("there are many published files; those not looked at for edits yet wait", "limit", limit)
	case err != nil:
		d.log.Warn("cannot look for edits of published files", "err", err)
	}
}
