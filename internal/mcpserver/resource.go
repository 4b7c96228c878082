package mcpserver

import (
	"context"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
	"github.com/memsidecar/memsidecar/internal/recall"
)

// Resources, by URI.
const (
	contextURI = "memory://context"
	logsURI    = "memory://logs"
	logURI     = "memory://logs/{date}"
	graphURI   = "memory://knowledge-graph"

	maxLogChars  = 60000
	maxLogDays   = 100
	markdownMIME = "text/markdown"
	jsonMIME     = "application/json"
)

func (s *Server) addResources(server *mcp.Server) {
	s.addResource(server, &mcp.Resource{
		URI: contextURI, Name: "context", Title: "Session context", MIMEType: markdownMIME,
		Description: "What to know from the beginning of a session: summary, memories, the newest daily logs. The same text for as long as this connection lasts.",
	}, func(ctx context.Context, a *api, host, _ string) (string, error) {
		started, err := s.start(ctx, a, host)
		return started.GetContext(), err
	})
	s.addResource(server, &mcp.Resource{
		URI: logsURI, Name: "logs", Title: "Daily logs", MIMEType: markdownMIME, Description: "The days that have a log, newest first.",
	}, logDays)
	server.AddResourceTemplate(&mcp.ResourceTemplate{
		URITemplate: logURI, Name: "log", Title: "Log of a day", MIMEType: markdownMIME, Description: "What happened on a day such as 2026-02-21, or today.",
	}, s.resource(markdownMIME, logOfDay))
}

// reader makes the text of a resource.
type reader func(ctx context.Context, a *api, host, uri string) (string, error)

func (s *Server) addResource(server *mcp.Server, r *mcp.Resource, read reader) {
	server.AddResource(r, s.resource(r.MIMEType, read))
}

func (s *Server) resource(mime string, read reader) mcp.ResourceHandler {
	return func(ctx context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		var body string
		err := s.do(ctx, false, func(ctx context.Context, a *api) (err error) {
			body, err = read(ctx, a, hostOf(req.Session), req.Params.URI)
			return err
		})
		switch status.Code(err) {
		case codes.OK:
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: req.Params.URI, MIMEType: mime, Text: body}}}, nil
		case codes.NotFound, codes.InvalidArgument:
			return nil, mcp.ResourceNotFoundError(req.Params.URI)
		}
		return nil, agentError(err)
	}
}

func logDays(ctx context.Context, a *api, _, _ string) (string, error) {
	res, err := a.logs.List(ctx, &pb.LogServiceListRequest{Space: a.space, PageSize: maxLogDays})
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, d := range res.GetDays() {
		fmt.Fprintf(&b, "- %s: %d entries, memory://logs/%s", d.GetDate(), d.GetEntryCount(), d.GetDate())
		if d.GetArchived() {
			b.WriteString(", archived")
		}
		b.WriteString("\n")
	}
	if b.Len() == 0 {
		return "There are no daily logs yet.\n", nil
	}
	return b.String(), nil
}

func logOfDay(ctx context.Context, a *api, _, uri string) (string, error) {
	date := uri[strings.LastIndex(uri, "/")+1:]
	req := &pb.LogServiceGetRequest{Space: a.space, Date: date}
	if date == "today" {
		req.Date = ""
	}
	res, err := a.logs.Get(ctx, req)
	if status.Code(err) == codes.NotFound && date == "today" {
		return "Nothing has happened today.\n", nil
	}
	if err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n", res.GetDay().GetDate())
	if text := res.GetDay().GetSummary(); text != "" {
		fmt.Fprintf(&b, "Summary: %s\n", text)
	}
	for _, e := range res.GetEntries() {
		fmt.Fprintf(&b, "- %s [%s] %s", e.GetTime(), e.GetType(), strings.ReplaceAll(e.GetContent(), "\n", "\n  "))
		if e.GetError() != "" {
			fmt.Fprintf(&b, " (%s: %s)", e.GetTool(), strings.ReplaceAll(e.GetError(), "\n", "\n  "))
		}
		b.WriteString("\n")
	}
	return recall.QuotedAll(nonce(), b.String(), maxLogChars), nil
}

// addPrompts offers what a person may pick from a menu.
func (s *Server) addPrompts(server *mcp.Server) {
	server.AddPrompt(&mcp.Prompt{
		Name: "recall", Title: "Recall", Description: "Bring what is remembered about a topic into the conversation.",
		Arguments: []*mcp.PromptArgument{{Name: "topic", Title: "Topic", Description: "What it is about, in your own words", Required: true}},
	}, func(ctx context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		topic := strings.TrimSpace(req.Params.Arguments["topic"])
		if topic == "" {
			return nil, askError("The prompt needs a topic.")
		}
		var res *pb.SearchServiceRecallResponse
		err := s.do(ctx, false, func(ctx context.Context, a *api) (err error) {
			recallReq := &pb.SearchServiceRecallRequest{Text: topic, Explicit: true}
			if a.space != "" {
				recallReq.Spaces = []string{a.space}
			}
			res, err = a.search.Recall(ctx, recallReq)
			return err
		})
		if err != nil {
			return nil, agentError(err)
		}
		said := res.GetBlock()
		if said == "" {
			said = nothingFits + "\n"
		}
		return &mcp.GetPromptResult{
			Description: "What is remembered about " + topic,
			Messages:    []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: said + "\nWhat do you know from earlier sessions about this: " + topic}}},
		}, nil
	})
}
