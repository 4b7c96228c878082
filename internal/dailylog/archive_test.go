package dailylog_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/memsidecar/memsidecar/internal/dailylog"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/durable"
	"github.com/memsidecar/memsidecar/internal/store/durable/crashfs"
)

const archiveFile = `{
  "version": 1,
  "logs": [
    {
      "id": "2026-01-03",
      "date": "2026-01-03",
      "entries": 12,
      "summary": "short\n- 修好了泵",
      "promoted": ["m1", "m2"],
      "archived_at": "2026-02-02T09:00:00Z",
      "archive_operation": 1650,
      "deleted_at": "2026-03-04T09:00:00Z",
      "delete_operation": 1822
    },
    {
      "id": "2026-01-04.2",
      "date": "2026-01-04",
      "entries": 0,
      "summary": "",
      "promoted": [],
      "archived_at": "2026-02-03T09:00:00Z",
      "archive_operation": 1651
    }
  ],
  "revision": 1822
}
`

func archive() *dailylog.Archive {
	at := time.Date(2026, 2, 2, 9, 0, 0, 0, time.UTC)
	return &dailylog.Archive{Revision: 1822, Logs: []*memory.Archived{
		{ID: "2026-01-03", Date: "2026-01-03", Entries: 12, Summary: "short\n- 修好了泵", Promoted: []string{"m1", "m2"}, At: at, Op: 1650,
			DeletedAt: at.AddDate(0, 0, 30), DeletedOp: 1822},
		{ID: "2026-01-04.2", Date: "2026-01-04", At: at.AddDate(0, 0, 1), Op: 1651},
	}}
}

func TestArchiveFile(t *testing.T) {
	var b bytes.Buffer
	if err := dailylog.EncodeArchive(&b, archive()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(archiveFile, b.String()); diff != "" {
		t.Errorf("encoded (-want +got):\n%s", diff)
	}
	got, err := dailylog.DecodeArchive([]byte(strings.Replace(archiveFile, `"entries": 12`, `"entries": 12, "mood": {"a": 1}`, 1)), time.UTC)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(archive(), got); diff != "" {
		t.Errorf("decoded (-want +got):\n%s", diff)
	}
}

func TestArchiveFileRefused(t *testing.T) {
	for _, tt := range []struct{ name, old, new string }{
		{"another version", `"version": 1`, `"version": 2`},
		{"no date", `"date": "2026-01-03"`, `"date": "then"`},
		{"another log's id", `"id": "2026-01-03"`, `"id": "2026-01-05"`},
		{"a path for an id", `"id": "2026-01-03"`, `"id": "../2026-01-03"`},
		{"behind the end", `"revision": 1822`, `"revision": 1822}{`},
		{"twice", `"version": 1`, `"version": 1, "version": 1`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := dailylog.DecodeArchive([]byte(strings.Replace(archiveFile, tt.old, tt.new, 1)), time.UTC); err == nil {
				t.Error("accepted")
			} else if newer := tt.name == "another version"; errors.Is(err, memory.ErrNewerVersion) != newer {
				t.Error(err)
			}
		})
	}
}

func FuzzDecodeArchive(f *testing.F) {
	for _, s := range []string{archiveFile, ``, `{}`, `{"logs":[{"id":"2026-01-03","date":"2026-01-03","promoted":["\ud83d\ude00"]}]}`, `{"logs":[{}],"version":-1}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		first, err := dailylog.DecodeArchive(data, shanghai)
		if err != nil {
			return
		}
		if !json.Valid(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))) {
			t.Fatal("accepted what is not JSON")
		}
		var b bytes.Buffer
		if err := dailylog.EncodeArchive(&b, first); err != nil {
			t.Fatalf("cannot be written: %v", err)
		}
		if _, err := dailylog.DecodeArchive(b.Bytes(), shanghai); err != nil {
			t.Fatalf("%v\n%s", err, b.Bytes())
		}
	})
}

func TestArchiveIsPublished(t *testing.T) {
	fsys := crashfs.New()
	st, p := open(t, fsys)
	change := func(fn func(tx *store.Tx)) {
		t.Helper()
		if _, err := st.Update(t.Context(), store.Meta{Space: "work", Actor: "archive"}, func(tx *store.Tx) error { fn(tx); return nil }); err != nil {
			t.Fatal(err)
		}
	}
	logs := func() string {
		t.Helper()
		publishAll(t, p)
		data, err := durable.ReadFile(fsys, "spaces/work/logs/archive.json")
		if err != nil {
			return "none"
		}
		a, err := dailylog.DecodeArchive(data, time.UTC)
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, r := range a.Logs {
			out = append(out, r.ID+map[bool]string{true: " deleted"}[r.Deleted()])
		}
		return strings.Join(out, ", ")
	}
	if got := logs(); got != "none" {
		t.Errorf("at first: %s", got)
	}
	change(func(tx *store.Tx) { tx.LogArchived(memory.Archived{Date: "2026-01-03", Entries: 3}) })
	if got := logs(); got != "2026-01-03" {
		t.Errorf("archived: %s", got)
	}
	change(func(tx *store.Tx) { tx.LogDeleted(memory.Archived{Date: "2026-01-03"}) })
	if got := logs(); got != "2026-01-03 deleted" {
		t.Errorf("deleted: %s", got)
	}
	// What was not published before the end is published after the start.
	change(func(tx *store.Tx) { tx.LogArchived(memory.Archived{Date: "2026-01-03", Entries: 1}) })
	if err := st.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	st, p = open(t, fsys)
	if got := logs(); got != "2026-01-03 deleted, 2026-01-03.2" {
		t.Errorf("after a restart: %s", got)
	}
	if err := st.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}
