package view_test

import (
	"context"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/memsidecar/memsidecar/internal/client/view"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/store/durable"
	"github.com/memsidecar/memsidecar/internal/store/durable/crashfs"
)

// on is the text of a file.
func on(t *testing.T, sim *crashfs.FS, name string) string {
	t.Helper()
	data, err := durable.ReadFile(sim, name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestPowerFailsAnywhere lets the power fail at every operation of a round, with what was not synced kept, lost or
// torn. The store kept everything; the next round takes an edit over once, forgets nothing, and the files say what
// the store says.
func TestPowerFailsAnywhere(t *testing.T) {
	for _, format := range []view.Format{view.Claude, view.Nanobot} {
		t.Run(string(format), func(t *testing.T) {
			n := 1
			for done := false; !done; n++ {
				for _, variant := range []crashfs.CrashMode{crashfs.Kept, crashfs.Lost, crashfs.Torn} {
					done = powerFails(t, format, n, variant)
				}
			}
			if n < 15 {
				t.Errorf("a round has only %d operations", n)
			}
		})
	}
}

// powerFails reports whether the round had no more than n operations.
func powerFails(t *testing.T, format view.Format, n int, variant crashfs.CrashMode) (done bool) {
	t.Helper()
	w := open(t, format)
	sim := crashfs.New()
	w.fs = sim
	w.restart()
	w.add("api", memory.Facts, "The API listens on port 8443")
	w.add("commits", memory.Preferences, "提交要小，主题行用祈使句")
	w.add("deploy", memory.Facts, "We deploy with make release")
	w.settled()
	name, own := "MEMORY.md", "## Feedback\n\n- Written by hand\n"
	if format == view.Claude {
		name, own = "project_the_api_listens_on_port_8443.md", ""
	}
	text := strings.ReplaceAll(on(t, sim, name), "listens on port 8443\n", "listens on port 9443\n") + own
	err := durable.WriteFile(sim, name, func(f io.Writer) error {
		_, err := io.WriteString(f, text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	w.retire("commits")
	w.add("later", memory.Facts, "Arrived later")
	w.restart()
	sim.CrashAt(sim.Ops() + n)
	_, err = w.view.Sync(context.Background(), view.Options{})
	if done = !sim.Crashed(); done && err != nil {
		t.Fatal(err)
	}
	sim = sim.Crash(variant, rand.New(rand.NewPCG(uint64(n), 7)))
	w.fs = sim
	w.restart()
	w.settled()
	want := []string{"facts: Arrived later", "facts: The API listens on port 9443",
		"facts: We deploy with make release"}
	if own != "" {
		want = append(want, "feedback: Written by hand")
	}
	if diff := cmp.Diff(want, w.contents()); diff != "" {
		t.Fatalf("power failed at operation %d (%v); memories (-want +got):\n%s", n, variant, diff)
	}
	names := slices.DeleteFunc(sim.Names(), func(s string) bool {
		return !strings.HasSuffix(s, ".md") || strings.HasPrefix(s, view.Dir)
	})
	var texts []string
	for _, name := range names {
		texts = append(texts, on(t, sim, name))
	}
	all := strings.Join(texts, "\n")
	for _, words := range []string{"Arrived later", "port 9443", "make release"} {
		if !strings.Contains(all, words) {
			t.Fatalf("power failed at operation %d (%v): %q is in no file of %v", n, variant, words, names)
		}
	}
	if strings.Contains(all, "提交") || strings.Contains(all, "listens on port 8443\n") {
		t.Fatalf("power failed at operation %d (%v): old words are left in\n%s", n, variant, all)
	}
	return done
}
