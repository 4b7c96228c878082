package adk_test

import (
	"context"
	"fmt"
	"iter"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"google.golang.org/adk/agent"
	"google.golang.org/adk/agent/llmagent"
	"google.golang.org/adk/memory"
	"google.golang.org/adk/model"
	"google.golang.org/adk/runner"
	"google.golang.org/adk/session"
	"google.golang.org/adk/tool"
	"google.golang.org/adk/tool/preloadmemorytool"
	"google.golang.org/genai"

	memsidecar "github.com/memsidecar/memsidecar/clients/go"
	"github.com/memsidecar/memsidecar/clients/go/adk"
	pb "github.com/memsidecar/memsidecar/clients/go/gen/memsidecar/v1"
)

const (
	app = "app"
	ada = "ada@example.com"
	bob = "bob@example.com"
	// adaSpace is where the Python client's service keeps the same user's memories.
	adaSpace = "adk-app-ada-example-com-534f485d8bc9"
)

// program is $MEMSIDECAR_PROGRAM, or the one of this checkout.
var program string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("/tmp", "msadk")
	if err != nil {
		panic(err)
	}
	code := 1
	if program = os.Getenv("MEMSIDECAR_PROGRAM"); program == "" {
		program = filepath.Join(dir, "memsidecar")
		build := exec.Command("go", "build", "-o", program, "./cmd/memsidecar")
		build.Dir, build.Stderr = "../../..", os.Stderr
		err = build.Run()
	}
	if err == nil {
		code = m.Run()
	}
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// connect gives the test a user of its own and a client; its daemon is stopped at the end.
func connect(t *testing.T) *memsidecar.Client {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "msadk") // short: a socket's path is limited
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	t.Setenv("GOCACHE", output(t, ".", "go", "env", "GOCACHE")) // before HOME changes
	t.Setenv("GOMODCACHE", output(t, ".", "go", "env", "GOMODCACHE"))
	for name, value := range map[string]string{
		"HOME": dir, "XDG_RUNTIME_DIR": dir, "XDG_DATA_HOME": "", "XDG_STATE_HOME": "", "XDG_CONFIG_HOME": "",
		"MEMSIDECAR_SOCKET": "", "MEMSIDECAR_DATA": "", "MEMSIDECAR_PROGRAM": program,
	} {
		t.Setenv(name, value)
	}
	t.Cleanup(func() { output(t, ".", program, "daemon", "stop") })
	client, err := memsidecar.Connect(t.Context(), memsidecar.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// output returns what a command prints, without the blanks at its end.
func output(t *testing.T, dir string, command ...string) string {
	t.Helper()
	cmd := exec.Command(command[0], command[1:]...)
	var errors strings.Builder
	cmd.Dir, cmd.Stderr = dir, &errors
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(command, " "), err, errors.String())
	}
	return strings.TrimSpace(string(out))
}

// says appends a turn to a session.
func says(t *testing.T, sessions session.Service, s session.Session, author string, parts ...*genai.Part) {
	t.Helper()
	event := session.NewEvent("i")
	event.Author = author
	event.Content = &genai.Content{Role: genai.RoleModel, Parts: parts}
	if err := sessions.AppendEvent(t.Context(), s, event); err != nil {
		t.Fatal(err)
	}
}

func create(t *testing.T, sessions session.Service, user, id string) session.Session {
	t.Helper()
	created, err := sessions.Create(t.Context(), &session.CreateRequest{AppName: app, UserID: user, SessionID: id})
	if err != nil {
		t.Fatal(err)
	}
	return created.Session
}

func add(t *testing.T, service memory.Service, s session.Session) {
	t.Helper()
	if err := service.AddSessionToMemory(t.Context(), s); err != nil {
		t.Fatal(err)
	}
}

// found returns the texts of what a search finds.
func found(t *testing.T, service memory.Service, user, query string) string {
	t.Helper()
	response, err := service.SearchMemory(t.Context(), &memory.SearchRequest{Query: query, UserID: user, AppName: app})
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, entry := range response.Memories {
		if entry.ID == "" || entry.Author == "" || entry.Timestamp.IsZero() {
			t.Errorf("an entry is not whole: %+v", entry)
		}
		texts = append(texts, entry.Content.Parts[0].Text)
	}
	return strings.Join(texts, "\n")
}

func recorded(t *testing.T, client *memsidecar.Client, id string) []*pb.SessionMessage {
	t.Helper()
	response, err := client.Sessions.ListMessages(t.Context(), &pb.SessionServiceListMessagesRequest{Space: adaSpace, SessionId: id})
	if err != nil {
		t.Fatal(err)
	}
	return response.GetMessages()
}

