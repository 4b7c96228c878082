package e2e_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
	"github.com/memsidecar/memsidecar/internal/memtest/process"
)

var (
	soakFor = flag.Duration("soak.for", 0, "how long TestSoak runs; by default each kind of trouble happens once")
	// Embedding so many would take longer than the soak.
	soakOn = flag.Int("soak.memories", 0, "how many memories there are when TestSoak begins; with any, it embeds none")
)

// soak is a daemon under a steady load, to which everything happens that may happen in its life. Its goroutines write
// and measure; the test itself makes the trouble.
type soak struct {
	place
	t      *testing.T
	daemon atomic.Pointer[daemon]
	ended  chan error // the result of the daemon's process
	conn   atomic.Pointer[grpc.ClientConn]

	mu    sync.Mutex
	acked map[string]string // content of each acknowledged memory by id; guarded by mu, and so is all below
	hands []string          // texts written into memory.json by hand
	days  []string          // of old logs with an acknowledged entry
	bytes int64             // acknowledged
	refused, searches,
	kills, edits, archives, removals, repairs, fullDisks int
	use usage
}

// TestSoak: adds, searches, hand edits, archives, kills, a full disk and removed files, and nothing acknowledged is
// lost. It prints what the daemon wrote per acknowledged byte, how far memory.json was behind, its memory and its
// descriptors.
func TestSoak(t *testing.T) {
	s := &soak{place: newPlace(t), t: t, acked: map[string]string{}}
	s.keepOnFailure()
	s.start()
	s.fill(*soakOn)
	ctx, stop := context.WithCancel(t.Context())
	var work sync.WaitGroup
	for n := range 2 {
		work.Go(func() { s.write(ctx, n) })
	}
	work.Go(func() { s.search(ctx) })
	work.Go(func() { s.measure(ctx) })
	calm, began := time.Second, time.Now()
	if *soakFor > 0 {
		calm = 30 * time.Second
	}
	trouble := []func(){s.kill, s.archive, s.removePublished, s.edit, s.removeJournal, s.fillDisk}
	for round := 0; round < len(trouble) || time.Since(began) < *soakFor; round++ {
		s.calm(calm)
		trouble[round%len(trouble)]()
	}
	stop()
	work.Wait()
	lost := s.verify()
	s.report(time.Since(began), lost)
}

// fill adds n memories before the soak begins and waits until they are published. They do not count as acknowledged, nor
// what was written for them.
func (s *soak) fill(n int) {
	if n == 0 {
		return
	}
	const batch = 100
	for i := 0; i < n; i += batch {
		items := make([]*pb.NewMemory, min(batch, n-i))
		for k := range items {
			id := fmt.Sprintf("f-%d", i+k)
			items[k] = &pb.NewMemory{Id: id, Category: "facts", Content: note(id, i+k)}
		}
		if _, err := s.memoriesOf().Add(s.t.Context(), &pb.MemoryServiceAddRequest{Items: items}); err != nil {
			s.t.Fatal(err)
		}
	}
	s.end(syscall.SIGTERM)
	s.use = usage{}
	s.start()
}

// note is the text of a memory.
func note(id string, i int) string {
	return fmt.Sprintf("Note %s: machine %d in rack %d %s", id, i*7, i%40, strings.Repeat("runs the usual jobs. ", 12))
}

// patience is how long the soak waits for the daemon. It is long, because a start repairs and loads on a machine that
// has other work, and nothing is gained by giving up an hour's run.
const patience = 10 * time.Minute

// keepOnFailure leaves the data directory and the daemon's log behind when the test fails, and prints the end of the
// log: the cause of a failure after an hour must not go with the test.
func (s *soak) keepOnFailure() {
	s.t.Cleanup(func() {
		if !s.t.Failed() {
			return
		}
		kept := fmt.Sprintf("%s/memsidecar-soak-%d", os.TempDir(), time.Now().Unix())
		if err := os.Rename(s.Home(), kept); err != nil {
			s.t.Errorf("the data directory could not be kept: %v", err)
			return
		}
		s.t.Logf("kept: %s with the daemon's log and data directory. The log ends:\n%s", kept,
			logEnd(kept+"/daemon.log"))
	})
}

// logEnd returns the last lines of a log.
func logEnd(path string) string {
	data, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	return string(data[max(0, len(data)-4000):])
}

