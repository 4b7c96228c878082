package memsidecar_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/memsidecar/memsidecar/clients/go"
	pb "github.com/memsidecar/memsidecar/clients/go/gen/memsidecar/v1"
)

// program is the daemon that the tests talk to: $MEMSIDECAR_PROGRAM, else that of this repository, built once.
var program = os.Getenv("MEMSIDECAR_PROGRAM")

func TestMain(m *testing.M) {
	if program != "" {
		os.Exit(m.Run())
	}
	dir, err := os.MkdirTemp("", "msgo")
	if err != nil {
		panic(err)
	}
	program = filepath.Join(dir, "memsidecar")
	build := exec.Command("go", "build", "-C", "../..", "-o", program, "./cmd/memsidecar")
	build.Env, build.Stderr = append(os.Environ(), "CGO_ENABLED=0"), os.Stderr // as it is released
	code := 1
	if build.Run() == nil {
		code = m.Run()
	}
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// Programs that import the client get no more than these modules: gRPC, protocol buffers, and what they need.
func TestFewModules(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "-f", "{{with .Module}}{{.Path}}{{end}}", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	modules := strings.Fields(string(out))
	slices.Sort(modules)
	modules = slices.Compact(modules)
	t.Logf("%d modules", len(modules))
	if want := []string{
		"github.com/memsidecar/memsidecar/clients/go", "golang.org/x/net", "golang.org/x/sys", "golang.org/x/text",
		"google.golang.org/genproto/googleapis/rpc", "google.golang.org/grpc", "google.golang.org/protobuf",
	}; !slices.Equal(modules, want) {
		t.Errorf("got %q, want %q", modules, want)
	}
}

// home gives the test a user of its own; whatever daemon it starts is stopped at the end.
func home(t testing.TB) {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "msh") // short: a socket's path is limited
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	for name, value := range map[string]string{
		"HOME": dir, "XDG_RUNTIME_DIR": dir, "XDG_DATA_HOME": "", "XDG_STATE_HOME": "", "XDG_CONFIG_HOME": "",
		"MEMSIDECAR_SOCKET": "", "MEMSIDECAR_DATA": "", "MEMSIDECAR_PROGRAM": program,
	} {
		t.Setenv(name, value)
	}
	t.Cleanup(func() { run(t, "daemon", "stop") })
}

