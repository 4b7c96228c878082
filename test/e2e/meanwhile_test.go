package e2e_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"google.golang.org/protobuf/types/known/fieldmaskpb"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
	"github.com/memsidecar/memsidecar/internal/memtest"
	"github.com/memsidecar/memsidecar/internal/memtest/fakellm"
)

// slowModel starts a model's server whose first reply waits until meanwhile has returned, and points the daemon's
// environment to it.
func slowModel(t *testing.T, reply func(fakellm.Request) string, meanwhile func()) *fakellm.Server {
	t.Helper()
	model := fakellm.New(fakellm.Step{Answer: reply})
	var first sync.Once
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		first.Do(meanwhile)
		model.ServeHTTP(w, r)
	}))
	t.Cleanup(srv.Close)
	fakellm.UseServer(t, srv.URL)
	return model
}

func updates(pairs ...any) string {
	var items []string
	for i := 0; i < len(pairs); i += 2 {
		text, _ := json.Marshal(pairs[i+1])
		items = append(items, fmt.Sprintf(`{"action":"UPDATE","target":%d,"category":"facts","title":"","content":%s,`+
			`"salience":0.5,"why":""}`, pairs[i], text))
	}
	return `{"summary":"They talked.","history":"","items":[` + strings.Join(items, ",") + `],"rules":[]}`
}

// TestWriteDuringQuestion: while the model thinks, clients go on writing, without waiting for it. What they wrote
// survives its reply; what they changed makes its proposal stale, and nothing else.
func TestWriteDuringQuestion(t *testing.T) {
	p := newPlace(t)
	memories := p.memories(t)
	model := slowModel(t, func(q fakellm.Request) string {
		return updates(q.Target("We use Postgres 14"), "We use Postgres 16", q.Target("The cat is called Miso"),
			"The cat is called Miso and likes fish")
	}, func() {
		_, err := memories.Update(t.Context(),
			&pb.MemoryServiceUpdateRequest{Id: "m1", Patch: &pb.MemoryPatch{Content: new("We use MariaDB 11")},
				UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"content"}}})
		if err == nil {
			err = add(t.Context(), memories, "meanwhile")
		}
		if err != nil {
			t.Error(err)
		}
	})
	d := p.serve(t)
	defer d.Stop(t)
	sessions := pb.NewSessionServiceClient(p.dial(t))
	_, err := memories.Add(t.Context(), &pb.MemoryServiceAddRequest{Items: []*pb.NewMemory{
		{Id: "m1", Category: "facts", Content: "We use Postgres 14"},
		{Id: "m2", Category: "facts", Content: "The cat is called Miso"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	res, err := sessions.Reflect(t.Context(),
		&pb.SessionServiceReflectRequest{SessionId: "s",
			Messages: []*pb.SessionMessage{{Role: pb.Role_ROLE_USER, Content: "We use Postgres 16, and the cat Miso likes fish"}}})
	if err != nil || len(res.GetItems()) != 2 {
		t.Fatalf("%v, %v", res, err)
	}
	if o := res.GetResult().GetOutcomes(); o[0].GetReason() != "TARGET_CHANGED" ||
		o[1].GetStatus() != pb.OutcomeStatus_OUTCOME_STATUS_APPLIED {
		t.Errorf("%v", o)
	}
	got, err := memories.Get(t.Context(), &pb.MemoryServiceGetRequest{Ids: []string{"m1", "m2", "meanwhile"}})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"We use MariaDB 11", "The cat is called Miso and likes fish", "this is meanwhile"} {
		if i >= len(got.GetMemories()) || got.GetMemories()[i].GetContent() != want {
			t.Errorf("%v, want %q", got.GetMemories(), want)
		}
	}
	if n := model.Stats().Requests; n != 1 {
		t.Errorf("asked %d times", n)
	}
}

// TestPurgeDuringQuestion: what is purged while the model thinks is in no file afterwards, though the model was shown
// it and says it.
func TestPurgeDuringQuestion(t *testing.T) {
	const text = "under the blue lagoon stone"
	p := newPlace(t)
	memories := p.memories(t)
	var asked atomic.Int64
	model := slowModel(t, func(q fakellm.Request) string {
		if asked.Add(1) == 1 {
			return updates(q.Target("The spare key lies"), "The spare key lies "+text+" or in the shed")
		}
		if strings.Contains(strings.Join(q.Messages, ""), text) {
			t.Error("the second question holds what was purged")
		}
		return updates()
	}, func() {
		if _, err := memories.Purge(t.Context(), &pb.MemoryServicePurgeRequest{Texts: []string{text}}); err != nil {
			t.Error(err)
		}
	})
	d := p.serve(t)
	sessions := pb.NewSessionServiceClient(p.dial(t))
	if _, err := memories.Add(t.Context(),
		&pb.MemoryServiceAddRequest{Items: []*pb.NewMemory{
			{Id: "m1", Category: "facts", Content: "The spare key lies " + text}}}); err != nil {
		t.Fatal(err)
	}
	_, err := sessions.Reflect(t.Context(),
		&pb.SessionServiceReflectRequest{SessionId: "s",
			Messages: []*pb.SessionMessage{{Role: pb.Role_ROLE_USER, Content: "Remember that the spare key lies " + text +
				" or in the shed"}}})
	if err != nil {
		t.Fatal(err)
	}
	p.Succeeds(t, "daemon", "publish")
	d.Stop(t)
	if n := model.Stats().Requests; n != 2 {
		t.Errorf("asked %d times", n)
	}
	err = filepath.WalkDir(p.Data, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		if strings.Contains(string(memtest.Plain(data)), text) {
			t.Errorf("%s holds it", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
