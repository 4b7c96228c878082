package jsonstore_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/memsidecar/memsidecar/internal/jsonstore"
	"github.com/memsidecar/memsidecar/internal/memtest"
	"github.com/memsidecar/memsidecar/internal/publish"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/durable"
	"github.com/memsidecar/memsidecar/internal/store/durable/crashfs"
)

// oldest fills fsys with a directory in the oldest layout.
func oldest(t testing.TB, fsys durable.FS) map[string]string {
	t.Helper()
	files := map[string]string{
		"MEMORY.md":               "# Memory\n## Summary\nMei keeps the ferries running.\n## 偏好\n- [2026-02-01 10:30:15.482113] 喜欢早班机\n## Tasks\n- [x] Move the wiki\n- [ ] Renew the certificate\n<!-- mine -->\n",
		"MEMORY.md.migrated":      "somebody's own",
		"logs/2026-02-20.md":      "# 2026-02-20\n- [14:30:05] Wrote the API document\n- 15:00 工具失败: fetch_url 没有返回内容\n",
		"logs/20260219.md":        "## 09:00\n- Quiet day\n",
		"logs/ideas.md":           "none of a day",
		"spaces/work/MEMORY.md":   "- Standup at ten\n",
		"spaces/work/logs/old.md": "# 2026-02-18\n- in the office\n",
	}
	for name, text := range files {
		write(t, fsys, name, text)
	}
	return files
}

var renamed = map[string]string{
	"MEMORY.md": "MEMORY.md.migrated.2", "logs/2026-02-20.md": "logs/2026-02-20.md.migrated", "logs/20260219.md": "logs/20260219.md.migrated",
	"spaces/work/MEMORY.md": "spaces/work/MEMORY.md.migrated", "spaces/work/logs/old.md": "spaces/work/logs/old.md.migrated",
}

// all describes everything in the store by its text.
func all(t testing.TB, st *store.Store) string {
	t.Helper()
	var b strings.Builder
	for _, space := range st.Spaces() {
		v := st.Space(space)
		fmt.Fprintf(&b, "%s %q\n", space, v.Summary())
		for _, m := range v.Memories() {
			fmt.Fprintf(&b, "  %s %s %s %q\n", m.Category, m.Status, m.Tags, m.Content)
		}
		for _, d := range v.Days() {
			_, entries, err := v.Log(d.Date)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range entries {
				fmt.Fprintf(&b, "  %s %s %s %q\n", d.Date, e.Time, e.Type, e.Content)
			}
		}
	}
	return b.String()
}

const allOldest = `default "Mei keeps the ferries running."
  preferences active [] "喜欢早班机"
  tasks retired [done] "Move the wiki"
  tasks active [] "Renew the certificate"
  2026-02-19 09:00:00 event "Quiet day"
  2026-02-20 14:30:05 event "Wrote the API document"
  2026-02-20 15:00:00 tool_failure "fetch_url 没有返回内容"
work ""
  general active [] "Standup at ten"
  2026-02-18 00:00:00 event "in the office"
`

// checkOldest checks the files after an adoption: each is whole under its new name, and nothing else was touched.
func checkOldest(t testing.TB, fsys durable.FS, files map[string]string) {
	t.Helper()
	for name, text := range files {
		if to := renamed[name]; to != "" {
			if _, err := fsys.Lstat(name); err == nil {
				t.Errorf("%s is still there", name)
			}
			name = to
		}
		if data, err := durable.ReadFile(fsys, name); err != nil || string(data) != text {
			t.Errorf("%s: %q, %v", name, data, err)
		}
	}
	report, err := durable.ReadFile(fsys, jsonstore.ReportName)
	if err != nil || !strings.Contains(string(report), "MEMORY.md:9: has a comment") || !strings.Contains(string(report), "logs/ideas.md") ||
		strings.Contains(string(report), "ferries") {
		t.Errorf("report: %s, %v", report, err)
	}
	if places, ok, err := jsonstore.ReadReport(fsys); places != 4 || !ok || err != nil {
		t.Errorf("the report names %d places, %v, %v", places, ok, err)
	}
}

