// Package adk is a memory service for Google's Agent Development Kit. It is a module of its own, so that programs
// without the kit do not get its dependencies.
//
//	service := adk.NewService(client)
//	r, err := runner.New(runner.Config{AppName: "app", Agent: agent, SessionService: sessions, MemoryService: service})
package adk

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"regexp"
	"strings"

	"google.golang.org/adk/memory"
	"google.golang.org/adk/session"
	"google.golang.org/genai"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	memsidecar "github.com/memsidecar/memsidecar/clients/go"
	pb "github.com/memsidecar/memsidecar/clients/go/gen/memsidecar/v1"
)

const (
	defaultLimit = 10
	maxBatch     = 1000
	maxSpace     = 64 // bytes
)

// Service learns from sessions, in a space for each application and user. Several goroutines and processes may use it.
type Service struct {
	client *memsidecar.Client
	limit  int32
}

var _ memory.Service = (*Service)(nil)

// Option changes how a Service works.
type Option func(*Service)

// Limit sets how many memories a search returns at most, 1 to 200; the default is 10.
func Limit(n int32) Option { return func(s *Service) { s.limit = n } }

// NewService makes a service on a client, which stays the caller's to close.
func NewService(client *memsidecar.Client, options ...Option) *Service {
	s := &Service{client: client, limit: defaultLimit}
	for _, option := range options {
		option(s)
	}
	return s
}

// AddSessionToMemory records the events that were not recorded yet, durably, and lets the daemon learn from them at
// once: by rules, and with its language model if one is configured. Errors are *memsidecar.Error.
func (s *Service) AddSessionToMemory(ctx context.Context, added session.Session) error {
	messages := messagesOf(added.Events())
	if len(messages) == 0 {
		return nil
	}
	space := spaceOf(added.AppName(), added.UserID())
	for start := 0; start < len(messages); start += maxBatch {
		_, err := s.client.Sessions.Append(ctx, &pb.SessionServiceAppendRequest{
			Space: space, SessionId: added.ID(), Messages: messages[start:min(start+maxBatch, len(messages))],
		})
		if err != nil {
			return err
		}
	}
	_, err := s.client.Sessions.Reflect(ctx, &pb.SessionServiceReflectRequest{Space: space, SessionId: added.ID()})
	if status.Code(err) == codes.Unavailable {
		return nil // the session is recorded, and the daemon learns from it later
	}
	return err
}

// SearchMemory finds what was learned and entries of the daily log by words and meaning, best first; nothing if nothing
// bears on the query. Errors are *memsidecar.Error.
func (s *Service) SearchMemory(ctx context.Context, req *memory.SearchRequest) (*memory.SearchResponse, error) {
	found, err := s.client.Searches.Search(ctx, &pb.SearchServiceSearchRequest{
		Spaces: []string{spaceOf(req.AppName, req.UserID)}, Query: req.Query, Limit: s.limit, IncludeLogs: true,
	})
	if err != nil {
		return nil, err
	}
	response := &memory.SearchResponse{}
	for _, hit := range found.GetHits() {
		response.Memories = append(response.Memories, entryOf(hit))
	}
	return response, nil
}

// messagesOf returns turns and answered calls of tools, in order and numbered: an event that is added again has the
// same number, and is recorded once.
func messagesOf(events session.Events) []*pb.SessionMessage {
	var messages []*pb.SessionMessage
	add := func(m *pb.SessionMessage) {
		m.Seq = int64(len(messages) + 1)
		messages = append(messages, m)
	}
	arguments := map[string]string{}
	for event := range events.All() {
		if event.Content == nil || event.Partial {
			continue
		}
		for _, part := range event.Content.Parts {
			if call := part.FunctionCall; call != nil {
				arguments[call.ID+call.Name] = asJSON(call.Args)
			}
			if answer := part.FunctionResponse; answer != nil {
				add(toolMessage(answer, arguments[answer.ID+answer.Name]))
			}
		}
		if text := textOf(event.Content); text != "" {
			role := pb.Role_ROLE_ASSISTANT
			if event.Author == "user" {
				role = pb.Role_ROLE_USER
			}
			add(&pb.SessionMessage{Role: role, Content: text})
		}
	}
	return messages
}

func toolMessage(answer *genai.FunctionResponse, arguments string) *pb.SessionMessage {
	call := &pb.ToolCall{Name: answer.Name, Arguments: arguments}
	switch failure := answer.Response["error"].(type) {
	case nil:
		call.Result = asJSON(answer.Response)
	case string:
		call.Error, call.Failed = failure, true
	default:
		call.Error, call.Failed = asJSON(failure), true
	}
	return &pb.SessionMessage{Role: pb.Role_ROLE_TOOL, Tool: call}
}

// asJSON returns "" for what JSON cannot hold.
func asJSON(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return ""
	}
	return string(text)
}

// textOf returns what was said, without what the model only thought.
func textOf(content *genai.Content) string {
	var texts []string
	for _, part := range content.Parts {
		if part.Text != "" && !part.Thought {
			texts = append(texts, part.Text)
		}
	}
	return strings.Join(texts, "\n")
}

func entryOf(hit *pb.SearchHit) memory.Entry {
	if m := hit.GetMemory(); m != nil {
		return memory.Entry{
			ID: m.GetId(), Content: genai.NewContentFromText(m.GetContent(), genai.RoleUser), Author: "memory",
			Timestamp: m.GetCreatedAt().AsTime(),
		}
	}
	entry := hit.GetLog().GetEntry()
	text := entry.GetContent()
	if text == "" {
		text = hit.GetLog().GetSummary()
	}
	found := memory.Entry{ID: entry.GetId(), Content: genai.NewContentFromText(text, genai.RoleUser), Author: "log"}
	if at := entry.GetAt(); at != nil {
		found.Timestamp = at.AsTime()
	}
	return found
}

var outside = regexp.MustCompile(`[^a-z0-9]+`)

// spaceOf names the space of an application and user, as the Python client's service does; others have another name.
func spaceOf(app, user string) string {
	parts := []string{"adk", app, user}
	name := strings.Trim(outside.ReplaceAllString(strings.ToLower(strings.Join(parts, "-")), "-"), "-")
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return strings.Trim(name[:min(len(name), maxSpace-13)], "-") + "-" + hex.EncodeToString(sum[:])[:12]
}
