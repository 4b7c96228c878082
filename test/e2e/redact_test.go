package e2e_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
	"github.com/memsidecar/memsidecar/internal/memtest"
	"github.com/memsidecar/memsidecar/internal/memtest/fakellm"
)

// TestSecretsEverywhere sends 200 made-up secrets down every path into the daemon and looks for them in every file it
// has, in what it logged, in what it printed and in what it asked the model. The model says back what it was told in
// its own words, so that its replies are a path too.
func TestSecretsEverywhere(t *testing.T) {
	p := newPlace(t)
	secrets := memtest.Secrets(7, 200)
	var told atomic.Int64
	model := fakellm.New(fakellm.Step{Answer: func(q fakellm.Request) string {
		s := secrets[int(told.Add(1))%len(secrets)].Text // as if it had found it somewhere
		text, _ := json.Marshal("It was said: " + s)
		if strings.Contains(q.System, "NOOP: a known memory") {
			return fmt.Sprintf(`{"action":"UPDATE","target":1,"content":%s,"why":%[1]s}`, text)
		}
		return fmt.Sprintf(`{"summary":%[1]s,"history":%[1]s,"items":[{"action":"ADD","target":0,"category":"facts","title":%[1]s,"content":%[1]s,"salience":0.5,"why":%[1]s}],"rules":[]}`, text)
	}})
	srv := httptest.NewServer(model)
	t.Cleanup(srv.Close)
	fakellm.UseServer(t, srv.URL)
	t.Setenv("MEMSIDECAR_LLM_DAILY_TOKENS", "unlimited")
	d := p.serve(t)
	conn := p.dial(t)
	s := sender{t: t, ctx: t.Context(), memory: pb.NewMemoryServiceClient(conn),
		session: pb.NewSessionServiceClient(conn), logs: pb.NewLogServiceClient(conn),
		admin: pb.NewAdminServiceClient(conn)}
	for i, secret := range secrets {
		s.path(i, (i+i/20)%10, secret.Text) // each of 20 kinds by each of 10 paths
	}
	s.reflect()
	s.importing(secrets)
	p.Succeeds(t, "daemon", "publish")
	p.editByHand(t, memtest.Secrets(8, 40)) // others, which stay where the person wrote them
	printed := p.Succeeds(t, "list", "--json", "--limit", "0") + p.Succeeds(t, "ops", "--json") +
		p.Succeeds(t, "review", "--json", "--all")
	d.Stop(t)

	places := map[string][]byte{"the log of the daemon": []byte(d.Logged()), "what was printed": []byte(printed)}
	for i, q := range model.Requests() {
		body, _ := json.Marshal(q.Body)
		places[fmt.Sprintf("question %d", i)] = body
	}
	err := filepath.WalkDir(p.Home(), func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			var data []byte
			data, err = os.ReadFile(path)
			places[path] = memtest.Plain(data)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range places {
		for _, secret := range secrets {
			if strings.Contains(name, "quarantine") { // what people write themselves is kept as they wrote it
				continue
			}
			if bytes.Contains(data, []byte(secret.Value)) {
				at := bytes.Index(data, []byte(secret.Value))
				t.Errorf("%s holds %q of %q: …%s…", name, secret.Value, secret.Text,
					data[max(0, at-200):min(len(data), at+len(secret.Value)+100)])
			}
		}
	}
	if len(model.Requests()) < 10 || len(places) < 20 {
		t.Errorf("looked at %d places, the model was asked %d times", len(places), len(model.Requests()))
	}
	t.Logf("%d secrets, %d places, %d questions", len(secrets), len(places), len(model.Requests()))
}

// sender sends texts by every path in turn.
type sender struct {
	t       *testing.T
	ctx     context.Context
	memory  pb.MemoryServiceClient
	session pb.SessionServiceClient
	logs    pb.LogServiceClient
	admin   pb.AdminServiceClient
}

// consolidate is the request for one text.
func consolidate(text *pb.ConsolidateText) *pb.MemoryServiceConsolidateRequest {
	return &pb.MemoryServiceConsolidateRequest{Input: &pb.MemoryServiceConsolidateRequest_Text{Text: text}}
}

func (s *sender) path(i, path int, text string) {
	s.t.Helper()
	id := fmt.Sprint("s", i%8)
	said := func(m *pb.SessionMessage) error {
		_, err := s.session.Append(s.ctx, &pb.SessionServiceAppendRequest{SessionId: id,
			Messages: []*pb.SessionMessage{m}})
		return err
	}
	var err error
	switch path {
	case 0:
		err = said(&pb.SessionMessage{Role: pb.Role_ROLE_USER, Content: "I prefer this: " + text})
	case 1:
		err = said(&pb.SessionMessage{Role: pb.Role_ROLE_ASSISTANT, Content: text})
	case 2:
		err = said(&pb.SessionMessage{Role: pb.Role_ROLE_TOOL,
			Tool: &pb.ToolCall{Name: "sh", Arguments: text, Result: text, Error: text, Failed: true}})
	case 3:
		_, err = s.memory.Add(s.ctx, &pb.MemoryServiceAddRequest{
			Items: []*pb.NewMemory{{Content: "remember " + text, Title: text, Tags: []string{"a"},
				Context: &pb.MemoryContext{Tool: "x", ErrorType: text}}}})
	case 4:
		_, err = s.logs.Append(s.ctx, &pb.LogServiceAppendRequest{
			Entries: []*pb.NewLogEntry{{Type: "event", Content: text, Error: text}}})
	case 5:
		_, err = s.memory.Consolidate(s.ctx,
			consolidate(&pb.ConsolidateText{
				Content: "The deployment notes of the harbour team say: " + text, Title: text,
			}))
	case 6:
		_, err = s.memory.Consolidate(s.ctx,
			consolidate(&pb.ConsolidateText{Content: "It is said that " + text, Async: true}))
	case 7:
		_, err = s.memory.Save(s.ctx,
			&pb.MemoryServiceSaveRequest{HistoryEntry: "did " + text, MemoryText: "- it is so: " +
				strings.ReplaceAll(text, "\n", " "), Memories: []*pb.MemoryUpdate{{Content: "and so " + text}}})
	case 8:
		_, err = s.session.Append(s.ctx, &pb.SessionServiceAppendRequest{SessionId: id, ContextSummary: "so far: " +
			text})
	case 9:
		_, err = s.memory.SetSummary(s.ctx, &pb.MemoryServiceSetSummaryRequest{Summary: "sum: " + text})
	}
	if err != nil {
		s.t.Errorf("path %d: %v", path, err)
	}
}

func (s *sender) reflect() {
	s.t.Helper()
	for i := range 8 {
		if _, err := s.session.Reflect(s.ctx,
			&pb.SessionServiceReflectRequest{SessionId: fmt.Sprint("s", i)}); err != nil {
			s.t.Error(err)
		}
	}
	if _, err := s.memory.Consolidate(s.ctx, &pb.MemoryServiceConsolidateRequest{
		Input: &pb.MemoryServiceConsolidateRequest_LogEntries{LogEntries: &pb.ConsolidateLogEntries{}},
	}); err != nil {
		s.t.Error(err)
	}
}

// importing imports a memory.json with secrets.
func (s *sender) importing(secrets []memtest.Secret) {
	s.t.Helper()
	type one struct {
		ID       string  `json:"id"`
		Category string  `json:"category"`
		Content  string  `json:"content"`
		Salience float64 `json:"salience"`
		Created  string  `json:"created_at"`
		Source   string  `json:"source"`
	}
	file := struct {
		Version  int    `json:"version"`
		Summary  string `json:"rolling_summary"`
		Memories []one  `json:"memories"`
	}{2, secrets[3].Text, nil}
	for i, secret := range secrets {
		file.Memories = append(file.Memories,
			one{fmt.Sprint("imported-", i), "facts", "imported " + secret.Text, 0.5, "2026-01-01T00:00:00Z",
				"user_explicit"})
	}
	data, err := json.Marshal(file)
	if err != nil {
		s.t.Fatal(err)
	}
	stream, err := s.admin.Import(s.ctx)
	if err != nil {
		s.t.Fatal(err)
	}
	for len(data) > 0 {
		n := min(len(data), 32<<10)
		if err := stream.Send(&pb.AdminServiceImportRequest{Chunk: data[:n]}); err != nil && !errors.Is(err, io.EOF) {
			s.t.Fatal(err)
		}
		data = data[n:]
	}
	if _, err := stream.CloseAndRecv(); err != nil {
		s.t.Fatal(err)
	}
}

// editByHand writes secrets into the published file, which the daemon takes over as they are: the file is the person's.
func (p place) editByHand(t *testing.T, secrets []memtest.Secret) {
	t.Helper()
	name := filepath.Join(p.Data, "memory.json")
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, s := range secrets {
		all = append(all, s.Text)
	}
	text, _ := json.Marshal("by hand: " + strings.Join(all, "\n"))
	edited := bytes.Replace(data, []byte(`"memories": [`),
		[]byte(`"memories": [{"id":"by-hand","category":"facts","content":`+string(text)+
			`,"salience":0.5,"created_at":"2026-01-01T00:00:00Z","source":"user_explicit"},`), 1)
	if bytes.Equal(edited, data) {
		t.Fatal("the published file has no list of memories")
	}
	if err := os.WriteFile(name, edited, 0o600); err != nil {
		t.Fatal(err)
	}
	p.Succeeds(t, "daemon", "publish")
	if out := p.Succeeds(t, "get", "by-hand", "--json"); !strings.Contains(out, string(text)) {
		t.Fatalf("the edit was not kept as it was written: %s", out)
	}
	// The backup is the file before, as it was written by hand, until the next publication.
	p.Succeeds(t, "add", "published once more")
	p.Succeeds(t, "daemon", "publish")
}
