package e2e_test

import (
	"context"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
	"github.com/memsidecar/memsidecar/internal/memtest"
	"github.com/memsidecar/memsidecar/internal/store/textscrub"
)

// canary stands everywhere before the purge, and nowhere after it.
const canary = `purple "xylophone" <b> 金丝雀`

// traces names the files that hold the canary, raw or escaped, its words, or what the index makes of them.
func (p place) traces(t *testing.T) (found []string) {
	t.Helper()
	texts := textscrub.New([]string{canary, "xylophon", "Xylophon", "金丝雀 ", "丝雀"})
	if texts.Len() < 4 {
		t.Fatal("too short to look for")
	}
	err := filepath.WalkDir(p.Data, func(name string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(name)
		data = memtest.Plain(data)
		if err == nil && (texts.Match(data) || strings.Contains(string(data), "丝雀")) {
			rel, _ := filepath.Rel(p.Data, name)
			found = append(found, rel)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// write puts a file into the data directory.
func (p place) write(t *testing.T, name, content string) {
	t.Helper()
	name = filepath.Join(p.Data, name)
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// plant puts the canary wherever a user can make it go.
func (p place) plant(t *testing.T) {
	t.Helper()
	dir := p.Home()
	say := func(file, text string) string {
		line, _ := json.Marshal(map[string]string{"role": "user", "content": text})
		name := filepath.Join(dir, file)
		if err := os.WriteFile(name, append(line, '\n'), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	old := time.Now().AddDate(0, 0, -35).Format(time.DateOnly)
	p.Succeeds(t, "add", "The other memory stays", "--id", "other")
	p.Succeeds(t, "add", "First it said "+canary+" once", "--id", "c1")
	p.Succeeds(t, "daemon", "publish")
	p.Succeeds(t, "update", "c1", "--content", canary)
	p.Succeeds(t, "add", "They said "+canary+", and more", "--id", "quote", "--space", "work")
	p.Succeeds(t, "log", "add", "Log of "+canary)
	p.Succeeds(t, "log", "add", "Decided on "+canary+" for good", "--at", old+" 14:30")
	p.Succeeds(t, "log", "archive")
	p.Succeeds(t, "memory", "summary", "set", "Knows "+canary)
	p.Succeeds(t, "session", "append", "s1", "--file", say("s1.jsonl", "Remember that the staging host is "+canary+"."))
	p.Succeeds(t, "session", "reflect", "s1")
	p.Succeeds(t, "session", "append", "s2", "--file", say("s2.jsonl", "What about "+canary+"?"))
	p.Succeeds(t, "forget", "quote", "--space", "work", "--reason", "no more "+canary)
	p.Succeeds(t, "search", "xylophone")
	p.Succeeds(t, "daemon", "publish")
	p.Succeeds(t, "add", "One more", "--id", "more")
	p.Succeeds(t, "daemon", "publish") // so that the backup holds it too
	escaped := strings.NewReplacer(`"`, `\"`, "<", `\u003c`, ">", `\u003E`, "金", `\u91d1`, "丝", `\u4e1D`, "雀",
		`\u96c0`).Replace(canary)
	p.write(t, "quarantine/memory-0123456789ab.json", `{"raw":`+canary+`}`)
	p.write(t, "quarantine/memory-0123456789ab.json.reason.txt", "why")
	p.write(t, "memory.json.orig", `{"raw":`+canary+`}`)
	p.write(t, "quarantine/escaped.json", `{"a":"`+escaped+`"}`)
	p.write(t, "quarantine/clean.json", "nothing of it")
	p.write(t, "index/some.cache", "cached "+canary)
	if out := p.Succeeds(t, "get", "c1"); !strings.Contains(out, "staging host") {
		t.Fatalf("the session did not change c1: %s", out)
	}
}

// watched collects the ids of operations as they are sent.
func (p place) watched(ctx context.Context, t *testing.T) <-chan string {
	t.Helper()
	stream, err := pb.NewOperationServiceClient(p.dial(t)).Watch(ctx,
		&pb.OperationServiceWatchRequest{Cursor: "0", IncludeBookkeeping: true}, grpc.WaitForReady(true))
	if err != nil {
		t.Fatal(err)
	}
	ids := make(chan string, 1000)
	go func() {
		defer close(ids)
		for {
			resp, err := stream.Recv()
			if err != nil {
				return
			}
			ids <- resp.GetOperation().GetId()
		}
	}()
	return ids
}

func TestPurgeLeavesNothing(t *testing.T) {
	p := newPlace(t)
	d := p.serve(t)
	p.plant(t)
	places := []string{"memory.json", "memory.json.bak", "memory.json.orig", "logs/", "journal/", "snapshots/", "index/",
		"quarantine/memory", "quarantine/escaped"}
	for _, want := range places {
		if !slices.ContainsFunc(p.traces(t), func(name string) bool { return strings.HasPrefix(name, want) }) {
			t.Fatalf("before the purge the canary is not in %s: %v", want, p.traces(t))
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ids := p.watched(ctx, t)

	if out := p.Fails(t, 2, "memory", "purge", "c1"); !strings.Contains(out, "--yes") {
		t.Errorf("without a terminal and --yes: %s", out)
	}
	before := p.traces(t)
	if out := p.Succeeds(t, "memory", "purge", "c1", "--transcripts", "--dry-run"); !strings.Contains(out,
		"memories") || !strings.Contains(out, "would be erased") {
		t.Errorf("dry run: %s", out)
	}
	if after := p.traces(t); !slices.Equal(before, after) {
		t.Errorf("the dry run changed %v to %v", before, after)
	}
	out := p.Succeeds(t, "memory", "purge", "c1", "--text", canary, "--transcripts", "--yes", "--reason", "asked")
	if !strings.Contains(out, "Purged (operation ") {
		t.Errorf("purge: %s", out)
	}
	if found := p.traces(t); len(found) > 0 {
		t.Fatalf("while the daemon runs it is in %v", found)
	}
	if _, err := os.Stat(filepath.Join(p.Data, "quarantine/clean.json")); err != nil {
		t.Error(err)
	}
	p.Succeeds(t, "add", "Written after the purge", "--id", "after")
	last := int64(0)
	for id := range ids {
		digits, _, _ := strings.Cut(id, "-")
		n, err := strconv.ParseInt(digits, 10, 64)
		if err != nil || n <= last {
			t.Fatalf("operation %s was sent after %d: %v", id, last, err)
		}
		last = n
		if rec, err := pb.NewOperationServiceClient(p.dial(t)).Get(t.Context(),
			&pb.OperationServiceGetRequest{Id: id}); err != nil {
			t.Fatal(err)
		} else if strings.Contains(rec.String(), "xylophone") {
			t.Fatalf("operation %s still holds it", id)
		} else if len(rec.GetOperation().GetChanges()) > 0 &&
			rec.GetOperation().GetChanges()[0].GetMemory().GetId() == "after" {
			break
		}
	}
	cancel()
	if out := p.Succeeds(t, "history", "c1"); !strings.Contains(out, "[purged]") {
		t.Errorf("history: %s", out)
	}
	if out := p.Succeeds(t, "ops"); !strings.Contains(out, "asked") {
		t.Errorf("ops: %s", out)
	}
	d.Stop(t)
	if found := p.traces(t); len(found) > 0 {
		t.Fatalf("after the stop it is in %v", found)
	}
	if out := p.Succeeds(t, "check"); strings.Contains(out, "damage") && !strings.Contains(out, "no damage") {
		t.Errorf("check: %s", out)
	}
	d = p.serve(t)
	p.afterPurge(t)
	d.Stop(t)
}

// afterPurge requires that the rest is there, that reflection does not bring the value back, and that an explicit add
// does.
func (p place) afterPurge(t *testing.T) {
	t.Helper()
	if out := p.Succeeds(t, "get", "other", "after"); !strings.Contains(out, "The other memory stays") ||
		!strings.Contains(out, "Written after the purge") {
		t.Errorf("other memories: %s", out)
	}
	p.Fails(t, 1, "get", "c1")
	if out := p.Succeeds(t, "list", "--json"); strings.Contains(out, "xylophone") {
		t.Errorf("list: %s", out)
	}
	file := filepath.Join(p.Home(), "s3.jsonl")
	first, err := os.ReadFile(filepath.Join(p.Home(), "s1.jsonl"))
	if err == nil {
		err = os.WriteFile(file, append(first, `{"role":"user","content":"Remember that the spare host is green."}`+
			"\n"...), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	p.Succeeds(t, "session", "append", "s3", "--file", file)
	p.Succeeds(t, "session", "reflect", "s3")
	if out := p.Succeeds(t, "list", "--json"); strings.Contains(out, "xylophone") ||
		!strings.Contains(out, "spare host") {
		t.Errorf("after another reflection: %s", out)
	}
	p.Succeeds(t, "add", canary, "--id", "again")
	if out := p.Succeeds(t, "search", "xylophone"); !strings.Contains(out, "xylophone") {
		t.Errorf("search after an explicit add: %s", out)
	}
}

// TestPurgeFinishedAtStart kills the daemon while it purges and requires that nothing or all of it has happened after
// the next start.
func TestPurgeFinishedAtStart(t *testing.T) {
	for _, moment := range []struct{ name, glob string }{
		{"at once", "LOCK"},
		{"with the intent on the disk", "purge.json"},
		{"with the next segment begun", "journal/*[2-9]*.jsonl"},
		{"with a segment being rewritten", "journal/*.tmp-*"},
		{"with the previous snapshot replaced", "snapshots/MANIFEST.prev.json.tmp-*"},
	} {
		t.Run(moment.name, func(t *testing.T) {
			p := newPlace(t)
			d := p.serve(t)
			p.plant(t)
			client := p.memories(t)
			done := make(chan error, 1)
			go func() {
				_, err := client.Purge(t.Context(),
					&pb.MemoryServicePurgeRequest{Ids: []string{"c1"}, Texts: []string{canary}, Transcripts: true})
				done <- err
			}()
			finished, acknowledged := false, false
			for !finished {
				if found, _ := filepath.Glob(filepath.Join(p.Data, moment.glob)); len(found) > 0 {
					break // a moment that is missed is another one: all are allowed
				}
				select {
				case err := <-done:
					finished, acknowledged = true, err == nil
				default:
				}
			}
			d.Kill()
			if !finished {
				acknowledged = <-done == nil
			}
			d = p.serve(t)
			if out := p.Succeeds(t, "list", "--json"); strings.Contains(out, "xylophone") {
				if acknowledged {
					t.Error("it was acknowledged and has not happened")
				}
				p.Succeeds(t, "memory", "purge", "c1", "--text", canary, "--transcripts", "--yes")
			}
			if found := p.traces(t); len(found) > 0 {
				t.Errorf("left in %v", found)
			}
			d.Stop(t)
			p.Succeeds(t, "check")
			if found := p.traces(t); len(found) > 0 {
				t.Errorf("after the stop it is in %v", found)
			}
		})
	}
}
