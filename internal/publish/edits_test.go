package publish_test

import (
	"math/rand/v2"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/memsidecar/memsidecar/internal/publish"
	"github.com/memsidecar/memsidecar/internal/store/durable"
	"github.com/memsidecar/memsidecar/internal/store/durable/crashfs"
)

func TestKeepEdit(t *testing.T) {
	onBoth(t, func(t *testing.T, fsys durable.FS) {
		const name = "spaces/work/memory.json"
		must(t, fsys.MkdirAll("spaces/work"))
		edit(t, fsys, name, "by hand")
		first, err := publish.QuarantineEdit(fsys, name, publish.Edit{
			File: name, Kind: publish.Refused, Details: []string{"line 1, column 1: not JSON"}, InPlace: true, Base: 7, At: now(),
		})
		must(t, err)
		expected := publish.Edit{
			ID: publish.EditID(name, hash("by hand")), File: name, Hash: hash("by hand"), Kind: publish.Refused,
			Details: []string{"line 1, column 1: not JSON"}, Copy: "quarantine/spaces_work_memory-" + hash("by hand")[:12] + ".json",
			Base: 7, InPlace: true, At: now(),
		}
		if diff := cmp.Diff(expected, first); diff != "" {
			t.Errorf("kept (-want +got):\n%s", diff)
		}
		want(t, fsys, name, "by hand")
		want(t, fsys, first.Copy, "by hand")

		// Once more, later, it is the same edit.
		again, err := publish.QuarantineEdit(fsys, name, publish.Edit{File: name, Kind: publish.Ambiguous, InPlace: true, At: now().Add(time.Hour)})
		must(t, err)
		if again.ID != first.ID || again.Copy != first.Copy || !again.At.Equal(now()) {
			t.Errorf("kept again %+v", again)
		}
		again.Resolved, again.Op = publish.Accepted, 12
		must(t, again.Save(fsys))
		edit(t, fsys, "memory.json", "another")
		second, err := publish.QuarantineEdit(fsys, "memory.json", publish.Edit{File: "memory.json", Kind: publish.Pending, At: now().Add(-time.Hour)})
		must(t, err)
		if diff := cmp.Diff([]publish.Edit{second, again}, edits(t, fsys)); diff != "" {
			t.Errorf("edits (-want +got):\n%s", diff)
		}

		// The same bytes after it was resolved are a new occasion.
		reopened, err := publish.QuarantineEdit(fsys, name, publish.Edit{File: name, Kind: publish.Pending, At: now().Add(2 * time.Hour)})
		must(t, err)
		if reopened.Resolved != "" || !reopened.At.Equal(now().Add(2*time.Hour)) || len(edits(t, fsys)) != 2 {
			t.Errorf("kept after it was resolved: %+v", reopened)
		}
	})
}

// A copy that was changed is not taken for the bytes of an edit, and not replaced.
func TestKeepEditDoesNotTrustTheCopy(t *testing.T) {
	fsys := crashfs.New()
	edit(t, fsys, "memory.json", "by hand")
	e := publish.Edit{File: "memory.json", Kind: publish.Pending, At: now()}
	first, err := publish.QuarantineEdit(fsys, "memory.json", e)
	must(t, err)
	edit(t, fsys, first.Copy, "changed")
	second, err := publish.QuarantineEdit(fsys, "memory.json", e)
	must(t, err)
	if second.Copy == first.Copy {
		t.Errorf("both are in %s", first.Copy)
	}
	want(t, fsys, first.Copy, "changed")
	want(t, fsys, second.Copy, "by hand")
	if _, err := publish.QuarantineEdit(fsys, "memory.json", publish.Edit{File: "memory.json", Hash: hash("other bytes")}); err == nil {
		t.Error("bytes with another hash were kept")
	}
}

func TestEditsReportsDamagedRecords(t *testing.T) {
	fsys := crashfs.New()
	edit(t, fsys, "memory.json", "by hand")
	good, err := publish.QuarantineEdit(fsys, "memory.json", publish.Edit{File: "memory.json", Kind: publish.Pending, At: now()})
	must(t, err)
	for name, text := range map[string]string{
		"quarantine/a-1.json.edit.json": "{", "quarantine/b-2.json.edit.json": "", "quarantine/c-3.json.edit.json": `{"id":"x","file":"../../etc/passwd","copy":"/etc/passwd"}`,
	} {
		edit(t, fsys, name, text)
	}
	list := edits(t, fsys)
	if len(list) != 4 {
		t.Fatalf("edits %+v", list)
	}
	for _, e := range list {
		switch {
		case e.ID == good.ID:
		case e.Kind != publish.Refused || e.File != "" || len(e.Details) != 1 || !strings.HasPrefix(e.Copy, "quarantine/"):
			t.Errorf("damaged record stands as %+v", e)
		}
	}
	if err := (publish.Edit{File: "memory.json", Copy: "../out"}).Save(fsys); err == nil {
		t.Error("saved a record outside of quarantine/")
	}
}

// A record that a crash or an error leaves has its bytes, and keeping the edit once more completes it.
func TestKeepEditInterrupted(t *testing.T) {
	base := crashfs.New()
	edit(t, base, "memory.json", "by hand")
	e := publish.Edit{File: "memory.json", Kind: publish.Refused, InPlace: true, At: now()}
	probe := base.Clone()
	_, err := publish.QuarantineEdit(probe, "memory.json", e)
	must(t, err)
	check := func(fsys durable.FS, done bool) {
		t.Helper()
		must(t, publish.Recover(fsys))
		for range 2 {
			list := edits(t, fsys)
			if len(list) > 1 || done && len(list) == 0 || len(list) == 1 && content(fsys, list[0].Copy) != "by hand" {
				t.Errorf("edits %+v", list)
			}
			want(t, fsys, "memory.json", "by hand")
			_, err := publish.QuarantineEdit(fsys, "memory.json", e)
			must(t, err)
			done = true
		}
	}
	for n := base.Ops() + 1; n <= probe.Ops()+1; n++ {
		for i, variant := range variants() {
			fsys := base.Clone()
			fsys.CrashAt(n)
			_, err := publish.QuarantineEdit(fsys, "memory.json", e)
			check(fsys.Crash(variant, rand.New(rand.NewPCG(uint64(i), 4))), err == nil)
		}
		if n > probe.Ops() {
			break
		}
		fsys := base.Clone()
		fsys.FailAt(n, syscall.ENOSPC)
		_, err := publish.QuarantineEdit(fsys, "memory.json", e)
		check(fsys, err == nil)
	}
}
