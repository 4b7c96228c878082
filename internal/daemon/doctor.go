package daemon

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/publish"
	"github.com/memsidecar/memsidecar/internal/rpc"
)

// doctor returns one finding per part of the daemon, including those without problems.
func (d *daemon) doctor(ctx context.Context) ([]rpc.Finding, error) {
	findings := []rpc.Finding{d.findStore(), d.findModes(), d.findSocket()}
	findings = append(findings, d.findPublished("memory.json", d.memories.Status()),
		d.findPublished("logs", d.logs.Status()))
	findings = append(findings, d.findPurge()...)
	findings = append(findings, d.findShare()...)
	findings = append(findings, d.findDamagedLogs()...)
	findings = append(findings, d.findSnapshot(), d.findMigration(), d.findEdits(), d.findSecrets(), d.findReviews(),
		d.findQuarantine(), d.findCapture(), d.findSessions(), d.findSettings())
	return append(findings, d.findModel(), d.findEmbeddings(), d.findClock(ctx), d.findJobs()), nil
}

// findSettings reports settings that have no effect.
func (d *daemon) findSettings() rpc.Finding {
	if w := d.cfg.Warnings(); len(w) > 0 {
		return rpc.Finding{Name: "settings", Level: rpc.LevelWarn, Detail: rpc.Say("%s", strings.Join(w, "; ")),
			Remedy: rpc.Say("remove them; `memsidecar config` lists the settings in effect")}
	}
	return ok("settings", "all have an effect")
}

// ok is a finding without a problem.
func ok(name, format string, args ...any) rpc.Finding {
	return rpc.Finding{Name: name, Level: rpc.LevelOK, Detail: rpc.Say(format, args...)}
}

// findStore reports whether the store accepts writes.
func (d *daemon) findStore() rpc.Finding {
	if err := d.store.Err(); err != nil {
		return rpc.Finding{Name: "store", Level: rpc.LevelFail, Detail: rpc.Say("%v", err),
			Remedy: rpc.Say("look at the disk, then run `memsidecar daemon restart`; nothing that was acknowledged is lost")}
	}
	figures := d.store.JournalStats()
	return ok("store", "writable, at operation %d, journal segments: %d", d.store.LSN(), figures.Segments)
}

// findModes checks the permissions of data directory and socket.
func (d *daemon) findModes() rpc.Finding {
	for path, want := range map[string]fs.FileMode{d.cfg.Data: 0o700, d.cfg.Socket: 0o600,
		filepath.Dir(d.cfg.Socket): 0o700} {
		info, err := os.Lstat(path)
		if err != nil {
			return rpc.Finding{Name: "access", Level: rpc.LevelFail, Detail: rpc.Say("%v", err),
				Remedy: rpc.Say("run `memsidecar daemon restart`")}
		}
		if mode := info.Mode().Perm(); mode&^want != 0 {
			return rpc.Finding{Name: "access", Level: rpc.LevelWarn,
				Detail: rpc.Say("%s has mode %04o", path, mode),
				Remedy: rpc.Say("run `chmod %04o %s`", want, path)}
		}
	}
	return ok("access", "data directory and socket are open to you only")
}

// findSocket reports a socket that other processes removed.
func (d *daemon) findSocket() rpc.Finding {
	if d.socket == nil {
		return ok("socket", "%s, held by the service manager", d.cfg.Socket)
	}
	if n, at := d.socket.Restored(); n > 0 {
		return rpc.Finding{Name: "socket", Level: rpc.LevelWarn,
			Detail: rpc.Say("%s was removed or replaced by another process %d times, last %s; it was created again",
				d.cfg.Socket, n, at.In(d.cfg.Location()).Format(time.DateTime)),
			Remedy: rpc.Say("find what cleans the directory, or choose another path with --socket")}
	}
	return ok("socket", "%s", d.cfg.Socket)
}

// findPublished reports published files that could not be written.
func (d *daemon) findPublished(name string, status []publish.Status) rpc.Finding {
	for _, s := range status {
		if s.Err != nil {
			return rpc.Finding{Name: name, Level: rpc.LevelWarn,
				Detail: rpc.Say("%s could not be written: %v", s.Key, s.Err),
				Remedy: rpc.Say("free disk space or fix the permissions of the file; the daemon retries, and the journal has " +
					"everything")}
		}
	}
	return ok(name, "%d published", len(status))
}

// findSnapshot reports the newest snapshot.
func (d *daemon) findSnapshot() rpc.Finding {
	info := d.store.Snapshot()
	if info.LSN == 0 {
		return ok("snapshot", "none yet; everything is in the journal")
	}
	return ok("snapshot", "includes operation %d, taken %s", info.LSN,
		info.At.In(d.cfg.Location()).Format(time.DateTime))
}

// findDamagedLogs reads what the snapshot holds of the daily logs, and reports each log of which that is damaged.
func (d *daemon) findDamagedLogs() (list []rpc.Finding) {
	damaged, err := d.store.DamagedLogs()
	if err != nil {
		list = append(list, rpc.Finding{Name: "daily logs", Level: rpc.LevelWarn, Detail: rpc.Say("%v", err),
			Remedy: rpc.Say("look at the disk")})
	}
	for _, f := range damaged {
		list = append(list, rpc.Finding{Name: "daily logs", Level: rpc.LevelFail,
			Detail: rpc.Say("%s: %s; nothing can be added to this log", f.File, f.Detail),
			Remedy: rpc.Say("run `memsidecar daemon stop`, then `memsidecar daemon repair`")})
	}
	return list
}

