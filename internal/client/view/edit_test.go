package view_test

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/memsidecar/memsidecar/internal/client/view"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

// three is a view of three memories.
func three(t *testing.T, format view.Format) *world {
	t.Helper()
	w := open(t, format)
	w.add("api", memory.Facts, "The API listens on port 8443")
	w.add("commits", memory.Preferences, "提交要小，主题行用祈使句")
	w.add("deploy", memory.Facts, "We deploy with make release\n\n  - from main\n  - on Tuesdays")
	w.settled()
	return w
}

// everyFormat runs a test on every layout.
func everyFormat(t *testing.T, f func(t *testing.T, w *world)) {
	t.Helper()
	for _, format := range view.Formats() {
		t.Run(string(format), func(t *testing.T) { f(t, three(t, format)) })
	}
}

var unedited = []string{
	"facts: The API listens on port 8443", "facts: We deploy with make release\n\n  - from main\n  - on Tuesdays",
	"preferences: 提交要小，主题行用祈使句",
}

func check(t *testing.T, w *world, want ...string) {
	t.Helper()
	if diff := cmp.Diff(append([]string{}, want...), w.contents()); diff != "" {
		t.Fatalf("memories (-want +got):\n%s\nfiles: %v", diff, w.tree())
	}
}

func TestEditIsTakenOverAndUndone(t *testing.T) {
	for _, way := range []string{"in place", "rename over", "while nobody watched"} {
		t.Run(way, func(t *testing.T) {
			everyFormat(t, func(t *testing.T, w *world) {
				name := w.fileOf("port 8443")
				text := strings.ReplaceAll(w.read(name), "listens on port 8443\n", "listens on port 9443\n")
				if way == "rename over" {
					w.over(name, text)
				} else {
					w.write(name, text)
				}
				if way == "while nobody watched" {
					w.restart()
				}
				r := w.settled()
				m := w.memory("api")
				if !strings.HasSuffix(m.Content, "port 9443") {
					t.Fatalf("the memory says %q after %+v", m.Content, r)
				}
				rec, err := w.store.Operation(t.Context(), m.Revision)
				where := name
				if w.format == view.Claude || w.format == view.Vibe {
					where = "an entry file" // its name says what the memory says
				}
				if err != nil || rec.Actor != journal.ActorView || rec.Reason != where+" edited: 1 changed" {
					t.Fatalf("operation %+v, %v", rec, err)
				}
				w.undo(operationID(m.Revision))
				w.settled()
				check(t, w, unedited...)
				if text := w.read(name); !strings.Contains(text, "8443") || strings.Contains(text, "9443") {
					t.Fatalf("after the undo the file says:\n%s", text)
				}
			})
		})
	}
}

func TestStoreShowsInTheView(t *testing.T) {
	everyFormat(t, func(t *testing.T, w *world) {
		w.set("api", "The API listens on port 7000")
		w.add("new", memory.Facts, "Staging is staging.example.com")
		w.retire("deploy")
		w.settled()
		all := strings.Join(slices.Collect(maps.Values(w.tree())), "\n")
		for words, want := range map[string]bool{"port 7000": true, "port 8443": false, "staging.example.com": true,
			"make release": false} {
			if strings.Contains(all, words) != want {
				t.Errorf("the view holds %q: %v, want %v\n%s", words, !want, want, all)
			}
		}
	})
}

func TestRemovedInTheViewIsRetired(t *testing.T) {
	everyFormat(t, func(t *testing.T, w *world) {
		name := w.fileOf("port 8443")
		if w.format == view.Claude || w.format == view.Vibe {
			w.remove(name)
		} else {
			w.write(name, w.replaced(name, "- The API listens on port 8443\n", ""))
		}
		r := w.settled()
		check(t, w, unedited[1:]...)
		if len(r.Operations) != 1 {
			t.Fatalf("operations %v", r.Operations)
		}
		w.undo(r.Operations[0])
		w.settled()
		check(t, w, unedited...)
		if !strings.Contains(w.read(w.fileOf("port 8443")), "8443") {
			t.Error("it did not come back")
		}
	})
}

