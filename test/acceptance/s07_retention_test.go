package acceptance_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/memsidecar/memsidecar/internal/memtest/process"
)

// Scenario 7: logs grow old. At thirty days a log is summed up, and what matters in it becomes memories; at sixty its
// file goes and its summary stays. The daemon does that by itself. The days are simulated by logs of days long past.
func TestRetention(t *testing.T) {
	p := process.New(t, program)
	d := p.Serve(t)
	for _, e := range []struct {
		ago        int
		text, kind string
	}{
		{0, "Read the mail", "event"},
		{29, "用户喜欢在下午3点开会", "auto_extract"},
		{30, "The timetable service listens on port 8460", "auto_extract"},
		{31, "Moved the timetable service to the new machine", "event"},
		{59, "先量再切", "reflection"},
		{60, "下次不要直接改生产库", "correction"},
		{61, "Repaired the pump of the old harbour", "event"},
	} {
		p.Succeeds(t, "log", "add", e.text, "--at", day(e.ago)+" 00:00:01", "--type", e.kind)
	}
	before := len(list(t, p))

	// Somebody may look first.
	type days struct {
		Days []struct{ Date, Action string }
	}
	planned := map[string]string{}
	for _, d := range process.Ask[days](t, p, "log", "archive", "--dry-run").Days {
		planned[d.Date] += d.Action + " "
	}
	for ago, want := range map[int]string{0: "keep ", 29: "keep ", 30: "archive ", 31: "archive ", 59: "archive ",
		60: "archive delete ", 61: "archive delete "} {
		if planned[day(ago)] != want {
			t.Errorf("planned for the log of %d days: %q, want %q", ago, planned[day(ago)], want)
		}
	}

	// The next start does it; nobody asks.
	d.Stop(t)
	p.Serve(t)
	process.Eventually(t, "the logs are archived", func() bool {
		return strings.Contains(p.Succeeds(t, "status"), "5 archived, 2 deleted")
	})
	for _, ago := range []int{0, 29} {
		if log := published[logFile](t, p, "logs/"+day(ago)+".json"); log.Archived || log.Summary != nil {
			t.Errorf("the log of %d days is archived", ago)
		}
	}
	for _, ago := range []int{30, 31, 59} {
		log := published[logFile](t, p, "logs/"+day(ago)+".json")
		if !log.Archived || log.Summary == nil || *log.Summary == "" {
			t.Errorf("the log of %d days is not archived: %+v", ago, log)
		}
	}
	for _, ago := range []int{60, 61} {
		if _, err := os.Stat(filepath.Join(p.Data, "logs", day(ago)+".json")); !os.IsNotExist(err) {
			t.Errorf("the file of %d days is still there: %v", ago, err)
		}
	}

	// What mattered is remembered, with its evidence, and as old as it is.
	all := list(t, p)
	if len(all) <= before {
		t.Errorf("nothing was remembered: %+v", all)
	}
	for _, text := range []string{"port 8460", "先量再切", "不要直接改生产库"} {
		found := slices.DeleteFunc(containing(all, text), func(m memory) bool { return strings.Contains(m.Content, "\n") })
		if len(found) != 1 || found[0].Source != "archive" || found[0].Salience < 0.6 {
			t.Errorf("of %q is remembered: %+v", text, found)
		}
	}
	shows(t, "the list", p.Succeeds(t, "list"), "30 days ago", "60 days ago")
	shows(t, "what is left of a deleted log", p.Succeeds(t, "log", "show", day(61)), "archived and deleted",
		"Repaired the pump")
	shows(t, "a search", p.Succeeds(t, "search", "pump of the old harbour"), "Repaired the pump")

	// Even a deleted log comes back by one command.
	p.Succeeds(t, "log", "restore", day(61))
	shows(t, "the restored log", p.Succeeds(t, "log", "get", day(61)), "00:00:01", "Repaired the pump")
}

// TestRetentionOfOthersFiles: in a directory that another program kept, the first run deletes nothing, so that a person
// has a day to look.
func TestRetentionOfOthersFiles(t *testing.T) {
	p := process.New(t, program)
	old := day(75)
	write(t, p, "logs/"+old+".json", strings.Replace(printedLog, "2026-02-21", old, 1))
	p.Serve(t)
	process.Eventually(t, "the log is archived", func() bool {
		return strings.Contains(p.Succeeds(t, "status"), "1 archived, 1 postponed")
	})
	log := published[logFile](t, p, "logs/"+old+".json")
	if !log.Archived || len(log.Entries) != 3 {
		t.Errorf("the log is %+v", log)
	}
	if n := len(containing(list(t, p), "下午3点开会")); n == 0 {
		t.Error("nothing of it is remembered")
	}
}
