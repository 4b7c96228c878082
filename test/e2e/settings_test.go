package e2e_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/memsidecar/memsidecar/internal/memtest/process"
)

// daysAgo is a moment at ten o'clock, so many days before today.
func daysAgo(n int) string {
	return time.Now().AddDate(0, 0, -n).Format(time.DateOnly) + " 10:00"
}

// settingsSeen is what a daemon does that the published settings decide about.
type settingsSeen struct {
	consolidated int     // memories after two values of one attribute were saved
	archived     string  // actions on logs of three and five days
	decay        float64 // factor for an age of 14 days
	recalled     int     // memories for a prompt that three are about
	olderLogs    bool    // the start context lists an entry of three days ago
	maps         int     // long memories for which the start context has room
	vectors      string  // the doctor's word about vectors
}

// serveWith starts a daemon with settings and something of everything they decide about.
func serveWith(t *testing.T, set ...string) *daemon {
	t.Helper()
	p := newPlace(t)
	args := []string{"daemon", "serve"}
	for _, s := range set {
		args = append(args, "--set", s)
	}
	d := p.serveAs(t, p.Command(args...))
	for n := range 3 {
		p.Succeeds(t, "add", fmt.Sprintf("The staging gateway of site %d listens on port 844%d", n, n))
	}
	p.Succeeds(t, "add", "Lighthouse keepers trim wicks", "--tag", "coast", "--created-at",
		time.Now().Add(-14*24*time.Hour-time.Minute).UTC().Format(time.RFC3339))
	for n := range 6 {
		p.Succeeds(t, "add", fmt.Sprintf("Map %d. %s", n, strings.Repeat("The harbour office holds many maps. ", 10)), "--pin")
	}
	for _, n := range []int{3, 5} {
		p.Succeeds(t, "log", "add", fmt.Sprintf("Inspected pier %d", n), "--at", daysAgo(n))
	}
	p.Succeeds(t, "session", "append", "lesson", "Please remember that invoices are sent on Tuesdays")
	p.Succeeds(t, "session", "end", "lesson")
	return d
}

// look collects what the daemon does.
func (d *daemon) look(t *testing.T) (seen settingsSeen) {
	t.Helper()
	type page struct{ Memories []struct{ Content string } }
	for _, version := range []string{"15", "16"} {
		d.Succeeds(t, "memory", "consolidate", "The billing database is Postgres "+version)
	}
	for _, m := range process.Ask[page](t, d.Place, "list").Memories {
		if strings.Contains(m.Content, "billing database") {
			seen.consolidated++
		}
	}
	for _, day := range process.Ask[struct{ Days []struct{ Action string } }](t, d.Place, "log", "archive", "--dry-run").Days {
		if day.Action != "keep" {
			seen.archived += day.Action + " "
		}
	}
	found := process.Ask[struct {
		Hits []struct {
			Memory     struct{ Content string }
			Components []struct {
				Name  string
				Value float64
			}
		}
	}](t, d.Place, "search", "lighthouse keepers wicks", "--tag", "coast", "--profile", "product", "--explain",
		"--no-touch") // a fresh memory of another tag could end the list before it
	for _, h := range found.Hits {
		for _, c := range h.Components {
			if c.Name == "decay" && strings.Contains(h.Memory.Content, "ighthouse") {
				seen.decay = c.Value
			}
		}
	}
	recalled := process.Ask[struct{ Items []json.RawMessage }](t, d.Place, "recall", "which port has the staging gateway?")
	seen.recalled = len(recalled.Items)
	context := d.Succeeds(t, "session", "context", "looking")
	seen.olderLogs = strings.Contains(context, "Inspected pier 3")
	for n := range 6 {
		if strings.Contains(context, fmt.Sprintf("Map %d. ", n)) {
			seen.maps++
		}
	}
	for _, f := range process.Ask[struct {
		Findings []struct{ Name, Detail string }
	}](t, d.Place, "doctor").Findings {
		if f.Name == "embeddings" {
			seen.vectors = f.Detail
		}
	}
	return seen
}

