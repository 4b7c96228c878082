package session_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/service/session"
	"github.com/memsidecar/memsidecar/internal/store/durable/crashfs"
)

func toolMessage(name, arguments string, failed bool) memory.Message {
	return memory.Message{Role: "tool", Tool: &memory.ToolCall{Name: name, Arguments: arguments, Failed: failed}}
}

// A working memory is gathered from messages and updates, holds no secrets, and outlives the daemon.
func TestWorking(t *testing.T) {
	fsys := crashfs.New()
	st := openStore(t, fsys)
	svc := serviceOn(st)
	if _, err := svc.Start(t.Context(), session.StartRequest{ID: "s", Cwd: "/repo"}); err != nil {
		t.Fatal(err)
	}
	appended := func(messages ...memory.Message) {
		t.Helper()
		if _, err := svc.Append(t.Context(), session.AppendRequest{ID: "s", Messages: messages}); err != nil {
			t.Fatal(err)
		}
	}
	update := func(u session.WorkingUpdate) {
		t.Helper()
		u.ID = "s"
		if _, result, err := svc.UpdateWorking(t.Context(), u); err != nil || result.Op == 0 {
			t.Fatalf("operation %d, %v", result.Op, err)
		}
	}
	appended(
		toolMessage("Read", `{"file_path":"/repo/a.go"}`, false),
		toolMessage("mcp__fs__read_file", `{"path":"sub/../b.go"}`, false),
		toolMessage("Read", `{"file_path":"gone.go"}`, true), toolMessage("Bash", `{"command":"cat x"}`, false),
		toolMessage("Edit", `{"file_path":"edited.go"}`, false), memory.Message{Role: "user", Content: "go on"})
	secret := "ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a"
	summary := "Step 3 of 5: the port is still to be changed. Token " + secret
	update(session.WorkingUpdate{Summary: &summary, Compacted: true, Files: []string{"c.go", "/etc/hosts"},
		Tools: []string{"Grep", "Grep"}})
	appended(toolMessage("Read", `{"file_path":"a.go"}`, false))

	want := &memory.Working{
		Dir: "/repo", Recent: []string{"Read", "Grep", "Edit", "Bash", "mcp__fs__read_file"}, Compactions: 1,
		Tools: []memory.ToolUse{
			{Name: "Read", Count: 3, Failures: 1}, {Name: "Grep", Count: 2}, {Name: "Bash", Count: 1},
			{Name: "Edit", Count: 1}, {Name: "mcp__fs__read_file", Count: 1},
		},
		Files: []string{"/repo/a.go", "/etc/hosts", "/repo/c.go", "/repo/b.go"},
	}
	check := func(what string) {
		t.Helper()
		got, err := svc.Working("", "s")
		if err != nil {
			t.Fatal(err)
		}
		clean := *got
		if clean.Summary, clean.SummaryAt = "", (time.Time{}); got.SummaryAt.IsZero() ||
			!strings.HasPrefix(got.Summary, "Step 3 of 5") || strings.Contains(got.Summary, secret) {
			t.Errorf("%s: summary %q of %v", what, got.Summary, got.SummaryAt)
		}
		if diff := cmp.Diff(want, &clean); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
	check("at first")
	if _, err := st.Checkpoint(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := st.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	st = openStore(t, fsys)
	defer st.Close(t.Context())
	svc = serviceOn(st)
	check("after a restart")
	if messages, err := svc.Messages("", "s", 0); err != nil || len(messages) != 7 {
		t.Errorf("%d messages, %v: a note is none", len(messages), err)
	}
	for range 2 { // a repeat of a request does nothing new
		update(session.WorkingUpdate{Compacted: true, Tools: []string{"Bash"}, Key: "k"})
	}
	if got, err := svc.Working("", "s"); err != nil || got.Compactions != 2 || got.Recent[0] != "Bash" {
		t.Errorf("repeated: %+v, %v", got, err)
	}
	none := ""
	update(session.WorkingUpdate{Summary: &none, Dir: "/other"})
	if got, err := svc.Working("", "s"); err != nil || got.Summary != "" || !got.SummaryAt.IsZero() ||
		got.Dir != "/other" {
		t.Errorf("removed: %+v, %v", got, err)
	}
	if _, err := svc.Working("", "unknown"); !errors.Is(err, memory.ErrNotFound) {
		t.Errorf("unknown session: %v", err)
	}
	_, _, err := svc.UpdateWorking(t.Context(), session.WorkingUpdate{ID: "s", Dir: "relative", Tools: []string{""}})
	if bad, ok := errors.AsType[*memory.InvalidError](err); !ok || len(bad.Violations) != 2 {
		t.Errorf("bad update: %v", err)
	}
}

// Whatever is done in whatever order, what is kept at hand is what a new service reads from the store.
func TestWorkingIsFollowed(t *testing.T) {
	st := openStore(t, crashfs.New())
	defer st.Close(t.Context())
	svc := serviceOn(st)
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 300 {
		id := fmt.Sprint("s", r.IntN(3))
		var err error
		switch r.IntN(5) {
		case 0:
			_, err = svc.Start(t.Context(), session.StartRequest{ID: id, Cwd: "/repo"})
		case 1, 2:
			_, err = svc.Append(t.Context(), session.AppendRequest{ID: id, Messages: []memory.Message{
				toolMessage(fmt.Sprint("tool", r.IntN(30)), "{}", r.IntN(2) == 0),
				toolMessage("read", fmt.Sprintf(`{"path":"/f%d"}`, r.IntN(300)), false),
			}})
		case 3:
			text := fmt.Sprint("summary ", i)
			_, _, err = svc.UpdateWorking(t.Context(),
				session.WorkingUpdate{ID: id, Summary: &text, Compacted: r.IntN(2) == 0,
					Files: []string{fmt.Sprint("/g", i)}})
		case 4:
			_, err = svc.End(t.Context(), "", id, "")
		}
		if err != nil && !errors.Is(err, memory.ErrNotFound) {
			t.Fatal(err)
		}
		want, werr := serviceOn(st).Working("", id)
		got, err := svc.Working("", id)
		if diff := cmp.Diff(want, got); diff != "" || (err == nil) != (werr == nil) {
			t.Fatalf("step %d (-read +kept): %s, %v", i, diff, err)
		}
		if got != nil && (len(got.Files) > memory.MaxWorkingFiles || len(got.Recent) > memory.MaxRecentTools) {
			t.Fatalf("step %d: %d files, %d tools in use", i, len(got.Files), len(got.Recent))
		}
	}
}

func TestResolvePath(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	run := filepath.Join(dir, "run")
	t.Setenv("HOME", filepath.Join(dir, "home"))
	if err := os.MkdirAll(filepath.Join(run, "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, to := range map[string]string{"out": dir, "in": "sub", "dangling": "../nowhere", "loop": "loop",
		"etc": "/etc"} {
		if err := os.Symlink(to, filepath.Join(run, name)); err != nil {
			t.Fatal(err)
		}
	}
	st := openStore(t, crashfs.New())
	defer st.Close(t.Context())
	svc := serviceOn(st)
	for id, cwd := range map[string]string{"s": run, "none": ""} {
		if _, err := svc.Start(t.Context(), session.StartRequest{ID: id, Cwd: cwd}); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct{ name, path, full, relative string }{
		{"relative", "a.txt", run + "/a.txt", "a.txt"},
		{"not clean", "./sub/../sub//b", run + "/sub/b", "sub/b"},
		{"itself", ".", run, "."},
		{"absolute", run + "/sub/c", run + "/sub/c", "sub/c"},
		{"link within", "in/d", run + "/in/d", "in/d"},
		{"name with dots", "..a/b", run + "/..a/b", "..a/b"},
		{"parent", "../x", dir + "/x", ""},
		{"parent behind a name", "sub/../../x", dir + "/x", ""},
		{"neighbour with the same beginning", run + "2/x", run + "2/x", ""},
		{"link out", "out/x", run + "/out/x", ""},
		{"link to the root's", "etc/passwd", run + "/etc/passwd", ""},
		{"dangling link out", "dangling", run + "/dangling", ""},
		{"absolute outside", "/etc/passwd", "/etc/passwd", ""},
		{"home", "~/notes", dir + "/home/notes", ""},
		{"name with a tilde", "~x", run + "/~x", "~x"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := svc.ResolvePath("", "s", tt.path, false)
			if outside := tt.relative == ""; errors.As(err, new(*memory.InvalidError)) != outside {
				t.Errorf("not allowed to: %v", err)
			}
			got, err := svc.ResolvePath("", "s", tt.path, true)
			if want := (session.Path{Full: tt.full, Relative: tt.relative, Outside: tt.relative == ""}); err != nil ||
				got != want {
				t.Errorf("got %+v, %v; want %+v", got, err, want)
			}
		})
	}
	if _, err := svc.ResolvePath("", "s", "loop/x", false); err != nil {
		t.Errorf("a link to itself leads nowhere: %v", err)
	}
	for _, bad := range []string{"", "a\x00b", strings.Repeat("a", 5000)} {
		if _, err := svc.ResolvePath("", "s", bad, true); !errors.As(err, new(*memory.InvalidError)) {
			t.Errorf("%.10q: %v", bad, err)
		}
	}
	if _, err := svc.ResolvePath("", "none", "a", true); !errors.As(err, new(*memory.InvalidError)) {
		t.Errorf("without a run directory: %v", err)
	}
	if got, err := svc.ResolvePath("", "none", "/a", true); err != nil || !got.Outside {
		t.Errorf("absolute, without a run directory: %+v, %v", got, err)
	}
	if _, err := svc.ResolvePath("", "unknown", "a", true); !errors.Is(err, memory.ErrNotFound) {
		t.Errorf("unknown session: %v", err)
	}
}
