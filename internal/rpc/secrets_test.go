package rpc_test

import (
	"io/fs"
	"strings"
	"testing"

	"google.golang.org/protobuf/types/known/structpb"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/memtest"
	"github.com/memsidecar/memsidecar/internal/store"
)

const aSecret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"

// TestNoSecretReachesTheDisk: a secret in any field of a request is in no file of the data directory.
func TestNoSecretReachesTheDisk(t *testing.T) {
	d := start(t)
	ctx := t.Context()
	working := pb.NewSessionServiceClient(d.conn)
	data, err := structpb.NewStruct(map[string]any{"host": "db", "password": aSecret})
	if err != nil {
		t.Fatal(err)
	}
	dir, note := t.TempDir()+"/"+aSecret, "use "+aSecret // the daemon makes the directory
	must[*pb.SessionServiceStartResponse](t)(d.session.Start(ctx, &pb.SessionServiceStartRequest{
		SessionId: "s", Cwd: "https://x:" + aSecret + "@example.com/a", IdempotencyKey: aSecret,
	}))
	must[*pb.SessionServiceUpdateWorkingMemoryResponse](t)(working.UpdateWorkingMemory(ctx,
		&pb.SessionServiceUpdateWorkingMemoryRequest{SessionId: "s", RunDirectory: &dir, Summary: &note,
			FilesRead: []string{"/work/" + aSecret + ".txt"}, ToolsUsed: []string{aSecret}}))
	must[*pb.MemoryServiceAddResponse](t)(d.memory.Add(ctx, &pb.MemoryServiceAddRequest{
		Items: []*pb.NewMemory{{Content: "The token is " + aSecret, Title: "for " + aSecret, Tags: []string{aSecret},
			StructuredData: data}},
		IdempotencyKey: aSecret + "x", Reason: "because of " + aSecret,
	}))
	again := must[*pb.SessionServiceStartResponse](t)(d.session.Start(ctx, &pb.SessionServiceStartRequest{
		SessionId: "s", Cwd: "https://x:" + aSecret + "@example.com/a", IdempotencyKey: aSecret,
	}))
	if !again.GetResult().GetReplayed() {
		t.Errorf("the key was forgotten: %v", again)
	}
	if _, err := d.store.Checkpoint(ctx); err != nil {
		t.Fatal(err)
	}
	seen := 0
	err = fs.WalkDir(d.root.FS(), ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := fs.ReadFile(d.root.FS(), name)
		if strings.Contains(string(memtest.Plain(text)), aSecret) {
			t.Errorf("%s holds the secret", name)
		}
		seen++
		return err
	})
	if err != nil || seen == 0 {
		t.Errorf("looked at %d files: %v", seen, err)
	}
}

// TestNoAgentIsShownASecret: what a person wrote into a published file stays there as it is; no block has it.
func TestNoAgentIsShownASecret(t *testing.T) {
	d := start(t)
	ctx := t.Context()
	_, err := d.store.Update(ctx, store.Meta{Space: memory.DefaultSpace, Actor: "edit"}, func(tx *store.Tx) error {
		tx.SetSummary("The staging token is " + aSecret)
		return tx.Put(&memory.Memory{ID: "m", Category: "facts", Content: "The staging gateway uses the token " + aSecret,
			Salience: 0.9, Confidence: 1, Status: memory.Active, Source: memory.SourceUser})
	})
	if err != nil {
		t.Fatal(err)
	}
	recalled := must[*pb.SearchServiceRecallResponse](t)(d.search.Recall(ctx,
		&pb.SearchServiceRecallRequest{Text: "which token does the staging gateway use?"}))
	begun := must[*pb.SessionServiceStartResponse](t)(d.session.Start(ctx,
		&pb.SessionServiceStartRequest{SessionId: "s", Context: &pb.ContextOptions{}}))
	for name, block := range map[string]string{"recall": recalled.GetBlock(), "context": begun.GetContext()} {
		if strings.Contains(block, aSecret) || !strings.Contains(block, "[redacted:github-token]") {
			t.Errorf("%s: %s", name, block)
		}
	}
	// A change of something else leaves the text as its author wrote it.
	pinned := true
	got := must[*pb.MemoryServiceUpdateResponse](t)(d.memory.Update(ctx,
		&pb.MemoryServiceUpdateRequest{Id: "m", Patch: &pb.MemoryPatch{Pinned: &pinned}}))
	if !strings.Contains(got.GetMemory().GetContent(), aSecret) {
		t.Errorf("the text became %q", got.GetMemory().GetContent())
	}
}

// TestRecallSaysWhatIsFromATool: a rule that quotes the output of a tool says so.
func TestRecallSaysWhatIsFromATool(t *testing.T) {
	d := start(t)
	_, err := d.store.Update(t.Context(), store.Meta{Space: memory.DefaultSpace, Actor: "reflect"},
		func(tx *store.Tx) error {
			return tx.Put(&memory.Memory{ID: "m", Category: memory.Procedural, Salience: 0.8, Confidence: 1,
				Status: memory.Active, Source: memory.SourceReflection,
				Content: `The tool terminal failed (not_found) for: make deploy; error: "no such target"`,
				More:    &memory.More{Context: &memory.Context{Tool: "terminal", ErrorType: "not_found", Signature: "shell(make deploy)!not_found"}},
			})
		})
	if err != nil {
		t.Fatal(err)
	}
	got := must[*pb.SearchServiceRecallResponse](t)(d.search.Recall(t.Context(),
		&pb.SearchServiceRecallRequest{Text: "why did the terminal tool fail at make deploy?"}))
	if !strings.Contains(got.GetBlock(), "from tool output") {
		t.Errorf("got %q", got.GetBlock())
	}
}
