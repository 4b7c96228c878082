package acceptance_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/memsidecar/memsidecar/internal/memtest/process"
)

// Where the sources differ or are silent, one reading was chosen. TestReadings shows those that no other scenario
// shows.
func TestReadings(t *testing.T) {
	p := process.New(t, program)
	p.Serve(t)
	a := newAgent(t, p)
	source := func(id string) string {
		for _, m := range list(t, p) {
			if m.ID == id {
				return m.Source
			}
		}
		return "no memory " + id
	}
	found := func(args ...string) []string {
		var ids []string
		for _, h := range process.Ask[struct {
			Hits []struct{ Memory memory }
		}](t, p, append([]string{"search"}, args...)...).Hits {
			ids = append(ids, h.Memory.ID)
		}
		return ids
	}

	t.Run("an id of 64 characters is kept, and a part of a made one names it", func(t *testing.T) {
		id := strings.Repeat("x", 64)
		p.Succeeds(t, "add", "The lighthouse was painted white", "--id", id)
		shows(t, "get", p.Succeeds(t, "get", id), "The lighthouse was painted white")
		p.Succeeds(t, "add", "The lighthouse keeper is Ivo")
		made := containing(list(t, p), "Ivo")[0].ID
		shows(t, "get by a part of the id", p.Succeeds(t, "get", made[strings.LastIndex(made, "-")+1:][:6]), "Ivo")
	})
	t.Run("a daily write is an event of today, once, and names the day", func(t *testing.T) {
		for range 2 {
			out := a.call("memory_write", map[string]any{"content": "Met Ana at the harbour", "category": "facts",
				"write_to": "daily"})
			shows(t, "the answer", out, day(0))
		}
		var kept []string
		for _, e := range published[logFile](t, p, "logs/"+day(0)+".json").Entries {
			kept = append(kept, e.Type+" "+e.Category+" "+e.Content)
		}
		if fmt.Sprint(kept) != "[event facts Met Ana at the harbour]" {
			t.Errorf("the log has %q", kept)
		}
	})
	t.Run("a search looks at logs when asked, the tool of agents always", func(t *testing.T) {
		if out := p.Succeeds(t, "search", "Ana harbour"); strings.Contains(out, "Ana") {
			t.Errorf("the search found %s", out)
		}
		shows(t, "the search of logs", p.Succeeds(t, "search", "Ana harbour", "--logs"), "Met Ana at the harbour")
		shows(t, "memory_search", a.call("memory_search", map[string]any{"query": "Ana harbour"}), "Met Ana at the harbour")
	})
	t.Run("a source says who wrote it", func(t *testing.T) {
		p.Succeeds(t, "add", "The pier is closed in winter", "--id", "added")
		saved := process.Ask[struct {
			Result struct{ Outcomes []struct{ ID string } }
		}](t, p, "memory", "consolidate", "The north gate has a new lock").Result.Outcomes[0].ID
		p.Succeeds(t, "session", "append", "s1", "Remember that the ferry office opens at seven.")
		p.Succeeds(t, "session", "reflect", "s1")
		for id, want := range map[string]string{"added": "user_explicit", saved: "user_explicit",
			containing(list(t, p), "ferry office")[0].ID: "auto_reflection"} {
			if got := source(id); got != want {
				t.Errorf("%s has the source %s, want %s", id, got, want)
			}
		}
	})
	t.Run("a salience out of range is refused from a caller and clamped in an import", func(t *testing.T) {
		p.Fails(t, 2, "add", "Too important", "--salience", "1.5")
		write(t, p, "../others.json", `{"version":2,"memories":[{"id":"heavy","content":"The anchor is heavy","salience":7,`+
			`"source":"robot"}]}`)
		shows(t, "the import", p.Succeeds(t, "import", p.Data+"/../others.json"), "salience", "took the nearest")
		if m := containing(list(t, p), "The anchor is heavy"); len(m) != 1 || m[0].Salience != 1 || m[0].Source != "robot" {
			t.Errorf("imported %+v", m)
		}
	})
	t.Run("a search has 5 hits, and 10 by the weighted formula", func(t *testing.T) {
		for i := range 15 {
			p.Succeeds(t, "add", fmt.Sprintf("Buoy number %d marks the channel", 100+i))
		}
		if n := len(found("buoy channel")); n != 5 {
			t.Errorf("%d hits, want 5", n)
		}
		if n := len(found("buoy channel", "--profile", "weighted")); n != 10 {
			t.Errorf("%d weighted hits, want 10", n)
		}
	})
	t.Run("nothing when unsure, but all that a source's formula scores", func(t *testing.T) {
		const query = "quarterly invoice of the accountant"
		if ids := found(query, "--arm", "keyword"); len(ids) > 0 {
			t.Errorf("the search found %v", ids)
		}
		if ids := found(query+" channel", "--profile", "overlap"); len(ids) == 0 {
			t.Error("the overlap formula found nothing")
		}
	})
}