// TestTheNewestIsRemoved makes a list say what an earlier version said: its mark tells that somebody removed the
// newest memory.
func TestTheNewestIsRemoved(t *testing.T) {
	everyFormat(t, func(t *testing.T, w *world) {
		w.add("later", memory.Facts, "Arrived later")
		w.settled()
		name := w.fileOf("Arrived later")
		if w.format == view.Claude || w.format == view.Vibe {
			w.remove(name)
		} else {
			w.write(name, w.replaced(name, "- Arrived later\n", ""))
		}
		w.settled()
		check(t, w, unedited...)
	})
}

func TestConflictKeepsBoth(t *testing.T) {
	everyFormat(t, func(t *testing.T, w *world) {
		name := w.fileOf("port 8443")
		w.write(name, strings.ReplaceAll(w.read(name), "listens on port 8443\n", "listens on port 9443\n"))
		w.set("api", "The API listens on port 7000")
		w.settled()
		check(t, w, "facts: The API listens on port 7000", "facts: The API listens on port 9443", unedited[1],
			unedited[2])
		for _, words := range []string{"port 7000", "port 9443"} {
			w.fileOf(words)
		}
	})
}

func TestConflictInTheLastMoment(t *testing.T) {
	everyFormat(t, func(t *testing.T, w *world) {
		name := w.fileOf("port 8443")
		w.write(name, strings.ReplaceAll(w.read(name), "listens on port 8443\n", "listens on port 9443\n"))
		w.before = func() { w.set("api", "The API listens on port 7000") }
		if r := w.sync(); r.Again.IsZero() {
			t.Fatalf("a refused change does not ask for another round: %+v", r)
		}
		w.settled()
		check(t, w, "facts: The API listens on port 7000", "facts: The API listens on port 9443", unedited[1],
			unedited[2])
	})
}

func TestRemovedThereAndChangedHere(t *testing.T) {
	everyFormat(t, func(t *testing.T, w *world) {
		name := w.fileOf("port 8443")
		w.write(name, strings.ReplaceAll(w.read(name), "listens on port 8443\n", "listens on port 9443\n"))
		w.retire("api")
		w.settled()
		check(t, w, "facts: The API listens on port 9443", unedited[1], unedited[2])
	})
}

func TestChangedThereAndRemovedHere(t *testing.T) {
	everyFormat(t, func(t *testing.T, w *world) {
		name := w.fileOf("port 8443")
		if w.format == view.Claude || w.format == view.Vibe {
			w.remove(name)
		} else {
			w.write(name, w.replaced(name, "- The API listens on port 8443\n", ""))
		}
		w.set("api", "The API listens on port 7000")
		w.settled()
		check(t, w, "facts: The API listens on port 7000", unedited[1], unedited[2])
		w.fileOf("port 7000")
	})
}

func TestStaleCopy(t *testing.T) {
	everyFormat(t, func(t *testing.T, w *world) {
		name := w.fileOf("port 8443")
		stale := w.read(name)
		w.set("api", "The API listens on port 7000")
		w.add("later", memory.Facts, "Arrived later")
		w.settled()
		now := []string{"facts: Arrived later", "facts: The API listens on port 7000", unedited[1], unedited[2]}
		w.over(name, stale)
		w.settled()
		check(t, w, now...)
		// The same with an edit of something that did not change since.
		list := w.format != view.Claude && w.format != view.Vibe
		if list {
			w.over(name, strings.Replace(stale, "make release", "make ship", 1))
			w.settled()
			check(t, w, now[0], now[1], strings.Replace(unedited[1], "release", "ship", 1), unedited[2])
		}
	})
}

