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
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
	"github.com/memsidecar/memsidecar/internal/memory"
)

// demoSecrets are in the recorded session: an API key, a password, and a passage in <private> tags.
var demoSecrets = []string{"sk-test-9vQ2mZx7LrT4bKf8WcY1pHn6DsJ3gEa5", "Kelp-7!harbour-Moss42", "体检报告"}

// archiveAge is one day more than the age at which logs are archived.
const archiveAge = 31

// embedWait limits the wait for embeddings, which are made at low priority: a busy machine takes long.
const embedWait = 10 * time.Second

// steps lists the steps in order.
func (d *demo) steps() []step {
	return []step{
		{"started a daemon", "A local process on a Unix socket. It needs no database, no network and no language model.", d.stepStart},
		{"replayed a recorded session", "Every message is synced to disk before it is acknowledged.", d.stepReplay},
		{"learned from it", "Preferences, facts, tasks, and rules for failed tools; all in one operation with one undo.", d.stepReflect},
		{"reflected it again", "A session is reflected once, however often a hook fires.", d.stepReflectAgain},
		{"searched", "In English and Chinese. Irrelevant memories are omitted.", d.stepSearch},
		{"started another session", "Its start context fits a token budget and is fenced as data.", d.stepContext},
		{"recalled for a prompt", "Only relevant memories, with their age.", d.stepRecall},
		{"searched the files for secrets", "Secrets and <private> passages are redacted before anything is written.",
			d.stepSecrets},
		{"undid a change", "Every change is listed and can be undone.", d.stepUndo},
		{"synced a view", "Markdown files for agents. An edit of these files is an operation like any other.",
			d.stepView},
		{"archived an old log", "After 30 days the daemon turns a log into a summary and memories.", d.stepArchive},
		{"killed the daemon during writes", "Acknowledged means durable: the daemon replies after the sync.",
			d.stepKill},
		{"checked all data", "", d.stepCheck},
	}
}

// stepStart starts the daemon.
func (d *demo) stepStart(ctx context.Context) (string, error) {
	took, err := d.start(ctx)
	if err != nil {
		return "", err
	}
	d.record("start_ms", millis(took))
	return fmt.Sprintf("process %d, ready after %s", d.daemon.Process.Pid, short(took)), nil
}

// millis is a duration in milliseconds.
func millis(t time.Duration) float64 { return float64(t.Microseconds()) / 1000 }

// stepReplay sends the recorded session.
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
		return "", fmt.Errorf("%d messages were sent, %d are stored", len(messages), resp.GetNextSeq()-1)
	}
	d.record("messages", len(messages))
	d.record("append_ms", millis(took))
	return fmt.Sprintf("%d messages in %s", len(messages), short(took)), nil
}

// reflect reflects the recorded session.
func (d *demo) reflect(ctx context.Context) (*pb.SessionServiceReflectResponse, time.Duration, error) {
	began := d.app.now()
	resp, err := d.c.session.Reflect(ctx, &pb.SessionServiceReflectRequest{SessionId: d.session})
	return resp, d.app.now().Sub(began), err
}

// stepReflect checks what was learned from the session.
func (d *demo) stepReflect(ctx context.Context) (string, error) {
	_, took, err := d.reflect(ctx)
	if err != nil {
		return "", err
	}
	memories, err := d.active(ctx)
	if err != nil {
		return "", err
	}
	d.learned = map[string]string{}
	byCategory := map[string]int64{}
	tools := 0
	for _, m := range memories {
		d.learned[m.GetId()] = m.GetContent()
		byCategory[m.GetCategory()]++
		if m.GetCategory() == "procedural" && m.GetContext().GetTool() != "" {
			tools++
		}
	}
	if len(d.learned) == 0 || tools == 0 {
		return "", fmt.Errorf("%d memories and %d about tools were learned", len(d.learned), tools)
	}
	d.record("learned", len(d.learned))
	d.record("reflect_ms", millis(took))
	return fmt.Sprintf("%s in %s (%s)", plural(int64(len(d.learned)), "memory", "memories"), short(took),
		counts(byCategory)), nil
}

// active lists the active memories.
func (d *demo) active(ctx context.Context) ([]*pb.Memory, error) {
	all, err := listMemories(ctx, d.c, &pb.MemoryServiceListRequest{}, 0)
	return all.GetMemories(), err
}

// stepReflectAgain checks that a second reflection changes nothing.
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
	return fmt.Sprintf("still %s, no duplicates", plural(int64(len(after)), "memory", "memories")), nil
}

// find returns the first result of a search.
func (d *demo) find(ctx context.Context, query string) (string, error) {
	resp, err := d.c.search.Search(ctx, &pb.SearchServiceSearchRequest{Query: query, NoTouch: true})
	if err != nil || len(resp.GetHits()) == 0 {
		return "", err
	}
	return resp.GetHits()[0].GetMemory().GetContent(), nil
}

