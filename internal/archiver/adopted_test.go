package archiver_test

import (
	"io"
	"strings"
	"testing"

	"github.com/memsidecar/memsidecar/internal/archiver"
	"github.com/memsidecar/memsidecar/internal/jsonstore"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/durable"
	"github.com/memsidecar/memsidecar/internal/store/durable/crashfs"
	"github.com/memsidecar/memsidecar/internal/store/journal"
	"github.com/memsidecar/memsidecar/internal/store/textscrub"
)

// TestAdoptedLogsHaveGrace: old logs of another tool are archived at once and deleted no sooner than a log of ours
// would be after that.
func TestAdoptedLogsHaveGrace(t *testing.T) {
	b := newHarness(t)
	old := b.date(200)
	_, err := b.store.Update(t.Context(), store.Meta{Actor: journal.ActorAdopt}, func(tx *store.Tx) error {
		return tx.AppendEntry(old, &memory.Entry{Time: "09:00:00", Type: memory.EntryEvent,
			Content: "deployed the new scheduler"})
	})
	if err != nil {
		t.Fatal(err)
	}
	report := b.run(archiver.Options{})
	if report.Count(archiver.Archive) != 1 || report.Count(archiver.Postponed) != 1 ||
		report.Count(archiver.Delete) != 0 {
		t.Errorf("at the first start: %v", actions(report))
	}
	b.now = noon.AddDate(0, 0, 29)
	if report := b.run(archiver.Options{}); report.Count(archiver.Delete) != 0 {
		t.Errorf("after 29 days: %v", actions(report))
	}
	b.now = noon.AddDate(0, 0, 30)
	if report := b.run(archiver.Options{}); report.Count(archiver.Delete) != 1 {
		t.Errorf("after 30 days: %v", actions(report))
	}
}

// TestOldestLogsHaveGrace: so do those of the oldest layout, and those that another memsidecar had archived already.
func TestOldestLogsHaveGrace(t *testing.T) {
	b := newHarness(t)
	fs := crashfs.New()
	b.store = b.open(fs)
	for name, text := range map[string]string{
		"logs/" + b.date(200) + ".md": "# " + b.date(200) + "\n- [14:30:05] deployed the new scheduler\n",
		"logs/" + b.date(199) + ".json": `{"date": "` + b.date(199) +
			`", "entries": [{"time": "10:00:00", "content": "moved"}], "archived": true, "summary": "moved"}`,
		"logs/archive.json": `{"version": 1, "logs": [{"id": "` + b.date(199) + `", "date": "` + b.date(199) +
			`", "entries": 1, "archived_at": "` + b.date(160) +
			`T10:00:00Z", "archive_operation": 7}]}`,
	} {
		if err := fs.MkdirAll("logs"); err != nil {
			t.Fatal(err)
		}
		if err := durable.WriteFile(fs, name, func(w io.Writer) error {
			_, err := io.WriteString(w, text)
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	if report, err := jsonstore.Adopt(t.Context(), b.store, fs, b.loc); err != nil || report.Days != 2 {
		t.Fatalf("adopted %+v: %v", report, err)
	}
	if logs := b.store.Space("").Archived(); len(logs) != 1 || logs[0].Op != 0 {
		t.Errorf("records %+v", logs)
	}
	for _, days := range []int{0, 29} {
		b.now = noon.AddDate(0, 0, days)
		if report := b.run(archiver.Options{}); report.Count(archiver.Delete) != 0 ||
			report.Count(archiver.Postponed) != 2 {
			t.Errorf("after %d days: %v", days, actions(report))
		}
	}
	b.now = noon.AddDate(0, 0, 30)
	if report := b.run(archiver.Options{}); report.Count(archiver.Delete) != 2 {
		t.Errorf("after 30 days: %v", actions(report))
	}
	for _, r := range b.store.Space("").Archived() {
		if !r.Deleted() || r.Op == 0 {
			t.Errorf("the record of a deleted log is %+v", r)
		}
	}
}

// TestPurgedEntries tell nothing: they become neither memories nor a part of a summary.
func TestPurgedEntries(t *testing.T) {
	b := newHarness(t)
	b.log(b.date(40), memory.Entry{Type: memory.EntryEvent, Category: memory.Preferences, Content: textscrub.Placeholder +
		"."},
		memory.Entry{Type: memory.EntryEvent, Content: "moved the timetable service"})
	if report := b.run(archiver.Options{}); report.Count(archiver.Archive) != 1 || len(b.promoted(report)) > 0 {
		t.Errorf("%v, promoted %v", actions(report), b.promoted(report))
	}
	for _, m := range b.store.Space("").Memories() {
		if strings.Contains(m.Content, textscrub.Placeholder) {
			t.Errorf("a memory says %q", m.Content)
		}
	}
}

// TestImportedLogsHaveGrace: so do old logs that were imported, archived or not, long after the store began.
func TestImportedLogsHaveGrace(t *testing.T) {
	for _, archived := range []bool{false, true} {
		b := newHarness(t)
		b.log(b.date(1), memory.Entry{Time: "09:00:00", Type: memory.EntryEvent, Content: "something of our own"})
		old := b.date(200)
		_, err := b.store.Update(t.Context(), store.Meta{Actor: journal.ActorImport}, func(tx *store.Tx) error {
			if archived {
				tx.SetDay(&memory.Day{Date: old, Summary: "deployed", Archived: true})
			}
			return tx.AppendEntry(old, &memory.Entry{Time: "09:00:00", Type: memory.EntryEvent,
				Content: "deployed the new scheduler"})
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, days := range []int{0, 29} {
			b.now = noon.AddDate(0, 0, days)
			if report := b.run(archiver.Options{}); report.Count(archiver.Delete) != 0 {
				t.Errorf("archived %v, after %d days: %v", archived, days, actions(report))
			}
		}
		b.now = noon.AddDate(0, 0, 30)
		if report := b.run(archiver.Options{}); report.Count(archiver.Delete) != 1 {
			t.Errorf("archived %v, after 30 days: %v", archived, actions(report))
		}
	}
}

// TestAdoptedSecretIsNotRepeated: what a person wrote into an old log stays in it; no summary and no memory made of it
// holds the secret.
func TestAdoptedSecretIsNotRepeated(t *testing.T) {
	b := newHarness(t)
	old := b.date(40)
	_, err := b.store.Update(t.Context(), store.Meta{Actor: journal.ActorAdopt}, func(tx *store.Tx) error {
		return tx.AppendEntry(old, &memory.Entry{Time: "09:00:00", Type: memory.EntryEvent, Category: memory.Facts,
			Content: "The user decided that DB_PASSWORD=opensesame stays"})
	})
	if err != nil {
		t.Fatal(err)
	}
	if report := b.run(archiver.Options{}); report.Count(archiver.Archive) != 1 {
		t.Fatalf("%v", actions(report))
	}
	memories := b.store.Space(memory.DefaultSpace).Memories()
	if len(memories) != 2 {
		t.Fatalf("%d memories, want the summary and the fact", len(memories))
	}
	for _, m := range memories {
		if strings.Contains(m.Content, "opensesame") || !strings.Contains(m.Content, "[redacted:password]") {
			t.Errorf("made of the log: %q", m.Content)
		}
	}
	_, entries, err := b.store.Space(memory.DefaultSpace).Log(old)
	if err != nil || !strings.Contains(entries[0].Content, "opensesame") {
		t.Errorf("the log says %q (%v)", entries[0].Content, err)
	}
}