func TestEmptiedWaits(t *testing.T) {
	everyFormat(t, func(t *testing.T, w *world) {
		entries := w.format == view.Claude || w.format == view.Vibe
		before := w.tree()
		empty := func() {
			for name := range before {
				if entries && name != "MEMORY.md" {
					w.remove(name)
				} else if !entries && name != "HISTORY.md" && name != "learnings.md" {
					w.write(name, "")
				}
			}
		}
		empty()
		r := w.sync()
		check(t, w, unedited...)
		if len(r.Waiting) == 0 {
			t.Fatalf("nothing waits: %+v", r)
		}
		// It goes on waiting when more is added, and nothing is written over it.
		w.add("later", memory.Facts, "Arrived later")
		w.sync()
		w.restart()
		w.sync()
		if n := len(w.contents()); n != 4 {
			t.Fatalf("%d memories: %v", n, w.contents())
		}
		w.sync(view.Options{Reject: true})
		w.settled()
		w.fileOf("port 8443")
		if n := len(w.contents()); n != 4 {
			t.Fatalf("after discard %d memories: %v", n, w.contents())
		}
		for name := range w.tree() {
			if entries && name != "MEMORY.md" {
				w.remove(name)
			} else if !entries && name != "HISTORY.md" && name != "learnings.md" {
				w.write(name, "")
			}
		}
		w.settled(view.Options{Accept: true})
		check(t, w)
	})
}

func TestHalfWrittenWaits(t *testing.T) {
	everyFormat(t, func(t *testing.T, w *world) {
		name := w.fileOf("make release")
		whole := w.read(name)
		at := strings.Index(whole, "\n  - from main") + len("\n  - fr")
		w.write(name, whole[:at])
		if r := w.sync(); len(r.Waiting) != 1 {
			t.Fatalf("waiting: %+v", r)
		}
		check(t, w, unedited...)
		if got := w.read(name); got != whole[:at] {
			t.Fatalf("it was written over:\n%s", got)
		}
		w.write(name, strings.ReplaceAll(whole, "on Tuesdays", "on Mondays"))
		w.settled()
		check(t, w, unedited[0], strings.Replace(unedited[1], "Tuesdays", "Mondays", 1), unedited[2])
	})
}

func TestOpenForWritingWaits(t *testing.T) {
	everyFormat(t, func(t *testing.T, w *world) {
		name := w.fileOf("port 8443")
		f, err := os.OpenFile(filepath.Join(w.dir, name), os.O_WRONLY|os.O_TRUNC, 0)
		if err != nil {
			t.Fatal(err)
		}
		if writing, err := w.fs.BeingWritten(name); err != nil || !writing {
			t.Skip("this file system does not tell who has a file open: ", err)
		}
		w.set("deploy", "Deploys go by themselves")
		w.sync(view.Options{WaitForWriters: true})
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		if got := w.read(name); got != "" {
			t.Fatalf("it was written over:\n%s", got)
		}
	})
}

func TestDeletedAndMadeAgain(t *testing.T) {
	everyFormat(t, func(t *testing.T, w *world) {
		name := w.fileOf("port 8443")
		text := w.read(name)
		w.remove(name)
		w.sync(view.Options{WaitForWriters: true}) // looks in between
		w.write(name, text)
		w.settled(view.Options{WaitForWriters: true})
		check(t, w, unedited...)
		if got := w.read(name); got != text {
			t.Fatalf("the file changed:\n%s", got)
		}
	})
}

func TestForgottenStateRemovesNothing(t *testing.T) {
	everyFormat(t, func(t *testing.T, w *world) {
		name := w.fileOf("port 8443")
		if w.format == view.Claude || w.format == view.Vibe {
			w.remove(name)
		} else {
			w.write(name, w.replaced(name, "- The API listens on port 8443\n", ""))
		}
		if err := os.RemoveAll(filepath.Join(w.dir, view.Dir)); err != nil {
			t.Fatal(err)
		}
		w.restart()
		w.settled()
		check(t, w, unedited...)
		w.fileOf("port 8443")
	})
}

