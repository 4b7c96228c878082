//go:build unix

package hosts_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
)

const (
	page       = "../../docs/hooks.md"
	tableBegin = "<!-- seen: written by go test ./test/hosts -update -->\n"
	tableEnd   = "<!-- end -->\n"
)

// versions returns the pinned version of each module.
func versions(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile("package.json")
	if err != nil {
		t.Fatal(err)
	}
	var p struct{ Dependencies map[string]string }
	if err := json.Unmarshal(text, &p); err != nil {
		t.Fatal(err)
	}
	return p.Dependencies
}

// table writes what was seen.
func table(t *testing.T, all []host, seen map[string]map[string]bool) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("| host | version | " + strings.Join(columns, " | ") + " |\n|" + strings.Repeat("---|", len(columns)+2) + "\n")
	pins := versions(t)
	for _, h := range all {
		b.WriteString("| " + h.name + " | " + pins[h.module])
		for _, c := range columns {
			cell := "–"
			if seen[h.name][c] {
				cell = "seen"
			}
			b.WriteString(" | " + cell)
		}
		b.WriteString(" |\n")
	}
	return b.String()
}

// split returns the page before, within and behind the table.
func split(t *testing.T) (before, within, after string) {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(text), tableBegin)
	within, after, ended := strings.Cut(rest, tableEnd)
	if !found || !ended {
		t.Fatalf("%s has no table between %q and %q", page, tableBegin, tableEnd)
	}
	return before, within, after
}

// checkTable compares the table in the documentation with what was seen; with -update it writes it.
func checkTable(t *testing.T, all []host, seen map[string]map[string]bool) {
	t.Helper()
	before, within, after := split(t)
	got := table(t, all, seen)
	if *update && !t.Failed() {
		if err := os.WriteFile(page, []byte(before+tableBegin+got+tableEnd+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if got != within {
		t.Errorf("%s says\n%s\nseen was\n%s", page, within, got)
	}
}

// TestTableIsOfThesePins: the table was made with the versions that are pinned, and has a line for every host. It needs
// no host program.
func TestTableIsOfThesePins(t *testing.T) {
	_, within, _ := split(t)
	pins := versions(t)
	for _, h := range hosts("") {
		if pins[h.module] == "" || !strings.Contains(within, "| "+h.name+" | "+pins[h.module]+" | ") {
			t.Errorf("no line for %s %q: see the table, and -update with MEMSIDECAR_TEST_HOSTS", h.name, pins[h.module])
		}
	}
	if n := strings.Count(within, "\n"); n != len(hosts(""))+2 {
		t.Errorf("the table has %d lines", n)
	}
}