// TestSettingsHaveAnEffect runs a daemon with the defaults, one with everything switched off that can be, and one with
// other numbers.
func TestSettingsHaveAnEffect(t *testing.T) {
	t.Parallel()
	t.Run("defaults", func(t *testing.T) {
		d := serveWith(t)
		seen := d.look(t)
		want := settingsSeen{consolidated: 1, decay: 0.4966, recalled: 3, maps: 6}
		checkSettings(t, seen, want)
		if !strings.Contains(seen.vectors, "models inside") {
			t.Errorf("vectors: %s", seen.vectors)
		}
		process.Eventually(t, "the session is learnt from", func() bool {
			return strings.Contains(d.Succeeds(t, "list"), "nvoices are sent on Tuesdays")
		})
	})
	t.Run("off", func(t *testing.T) {
		d := serveWith(t, "memory_session_reflect_enabled=false", "memory_consolidation_enabled=false",
			"memory_implicit_recall_enabled=false", "memory_index_enabled=false")
		seen := d.look(t)
		checkSettings(t, seen, settingsSeen{consolidated: 2, decay: 0.4966, maps: 6})
		if seen.vectors != "memory_index_enabled is false; searches go by words" {
			t.Errorf("vectors: %s", seen.vectors)
		}
		// The session ended before all this, and a daemon that stops finishes what it has begun.
		d.Stop(t)
		again := d.serveAs(t, d.Command("daemon", "serve", "--set", "memory_session_reflect_enabled=false"))
		got := process.Ask[struct {
			Session struct {
				State        string
				ReflectedSeq int `json:"reflected_seq"`
			}
		}](t, again.Place, "session", "get", "lesson").Session
		if got.State != "ended" || got.ReflectedSeq != 0 {
			t.Errorf("the session is %+v, and nobody asked for a reflection", got)
		}
	})
	t.Run("other numbers", func(t *testing.T) {
		d := serveWith(t, "memory_archive_days=3", "memory_delete_days=5", "memory_decay_lambda=0.5",
			"memory_implicit_recall_top_k=1", "memory_daily_log_days=4", "memory_max_prompt_tokens=320")
		checkSettings(t, d.look(t), settingsSeen{consolidated: 1, archived: "archive delete archive ", decay: 0.0009, recalled: 1,
			olderLogs: true, maps: 1})
	})
}

// checkSettings compares everything but the word about vectors.
func checkSettings(t *testing.T, got, want settingsSeen) {
	t.Helper()
	if diff := got.decay - want.decay; diff > 0.0001 || diff < -0.0001 {
		t.Errorf("decay after 14 days: %.4f, want %.4f", got.decay, want.decay)
	}
	got.decay, got.vectors = want.decay, ""
	if got != want {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

// TestRetiredSettingIsReported: a person of the first version learns of it at the start, from the doctor and from
// config.
func TestRetiredSettingIsReported(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	cmd := p.Command("daemon", "serve")
	cmd.Env = append(cmd.Env, "MEMORY_AUTO_EXTRACT=true")
	d := p.serveAs(t, cmd)
	const want = "memory_auto_extract (environment MEMORY_AUTO_EXTRACT) has no effect any more; use " +
		"memory_session_reflect_enabled instead"
	if n := strings.Count(d.Logged(), want); n != 1 {
		t.Errorf("in the log %d times:\n%s", n, d.Logged())
	}
	if out, _ := p.Command("doctor").CombinedOutput(); !strings.Contains(string(out), want) {
		t.Errorf("not in doctor:\n%s", out)
	}
	config := p.Command("config")
	config.Env = append(config.Env, "MEMORY_AUTO_EXTRACT=true")
	if out, err := config.CombinedOutput(); err != nil || !strings.Contains(string(out), "warning: "+want) {
		t.Errorf("not in config: %v\n%s", err, out)
	}
}
