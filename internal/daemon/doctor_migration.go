package daemon

import (
	"strings"

	"github.com/memsidecar/memsidecar/internal/jsonstore"
	"github.com/memsidecar/memsidecar/internal/rpc"
)

// findMigration reports Markdown files of the first layout that were added too late to be migrated, and the report of
// a migration.
func (d *daemon) findMigration() rpc.Finding {
	late, err := jsonstore.MarkdownFiles(d.fs)
	if err != nil {
		return rpc.Finding{Name: "migration", Level: rpc.LevelWarn, Detail: rpc.Say("%v", err)}
	}
	if len(late) > 0 {
		names := strings.Join(late[:min(3, len(late))], ", ")
		if len(late) > 3 {
			names += ", …"
		}
		return rpc.Finding{Name: "migration", Level: rpc.LevelWarn,
			Detail: rpc.Say("files of the oldest layout that came after the data directory was in use, and are "+
				"not read: %d (%s)", len(late), names),
			Remedy: rpc.Say("move them to a new directory, run `memsidecar --data NEW daemon publish` and bring what you " +
				"need of " +
				"NEW/memory.json over with `memsidecar add`; or delete them")}
	}
	places, reported, err := jsonstore.ReadReport(d.fs)
	switch {
	case err != nil:
		return rpc.Finding{Name: "migration", Level: rpc.LevelWarn, Detail: rpc.Say("%v", err)}
	case !reported:
		return ok("migration", "no report, nothing to take over")
	case places == 0:
		return ok("migration", "everything found was taken over; see %s", d.path(jsonstore.ReportName))
	}
	return rpc.Finding{Name: "migration", Level: rpc.LevelWarn,
		Detail: rpc.Say("places in the files found that were not taken over as they stood: %d", places),
		Remedy: rpc.Say("read %s, then delete it", d.path(jsonstore.ReportName))}
}
