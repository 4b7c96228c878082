package view_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/memsidecar/memsidecar/internal/client/view"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/store/durable"
)

var errKilled = errors.New("killed")

// mortal lets so many changes of the file system happen, and none after that.
type mortal struct {
	durable.FS
	left *int
}

func (m mortal) step() error {
	if *m.left--; *m.left < 0 {
		return errKilled
	}
	return nil
}

func (m mortal) OpenFile(name string, flag int, perm os.FileMode) (durable.File, error) {
	if flag&(os.O_CREATE|os.O_WRONLY|os.O_RDWR) != 0 {
		if err := m.step(); err != nil {
			return nil, err
		}
	}
	return m.FS.OpenFile(name, flag, perm)
}

func (m mortal) Rename(a, b string) error {
	if err := m.step(); err != nil {
		return err
	}
	return m.FS.Rename(a, b)
}

func (m mortal) Exchange(a, b string) error {
	if err := m.step(); err != nil {
		return err
	}
	return m.FS.Exchange(a, b)
}

func (m mortal) Link(a, b string) error {
	if err := m.step(); err != nil {
		return err
	}
	return m.FS.Link(a, b)
}

func (m mortal) Remove(name string) error {
	if err := m.step(); err != nil {
		return err
	}
	return m.FS.Remove(name)
}

// TestKilledAnywhere ends a round after each of its steps. The next process takes over what was edited once, and
// loses nothing.
func TestKilledAnywhere(t *testing.T) {
	for _, format := range []view.Format{view.Claude, view.Nanobot, view.OpenClaw} {
		t.Run(string(format), func(t *testing.T) {
			for steps := 0; ; steps++ {
				w := three(t, format)
				w.log("Something happened")
				w.settled()
				name := w.fileOf("port 8443")
				w.over(name, strings.ReplaceAll(w.read(name), "listens on port 8443\n", "listens on port 9443\n"))
				if format == view.Claude {
					w.write("feedback_new.md",
						"---\nname: New\ndescription: new\ntype: feedback\n---\n\nWritten by hand\n")
				} else {
					w.write(name, w.read(name)+"\n## Feedback\n\n- Written by hand\n")
				}
				logs := map[view.Format]string{view.Nanobot: "HISTORY.md",
					view.OpenClaw: "memory/2026-02-21.md"}[format]
				if logs != "" {
					w.write(logs, w.read(logs)+"\nA person was here\n")
				}
				w.retire("commits")
				w.add("later", memory.Facts, "Arrived later")
				left := steps
				whole := w.fs
				w.fs = mortal{whole, &left}
				w.restart()
				_, err := w.view.Sync(context.Background(), view.Options{})
				w.fs = whole
				w.restart()
				w.settled()
				feedback := "feedback: Written by hand"
				check(t, w, "facts: Arrived later", "facts: The API listens on port 9443", unedited[1], feedback)
				if logs != "" {
					_, entries, logErr := w.store.Space("default").Log("2026-02-21")
					if logErr != nil || len(entries) != 2 {
						t.Fatalf("killed after %d steps: %d log entries, %v", steps, len(entries), logErr)
					}
					if n := strings.Count(w.read(logs), "A person was here"); n != 1 {
						t.Fatalf("killed after %d steps: her line stands %d times", steps, n)
					}
				}
				for name := range w.tree() {
					if strings.Contains(name, ".tmp-") {
						t.Errorf("killed after %d steps: %s was left", steps, name)
					}
				}
				if err == nil {
					if steps < 5 {
						t.Fatalf("only %d steps", steps)
					}
					return
				}
				if t.Failed() {
					t.Fatal(fmt.Sprint("killed after ", steps, " steps"))
				}
			}
		})
	}
}

// TestHistoryOfDatedEntry: an entry of the history begins with its date and time, which its writer may have given.
func TestHistoryOfDatedEntry(t *testing.T) {
	w := open(t, view.Nanobot)
	w.log("[2026-02-20 18:05] Chose the mast")
	w.log("Set it up")
	w.settled()
	got := w.read("HISTORY.md")
	plain := regexp.MustCompile(`\n\[2026-02-21 \d\d:\d\d\] Set it up\n`)
	if !strings.Contains(got, "\n[2026-02-20 18:05] Chose the mast\n") || !plain.MatchString(got) {
		t.Errorf("the history is\n%s", got)
	}
	w.settled()
	if again := w.read("HISTORY.md"); again != got {
		t.Errorf("the next sync changed it to\n%s", again)
	}
}