// start starts the daemon and connects to it.
func (s *soak) start() {
	s.t.Helper()
	cmd := s.Command("daemon", "serve")
	cmd.Env = append(cmd.Env, "MEMSIDECAR_METRICS_LISTEN="+s.Socket+".m", "MEMSIDECAR_LOG_LEVEL=warn",
		fmt.Sprintf("MEMSIDECAR_EMBEDDINGS_INSIDE=%v", *soakOn == 0))
	out, err := os.OpenFile(s.Home()+"/daemon.log", os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		s.t.Fatal(err)
	}
	defer out.Close()
	cmd.Stderr = out
	d := &daemon{s.place, &process.Daemon{Cmd: cmd, Done: make(chan struct{})}}
	close(d.Done) // its output goes to a file
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = cmd.Process.Kill() })
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	s.conn.Store(s.dial(s.t))
	s.daemon.Store(d)
	s.ended = ended
	process.Within(s.t, patience, "the daemon answers", func() bool {
		select {
		case err := <-ended:
			s.t.Fatalf("the daemon ended at its start: %v\n%s", err, logEnd(out.Name()))
		default:
		}
		_, err := s.memoriesOf().Stats(s.t.Context(), &pb.MemoryServiceStatsRequest{})
		return err == nil
	})
	s.use.began(cmd.Process.Pid)
}

func (s *soak) memoriesOf() pb.MemoryServiceClient { return pb.NewMemoryServiceClient(s.conn.Load()) }

// end ends the daemon by a signal, and waits.
func (s *soak) end(signal os.Signal) {
	s.use.sample()
	d := s.daemon.Load()
	if err := d.Cmd.Process.Signal(signal); err != nil {
		s.t.Fatal(err)
	}
	if err := <-s.ended; err != nil { // as a killed daemon does, and one that is read-only
		s.t.Logf("the daemon ended by %v: %v", signal, err)
	}
}

