package daemon

import (
	"fmt"
	"strings"

	"github.com/memsidecar/memsidecar/internal/rpc"
	"github.com/memsidecar/memsidecar/internal/service/memorysvc"
	"github.com/memsidecar/memsidecar/internal/store/durable"
)

// maxNamedSecrets is how many memories and how many logs the finding names.
const maxNamedSecrets = 5

// findSecrets reports memories and daily logs that look as if they hold a secret: a person wrote it into a published
// file, somebody insisted, or it was stored before a rule was known. It names them and kinds, never what stands there.
func (d *daemon) findSecrets() rpc.Finding {
	var found, logs []string
	n, days := 0, 0
	for _, space := range d.store.Spaces() {
		for _, m := range d.store.Space(space).Memories() {
			kinds := memorysvc.SecretsIn(m)
			if kinds == "" {
				continue
			}
			if n++; n <= maxNamedSecrets {
				found = append(found, fmt.Sprintf("%s of %s (%s)", m.ID, space, kinds))
			}
		}
		for _, day := range d.store.Space(space).Days() {
			kinds := d.secretsInLog(space, day.Date)
			if kinds == "" {
				continue
			}
			if days++; days <= maxNamedSecrets {
				logs = append(logs, fmt.Sprintf("%s of %s (%s)", day.Date, space, kinds))
			}
		}
	}
	copies := d.secretsInQuarantine()
	if n == 0 && days == 0 && copies == 0 {
		return ok("secrets", "no memory, no log and no quarantined file looks as if it held one")
	}
	var parts, remedies []rpc.Text
	if n > 0 {
		parts = append(parts, rpc.Say("%d memories look as if they held a secret: %s", n, named(found, n))...)
		remedies = append(remedies,
			rpc.Say("look with `memsidecar get ID`; `memsidecar update ID --content …` writes the text anew")...)
	}
	if days > 0 {
		parts = append(parts, rpc.Say("%d logs look as if they held a secret: %s", days, named(logs, days))...)
		remedies = append(remedies, rpc.Say("`memsidecar log get DATE` shows a log, and its file in logs/ can be edited")...)
	}
	if copies > 0 {
		parts = append(parts, rpc.Say("%d quarantined files look as if they held a secret", copies)...)
		remedies = append(remedies, rpc.Say("decide about edits with `memsidecar edits`, and remove what you do not need "+
			"from %s", d.path("quarantine"))...)
	}
	remedies = append(remedies, rpc.Say("`memsidecar memory purge` erases a text from every file. No agent is shown it "+
		"meanwhile")...)
	return rpc.Finding{Name: "secrets", Level: rpc.LevelWarn, Detail: parts, Remedy: remedies}
}

// named joins names, and says when some are left out.
func named(list []string, n int) string {
	if n > len(list) {
		list = append(list, "…")
	}
	return strings.Join(list, ", ")
}

// maxScanned is the size in bytes of the largest quarantined file that is looked at.
const maxScanned = 16 << 20

// secretsInQuarantine counts the quarantined files that look as if they held a secret. What a person wrote is kept
// there byte for byte.
func (d *daemon) secretsInQuarantine() (n int) {
	entries, err := d.fs.ReadDir("quarantine")
	if err != nil {
		return 0 // findQuarantine reports it
	}
	for _, e := range entries {
		if info, err := e.Info(); err != nil || info.Size() > maxScanned {
			continue
		}
		raw, err := durable.ReadFile(d.fs, "quarantine/"+e.Name())
		if err == nil && memorysvc.SecretsInText(string(raw)) != "" {
			n++
		}
	}
	return n
}

// secretsInLog names the kinds of what looks like a secret in a daily log, "" for none.
func (d *daemon) secretsInLog(space, date string) string {
	day, entries, err := d.store.Space(space).Log(date)
	if err != nil {
		return "" // a damaged log is a finding of its own
	}
	kinds := memorysvc.SecretsInDay(day)
	for _, e := range entries {
		if kinds != "" {
			break // one is enough to look at the log
		}
		kinds = memorysvc.SecretsInEntry(e)
	}
	return kinds
}
