package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
	"github.com/memsidecar/memsidecar/internal/memory"
)

// demoSecrets stand in the recorded session: a key, a password, and a passage marked private.
var demoSecrets = []string{"sk-test-9vQ2mZx7LrT4bKf8WcY1pHn6DsJ3gEa5", "Kelp-7!harbour-Moss42", "体检报告"}

// archiveAge is one day more than the age at which logs are archived.
const archiveAge = 31

// embedWait is how long the vectors of a few memories may take on a machine that is busy otherwise.
const embedWait = 30 * time.Second

func (d *demo) steps() []step {
	return []step{
		{"started a daemon", "A local process on a Unix socket; no database, no network, no model.", d.stepStart},
		{"replayed a recorded session", "Each message is on the disk before it is acknowledged.", d.stepReplay},
		{"learnt from it", "Preferences, facts, tasks, and what to do about tools that failed: one operation, one undo.", d.stepReflect},
		{"reflected it again", "A session is learnt from once, however often a hook fires.", d.stepReflectAgain},
		{"searched", "English and Chinese alike; and nothing rather than noise.", d.stepSearch},
		{"opened another session", "What its agent should know from the beginning, within a budget of tokens, fenced as data.", d.stepContext},
		{"recalled for a prompt", "What fits, as old as it is, and only when it fits.", d.stepRecall},
		{"looked for the secrets", "Secrets and <private> passages are taken out before anything is written.", d.stepSecrets},
		{"took a change back", "Nothing is destroyed silently: every change is listed and can be undone.", d.stepUndo},
		{"kept a view", "The files that an agent reads, both ways: what is changed in them is an operation like any other.", d.stepView},
		{"archived an old log", "Logs become a summary and memories after 30 days, inside the daemon.", d.stepArchive},
		{"killed the daemon in the middle of writes", "Acknowledged means durable: the reply comes after the sync.", d.stepKill},
		{"checked everything", "", d.stepCheck},
	}
}

func (d *demo) stepStart(ctx context.Context) (string, error) {
	took, err := d.start(ctx)
	if err != nil {
		return "", err
	}
	d.figure("start_ms", millis(took))
	return fmt.Sprintf("process %d, ready after %s", d.daemon.Process.Pid, short(took)), nil
}

func millis(t time.Duration) float64 { return float64(t.Microseconds()) / 1000 }

func (d *demo) stepReplay(ctx context.Context) (string, error) {
	messages, err := readMessages("the recorded session", bytes.NewReader(demoSession))
	if err != nil {
		return "", err
	}
	began := d.app.now()
	resp, err := appendMessages(ctx, d.c, "", d.session, messages)
	if err != nil {
		return "", err
	}
	took := d.app.now().Sub(began)
	if n := len(resp.GetResult().GetOutcomes()); n != len(messages) || resp.GetNextSeq() != int64(n)+1 {
		return "", fmt.Errorf("%d messages were sent, %d are kept", len(messages), resp.GetNextSeq()-1)
	}
	d.figure("messages", len(messages))
	d.figure("append_ms", millis(took))
	return fmt.Sprintf("%d messages in %s", len(messages), short(took)), nil
}

func (d *demo) reflect(ctx context.Context) (*pb.SessionServiceReflectResponse, time.Duration, error) {
	began := d.app.now()
	resp, err := d.c.session.Reflect(ctx, &pb.SessionServiceReflectRequest{SessionId: d.session})
	return resp, d.app.now().Sub(began), err
}