// waitEmbedded waits until all memories are embedded, or for embedWait: then words find what the steps look for.
func (d *demo) waitEmbedded(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, embedWait)
	defer cancel()
	for {
		stats, err := d.c.memory.Stats(ctx, &pb.MemoryServiceStatsRequest{})
		// The deadline that gRPC sees can pass a moment before that of ctx.
		if ctx.Err() != nil || status.Code(err) == codes.DeadlineExceeded {
			return nil
		} else if err != nil {
			return err
		}
		waiting := int64(0)
		for _, s := range stats.GetSpaces() {
			waiting += s.GetEmbeddingPending()
		}
		if waiting == 0 || !pause(ctx, pollEvery) {
			return nil
		}
	}
}

// stepSearch searches in two languages, and for something that is not there.
func (d *demo) stepSearch(ctx context.Context) (string, error) {
	if err := d.waitEmbedded(ctx); err != nil {
		return "", err
	}
	began := d.app.now()
	var lines []string
	queries := []struct{ query, want string }{
		{"how big should commits be", "small commits"},
		{"在 staging 上跑迁移之前", "dry run"},
	}
	for _, q := range queries {
		got, err := d.find(ctx, q.query)
		if err != nil {
			return "", err
		}
		if !strings.Contains(got, q.want) {
			return "", fmt.Errorf("%q found %q, not %q", q.query, got, q.want)
		}
		lines = append(lines, fmt.Sprintf("\n    %s → %s", q.query, oneLine(got)))
	}
	took := d.app.now().Sub(began) / time.Duration(len(queries))
	d.record("search_ms", millis(took))
	return short(took) + " each" + strings.Join(lines, ""), nil
}

// stepSecrets publishes the files, then searches all files of the data directory for the secrets.
func (d *demo) stepSecrets(ctx context.Context) (string, error) {
	if _, err := d.c.files.Publish(ctx, &pb.FileServicePublishRequest{}); err != nil {
		return "", err
	}
	for _, s := range demoSecrets {
		if !bytes.Contains(demoSession, []byte(s)) {
			return "", errors.New("the recorded session does not contain the secret")
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
				return fmt.Errorf("%s contains a secret", path)
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
	d.record("files", files)
	return fmt.Sprintf("none of %d files (%d KiB) contains any of the %d secrets", files, (size+1023)/1024,
		len(demoSecrets)), nil
}

// stepUndo retires a memory and undoes that.
func (d *demo) stepUndo(ctx context.Context) (string, error) {
	var id string
	for k, content := range d.learned {
		if strings.Contains(content, "small commits") {
			id = k
		}
	}
	deleted, err := d.c.memory.Delete(ctx, &pb.MemoryServiceDeleteRequest{Ids: []string{id}})
	if err != nil {
		return "", err
	}
	if got, err := d.find(ctx, "how big should commits be"); err != nil || strings.Contains(got, d.learned[id]) {
		return "", errors.Join(err, errors.New("the search found a retired memory"))
	}
	op := deleted.GetResult().GetOperationId()
	undone, err := d.c.ops.Undo(ctx, &pb.OperationServiceUndoRequest{Id: op})
	if err != nil {
		return "", err
	}
	if err := d.waitEmbedded(ctx); err != nil {
		return "", err
	}
	if got, err := d.find(ctx, "how big should commits be"); err != nil || got != d.learned[id] {
		return "", errors.Join(err, fmt.Errorf("after the undo the search found %q", got))
	}
	return fmt.Sprintf("operation %s retired a memory, operation %s undid that, and a search finds it again", op,
		undone.GetResult().GetOperationId()), nil
}

// stepArchive adds an old log and lets the daemon archive it.
func (d *demo) stepArchive(ctx context.Context) (string, error) {
	at := d.app.now().AddDate(0, 0, -archiveAge)
	_, err := d.c.logs.Append(ctx, &pb.LogServiceAppendRequest{Entries: []*pb.NewLogEntry{
		{At: timestamppb.New(at), Content: "Moved the timetable service to the new machine."},
		{At: timestamppb.New(at), Type: "auto_extract", Category: "facts",
			Content: "The timetable service listens on port 8460."},
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
	return fmt.Sprintf("%s, %d days old, now has a summary, and %s became permanent\n    “%s”", day.GetDate(),
		archiveAge,
		plural(int64(len(day.GetPromoted())), "memory", "memories"), oneLine(log.GetDay().GetSummary())), nil
}

// stepCheck checks the data and stops the daemon.
func (d *demo) stepCheck(ctx context.Context) (string, error) {
	resp, err := d.c.admin.Check(ctx, &pb.AdminServiceCheckRequest{})
	if err != nil {
		return "", err
	}
	if len(resp.GetProblems()) > 0 {
		return "", errors.New(strings.Join(resp.GetProblems(), "; "))
	}
	if err := d.stop(); err != nil {
		return "", err
	}
	return fmt.Sprintf("intact up to journal position %s; stopped the daemon", resp.GetPosition()), nil
}