func TestAnotherEpoch(t *testing.T) {
	everyFormat(t, func(t *testing.T, w *world) {
		name := w.fileOf("port 8443")
		w.write(name, strings.ReplaceAll(w.read(name), "listens on port 8443\n", "listens on port 9443\n"))
		w.epoch = "e2" // a backup was restored
		w.settled()
		for _, words := range []string{"port 8443", "port 9443"} {
			if !strings.Contains(strings.Join(w.contents(), "\n"), words) {
				t.Errorf("%q is lost: %v", words, w.contents())
			}
		}
	})
}

func TestSecretsDoNotLoop(t *testing.T) {
	everyFormat(t, func(t *testing.T, w *world) {
		name := w.fileOf("port 8443")
		w.write(name, strings.ReplaceAll(w.read(name), "listens on port 8443\n",
			"listens on port 8443 with sk-test-9vQ2mZx7LrT4bKf8WcY1pHn6DsJ3gEa5\n"))
		w.settled()
		for name, text := range w.tree() {
			if strings.Contains(text, "sk-test-9vQ2") {
				t.Errorf("%s still holds the secret", name)
			}
		}
	})
}

func TestDryRunChangesNothing(t *testing.T) {
	everyFormat(t, func(t *testing.T, w *world) {
		name := w.fileOf("port 8443")
		w.write(name, strings.ReplaceAll(w.read(name), "listens on port 8443\n", "listens on port 9443\n"))
		files, lsn := w.tree(), w.store.LSN()
		r := w.sync(view.Options{DryRun: true})
		if len(r.Adopted) != 1 || r.Adopted[0].Kind != view.Update {
			t.Errorf("taken %+v", r.Adopted)
		}
		if diff := cmp.Diff(files, w.tree()); diff != "" || w.store.LSN() != lsn {
			t.Errorf("it wrote something: %s", diff)
		}
		w.settled()
		if !strings.HasSuffix(w.memory("api").Content, "9443") {
			t.Error("the dry run used the edit up")
		}
	})
}

