package daemon

import (
	"context"
	"os"
	"slices"
	"time"

	"github.com/memsidecar/memsidecar/internal/daemon/metrics"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/rpc"
	"github.com/memsidecar/memsidecar/internal/share"
	"github.com/memsidecar/memsidecar/internal/share/mirror"
	"github.com/memsidecar/memsidecar/internal/store"
)

// openShare reads what is shared. Nothing may write to the store before.
func (d *daemon) openShare(ctx context.Context) error {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return d.share.Open(ctx, share.Config{
		Store: d.store, FS: d.fs, Now: d.now, Logger: d.log, Location: d.cfg.Location(), Host: host,
		Erase: d.eraseReceived,
		Fleet: d.cfg.fleet(), Forget: d.engine.Drop, Loading: d.loading,
		Mirror: share.MirrorSource{Describe: d.describe, Makers: d.engine.Makers(), Vectors: d.madeVectors},
	})
}

// describe is what a mirror has of a memory beside its fields.
func (d *daemon) describe(m *memory.Memory) mirror.Description {
	found := d.engine.Describe(m)
	return mirror.Description{Terms: found.Terms, Length: found.Length, Key: found.Key[:], Session: found.Session}
}

// madeVectors returns what the models made of memories that lack vectors in a mirror.
func (d *daemon) madeVectors(ctx context.Context, space string, lacking []mirror.Lacking) (out []mirror.Made, err error) {
	ids := make([]string, len(lacking))
	for i := range lacking {
		ids[i] = lacking[i].ID
	}
	made, err := d.engine.MadeVectors(ctx, space, ids)
	for i := range made {
		v := &made[i]
		one := mirror.Made{ID: v.ID, Model: v.Model, Key: v.Key[:], Tokens: v.Tokens}
		if v.Vector.Dim() > 0 {
			one.Codes = v.Vector.AppendCodes(nil)
		}
		out = append(out, one)
	}
	return out, err
}

// findShare reports the fleet and the shared spaces. Of those that a fleet opened, of which there may be thousands,
// only the ones whose exchange fails.
func (d *daemon) findShare() (out []rpc.Finding) {
	if f := d.share.FleetStatus(); f != nil {
		out = append(out, fleetFinding(f))
	}
	for _, s := range d.share.Status() {
		if !s.Fleet || s.Error != "" || !d.share.Fleet() {
			out = append(out, shareFinding(&s, d.cfg.Location()))
		}
	}
	return out
}

// shareFinding reports how the sharing of a space goes.
func shareFinding(s *share.Status, loc *time.Location) rpc.Finding {
	f := rpc.Finding{Name: "share", Level: rpc.LevelOK}
	switch {
	case s.Stopped:
		f.Level = rpc.LevelFail
		f.Detail = rpc.Say("space %s is not exchanged any more; local work goes on: %s", s.Space, s.Error)
		f.Remedy = rpc.Say("see `memsidecar share status`")
		return f
	case s.Error != "":
		f.Level = rpc.LevelWarn
		f.Detail = append(
			rpc.Say("space %s is not exchanged: %s", s.Space, s.Error), waitingText(s.Waiting, s.Oldest, loc)...,
		)
		f.Remedy = rpc.Say("it goes on by itself when the database answers; what waits is kept for %d days at least",
			store.MaxNeededDays)
		return f
	case s.ReadOnly:
		f.Detail = rpc.Say("space %s is shared read-only with %s: it is received and not changed here", s.Space, s.Database)
	default:
		f.Detail = append(
			rpc.Say("space %s is shared with %s", s.Space, s.Database), waitingText(s.Waiting, time.Time{}, loc)...,
		)
	}
	if s.Logs {
		f.Detail = append(f.Detail, rpc.Say("its daily logs are shared")...)
	} else {
		f.Detail = append(f.Detail, rpc.Say("its daily logs are not shared")...)
	}
	return f
}

// waitingText says how many operations wait, and since when if that is known.
func waitingText(n int, oldest time.Time, loc *time.Location) []rpc.Text {
	switch day := oldest.In(loc).Format(time.DateOnly); {
	case n == 1 && oldest.IsZero():
		return rpc.Say("1 operation waits")
	case n == 1:
		return rpc.Say("1 operation waits, since %s", day)
	case oldest.IsZero():
		return rpc.Say("%d operations wait", n)
	default:
		return rpc.Say("%d operations wait, the oldest since %s", n, day)
	}
}

// openText says how many spaces are open.
func openText(n int) []rpc.Text {
	if n == 1 {
		return rpc.Say("1 space is open")
	}
	return rpc.Say("%d spaces are open", n)
}

// fleetFinding reports the fleet of which this daemon is a node.
func fleetFinding(f *share.FleetStatus) rpc.Finding {
	const mib = 1 << 20
	out := rpc.Finding{Name: "fleet", Level: rpc.LevelOK, Detail: slices.Concat(
		rpc.Say("this is a node of the fleet at %s", f.Database), openText(f.Open),
		waitingText(f.Waiting, time.Time{}, time.UTC),
		rpc.Say("the open spaces take about %d MiB of %d MiB", f.Bytes/mib, f.Limit/mib))}
	if f.Failing > 0 {
		out.Level = rpc.LevelWarn
		out.Detail = append(out.Detail, rpc.Say("the exchange of %d of them fails or has stopped", f.Failing)...)
		out.Remedy = rpc.Say("see `memsidecar share status`")
	}
	if f.Error != "" {
		out.Level = rpc.LevelWarn
		out.Detail = append(out.Detail, rpc.Say("the last space that was asked for could not be opened: %s", f.Error)...)
		out.Remedy = rpc.Say("clients get SPACE_NOT_OPEN and may repeat the call; see `memsidecar share status`")
	}
	return out
}

// shareSample sums up the shared spaces for metrics.
func shareSample(spaces []share.Status, now time.Time) metrics.Share {
	out := metrics.Share{Spaces: map[string]int64{"ok": 0, "failing": 0, "stopped": 0}}
	for _, s := range spaces {
		state := "ok"
		switch {
		case s.Stopped:
			state = "stopped"
		case s.Error != "":
			state = "failing"
		}
		out.Spaces[state]++
		out.Waiting += int64(s.Waiting)
		if !s.Oldest.IsZero() {
			out.Oldest = max(out.Oldest, now.Sub(s.Oldest))
		}
	}
	return out
}
