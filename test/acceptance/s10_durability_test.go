package acceptance_test

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
	"github.com/memsidecar/memsidecar/internal/memtest/process"
	"github.com/memsidecar/memsidecar/internal/rpc/unixsock"
)

// Scenario 10: two programs add memories, and the daemon is killed in the middle of it, again and again. Whatever was
// acknowledged is there afterwards.
func TestKilledDaemonLosesNothing(t *testing.T) {
	p := process.New(t, program)
	const rounds, enough = 5, 60
	var mu sync.Mutex
	acknowledged := map[string]string{} // id to text; guarded by mu
	for round := range rounds {
		d := p.Serve(t)
		var clients sync.WaitGroup
		for client := range 2 {
			clients.Go(func() {
				conn, err := unixsock.Dial(p.Socket)
				if err != nil {
					t.Error(err)
					return
				}
				defer conn.Close()
				memories := pb.NewMemoryServiceClient(conn)
				for n := 0; ; n++ {
					text := fmt.Sprintf("Round %d, client %d: 第 %d 条", round, client, n)
					res, err := memories.Add(context.Background(), &pb.MemoryServiceAddRequest{
						Items: []*pb.NewMemory{{Content: text, Category: "facts"}}})
					if err != nil {
						return // it is dead
					}
					mu.Lock()
					acknowledged[res.GetResult().GetOutcomes()[0].GetId()] = text
					if len(acknowledged) == (round+1)*enough {
						_ = d.Cmd.Process.Kill()
					}
					mu.Unlock()
				}
			})
		}
		clients.Wait()
		d.Kill()
	}

	d := p.Serve(t)
	there := map[string]string{}
	for _, m := range list(t, p, "--limit", "0") {
		there[m.ID] = m.Content
	}
	for id, text := range acknowledged {
		if there[id] != text {
			t.Errorf("%s was acknowledged as %q and is %q", id, text, there[id])
		}
	}
	if len(acknowledged) < rounds*enough {
		t.Errorf("only %d adds were acknowledged", len(acknowledged))
	}
	// A memory that was written and whose reply the kill cut off may be there too: one a client and round.
	if n := len(there); n > len(acknowledged)+2*rounds {
		t.Errorf("%d memories for %d acknowledged", n, len(acknowledged))
	}

	// The published file has them as well, and the directory is intact.
	if n := len(published[memoryFile](t, p, "memory.json").Memories); n != len(there) {
		t.Errorf("memory.json has %d memories, want %d", n, len(there))
	}
	d.Stop(t)
	shows(t, "check", p.Succeeds(t, "check"), "intact")
}

// TestPrivate: what is remembered is nobody else's business. Directories are 0700 and files 0600, the socket too.
func TestPrivate(t *testing.T) {
	p := process.New(t, program)
	// What others left there with wider permissions is no exception.
	write(t, p, "MEMORY.md", "## 通用记忆\n- [2026-02-16] 办公室在三楼\n")
	write(t, p, "logs/"+day(1)+".md", "- [14:30] 领了工资\n")
	for name, mode := range map[string]os.FileMode{"": 0o755, "logs": 0o755, "MEMORY.md": 0o644} {
		if err := os.Chmod(filepath.Join(p.Data, name), mode); err != nil {
			t.Fatal(err)
		}
	}
	p.Serve(t)
	p.Succeeds(t, "add", "The user's salary is a secret")
	p.Succeeds(t, "log", "add", "Talked about the salary")
	p.Succeeds(t, "session", "append", "s1", "What is my salary?")
	p.Succeeds(t, "daemon", "publish")
	seen := 0
	look := func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		seen++
		if info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
		return nil
	}
	if err := filepath.WalkDir(p.Data, look); err != nil {
		t.Fatal(err)
	}
	if err := filepath.WalkDir(p.Socket, look); err != nil {
		t.Fatal(err)
	}
	if seen < 6 {
		t.Errorf("only %d files were looked at", seen)
	}
}

// TestOneDaemon: a second daemon takes neither the directory nor the socket of the first. It names both.
func TestOneDaemon(t *testing.T) {
	p := process.New(t, program)
	first := p.Serve(t)
	p.Succeeds(t, "add", "The first daemon holds this")

	elsewhere := p
	elsewhere.Data += "2"
	shows(t, "the refusal", elsewhere.Fails(t, 4, "daemon", "serve"), p.Socket, p.Data, elsewhere.Data)
	other := p
	other.Socket += "2"
	shows(t, "the refusal", other.Fails(t, 4, "daemon", "serve"), p.Data)
	shows(t, "the first", p.Succeeds(t, "list"), "The first daemon holds this")

	// What a killed daemon leaves behind keeps nobody out.
	first.Kill()
	elsewhere.Serve(t).Stop(t)
	p.Serve(t)
	if text := p.Succeeds(t, "list"); !strings.Contains(text, "The first daemon holds this") {
		t.Errorf("after the restart: %s", text)
	}
}