func TestWhatIsNoFileIsNotMissing(t *testing.T) {
	everyFormat(t, func(t *testing.T, w *world) {
		name := w.fileOf("port 8443")
		elsewhere := filepath.Join(tempDir(t), "elsewhere.md")
		if err := os.Rename(filepath.Join(w.dir, name), elsewhere); err != nil {
			data := w.read(name)
			w.remove(name)
			if err := os.WriteFile(elsewhere, []byte(data), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Symlink(elsewhere, filepath.Join(w.dir, name)); err != nil {
			t.Fatal(err)
		}
		r := w.sync()
		check(t, w, unedited...)
		if len(r.Waiting) != 1 || r.Waiting[0].File != name {
			t.Errorf("waiting %v", r.Waiting)
		}
		if info, err := os.Lstat(filepath.Join(w.dir, name)); err != nil || info.Mode().IsRegular() {
			t.Errorf("the link was replaced: %v, %v", info, err)
		}
	})
}

func TestRemovedDirectoryForgetsNothing(t *testing.T) {
	everyFormat(t, func(t *testing.T, w *world) {
		if err := os.RemoveAll(w.dir); err != nil {
			t.Fatal(err)
		}
		if _, err := w.view.Sync(t.Context(), view.Options{}); !errors.Is(err, view.ErrGone) {
			t.Errorf("sync of a directory that is gone: %v", err)
		}
		check(t, w, unedited...)
	})
}

// TestStateHoldsNoText looks for what memories say in what the view remembers of those that are gone.
func TestStateHoldsNoText(t *testing.T) {
	everyFormat(t, func(t *testing.T, w *world) {
		w.retire("api")
		w.settled()
		data, err := os.ReadFile(filepath.Join(w.dir, view.Dir, "state.json"))
		if err != nil {
			t.Fatal(err)
		}
		for _, words := range []string{"8443", "listens"} {
			if strings.Contains(string(data), words) {
				t.Errorf("it holds %q:\n%s", words, data)
			}
		}
	})
}

// TestPatience looks, as one who watches, at files that are missing or cut off for a moment, and then for longer.
func TestPatience(t *testing.T) {
	everyFormat(t, func(t *testing.T, w *world) {
		watching := view.Options{WaitForWriters: true}
		name := w.fileOf("make release")
		whole := w.read(name)
		at := strings.Index(whole, "\n  - from main") + len("\n  - fr")
		w.write(name, whole[:at])
		w.touch(name)
		if r := w.sync(watching); len(r.Waiting) > 0 || r.Again.IsZero() || w.read(name) != whole[:at] {
			t.Errorf("at first: %+v", r)
		}
		w.clock.Advance(3 * time.Second)
		if r := w.sync(watching); len(r.Waiting) != 1 {
			t.Errorf("after a while: %+v", r)
		}
		w.write(name, whole)
		w.sync(watching)
		w.remove(name)
		if r := w.sync(watching); len(r.Adopted) > 0 || r.Again.IsZero() {
			t.Errorf("missing at first: %+v", r)
		}
		check(t, w, unedited...)
		w.clock.Advance(3 * time.Second)
		w.sync(watching)
		if w.format == view.Claude || w.format == view.Vibe {
			check(t, w, unedited[0], unedited[2])
			return
		}
		check(t, w, unedited...)
		if !strings.Contains(w.read(name), "make release") {
			t.Errorf("the list was not written again:\n%s", w.read(name))
		}
	})
}

func TestTitleOfAnItem(t *testing.T) {
	w := open(t, view.Nanobot)
	w.put(&memory.Memory{ID: "r", Category: memory.Procedural, Title: "Uploads", Content: "Retry flaky uploads twice"})
	w.settled()
	w.write("MEMORY.md", w.replaced("MEMORY.md", "**Uploads** — Retry flaky uploads twice",
		"**Flaky uploads** — Retry flaky uploads three times"))
	w.settled()
	if m := w.memory("r"); m.Title != "Flaky uploads" || m.Content != "Retry flaky uploads three times" {
		t.Errorf("%q: %q", m.Title, m.Content)
	}
}

func TestDescriptionIsKept(t *testing.T) {
	w := three(t, view.Claude)
	name := w.fileOf("port 8443")
	w.write(name, w.replaced(name, "description: The API listens on port 8443", "description: where the API is"))
	w.settled()
	w.set("api", "The API listens on port 7000")
	w.settled()
	if text := w.read(name); !strings.Contains(text, "description: where the API is\n") ||
		!strings.Contains(w.read("MEMORY.md"), "— where the API is\n") {
		t.Errorf("the description is lost:\n%s", text)
	}
	w.write(name, w.replaced(name, "description: where the API is", "description:"))
	w.settled()
	if text := w.read(name); !strings.Contains(text, "description: The API listens on port 7000\n") {
		t.Errorf("it does not follow the text again:\n%s", text)
	}
}

// TestWhatCannotBeWaits writes what is too long for a memory, and then gives it up.
func TestWhatCannotBeWaits(t *testing.T) {
	everyFormat(t, func(t *testing.T, w *world) {
		name := w.fileOf("port 8443")
		before := w.read(name)
		long := strings.ReplaceAll(before, "listens on port 8443\n", "listens on port 8443 "+strings.Repeat("很长", 5000)+
			"\n")
		w.write(name, long)
		r := w.sync()
		check(t, w, unedited...)
		if len(r.Waiting) != 1 || !strings.Contains(r.Waiting[0].Why, "limit is 8000") || w.read(name) != long {
			t.Fatalf("waiting %v", r.Waiting)
		}
		if r = w.settled(view.Options{Reject: true}); len(r.Kept) != 1 {
			t.Errorf("kept %v", r.Kept)
		}
		check(t, w, unedited...)
		if text := w.read(name); strings.Contains(text, "很长") {
			t.Error("it was not written again")
		}
	})
}