// write adds memories at a steady pace until ctx ends. What was refused, because the daemon is down or read-only, is
// nobody's loss.
func (s *soak) write(ctx context.Context, n int) {
	for i := 0; ctx.Err() == nil; i++ {
		id := fmt.Sprintf("w%d-%d", n, i)
		content := note(id, i)
		_, err := s.memoriesOf().Add(ctx, &pb.MemoryServiceAddRequest{Items: []*pb.NewMemory{{Id: id, Category: "facts",
			Content: content}}})
		s.mu.Lock()
		if err == nil {
			s.acked[id] = content
			s.bytes += int64(len(content))
		} else {
			s.refused++
		}
		s.mu.Unlock()
		select {
		case <-ctx.Done():
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// search asks until ctx ends.
func (s *soak) search(ctx context.Context) {
	for i := 0; ctx.Err() == nil; i++ {
		_, err := pb.NewSearchServiceClient(s.conn.Load()).Search(ctx, &pb.SearchServiceSearchRequest{
			Query: fmt.Sprintf("machine %d in rack %d", i*7, i%40)})
		if err == nil {
			s.mu.Lock()
			s.searches++
			s.mu.Unlock()
		}
		select {
		case <-ctx.Done():
		case <-time.After(250 * time.Millisecond):
		}
	}
}

// calm lets nothing but adds and searches happen, and counts on its own what is written when what the trouble before has
// caused is over.
func (s *soak) calm(d time.Duration) {
	began := time.Now()
	if *soakFor > 0 {
		s.settle()
	}
	time.Sleep(d/3 - time.Since(began))
	s.use.sample()
	s.mu.Lock()
	before, written := s.bytes, s.use.total()
	s.mu.Unlock()
	time.Sleep(d - d/3)
	s.use.sample()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.use.calmAcked += s.bytes - before
	s.use.calm = s.use.calm.plus(1, s.use.total().plus(-1, written))
}

// settle waits until memory.json was replaced twice: trouble can make the file and its backup be written whole, and a
// large one rests for half a minute between. Then a metric is read, which takes half a second.
func (s *soak) settle() {
	last, err := os.Lstat(s.Data + "/memory.json")
	for replaced := 0; replaced < 2; {
		process.Within(s.t, patience, "memory.json is replaced", func() bool {
			now, lookErr := os.Lstat(s.Data + "/memory.json")
			if lookErr != nil || err == nil && os.SameFile(now, last) {
				return false
			}
			last, err = now, nil
			return true
		})
		replaced++
	}
	time.Sleep(time.Second)
}

// kill ends the daemon with SIGKILL and starts it again.
func (s *soak) kill() {
	s.end(os.Kill)
	s.start()
	s.kills++
}

// archive appends to a log that is old enough, and archives it.
func (s *soak) archive() {
	at := time.Now().AddDate(0, 0, -31-s.archives%25)
	text := fmt.Sprintf("moved service %d to the new machine", s.archives)
	_, err := pb.NewLogServiceClient(s.conn.Load()).Append(s.t.Context(), &pb.LogServiceAppendRequest{
		Entries: []*pb.NewLogEntry{{Content: text, At: timestamppb.New(at)}}})
	if err == nil {
		_, err = pb.NewAdminServiceClient(s.conn.Load()).Archive(s.t.Context(), &pb.AdminServiceArchiveRequest{})
	}
	if err != nil {
		s.t.Errorf("archive: %v", err)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.archives++
	s.days, s.bytes = append(s.days, at.Format(time.DateOnly)+"\x00"+text), s.bytes+int64(len(text))
}

// published waits for a whole memory.json and returns it.
func (s *soak) published() (data []byte) {
	process.Within(s.t, patience, "memory.json is whole", func() bool {
		var err error
		data, err = os.ReadFile(s.Data + "/memory.json")
		return err == nil && json.Valid(data)
	})
	return data
}

// removePublished removes memory.json, which the daemon publishes again.
func (s *soak) removePublished() {
	s.published()
	if err := os.Remove(s.Data + "/memory.json"); err != nil {
		s.t.Fatal(err)
	}
	s.published()
	s.removals++
}

// edit saves memory.json with one memory more, as an editor does.
func (s *soak) edit() {
	text := fmt.Sprintf("written by hand, number %d;", s.edits)
	data := appended(s.t, s.published(), text)
	err := os.WriteFile(s.Data+"/memory.json.mine", data, 0o600)
	if err == nil {
		err = os.Rename(s.Data+"/memory.json.mine", s.Data+"/memory.json")
	}
	if err != nil {
		s.t.Fatal(err)
	}
	s.edits++
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hands, s.bytes = append(s.hands, text), s.bytes+int64(len(text))
}

// removeJournal removes the segment that is being written. The daemon turns read-only and writes a rescue file; the
// next start is refused, repair recovers what was published, and the rescue file brings the rest.
func (s *soak) removeJournal() {
	segments, err := filepath.Glob(s.Data + "/journal/0*.jsonl")
	if err != nil || len(segments) == 0 {
		s.t.Fatal(segments, err)
	}
	if err := os.Remove(segments[len(segments)-1]); err != nil {
		s.t.Fatal(err)
	}
	var rescue []string
	process.Within(s.t, patience, "a rescue file is written", func() bool {
		rescue, _ = filepath.Glob(s.Data + "/rescue-*.jsonl")
		return len(rescue) > 0
	})
	s.end(syscall.SIGTERM)
	if out, err := s.Command("daemon", "serve").CombinedOutput(); err == nil || !bytes.Contains(out, []byte("daemon repair")) {
		s.t.Fatalf("the start was not refused: %v\n%s", err, out)
	}
	s.Succeeds(s.t, "daemon", "repair")
	s.start()
	s.Succeeds(s.t, "import", rescue[0])
	if err := os.Remove(rescue[0]); err != nil {
		s.t.Fatal(err)
	}
	s.repairs++
}

// fillDisk writes until a small file system of its own is full, kills the daemon there, and looks for what it had
// acknowledged.
func (s *soak) fillDisk() {
	disk := s.Home() + "/disk"
	if err := os.MkdirAll(disk, 0o700); err != nil {
		s.t.Fatal(err)
	}
	if err := mountSmall(disk, 24<<20); err != nil {
		s.t.Logf("no full disk: a small file system cannot be mounted here: %v", err)
		return
	}
	defer func() {
		if err := syscall.Unmount(disk, syscall.MNT_DETACH); err != nil {
			s.t.Error(err)
		}
	}()
	p := s.at(disk+"/data", s.Socket+".d")
	d := p.serve(s.t)
	client := p.memories(s.t)
	var ids []string
	full := false
	for i := 0; i < 5000 && !full; i++ {
		id := fmt.Sprint("f", i)
		_, err := client.Add(s.t.Context(), &pb.MemoryServiceAddRequest{Items: []*pb.NewMemory{{Id: id, Category: "facts",
			Content: longText(id)}}})
		if full = err != nil; !full {
			ids = append(ids, id)
		}
	}
	if !full {
		s.t.Error("the disk was never full")
	}
	if lost := s.gone(client, ids); len(lost) > 0 {
		s.t.Errorf("on the full disk %d of %d acknowledged memories are gone", len(lost), len(ids))
	}
	d.Kill()
	d = p.serve(s.t)
	if lost := s.gone(p.memories(s.t), ids); len(lost) > 0 {
		s.t.Errorf("after the full disk %d of %d acknowledged memories are gone", len(lost), len(ids))
	}
	d.Kill()
	s.fullDisks++
}

// longText is a text of 7,000 letters that compression of old segments makes little shorter.
func longText(id string) string {
	seed := sha256.Sum256([]byte(id))
	random := rand.NewChaCha8(seed)
	text := make([]byte, 7000)
	for i := range text {
		text[i] = 'a' + byte(random.Uint64()%26)
		if i%8 == 7 {
			text[i] = ' '
		}
	}
	return id + " " + string(text) + "."
}

// gone returns which of the ids do not have their longText.
func (s *soak) gone(client pb.MemoryServiceClient, ids []string) (out []string) {
	s.t.Helper()
	for _, id := range ids {
		resp, err := client.Get(s.t.Context(), &pb.MemoryServiceGetRequest{Ids: []string{id}})
		if err != nil || len(resp.GetMemories()) != 1 || resp.GetMemories()[0].GetContent() != longText(id) {
			out = append(out, id)
		}
	}
	return out
}

// verify returns what was acknowledged, or written by hand, and is nowhere.
func (s *soak) verify() (lost []string) {
	s.t.Helper()
	d := &desk{daemon: s.daemon.Load(), T: s.t, client: s.memoriesOf(), file: s.Data + "/memory.json"}
	process.Within(s.t, patience, "every edit was looked at", func() bool { return len(d.absent(s.hands)) == 0 })
	contents := make([]string, 0, len(s.acked))
	for _, content := range s.acked {
		contents = append(contents, content)
	}
	lost = d.absent(contents)
	for _, day := range s.days {
		date, text, _ := strings.Cut(day, "\x00")
		resp, err := pb.NewLogServiceClient(s.conn.Load()).Get(s.t.Context(), &pb.LogServiceGetRequest{Date: date})
		if err != nil || !strings.Contains(fmt.Sprint(resp), text) {
			lost = append(lost, day)
		}
	}
	s.end(syscall.SIGTERM)
	s.Succeeds(s.t, "check", s.Data)
	return lost
}

// report prints the figures.
func (s *soak) report(took time.Duration, lost []string) {
	for _, text := range lost {
		s.t.Errorf("acknowledged and gone: %.80s", text)
	}
	info, err := os.Stat(s.Data + "/memory.json")
	if err != nil {
		s.t.Fatal(err)
	}
	u := &s.use
	s.t.Logf("%v: %d adds acknowledged, %d refused, %d searches; %d kills, %d edits, %d archives, %d removed files, "+
		"%d removed journals repaired, %d full disks", took.Round(time.Second), len(s.acked), s.refused, s.searches, s.kills,
		s.edits, s.archives, s.removals, s.repairs, s.fullDisks)
	s.t.Logf("lost: %d", len(lost))
	perText := s.recordSize()
	s.t.Logf("acknowledged %.2f MB of text; the journal's record of a memory has %.2f bytes for each byte of its text; "+
		"memory.json has %.2f MB", float64(s.bytes)/1e6, perText, float64(info.Size())/1e6)
	s.t.Logf("bytes written per acknowledged byte of text, with nothing but adds and searches: %s", u.calm.per(u.calmAcked))
	s.t.Logf("bytes written per acknowledged byte of text, with all trouble: %s", u.total().per(s.bytes))
	s.t.Logf("bytes written per byte of an acknowledged record: %.1f with nothing but adds and searches, %.1f with all "+
		"trouble", float64(u.calm.handed())/float64(max(u.calmAcked, 1))/perText,
		float64(u.total().handed())/float64(max(s.bytes, 1))/perText)
	s.t.Logf("memory.json behind: %.1f s at most, %.1f s on average; resident memory %d MB, descriptors %d at most",
		u.maxLag, u.sumLag/float64(max(u.samples, 1)), u.maxResident>>20, u.maxFiles)
	if len(u.late) > 0 {
		s.t.Logf("more than 5 s behind at: %s", strings.Join(u.late, ", "))
	}
}

// recordSize is how many bytes of the journal a memory that was added takes for each byte of its text.
func (s *soak) recordSize() float64 {
	records, texts := 0, 0
	for line := range strings.Lines(s.Succeeds(s.t, "daemon", "dump", s.Data)) {
		var rec struct {
			Actor   string
			Changes []struct {
				Memory struct{ After struct{ Content string } }
			}
		}
		if err := json.Unmarshal([]byte(line), &rec); err != nil {
			s.t.Fatalf("dump: %v", err)
		}
		if rec.Actor == "client" && len(rec.Changes) == 1 && rec.Changes[0].Memory.After.Content != "" {
			records += len(line) + len(`,"crc":"00000000"`)
			texts += len(rec.Changes[0].Memory.After.Content)
		}
	}
	return float64(records) / float64(max(texts, 1))
}