func (d *demo) stepReflect(ctx context.Context) (string, error) {
	_, took, err := d.reflect(ctx)
	if err != nil {
		return "", err
	}
	memories, err := d.active(ctx)
	if err != nil {
		return "", err
	}
	d.learnt = map[string]string{}
	byCategory := map[string]int64{}
	tools := 0
	for _, m := range memories {
		d.learnt[m.GetId()] = m.GetContent()
		byCategory[m.GetCategory()]++
		if m.GetCategory() == "procedural" && m.GetContext().GetTool() != "" {
			tools++
		}
	}
	if len(d.learnt) == 0 || tools == 0 {
		return "", fmt.Errorf("%d memories and %d about tools were learnt", len(d.learnt), tools)
	}
	d.figure("learnt", len(d.learnt))
	d.figure("reflect_ms", millis(took))
	return fmt.Sprintf("%s in %s (%s)", plural(int64(len(d.learnt)), "memory", "memories"), short(took), counts(byCategory)), nil
}

func (d *demo) active(ctx context.Context) ([]*pb.Memory, error) {
	all, err := listMemories(ctx, d.c, &pb.MemoryServiceListRequest{}, 0)
	return all.GetMemories(), err
}

func (d *demo) stepReflectAgain(ctx context.Context) (string, error) {
	before, err := d.active(ctx)
	if err != nil {
		return "", err
	}
	if _, _, err := d.reflect(ctx); err != nil {
		return "", err
	}
	after, err := d.active(ctx)
	if err != nil {
		return "", err
	}
	if len(after) != len(before) {
		return "", fmt.Errorf("there were %d memories, now there are %d", len(before), len(after))
	}
	return fmt.Sprintf("still %s, nothing doubled", plural(int64(len(after)), "memory", "memories")), nil
}

// find returns the first result of a search.
func (d *demo) find(ctx context.Context, query string) (string, error) {
	resp, err := d.c.search.Search(ctx, &pb.SearchServiceSearchRequest{Query: query, Touch: new(false)})
	if err != nil || len(resp.GetHits()) == 0 {
		return "", err
	}
	return resp.GetHits()[0].GetMemory().GetContent(), nil
}

// embedded waits for the vectors of what was just written: until then it goes by words alone beside memories that do not.
func (d *demo) embedded(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, embedWait)
	defer cancel()
	for {
		stats, err := d.c.memory.Stats(ctx, &pb.MemoryServiceStatsRequest{})
		if err != nil {
			return err
		}
		waiting := int64(0)
		for _, s := range stats.GetSpaces() {
			waiting += s.GetEmbeddingWaiting()
		}
		if waiting == 0 {
			return nil
		}
		if !pause(ctx, pollEvery) {
			return fmt.Errorf("%s still had no vector after %s", plural(waiting, "memory", "memories"), embedWait)
		}
	}
}

func (d *demo) stepSearch(ctx context.Context) (string, error) {
	if err := d.embedded(ctx); err != nil {
		return "", err
	}
	began := d.app.now()
	var lines []string
	queries := []struct{ query, want string }{
		{"how big should commits be", "small commits"},
		{"在 staging 上跑迁移之前", "dry run"},
		{"小行星采矿的税率", ""},
	}
	for _, q := range queries {
		got, err := d.find(ctx, q.query)
		if err != nil {
			return "", err
		}
		if q.want == "" && got != "" || !strings.Contains(got, q.want) {
			return "", fmt.Errorf("%q found %q, not %q", q.query, got, q.want)
		}
		if got == "" {
			got = "nothing, and says so"
		}
		lines = append(lines, fmt.Sprintf("\n    %s → %s", q.query, oneLine(got)))
	}
	took := d.app.now().Sub(began) / time.Duration(len(queries))
	d.figure("search_ms", millis(took))
	return short(took) + " each" + strings.Join(lines, ""), nil
}

func (d *demo) stepSecrets(ctx context.Context) (string, error) {
	if _, err := d.c.admin.Checkpoint(ctx, &pb.AdminServiceCheckpointRequest{}); err != nil {
		return "", err
	}
	for _, s := range demoSecrets {
		if !bytes.Contains(demoSession, []byte(s)) {
			return "", errors.New("the recorded session does not hold the secret that is looked for")
		}
	}
	files, size := 0, 0
	err := filepath.WalkDir(d.data, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil // replaced since it was listed
		}
		files++
		size += len(data)
		for _, s := range demoSecrets {
			if bytes.Contains(data, []byte(s)) {
				return fmt.Errorf("a secret stands in %s", path)
			}
		}
		return err
	})
	if err != nil {
		return "", err
	}
	if files < 2 {
		return "", fmt.Errorf("only %d files were found in %s", files, d.data)
	}
	d.figure("files", files)
	return fmt.Sprintf("read all %d files (%d KiB), none holds any of the %d", files, (size+1023)/1024, len(demoSecrets)), nil
}