// A session that is added again and again is recorded once, and what was said is found, by its user alone.
func TestSession(t *testing.T) {
	client := connect(t)
	sessions, service := session.InMemoryService(), adk.NewService(client)
	s := create(t, sessions, ada, "s1")
	if got := found(t, service, ada, "anything"); got != "" {
		t.Errorf("an unknown user's memories: %q", got)
	}
	says(t, sessions, s, "user", genai.NewPartFromText("Please remember that the staging server is staging.example.com"))
	call := &genai.FunctionCall{ID: "1", Name: "deploy", Args: map[string]any{"to": "prod"}}
	answer := &genai.FunctionResponse{ID: "1", Name: "deploy", Response: map[string]any{"error": "401 unauthorized"}}
	says(t, sessions, s, "agent", &genai.Part{FunctionCall: call})
	says(t, sessions, s, "agent", &genai.Part{FunctionResponse: answer})
	says(t, sessions, s, "agent", &genai.Part{Text: "hm", Thought: true})
	add(t, service, s)
	says(t, sessions, s, "user", genai.NewPartFromText("Always answer in French from now on"))
	for range 2 {
		add(t, service, s)
	}
	if got := found(t, service, ada, "which server is staging?"); !strings.Contains(got, "staging.example.com") {
		t.Errorf("found %q", got)
	}
	if got := found(t, service, bob, "which server is staging?"); got != "" {
		t.Errorf("another user found %q", got)
	}
	if got := found(t, service, ada, "quarterly tax report"); got != "" {
		t.Errorf("what does not bear on the query: %q", got)
	}
	messages := recorded(t, client, "s1")
	if len(messages) != 3 {
		t.Fatalf("recorded %d messages: %v", len(messages), messages)
	}
	failed := messages[1].GetTool()
	if !failed.GetFailed() || failed.GetError() != "401 unauthorized" || failed.GetArguments() != `{"to":"prod"}` {
		t.Errorf("the failed call is %v", failed)
	}
	list, err := client.Memory.List(t.Context(), &pb.MemoryServiceListRequest{Space: adaSpace})
	if err != nil {
		t.Fatal(err)
	}
	var learned []string
	for _, m := range list.GetMemories() {
		learned = append(learned, m.GetContent())
	}
	slices.Sort(learned)
	if len(learned) < 2 || len(slices.Compact(slices.Clone(learned))) != len(learned) {
		t.Errorf("learned %q", learned)
	}
}

// Two writers that add a session at different lengths record each event once.
func TestConcurrent(t *testing.T) {
	client := connect(t)
	sessions := session.InMemoryService()
	var growing []session.Session
	for n := 1; n <= 20; n++ {
		s := create(t, sessions, ada, fmt.Sprintf("copy%d", n))
		for i := range n {
			says(t, sessions, s, "user", genai.NewPartFromText(fmt.Sprintf("turn %d", i)))
		}
		growing = append(growing, as{s, "one"})
	}
	var writers sync.WaitGroup
	for range 2 {
		writers.Go(func() {
			own, err := memsidecar.Connect(t.Context(), memsidecar.Options{})
			if err != nil {
				t.Error(err)
				return
			}
			defer func() { _ = own.Close() }()
			for _, s := range growing {
				if err := adk.NewService(own).AddSessionToMemory(t.Context(), s); err != nil {
					t.Error(err)
				}
			}
		})
	}
	writers.Wait()
	messages := recorded(t, client, "one")
	if len(messages) != 20 || messages[19].GetContent() != "turn 19" {
		t.Errorf("recorded %d messages: %v", len(messages), messages)
	}
}

// as is a session under another id.
type as struct {
	session.Session
	id string
}

func (s as) ID() string { return s.id }

// ADK's own tool puts before the model what was learned in an earlier session.
func TestRunner(t *testing.T) {
	client := connect(t)
	sessions, service := session.InMemoryService(), adk.NewService(client, adk.Limit(3))
	s := create(t, sessions, ada, "before")
	says(t, sessions, s, "user", genai.NewPartFromText("Please remember that the port of the API is 8465"))
	add(t, service, s)
	llm := &scripted{}
	a, err := llmagent.New(llmagent.Config{Name: "helper", Model: llm, Tools: []tool.Tool{preloadmemorytool.New()}})
	if err != nil {
		t.Fatal(err)
	}
	r, err := runner.New(runner.Config{
		AppName: app, Agent: a, SessionService: sessions, MemoryService: service, AutoCreateSession: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	question := genai.NewContentFromText("Which port has the API?", genai.RoleUser)
	for _, err := range r.Run(t.Context(), ada, "after", question, agent.RunConfig{}) {
		if err != nil {
			t.Fatal(err)
		}
	}
	if !strings.Contains(llm.instructions, "8465") {
		t.Errorf("the model was told %q", llm.instructions)
	}
}

// scripted is a model that gives one answer and keeps what it was told.
type scripted struct{ instructions string }

func (*scripted) Name() string { return "scripted" }

func (m *scripted) GenerateContent(_ context.Context, req *model.LLMRequest, _ bool) iter.Seq2[*model.LLMResponse, error] {
	for _, part := range req.Config.SystemInstruction.Parts {
		m.instructions += part.Text
	}
	return func(yield func(*model.LLMResponse, error) bool) {
		yield(&model.LLMResponse{Content: genai.NewContentFromText("8465", genai.RoleModel)}, nil)
	}
}

// The example of docs/integrations.md prints what stands there.
func TestExample(t *testing.T) {
	docs, err := os.ReadFile("../../../docs/integrations.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, ok := strings.Cut(string(docs), "\n## Google ADK for Go\n")
	example := regexp.MustCompile("(?s)```go\n(.*?)```\n+```text\n(.*?)\n```").FindStringSubmatch(section)
	if !ok || example == nil {
		t.Fatal("docs/integrations.md has no example of Google ADK for Go")
	}
	dir, err := os.MkdirTemp(".", "example") // in the module, for its requirements
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte(example[1]), 0o600); err != nil {
		t.Fatal(err)
	}
	connect(t)
	if got := output(t, ".", "go", "run", "./"+dir); got != example[2] {
		t.Errorf("it printed %q, want %q", got, example[2])
	}
}
