package e2e_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	tracedWrite = regexp.MustCompile(`pwrite64\(\d+<[^>]*/journal/\d+\.jsonl>`)
	tracedSync  = regexp.MustCompile(`^(\d+) +fdatasync\(\d+<[^>]*/journal/\d+\.jsonl>(\) += 0| <unfinished)`)
	resumedSync = regexp.MustCompile(`^(\d+) +<\.\.\. fdatasync resumed>\) += 0`)
)

// TestSyncBeforeReply watches the system calls: between the write of a record and the reply that acknowledges it
// there is an fdatasync of the journal that has returned.
func TestSyncBeforeReply(t *testing.T) {
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("strace is not installed")
	}
	p := newPlace(t)
	trace := filepath.Join(p.Home(), "trace")
	serve := p.Command("daemon", "serve")
	cmd := exec.Command(strace, append([]string{"-f", "-y", "-s", "100000", "-e",
		"trace=pwrite64,fdatasync,write,writev,sendmsg", "-o", trace}, serve.Args...)...)
	cmd.Env = serve.Env
	if out, err := exec.Command(strace, "-o", "/dev/null", "true").CombinedOutput(); err != nil {
		t.Skipf("strace may not trace here: %s", out)
	}
	d := p.serveAs(t, cmd)
	client := p.memories(t)
	const adds = 50
	for n := range adds {
		if err := add(t.Context(), client, fmt.Sprintf("traced-%03d", n)); err != nil {
			t.Fatal(err)
		}
	}
	p.Succeeds(t, "daemon", "stop")
	<-d.Done
	raw, err := os.ReadFile(trace)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(raw), "\n")
	for n := range adds {
		if err := syncedBeforeReply(lines, fmt.Sprintf("traced-%03d", n)); err != nil {
			t.Error(err)
		}
	}
	t.Logf("%d acknowledgements, each behind a completed fdatasync", adds)
}

// syncedBeforeReply looks for the write of id to the journal, then for an fdatasync that began and returned 0, then
// for id in a reply.
func syncedBeforeReply(lines []string, id string) error {
	written, synced, began := false, false, map[string]bool{}
	for _, line := range lines {
		switch {
		case tracedWrite.MatchString(line) && strings.Contains(line, id):
			written = true
		case written && tracedSync.MatchString(line):
			m := tracedSync.FindStringSubmatch(line)
			if strings.HasSuffix(m[2], "unfinished") {
				began[m[1]] = true
			} else {
				synced = true
			}
		case written && resumedSync.MatchString(line):
			if m := resumedSync.FindStringSubmatch(line); began[m[1]] {
				synced = true
			}
		case strings.Contains(line, id) && strings.Contains(line, "<") &&
			(strings.Contains(line, "socket:") || strings.Contains(line, "UNIX")):
			if !written || !synced {
				return fmt.Errorf("%s was acknowledged with written=%v, synced=%v: %.200s", id, written, synced, line)
			}
			return nil
		}
	}
	return fmt.Errorf("%s: written=%v, synced=%v, no reply in the trace", id, written, synced)
}