func (d *demo) stepUndo(ctx context.Context) (string, error) {
	var id string
	for k, content := range d.learnt {
		if strings.Contains(content, "small commits") {
			id = k
		}
	}
	gone, err := d.c.memory.Delete(ctx, &pb.MemoryServiceDeleteRequest{Ids: []string{id}})
	if err != nil {
		return "", err
	}
	if got, err := d.find(ctx, "how big should commits be"); err != nil || strings.Contains(got, d.learnt[id]) {
		return "", errors.Join(err, errors.New("a forgotten memory was found"))
	}
	op := gone.GetResult().GetOperation()
	back, err := d.c.ops.Undo(ctx, &pb.OperationServiceUndoRequest{Number: op})
	if err != nil {
		return "", err
	}
	if err := d.embedded(ctx); err != nil {
		return "", err
	}
	if got, err := d.find(ctx, "how big should commits be"); err != nil || got != d.learnt[id] {
		return "", errors.Join(err, fmt.Errorf("after the undo the search found %q", got))
	}
	return fmt.Sprintf("operation %d forgot a memory, operation %d took that back, and it is found again", op, back.GetResult().GetOperation()), nil
}

func (d *demo) stepArchive(ctx context.Context) (string, error) {
	at := d.app.now().AddDate(0, 0, -archiveAge)
	_, err := d.c.logs.Append(ctx, &pb.LogServiceAppendRequest{Entries: []*pb.NewLogEntry{
		{At: timestamppb.New(at), Content: "Moved the timetable service to the new machine."},
		{At: timestamppb.New(at), Type: "auto_extract", Category: "facts", Content: "The timetable service listens on port 8460."},
	}})
	if err != nil {
		return "", err
	}
	resp, err := d.c.admin.Archive(ctx, &pb.AdminServiceArchiveRequest{})
	if err != nil {
		return "", err
	}
	date := at.Format(memory.DateLayout)
	i := slices.IndexFunc(resp.GetDays(), func(a *pb.ArchivedDay) bool {
		return a.GetDate() == date && a.GetAction() == pb.ArchiveAction_ARCHIVE_ACTION_ARCHIVE
	})
	if i < 0 {
		return "", errors.New("the log was not archived")
	}
	day := resp.GetDays()[i]
	log, err := d.c.logs.Get(ctx, &pb.LogServiceGetRequest{Date: day.GetDate()})
	if err != nil {
		return "", err
	}
	if !log.GetDay().GetArchived() || log.GetDay().GetSummary() == "" {
		return "", fmt.Errorf("the log of %s has no summary", day.GetDate())
	}
	return fmt.Sprintf("%s, %d days old, is summarised and %s kept\n    “%s”", day.GetDate(), archiveAge,
		plural(int64(len(day.GetPromoted())), "memory", "memories"), oneLine(log.GetDay().GetSummary())), nil
}

func (d *demo) stepCheck(ctx context.Context) (string, error) {
	resp, err := d.c.admin.Check(ctx, &pb.AdminServiceCheckRequest{})
	if err != nil {
		return "", err
	}
	if len(resp.GetProblems()) > 0 {
		return "", errors.New(strings.Join(resp.GetProblems(), "; "))
	}
	if err := d.end(syscall.SIGTERM); err != nil {
		return "", err
	}
	return fmt.Sprintf("whole and consistent, up to position %d of the journal; stopped the daemon", resp.GetLsn()), nil
}