// TestHistoryOnlyGrows writes into the files of logs.
func TestHistoryOnlyGrows(t *testing.T) {
	for format, name := range map[view.Format]string{view.Nanobot: "HISTORY.md",
		view.OpenClaw: "memory/2026-02-21.md"} {
		t.Run(string(format), func(t *testing.T) {
			w := open(t, format)
			w.log("The first thing")
			w.log("第二件事")
			w.settled()
			first := w.read(name)
			w.log("The third thing")
			w.settled()
			if !strings.HasPrefix(w.read(name), first) || !strings.Contains(w.read(name), "The third thing") {
				t.Fatalf("it did not just grow:\n%s", w.read(name))
			}
			// A person adds two entries, changes a line in the middle and goes on.
			text := w.read(name) + "\n[2026-02-21 09:15] Met Mei\n\n随手一记\n"
			w.write(name, strings.Replace(text, "The first thing", "The very first thing", 1))
			r := w.settled()
			_, entries, err := w.store.Space("default").Log("2026-02-21")
			if err != nil {
				t.Fatal(err)
			}
			var said []string
			for _, e := range entries {
				said = append(said, e.Content)
			}
			slices.Sort(said)
			if diff := cmp.Diff([]string{"Met Mei", "The first thing", "The third thing", "第二件事", "随手一记"},
				said); diff != "" {
				t.Errorf("entries (-want +got):\n%s", diff)
			}
			if len(r.Notes) != 1 {
				t.Errorf("notes %v", r.Notes)
			}
			got := w.read(name)
			for words, n := range map[string]int{"The very first thing": 1, "The first thing": 1, "Met Mei": 1,
				"随手一记": 1} {
				if strings.Count(got, words) != n {
					t.Errorf("%q stands %d times, want %d:\n%s", words, strings.Count(got, words), n, got)
				}
			}
			// A copy from before loses nothing.
			w.over(name, first)
			w.settled()
			for _, s := range said {
				if !strings.Contains(w.read(name), s) {
					t.Errorf("%q is lost:\n%s", s, w.read(name))
				}
			}
			w.remove(name)
			w.settled()
			if !strings.Contains(w.read(name), "Met Mei") {
				t.Error("it was not written again")
			}
		})
	}
}