func run(t testing.TB, args ...string) {
	t.Helper()
	if out, err := exec.Command(program, args...).CombinedOutput(); err != nil {
		t.Errorf("memsidecar %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

func connect(t testing.TB) *memsidecar.Client {
	t.Helper()
	home(t)
	c, err := memsidecar.Connect(t.Context(), memsidecar.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func TestClient(t *testing.T) {
	c := connect(t)
	ctx := t.Context()
	saved, err := c.Remember(
		ctx, "We deploy with make release", memsidecar.InCategory("facts"), memsidecar.WithSalience(0.9),
		memsidecar.WithTags("deploy"), memsidecar.WithTitle("deploy"),
	)
	if err != nil || saved.ID == "" || saved.Operation == "" || saved.Duplicate {
		t.Fatalf("saved %+v, error %v", saved, err)
	}
	if again, err := c.Remember(ctx, "We deploy with make release", memsidecar.InCategory("facts")); err != nil ||
		!again.Duplicate ||
		again.ID != saved.ID {
		t.Errorf("saved again %+v, error %v", again, err)
	}
	hits, err := c.Search(ctx, "how do we deploy", 5)
	if err != nil || len(hits) != 1 || hits[0].GetMemory().GetId() != saved.ID ||
		hits[0].GetMemory().GetSalience() != 0.9 {
		t.Fatalf("hits %v, error %v", hits, err)
	}
	block, err := c.Recall(ctx, "how do we deploy?")
	if err != nil || !strings.Contains(block, "make release") {
		t.Errorf("block %q, error %v", block, err)
	}
	operation, err := c.Forget(ctx, saved.ID)
	if err != nil {
		t.Fatal(err)
	}
	if hits, err := c.Search(ctx, "how do we deploy", 5); err != nil || len(hits) != 0 {
		t.Errorf("after forgetting: hits %v, error %v", hits, err)
	}
	if _, err := c.Undo(ctx, operation); err != nil {
		t.Fatal(err)
	}
	if hits, err := c.Search(ctx, "how do we deploy", 5); err != nil || len(hits) != 1 {
		t.Errorf("after undoing: hits %v, error %v", hits, err)
	}
	_, err = c.Remember(ctx, "", memsidecar.WithSalience(3))
	var e *memsidecar.Error
	if !errors.As(err, &e) || e.Code != codes.InvalidArgument || len(e.Violations) != 2 ||
		status.Code(err) != codes.InvalidArgument {
		t.Errorf("error is %#v, want two violations", err)
	}
}

// TestAfter reads behind a position. A space that is not shared has none, and refuses one.
func TestAfter(t *testing.T) {
	c := connect(t)
	ctx := t.Context()
	saved, err := c.Remember(ctx, "The canteen opens at noon")
	if err != nil || len(saved.Positions) != 0 {
		t.Fatalf("saved %+v, error %v", saved, err)
	}
	if hits, err := c.After(saved.Positions...).Search(ctx, "canteen", 5); err != nil || len(hits) != 1 {
		t.Errorf("hits %v, error %v", hits, err)
	}
	later := c.After("no position")
	s, err := later.StartSession(ctx, "", "test")
	if err != nil {
		t.Fatal(err)
	}
	for name, read := range map[string]func() error{
		"search":            func() error { _, err := later.Search(ctx, "canteen", 5); return err },
		"recall":            func() error { _, err := later.Recall(ctx, "canteen"); return err },
		"recall in session": func() error { _, err := s.Recall(ctx, "canteen"); return err },
	} {
		var e *memsidecar.Error
		if err := read(); !errors.As(err, &e) || len(e.Violations) != 1 || e.Violations[0].Field != "min_positions[0]" {
			t.Errorf("%s: error %v, want a violation of min_positions[0]", name, err)
		}
	}
	if hits, err := c.Search(ctx, "canteen", 5); err != nil || len(hits) != 1 {
		t.Errorf("the first client: hits %v, error %v", hits, err)
	}
}

func TestSession(t *testing.T) {
	c := connect(t)
	ctx := t.Context()
	s, err := c.StartSession(ctx, "", "test")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Say(ctx, "user", "Please remember that the staging server is staging.example.com"); err != nil {
		t.Fatal(err)
	}
	if err := s.Append(ctx, &pb.SessionMessage{Role: pb.Role_ROLE_USER, Content: "下次不要直接推送到 main 分支"}); err != nil {
		t.Fatal(err)
	}
	// Another process goes on where this one was.
	again, err := c.StartSession(ctx, s.ID, "test")
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Say(ctx, "assistant", "Noted."); err != nil {
		t.Fatal(err)
	}
	learnt, err := again.Reflect(ctx)
	if err != nil || len(learnt.GetItems()) != 2 {
		t.Fatalf("learnt %v, error %v", learnt, err)
	}
	next, err := c.StartSession(ctx, "", "test")
	if err != nil || !strings.Contains(next.Context, "staging.example.com") {
		t.Fatalf("context %q, error %v", next.Context, err)
	}
	if block, err := next.Recall(ctx, "which server is staging?"); err != nil || block != "" {
		t.Errorf("after the context has said it: block %q, error %v", block, err)
	}
	if block, err := c.Recall(ctx, "which server is staging?"); err != nil ||
		!strings.Contains(block, "staging.example.com") {
		t.Errorf("outside the session: block %q, error %v", block, err)
	}
	if err := next.End(ctx); err != nil {
		t.Fatal(err)
	}
}

// TestKilled kills the daemon under the client: calls go on with the next one, and what was acknowledged is there.
func TestKilled(t *testing.T) {
	c := connect(t)
	ctx := t.Context()
	for i := range 3 {
		if _, err := c.Remember(ctx, fmt.Sprintf("fact number %d of the killed daemon", i)); err != nil {
			t.Fatal(err)
		}
		info, err := c.Admin.Info(ctx, &pb.AdminServiceInfoRequest{})
		if err != nil {
			t.Fatal(err)
		}
		daemon, err := os.FindProcess(int(info.GetPid()))
		if err != nil {
			t.Fatal(err)
		}
		if err := daemon.Kill(); err != nil {
			t.Fatal(err)
		}
	}
	list, err := c.Memory.List(ctx, &pb.MemoryServiceListRequest{})
	if err != nil || list.GetTotal() != 3 {
		t.Errorf("%d memories, error %v, want 3", list.GetTotal(), err)
	}
}

func TestStopped(t *testing.T) {
	c := connect(t)
	run(t, "daemon", "stop")
	_, err := memsidecar.Connect(t.Context(), memsidecar.Options{})
	// A sentence, not the JSON that programs get.
	if status.Code(err) != codes.Unavailable || !strings.Contains(err.Error(), "memsidecar daemon start") ||
		strings.Contains(err.Error(), "{") {
		t.Errorf("error is %v, want one that says how to start it", err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

// TestSocketSpellings: what gRPC and systemd write as an address is understood, and an abstract socket is refused.
func TestSocketSpellings(t *testing.T) {
	home(t)
	c, err := memsidecar.Connect(t.Context(), memsidecar.Options{})
	if err != nil {
		t.Fatal(err)
	}
	info, err := c.Admin.Info(t.Context(), &pb.AdminServiceInfoRequest{})
	if err != nil {
		t.Fatal(err)
	}
	for _, prefix := range []string{"", "unix:", "unix://"} {
		again, err := memsidecar.Connect(t.Context(), memsidecar.Options{Socket: prefix + info.GetSocketPath()})
		if err != nil {
			t.Errorf("%q: %v", prefix, err)
			continue
		}
		if err := again.Close(); err != nil {
			t.Error(err)
		}
	}
	for _, address := range []string{"@s", "\x00s", "unix-abstract:s", "unix:@s"} {
		_, err := memsidecar.Connect(t.Context(), memsidecar.Options{Socket: address})
		if err == nil || !strings.Contains(err.Error(), "abstract sockets are not supported") {
			t.Errorf("%q: error is %v", address, err)
		}
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

func TestNoProgram(t *testing.T) {
	home(t)
	t.Setenv("MEMSIDECAR_PROGRAM", "/nowhere/memsidecar")
	_, err := memsidecar.Connect(t.Context(), memsidecar.Options{})
	if !errors.Is(err, memsidecar.ErrNoProgram) || !strings.Contains(err.Error(), "MEMSIDECAR_PROGRAM") {
		t.Errorf("error is %v", err)
	}
	_, err = memsidecar.Connect(t.Context(), memsidecar.Options{Socket: "/tmp/no-such-dir/s", Patience: -1})
	if status.Code(err) != codes.Unavailable {
		t.Errorf("error is %v, want Unavailable", err)
	}
}
