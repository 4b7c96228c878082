//go:build unix

package e2e_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
)

// TestVanishingClient: clients that are gone in the middle of a call leave the whole batch or nothing, and the daemon
// goes on.
func TestVanishingClient(t *testing.T) {
	p := newPlace(t)
	d := p.serve(t)
	const size = 100
	var all [][]string
	var wg sync.WaitGroup
	for n := range 40 {
		var ids []string
		for i := range size {
			ids = append(ids, fmt.Sprintf("batch-%d-%d", n, i))
		}
		all = append(all, ids)
		conn := p.dial(t)
		sent := make(chan struct{})
		wg.Go(func() {
			close(sent)
			_ = add(context.Background(), pb.NewMemoryServiceClient(conn), ids...)
		})
		<-sent
		if n%2 == 0 {
			_ = pb.NewMemoryServiceClient(conn) // the call may not even have begun
		} else {
			_, _ = pb.NewMemoryServiceClient(conn).Get(t.Context(), &pb.MemoryServiceGetRequest{Ids: ids[:1]})
		}
		_ = conn.Close()
	}
	wg.Wait()
	client := p.memories(t)
	if err := add(t.Context(), client, "after"); err != nil {
		t.Fatal(err)
	}
	whole := 0
	for n, ids := range all {
		switch lost := len(missing(t, client, ids)); lost {
		case 0:
			whole++
		case size:
		default:
			t.Errorf("batch %d: %d of %d are missing", n, lost, size)
		}
	}
	d.Stop(t)
	p.Succeeds(t, "check")
	t.Logf("%d clients vanished, %d batches are there whole, the others not at all", len(all), whole)
}

// TestIdleConnections: a thousand connections that say nothing keep nobody from being served.
func TestIdleConnections(t *testing.T) {
	p := newPlace(t)
	d := p.serve(t)
	for n := range 1000 {
		conn, err := net.Dial("unix", p.Socket)
		if err != nil {
			t.Fatalf("connection %d: %v", n, err)
		}
		t.Cleanup(func() { _ = conn.Close() })
	}
	client := p.memories(t)
	if err := add(t.Context(), client, "served"); err != nil {
		t.Fatal(err)
	}
	// Nor from stopping: they have not even said that they speak the protocol.
	p.Succeeds(t, "daemon", "stop", "--timeout", "30s")
	<-d.Done
}

// TestHugeMessage: a message far over the limit is refused by name, nothing changes, and the daemon goes on.
func TestHugeMessage(t *testing.T) {
	p := newPlace(t)
	d := p.serve(t)
	client := p.memories(t)
	if err := add(t.Context(), client, "before"); err != nil {
		t.Fatal(err)
	}
	_, before := lastSegment(t, p)
	_, err := client.Add(t.Context(), &pb.MemoryServiceAddRequest{Items: []*pb.NewMemory{
		{Id: "huge", Category: "facts", Content: strings.Repeat("x", 100<<20)},
	}}, grpc.MaxCallSendMsgSize(1<<30))
	if status.Code(err) != codes.ResourceExhausted {
		t.Fatalf("100 MiB: %v", err)
	}
	if lost := missing(t, client, []string{"huge"}); len(lost) != 1 {
		t.Error("it was stored")
	}
	if _, after := lastSegment(t, p); string(after) != string(before) {
		t.Error("the journal changed")
	}
	if err := add(t.Context(), client, "after"); err != nil {
		t.Fatal(err)
	}
	d.Stop(t)
}

// TestTwoDaemons: the second is refused and does the first no harm.
func TestTwoDaemons(t *testing.T) {
	p := newPlace(t)
	d := p.serve(t)
	client := p.memories(t)
	if err := add(t.Context(), client, "before"); err != nil {
		t.Fatal(err)
	}
	for _, second := range []place{p, p.at(p.Data, p.Socket+"2")} {
		if out := second.Fails(t, 4, "daemon", "serve"); !strings.Contains(out, p.Data) {
			t.Errorf("the refusal does not name the directory:\n%s", out)
		}
	}
	if out := p.Fails(t, 4, "daemon", "repair"); !strings.Contains(out, p.Data) {
		t.Errorf("repair beside a daemon does not name the directory:\n%s", out)
	}
	if err := add(t.Context(), client, "after"); err != nil {
		t.Fatal(err)
	}
	if lost := missing(t, p.memories(t), []string{"before", "after"}); len(lost) > 0 {
		t.Errorf("gone: %v", lost)
	}
	d.Stop(t)
}

// TestReadOnlyDirectory: a daemon that cannot write says so and ends, and what is there stays readable.
func TestReadOnlyDirectory(t *testing.T) {
	p := newPlace(t)
	d := p.serve(t)
	if err := add(t.Context(), p.memories(t), "before"); err != nil {
		t.Fatal(err)
	}
	d.Stop(t)
	const nobody = 65534 // root may write anywhere
	root := os.Geteuid() == 0
	base := p.Home()
	var dirs []string
	err := filepath.WalkDir(base, func(name string, entry os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if root {
			if err := os.Lchown(name, nobody, nobody); err != nil {
				return err
			}
		}
		if entry.IsDir() && name != base {
			dirs = append(dirs, name)
			return nil
		}
		if name != base {
			return os.Chmod(name, 0o400)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range dirs {
		if err := os.Chmod(dir, 0o500); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.Chmod(dir, 0o700) })
	}
	cmd := p.Command("daemon", "serve")
	check := p.Command("check")
	if root {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
		check.SysProcAttr = cmd.SysProcAttr
	}
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "permission denied") {
		t.Fatalf("it ended with %v:\n%s", err, out)
	}
	if out, err := check.CombinedOutput(); err != nil {
		t.Errorf("check: %v\n%s", err, out)
	}
}