// findEdits counts edits of published files that need a decision.
func (d *daemon) findEdits() rpc.Finding {
	waiting, err := d.edits.List()
	switch {
	case err != nil:
		return rpc.Finding{Name: "edits", Level: rpc.LevelWarn, Detail: rpc.Say("%v", err)}
	case len(waiting) == 0:
		return ok("edits", "none of the published files waits for a decision")
	}
	e := waiting[0]
	detail := rpc.Say("%d edits of published files wait for a decision, the oldest of %s (%s)", len(waiting), e.File, e.Kind)
	if len(waiting) == 1 {
		detail = rpc.Say("an edit of %s waits for a decision (%s)", e.File, e.Kind)
	}
	return rpc.Finding{Name: "edits", Level: rpc.LevelWarn, Detail: detail, Remedy: rpc.Say("run `memsidecar edits`")}
}

// findQuarantine counts quarantined files, except edits; findEdits reports those.
func (d *daemon) findQuarantine() rpc.Finding {
	entries, err := d.fs.ReadDir("quarantine")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return rpc.Finding{Name: "quarantine", Level: rpc.LevelWarn, Detail: rpc.Say("%v", err)}
	}
	edits, err := publish.Edits(d.fs)
	if err != nil {
		return rpc.Finding{Name: "quarantine", Level: rpc.LevelWarn, Detail: rpc.Say("%v", err)}
	}
	files := len(entries)
	for _, e := range edits {
		if files--; e.Copy != "" && e.File != "" {
			files--
		}
	}
	if files <= 0 {
		return ok("quarantine", "nothing but edits, if anything")
	}
	return rpc.Finding{Name: "quarantine", Level: rpc.LevelWarn, Detail: rpc.Say("%d files are quarantined", files),
		Remedy: rpc.Say("examine them in %s and remove what you do not need; the daemon never does",
			d.path("quarantine"))}
}

// findCapture reports a pause of capture.
func (d *daemon) findCapture() rpc.Finding {
	hosts := d.pauses.Hosts()
	switch {
	case d.pauses.Capture():
		return rpc.Finding{Name: "capture", Level: rpc.LevelWarn,
			Detail: rpc.Say("capture is paused: sessions are not recorded"), Remedy: rpc.Say("run `memsidecar daemon resume`")}
	case len(hosts) > 0:
		return rpc.Finding{Name: "capture", Level: rpc.LevelWarn,
			Detail: rpc.Say("paused hosts, which get no memories and of which nothing is recorded: %s", strings.Join(hosts, ", ")),
			Remedy: rpc.Say("run `memsidecar daemon resume HOST`")}
	}
	return ok("capture", "sessions are recorded")
}

// findSessions counts open sessions and those that wait for reflection.
func (d *daemon) findSessions() rpc.Finding {
	open, waiting := 0, 0
	for _, name := range d.store.Spaces() {
		for _, s := range d.store.Space(name).Sessions() {
			switch s.State {
			case memory.SessionOpen:
				open++
			case memory.SessionEnded:
				waiting++
			case memory.SessionReflected:
			}
		}
	}
	if waiting > 0 && d.cfg.ReflectDisabled {
		return rpc.Finding{Name: "sessions", Level: rpc.LevelWarn,
			Detail: rpc.Say("%d sessions wait to be reflected, which is switched off", waiting),
			Remedy: rpc.Say("set memory_session_reflect_enabled to learn from them")}
	}
	return ok("sessions", "%d open, %d waiting to be reflected", open, waiting)
}

// findClock reports an implausible clock.
func (d *daemon) findClock(ctx context.Context) rpc.Finding {
	doubt, err := d.store.ClockWarning(ctx)
	switch {
	case err != nil:
		return rpc.Finding{Name: "clock", Level: rpc.LevelWarn, Detail: rpc.Say("%v", err)}
	case doubt != "":
		return rpc.Finding{Name: "clock", Level: rpc.LevelWarn, Detail: rpc.Say("%s", doubt),
			Remedy: rpc.Say("if the clock of this machine is wrong, correct it; until then archiving, deletion, expiry and " +
				"trimming wait")}
	}
	return ok("clock", "plausible; ages are trusted")
}

// findJobs reports failing jobs, or when the jobs run next.
func (d *daemon) findJobs() rpc.Finding {
	for _, s := range d.scheduler.Status() {
		if s.Err != nil {
			return rpc.Finding{Name: "jobs", Level: rpc.LevelWarn,
				Detail: rpc.Say("%s failed %d times: %v", s.Name, s.Failures, s.Err),
				Remedy: rpc.Say("the next attempt is at %s", s.NextRun.In(d.cfg.Location()).Format(time.DateTime))}
		}
	}
	detail := rpc.Say("none failing")
	for _, s := range d.scheduler.Status() {
		at := s.NextRun.In(d.cfg.Location()).Format(time.DateTime)
		if s.Result != "" {
			detail = append(detail, rpc.Say("next %s at %s (last: %s)", s.Name, at, s.Result)...)
		} else {
			detail = append(detail, rpc.Say("next %s at %s", s.Name, at)...)
		}
	}
	return rpc.Finding{Name: "jobs", Level: rpc.LevelOK, Detail: detail}
}
