package mcpserver

import (
	"context"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
	"github.com/memsidecar/memsidecar/internal/service/recall"
)

// URIs of resources, and bounds on their text.
const (
	contextURI = "memory://context"
	logsURI    = "memory://logs"
	logURI     = "memory://logs/{date}"
	graphURI   = "memory://knowledge-graph"

	maxLogChars  = 60000 // of one day's log
	maxLogDays   = 100   // in the list of days
	markdownMIME = "text/markdown"
	jsonMIME     = "application/json"
)

// addResources serves the resources that every set of tools has.
func (s *Server) addResources(server *mcp.Server) {
	s.addResource(server, &mcp.Resource{
		URI: contextURI, Name: "context", Title: "Session context", MIMEType: markdownMIME,
		Description: "What to know at the start of a session: summary, memories, the newest daily logs. " +
			"The text stays the same for this connection.",
	}, func(ctx context.Context, a *api, host, _ string) (string, error) {
		started, err := s.startSession(ctx, a, host)
		return started.GetContext(), err
	})
	s.addResource(server, &mcp.Resource{
		URI: logsURI, Name: "logs", Title: "Daily logs", MIMEType: markdownMIME,
		Description: "The days that have a log, newest first.",
	}, listLogDays)
	server.AddResourceTemplate(&mcp.ResourceTemplate{
		URITemplate: logURI, Name: "log", Title: "Log of a day", MIMEType: markdownMIME,
		Description: "What happened on a day such as 2026-02-21, or today.",
	}, s.resourceHandler(markdownMIME, readLogDay))
}

// resourceReader returns the text of the resource with a URI.
type resourceReader func(ctx context.Context, a *api, host, uri string) (string, error)

// addResource serves a resource with a fixed URI.
func (s *Server) addResource(server *mcp.Server, r *mcp.Resource, read resourceReader) {
	server.AddResource(r, s.resourceHandler(r.MIMEType, read))
}

// resourceHandler adapts a resourceReader to the SDK. A resource that does not exist has the protocol's own error;
// clients show other errors, which are guidance like those of tools.
func (s *Server) resourceHandler(mime string, read resourceReader) mcp.ResourceHandler {
	return func(ctx context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		var body string
		err := s.callDaemon(asHost(ctx, req.Session), false, func(ctx context.Context, a *api) (err error) {
			body, err = read(ctx, a, clientName(req.Session), req.Params.URI)
			return err
		})
		switch status.Code(err) {
		case codes.OK:
			return &mcp.ReadResourceResult{
				Contents: []*mcp.ResourceContents{{URI: req.Params.URI, MIMEType: mime, Text: body}},
			}, nil
		case codes.NotFound, codes.InvalidArgument:
			return nil, mcp.ResourceNotFoundError(req.Params.URI)
		}
		return nil, toGuidance(err)
	}
}

// listLogDays lists the newest days with a log and their URIs, at most maxLogDays. A page of the API may have fewer
// days than requested, so it follows the pages.
func listLogDays(ctx context.Context, a *api, _, _ string) (string, error) {
	var b strings.Builder
	req := &pb.LogServiceListRequest{Space: a.space, PageSize: maxLogDays}
	for listed := 0; listed < maxLogDays; {
		res, err := a.logs.List(ctx, req)
		if err != nil {
			return "", err
		}
		for _, d := range res.GetDays() {
			fmt.Fprintf(&b, "- %s: %d entries, memory://logs/%s", d.GetDate(), d.GetEntryCount(), d.GetDate())
			if d.GetArchived() {
				b.WriteString(", archived")
			}
			b.WriteString("\n")
		}
		listed += len(res.GetDays())
		if req.PageToken = res.GetNextPageToken(); req.GetPageToken() == "" {
			break
		}
	}
	if b.Len() == 0 {
		return "There are no daily logs yet.\n", nil
	}
	return b.String(), nil
}

// readLogDay returns the log of the day at the end of uri, fenced as data and cut to maxLogChars. The date "today" is
// the daemon's current day; if that has no log yet, the text says so instead of failing.
func readLogDay(ctx context.Context, a *api, _, uri string) (string, error) {
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
	for {
		for _, e := range res.GetEntries() {
			fmt.Fprintf(&b, "- %s [%s] %s", e.GetTime(), e.GetType(), strings.ReplaceAll(e.GetContent(), "\n", "\n  "))
			if e.GetError() != "" {
				fmt.Fprintf(&b, " (%s: %s)", e.GetTool(), strings.ReplaceAll(e.GetError(), "\n", "\n  "))
			}
			b.WriteString("\n")
		}
		// A character has at most four bytes: more than this is cut anyway.
		if req.PageToken = res.GetNextPageToken(); req.GetPageToken() == "" || b.Len() > 4*maxLogChars {
			break
		}
		if res, err = a.logs.Get(ctx, req); err != nil {
			return "", err
		}
	}
	return recall.QuotedAll(nonce(), b.String(), maxLogChars), nil
}

// addPrompts serves the prompt that a person can pick from the host's menu. Its recall is explicit: it may return
// more than the recall that hooks run for each prompt, and repeats what the session has seen.
func (s *Server) addPrompts(server *mcp.Server) {
	server.AddPrompt(&mcp.Prompt{
		Name: "recall", Title: "Recall", Description: "Bring what is remembered about a topic into the conversation.",
		Arguments: []*mcp.PromptArgument{
			{Name: "topic", Title: "Topic", Description: "What it is about, in your own words", Required: true},
		},
	}, func(ctx context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		topic := strings.TrimSpace(req.Params.Arguments["topic"])
		if topic == "" {
			return nil, guidance("The prompt needs a topic.")
		}
		var res *pb.SearchServiceRecallResponse
		err := s.callDaemon(asHost(ctx, req.Session), false, func(ctx context.Context, a *api) (err error) {
			recallReq := &pb.SearchServiceRecallRequest{Text: topic, Explicit: true, SessionId: a.reader}
			if a.space != "" {
				recallReq.Spaces = []string{a.space}
			}
			res, err = a.search.Recall(ctx, recallReq)
			return err
		})
		if err != nil {
			return nil, toGuidance(err)
		}
		said := res.GetBlock()
		if said == "" {
			said = noMatch + "\n"
		}
		return &mcp.GetPromptResult{
			Description: "What is remembered about " + topic,
			Messages: []*mcp.PromptMessage{
				{
					Role: "user",
					Content: &mcp.TextContent{
						Text: said + "\nWhat do you know from earlier sessions about this: " + topic,
					},
				},
			},
		}, nil
	})
}