// TestRun watches a directory with the clock of the machine.
func TestRun(t *testing.T) {
	w := open(t, view.Claude)
	w.add("api", memory.Facts, "The API listens on port 8443")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	reports, done := make(chan view.Report, 100), make(chan error, 1)
	go func() {
		done <- w.view.Run(ctx, view.Options{}, func(r view.Report, err error) {
			if err == nil {
				reports <- r
			}
		})
	}()
	until := func(what string, ok func() bool) {
		t.Helper()
		for !ok() {
			select {
			case <-reports:
			case err := <-done:
				t.Fatalf("waiting for %s: it ended: %v", what, err)
			case <-t.Context().Done():
				t.Fatalf("waiting for %s", what)
			}
		}
	}
	said := func(words string) func() bool {
		return func() bool {
			for _, text := range w.tree() {
				if strings.Contains(text, words) {
					return true
				}
			}
			return false
		}
	}
	until("the first files", said("port 8443"))
	name := w.fileOf("port 8443")
	w.over(name, strings.ReplaceAll(w.read(name), "listens on port 8443\n", "listens on port 9443\n"))
	until("an edit", func() bool { return strings.HasSuffix(w.memory("api").Content, "9443") })
	w.add("new", memory.Facts, "Staging moved")
	until("a change of the store", said("Staging moved"))
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestAnotherView(t *testing.T) {
	w := three(t, view.Claude)
	w.format = view.Nanobot
	w.restart()
	if _, err := w.view.Sync(t.Context(), view.Options{}); !errors.Is(err, view.ErrOtherView) {
		t.Errorf("another format: %v", err)
	}
	format, space, ok, err := view.Remembered(w.fs)
	if format != view.Claude || space != "default" || !ok || err != nil {
		t.Errorf("remembered %s, %s, %v, %v", format, space, ok, err)
	}
	if _, err := view.ParseFormat("nonsense"); err == nil {
		t.Error("a format of no kind")
	}
}

// hasty lets somebody do something in the last moment before a file is replaced, made or taken away.
type hasty struct {
	durable.FS
	op   string
	name string
	do   *func()
}

func (h hasty) now(op, name string) {
	if op == h.op && name == h.name && *h.do != nil {
		do := *h.do
		*h.do = nil
		do()
	}
}

func (h hasty) Exchange(a, b string) error {
	h.now("exchange", b)
	return h.FS.Exchange(a, b)
}

func (h hasty) Link(a, b string) error {
	h.now("link", b)
	return h.FS.Link(a, b)
}

func (h hasty) Rename(a, b string) error {
	h.now("rename", a)
	return h.FS.Rename(a, b)
}

// TestLastMoment edits a file between the last look of a round at it and what the round does to it.
func TestLastMoment(t *testing.T) {
	const api = "project_the_api_listens_on_port_8443.md"
	edited := func(w *world) string {
		return strings.ReplaceAll(w.read(api), "listens on port 8443\n", "listens on port 9443\n")
	}
	for _, tt := range []struct {
		name, op, file string
		before         func(w *world)
		do             func(w *world)
		want           []string
	}{
		{"replaced", "exchange", api, func(w *world) { w.set("api", "The API moved") }, func(w *world) {
			w.over(api, edited(w))
		},
			[]string{"facts: The API listens on port 9443", "facts: The API moved", unedited[1], unedited[2]}},
		{"in place", "exchange", api, func(w *world) { w.set("api", "The API moved") }, func(w *world) {
			w.write(api, edited(w))
		},
			[]string{"facts: The API listens on port 9443", "facts: The API moved", unedited[1], unedited[2]}},
		{"removed", "rename", api, func(w *world) { w.retire("api") }, func(w *world) { w.over(api, edited(w)) },
			[]string{"facts: The API listens on port 9443", unedited[1], unedited[2]}},
		{"made", "link", "project_new.md", func(w *world) { w.add("n", memory.Facts, "New") }, func(w *world) {
			w.write("project_new.md", "---\nname: x\ntype: user\n---\n\nMade by hand\n")
		}, []string{"facts: New", "facts: The API listens on port 8443", unedited[1], unedited[2],
			"user: Made by hand"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := three(t, view.Claude)
			do := func() { tt.do(w) }
			w.fs = hasty{w.fs, tt.op, tt.file, &do}
			w.restart()
			tt.before(w)
			if r := w.sync(); r.Again.IsZero() {
				t.Errorf("it does not look again: %+v", r)
			}
			if do != nil {
				t.Fatal("the moment never came")
			}
			w.settled()
			slices.Sort(tt.want)
			check(t, w, tt.want...)
		})
	}
}

// TestKilledAndChangedAgain ends a round that writes a change after each of its steps, and changes the same memory
// again before the next process: what the first one wrote is not taken for somebody's edit.
func TestKilledAndChangedAgain(t *testing.T) {
	for _, format := range []view.Format{view.Claude, view.Nanobot} {
		t.Run(string(format), func(t *testing.T) {
			for steps, done := 0, false; !done; steps++ {
				w := three(t, format)
				w.set("api", "The API listens on port 7000")
				left := steps
				whole := w.fs
				w.fs = mortal{whole, &left}
				w.restart()
				_, err := w.view.Sync(context.Background(), view.Options{})
				done = err == nil
				w.fs = whole
				w.set("api", "The API listens on port 6000")
				// Meanwhile a person changes something else in the same file.
				name := w.fileOf("make release")
				w.write(name, strings.ReplaceAll(w.read(name), "make release\n", "make ship\n"))
				w.restart()
				w.settled()
				check(t, w, "facts: The API listens on port 6000", strings.Replace(unedited[1], "release", "ship", 1),
					unedited[2])
			}
		})
	}
}