func TestAdoptOldest(t *testing.T) {
	onBoth(t, func(t *testing.T, fsys durable.FS) {
		files := oldest(t, fsys)
		st, p := open(t, fsys)
		report := adopt(t, st, fsys)
		if report.Memories != 4 || report.Days != 3 || report.Entries != 4 || len(report.Migrated) != 5 || report.Places() != 4 {
			t.Errorf("report %+v", report)
		}
		if diff := cmp.Diff(allOldest, all(t, st)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if got := st.Space("default").Memories()[0].CreatedAt; !got.Equal(time.Date(2026, 2, 1, 10, 30, 15, 482113000, time.UTC)) {
			t.Errorf("created at %v", got)
		}
		checkOldest(t, fsys, files)
		if text, err := durable.ReadFile(fsys, jsonstore.ReportName); err == nil {
			golden(t, "report.golden.txt", text)
		}
		lsn := st.LSN()
		if again := adopt(t, st, fsys); len(again.Spaces) != 0 || st.LSN() != lsn {
			t.Errorf("adopted again: %+v", again)
		}
		publishAll(t, p)
		if f := read(t, fsys, "memory.json"); len(f.Memories) != 2 || f.RollingSummary == "" || f.Version != jsonstore.Version {
			t.Errorf("published %+v", f)
		}
		if names := quarantine(t, fsys); len(names) != 0 {
			t.Errorf("kept aside %v", names)
		}
	})
}

// A crash anywhere leaves a migration that goes on at the next start: everything is taken once, and every old file
// is whole under its new name.
func TestAdoptOldestCrashAtEveryOperation(t *testing.T) {
	base := crashfs.New()
	files := oldest(t, base)
	open(t, base)
	base = base.Crash(crashfs.Kept, nil)
	probe := base.Clone()
	st, _ := open(t, probe)
	start := probe.Ops()
	adopt(t, st, probe)
	for n := start + 1; n <= probe.Ops()+1; n++ { // the last crash comes after the end
		if memtest.SkipSample(n, 5) {
			continue
		}
		for i, variant := range []crashfs.CrashMode{crashfs.Lost, crashfs.Kept, crashfs.Torn} {
			fsys := base.Clone()
			st, _ := open(t, fsys)
			fsys.CrashAt(n)
			_, _ = jsonstore.Adopt(t.Context(), st, fsys, time.UTC)
			after := fsys.Crash(variant, rand.New(rand.NewPCG(uint64(n), uint64(i))))

			if err := publish.Recover(after); err != nil {
				t.Fatal(err)
			}
			st, _ = open(t, after)
			unfinished, err := jsonstore.Unfinished(after)
			if err != nil {
				t.Fatal(err)
			}
			if unfinished || st.LSN() == 0 {
				adopt(t, st, after)
			}
			if diff := cmp.Diff(allOldest, all(t, st)); diff != "" {
				t.Fatalf("crash at operation %d, %v (-want +got):\n%s", n, variant, diff)
			}
			checkOldest(t, after, files)
			if unfinished, err := jsonstore.Unfinished(after); unfinished || err != nil || t.Failed() {
				t.Fatalf("crash at operation %d, %v: unfinished %v, %v", n, variant, unfinished, err)
			}
		}
	}
	t.Logf("%d operations and the end, each in 3 variants", probe.Ops()-start)
}

// Where both layouts say the same, the newer one has the word; the oldest adds the rest.
func TestAdoptBothLayouts(t *testing.T) {
	fsys := crashfs.New()
	write(t, fsys, "memory.json", `{"version":2,"rolling_summary":"new","memories":[{"id":"a","content":"Prefers small commits","category":"preferences","salience":0.9}]}`)
	write(t, fsys, "logs/2026-02-20.json", `{"date":"2026-02-20","entries":[{"time":"14:30:00","content":"Wrote it"}],"summary":"quiet","archived":true}`)
	write(t, fsys, "MEMORY.md", "# Summary\nold\n# Facts\n- prefers small commits.\n- Port 8460\n")
	write(t, fsys, "logs/2026-02-20.md", "- 14:30 wrote it\n- 14:45 wrote it\n")
	write(t, fsys, "logs/2026-02-20-more.md", "- 14:45 wrote it\n- 14:50 and more\n")
	st, _ := open(t, fsys)
	report := adopt(t, st, fsys)
	want := `default "new"
  preferences active [] "Prefers small commits"
  facts active [] "Port 8460"
  general active [rolling_summary] "old"
  2026-02-20 14:30:00 event "Wrote it"
  2026-02-20 14:45:00 event "wrote it"
  2026-02-20 14:50:00 event "and more"
`
	if diff := cmp.Diff(want, all(t, st)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	wantNotes := []jsonstore.Note{{File: "MEMORY.md", Detail: "memory.json has a rolling summary too; the one here became a memory"}}
	if diff := cmp.Diff(wantNotes, report.Notes); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
	if day, _, err := st.Space("default").Log("2026-02-20"); err != nil || day.Summary != "quiet" || !day.Archived {
		t.Errorf("day %+v, %v", day, err)
	}
}

// Somebody takes the planned name between a crash and the next start.
func TestMigratedNameTakenMeanwhile(t *testing.T) {
	fsys := crashfs.New()
	write(t, fsys, "MEMORY.md", "- a\n")
	write(t, fsys, "MEMORY.md.migrated", "other")
	write(t, fsys, "adopting", `{"renames":[{"from":"MEMORY.md","to":"MEMORY.md.migrated"},{"from":"logs/gone.md","to":"logs/gone.md.migrated"}]}`)
	if err := fsys.MkdirAll("logs"); err != nil {
		t.Fatal(err)
	}
	st, _ := open(t, fsys)
	adopt(t, st, fsys)
	for name, want := range map[string]string{"MEMORY.md.migrated": "other", "MEMORY.md.migrated.2": "- a\n"} {
		if data, err := durable.ReadFile(fsys, name); err != nil || string(data) != want {
			t.Errorf("%s: %q, %v", name, data, err)
		}
	}
}

func TestLeftOver(t *testing.T) {
	fsys := crashfs.New()
	oldest(t, fsys)
	got, err := jsonstore.MarkdownFiles(fsys)
	slices.Sort(got)
	want := []string{"MEMORY.md", "logs/2026-02-20.md", "logs/20260219.md", "spaces/work/MEMORY.md"}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	st, _ := open(t, fsys)
	adopt(t, st, fsys)
	if got, err := jsonstore.MarkdownFiles(fsys); len(got) > 0 || err != nil {
		t.Errorf("after the adoption: %v, %v", got, err)
	}
	if places, ok, err := jsonstore.ReadReport(crashfs.New()); ok || err != nil {
		t.Errorf("a report where none is: %d, %v", places, err)
	}
}
