package e2e_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
	"github.com/memsidecar/memsidecar/internal/memtest"
	"github.com/memsidecar/memsidecar/internal/store/durable"
)

var killRounds = flag.Int("kill.rounds", 20, "rounds of writing, SIGKILL and restart")

const clients = 8

// TestKill kills the daemon under load, again and again, and requires that everything acknowledged is there after
// every restart. Between the rounds garbage is written behind the journal's last good line, as a torn write leaves
// it; and a copy of the directory gets a flipped byte in what was acknowledged, which must be refused and repaired.
//
// SIGKILL cannot catch a missing fsync: the page cache outlives the process. The crashes simulated in internal/store
// do that.
func TestKill(t *testing.T) {
	p := newPlace(t)
	rounds := *killRounds
	if memtest.RaceDetector { // the daemon is another process, of which it sees nothing
		rounds = max(1, rounds/4)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	var acked []string
	last, refused, garbage, flips, ends := 0, 0, 0, 0, map[string]int{}
	began := time.Now()
	for round := range rounds {
		d := p.serve(t)
		if lost := missing(t, p.memories(t), acked[last:]); len(lost) > 0 { // all of them at the end
			t.Fatalf("round %d: %d of %d acknowledged memories are gone: %v\n%s", round, len(lost), len(acked)-last,
				lost, d.Logged())
		}
		last = len(acked)
		ids, failed := d.writeUntilKilled(t, round, 50+rng.IntN(400))
		acked, refused = append(acked, ids...), refused+failed
		if rng.IntN(2) == 0 {
			tearEnd(t, p, rng)
			garbage++
		}
		if round%5 == 4 {
			flipAcknowledged(t, p, rng)
			flips++
		}
		ends[fmt.Sprint(d.Cmd.ProcessState)]++
		if round%50 == 49 {
			t.Logf("%d rounds, %d adds acknowledged, %.1f s", round+1, len(acked), time.Since(began).Seconds())
		}
	}
	d := p.serve(t)
	if lost := missing(t, p.memories(t), acked); len(lost) > 0 {
		t.Fatalf("at the end %d of %d acknowledged memories are gone: %v", len(lost), len(acked), lost)
	}
	d.Stop(t)
	p.Succeeds(t, "check")
	if n := ends["signal: killed"]; n != rounds {
		t.Errorf("%d rounds, but the daemon ended like this: %v", rounds, ends)
	}
	t.Logf("%d rounds with %d clients, %d torn ends, %d flipped bytes: %d adds acknowledged, 0 lost, %d cut off by "+
		"the kill; %.1f s",
		rounds, clients, garbage, flips, len(acked), refused, time.Since(began).Seconds())
}

// writeUntilKilled lets the clients add until so many adds are acknowledged, kills the daemon in the middle of what
// is going on, and returns the acknowledged ids and how many calls failed.
func (d *daemon) writeUntilKilled(t *testing.T, round, enough int) (acked []string, failed int) {
	t.Helper()
	var mu sync.Mutex
	var wg sync.WaitGroup
	for c := range clients {
		conn := d.dial(t)
		client := pb.NewMemoryServiceClient(conn)
		wg.Go(func() {
			defer conn.Close()
			for n := 0; ; n++ {
				id := fmt.Sprintf("round-%d-client-%d-%d", round, c, n)
				err := add(context.Background(), client, id)
				mu.Lock()
				if err != nil {
					failed++
					mu.Unlock()
					return
				}
				if acked = append(acked, id); len(acked) == enough {
					_ = d.Cmd.Process.Kill() // the others are in the middle of their calls
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	d.Kill()
	return acked, failed
}

// lastSegment reads the journal's newest segment.
func lastSegment(t *testing.T, p place) (name string, data []byte) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(p.Data, "journal", "*.jsonl"))
	if err != nil || len(names) == 0 {
		t.Fatal("no segment", err)
	}
	name = slices.Max(names)
	if data, err = os.ReadFile(name); err != nil {
		t.Fatal(err)
	}
	return name, data
}

func writeAt(t *testing.T, name string, at int, data []byte) {
	t.Helper()
	f, err := os.OpenFile(name, os.O_WRONLY, 0)
	if err == nil {
		_, err = f.WriteAt(data, int64(at))
	}
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
}

// tearEnd leaves behind the last good line what a torn write may: noise, or the beginning of a line.
func tearEnd(t *testing.T, p place, rng *rand.Rand) {
	t.Helper()
	name, data := lastSegment(t, p)
	end := bytes.LastIndexByte(data, '\n') + 1
	torn := make([]byte, 1+rng.IntN(5000))
	for i := range torn {
		torn[i] = byte(rng.Uint32())
	}
	if rng.IntN(2) == 0 {
		previous := data[bytes.LastIndexByte(data[:end-1], '\n')+1 : end]
		torn = previous[:1+rng.IntN(len(previous)-2)]
	}
	writeAt(t, name, end, torn)
}

// flipAcknowledged damages a record in a copy of the directory: the daemon refuses it, naming file and line, and
// changes nothing; repair sets it aside and keeps everything else.
func flipAcknowledged(t *testing.T, from place, rng *rand.Rand) {
	t.Helper()
	p := newPlace(t)
	if err := os.CopyFS(p.Data, os.DirFS(from.Data)); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(p.Data, 0o700); err != nil {
		t.Fatal(err)
	}
	name, data := lastSegment(t, p)
	lines := bytes.SplitAfter(data, []byte{'\n'})
	line := 2 + rng.IntN(len(lines)/2) // not one of the last group
	at := len(bytes.Join(lines[:line-1], nil)) + 20 + rng.IntN(len(lines[line-1])-40)
	writeAt(t, name, at, []byte{data[at] ^ 1})
	damaged, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}

	out := p.Fails(t, 5, "daemon", "serve")
	place := fmt.Sprintf("journal/%s line %d", filepath.Base(name), line)
	if !strings.Contains(out, place) || !strings.Contains(out, "memsidecar daemon repair") {
		t.Fatalf("the refusal does not name %q and the command:\n%s", place, out)
	}
	if after, err := os.ReadFile(name); err != nil || !bytes.Equal(after, damaged) {
		t.Fatalf("the refused journal was changed: %v", err)
	}
	if out := p.Fails(t, 5, "check"); !strings.Contains(out, filepath.Base(name)) {
		t.Fatalf("check does not name %s:\n%s", name, out)
	}
	p.Succeeds(t, "daemon", "repair")
	d := p.serve(t)
	defer d.Kill()
	var ids []string
	for i, l := range lines[1:] {
		if _, rest, ok := bytes.Cut(l, []byte(`{"memory":{"id":"`)); ok {
			id, _, _ := bytes.Cut(rest, []byte(`"`))
			// Neither the damaged line nor the end that the kill tore.
			if i+2 != line && durable.ValidLine(bytes.TrimSuffix(l, []byte{'\n'})) {
				ids = append(ids, string(id))
			}
		}
	}
	if lost := missing(t, p.memories(t), ids); len(lost) > 0 {
		t.Fatalf("repair lost %d of %d whole records: %v", len(lost), len(ids), lost)
	}
	// The damaged record itself may come back: from memory.json, if it was published before the kill.
}
