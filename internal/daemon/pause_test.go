package daemon

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/memsidecar/memsidecar/internal/store/durable/crashfs"
)

func TestHostNames(t *testing.T) {
	p := openPauses(crashfs.New())
	for _, host := range []string{"codex", " Claude-Code ", "my agent"} {
		if err := p.set(host, true); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]bool{
		"codex": true, "codex-mcp-client 1.2": true, "Codex/0.9": true, "codexer": false, "code": false, "": false,
		"claude-code": true, "claude": false, "my agent": true, "my": false, "代码": false,
	} {
		if got := p.Host(name); got != want {
			t.Errorf("%q is paused: %v, want %v", name, got, want)
		}
	}
	for _, host := range []string{"two\nlines", "bell\a", string(make([]byte, 300))} {
		if p.set(host, true) == nil {
			t.Errorf("%q was accepted", host)
		}
	}
	for i := range maxPausedHosts - 3 {
		if err := p.set(fmt.Sprint("agent", i), true); err != nil {
			t.Fatal(err)
		}
	}
	if p.set("one more", true) == nil || len(p.Hosts()) != maxPausedHosts {
		t.Errorf("%d hosts are paused", len(p.Hosts()))
	}
}

// TestOldPause checks that the file of a program that knows of no hosts pauses capture, whatever is in it, and that one
// with hosts alone does not.
func TestOldPause(t *testing.T) {
	for text, want := range map[string]pauseState{
		"": {capture: true}, "by hand": {capture: true}, pausedLine + "\n": {capture: true},
		"host codex\n":                    {hosts: []string{"codex"}},
		pausedLine + "\nhost b\nhost a\n": {capture: true, hosts: []string{"a", "b"}},
	} {
		if got := parsePauses(text); got.capture != want.capture || !slices.Equal(got.hosts, want.hosts) {
			t.Errorf("%q pauses %v, want %v", text, got, want)
		}
	}
}

// TestPauseIsDurable crashes at every operation of pausing and resuming. What was acknowledged holds afterwards; what
// was not holds or does not.
func TestPauseIsDurable(t *testing.T) {
	steps := []struct {
		host   string
		paused bool
	}{{"codex", true}, {"", true}, {"claude-code", true}, {"codex", false}, {"", false}, {"claude-code", false}}
	for at := 1; ; at++ {
		fs := crashfs.New()
		p := openPauses(fs)
		fs.CrashAt(at)
		var before, after string
		for _, s := range steps {
			before = p.now.Load().text()
			if err := p.set(s.host, s.paused); err != nil {
				host := *p.now.Load()
				after = pausedAfter(host, s.host, s.paused)
				break
			}
			before, after = p.now.Load().text(), p.now.Load().text()
		}
		for _, mode := range []crashfs.CrashMode{crashfs.Lost, crashfs.Kept, crashfs.Torn} {
			got := openPauses(fs.Crash(mode, rand.New(rand.NewPCG(uint64(at), 1)))).now.Load().text()
			if got != before && got != after {
				t.Fatalf("crash at %d, %v: %q, want %q or %q", at, mode, got, before, after)
			}
		}
		if !fs.Crashed() {
			if before != "" {
				t.Errorf("in the end %q is paused", before)
			}
			return
		}
	}
}

// pausedAfter is the text of a state after a step.
func pausedAfter(s pauseState, host string, paused bool) string {
	switch {
	case host == "":
		s.capture = paused
	case paused:
		s.hosts = slices.Sorted(slices.Values(append(slices.Clone(s.hosts), host)))
	default:
		s.hosts = slices.DeleteFunc(slices.Clone(s.hosts), func(h string) bool { return h == host })
	}
	return s.text()
}
