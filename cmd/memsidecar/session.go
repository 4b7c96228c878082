package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
	"github.com/memsidecar/memsidecar/internal/memory"
)

// sessionCommand groups the commands on sessions.
func (a *app) sessionCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "session",
		Short: "Record sessions and learn from them",
		Long: `Record sessions of agents and learn from them. Hosts do this with hooks (memsidecar install); these
commands are for other agents and for a look at what was recorded.`,
		Example: `  memsidecar session append demo --role user "Please use tabs"
  memsidecar session reflect demo
  memsidecar session list`,
		Args: cobra.ArbitraryArgs,
		RunE: a.groupRun,
	}
	cmd.AddCommand(a.sessionStart(), a.sessionAppend(), a.sessionEnd(), a.sessionGet(), a.sessionList(),
		a.sessionWorking(), a.sessionPath(),
		a.contextCommand(), a.reflectCommand())
	return cmd
}

// sessionStart is "session start": SessionService.Start.
func (a *app) sessionStart() *cobra.Command {
	req := &pb.SessionServiceStartRequest{}
	cmd := &cobra.Command{
		Use:   "start [SESSION]",
		Short: "Start a session; without an id, generate one",
		Args:  cobra.MaximumNArgs(1),
	}
	addStartFlags(cmd.Flags(), req)
	cmd.RunE = a.withClient(func(ctx context.Context, c *client, _ *cobra.Command, args []string) error {
		req.Space, req.SessionId = a.flags.space, strings.Join(args, "")
		resp, err := c.session.Start(ctx, req)
		if err != nil {
			return err
		}
		return a.out.result(resp, func() {
			verb := "Started"
			if n := resp.GetSession().GetMessageCount(); n > 0 {
				verb = "Already open, with " + plural(n, "message", "messages") + ":"
			}
			a.out.printf("%s %s\n", verb, resp.GetSession().GetId())
			if req.ProjectSpace {
				a.out.printf("Its space is %s; pass it with --space.\n", resp.GetSpace())
			}
			a.out.printf("%s", resp.GetRecall().GetBlock())
		})
	})
	return cmd
}

// sessionAppend is "session append": SessionService.Append, in batches.
func (a *app) sessionAppend() *cobra.Command {
	var role, file, summary string
	cmd := &cobra.Command{
		Use:   "append SESSION [TEXT|-]",
		Short: "Append messages: one text, or a transcript with --file",
		Long: `Append messages to a session. A session that does not exist is started. The messages are durable when
the command returns. A transcript has one JSON object per line. Messages without seq are appended; a message with
the seq of a stored one is skipped.`,
		Example: `  memsidecar session append 7f3c… --role user "Please use tabs"
  memsidecar session append 7f3c… --file transcript.jsonl`,
		Args: cobra.RangeArgs(1, 2),
	}
	cmd.Flags().StringVar(&role, "role", "user", "user, assistant or system")
	cmd.Flags().StringVar(&file, "file", "", "transcript to read; - is standard input")
	cmd.Flags().StringVar(&summary, "context-summary", "",
		"summary that the host made when it compacted the context; messages so far are reflected")
	cmd.RunE = a.withClient(func(ctx context.Context, c *client, _ *cobra.Command, args []string) error {
		id, err := a.sessionID(ctx, c, args[0])
		if err != nil {
			return err
		}
		if summary != "" && len(args) == 1 && file == "" {
			return a.appendSummary(ctx, c, id, summary)
		}
		messages, err := a.appended(args[1:], role, file)
		if err != nil {
			return err
		}
		last, err := appendMessages(ctx, c, a.flags.space, id, messages)
		if err == nil && summary != "" {
			_, err = c.session.Append(ctx,
				&pb.SessionServiceAppendRequest{Space: a.flags.space, SessionId: id, ContextSummary: summary})
		}
		if err != nil {
			return err
		}
		if err := a.out.result(last, func() {}); err != nil {
			return err
		}
		known := 0
		for _, o := range last.GetResult().GetOutcomes() {
			if o.GetStatus() == pb.OutcomeStatus_OUTCOME_STATUS_DUPLICATE {
				known++
			}
		}
		if !a.out.json {
			note := ""
			if known > 0 {
				note = fmt.Sprintf(", %d of them already stored", known)
			}
			a.out.printf("Appended %s%s; the next sequence number is %d.\n",
				plural(int64(len(messages)), "message", "messages"), note, last.GetNextSeq())
			for _, o := range last.GetResult().GetOutcomes() {
				a.printTaken("Message "+o.GetId(), o.GetRedactions())
			}
		}
		return nil
	})
	return cmd
}

// appendSummary sends the summary of a compacted context without messages.
func (a *app) appendSummary(ctx context.Context, c *client, id, summary string) error {
	resp, err := c.session.Append(ctx, &pb.SessionServiceAppendRequest{Space: a.flags.space, SessionId: id,
		ContextSummary: summary})
	if err != nil {
		return err
	}
	return a.out.result(resp, func() {
		if resp.GetResult().GetOperationId() == "" {
			a.out.printf("This summary is already stored.\n")
			return
		}
		a.out.printf("Stored the summary%s; the messages so far are reflected in the background.\n",
			operation(resp.GetResult()))
		a.printTaken("The summary", resp.GetContextRedactions())
	})
}

// printTaken names what was taken out of a text of a session. Nobody can insist on it.
func (a *app) printTaken(what string, list []*pb.Redaction) {
	if len(list) > 0 {
		a.out.printf("%s\n", a.out.colour(amber, what+": taken out: "+memory.Redactions(redactionsOf(list))+"."))
	}
}

// appended are the messages that the arguments and flags of "session append" describe.
func (a *app) appended(texts []string, role, file string) ([]*pb.SessionMessage, error) {
	if (len(texts) == 1) == (file != "") {
		return nil, usagef("give either TEXT or --file")
	}
	if file != "" {
		return a.messages(file)
	}
	r, err := parseWord[pb.Role]("role", role)
	if err != nil {
		return nil, err
	}
	text, err := a.text(texts[0])
	return []*pb.SessionMessage{{Role: r, Content: text}}, err
}

// appendMessages sends messages in batches and merges the responses.
func appendMessages(ctx context.Context, c *client, space, id string,
	messages []*pb.SessionMessage) (*pb.SessionServiceAppendResponse, error) {
	all := &pb.SessionServiceAppendResponse{Result: &pb.WriteResult{}}
	for part := range slices.Chunk(messages, memory.MaxBatch) {
		resp, err := c.session.Append(ctx, &pb.SessionServiceAppendRequest{Space: space, SessionId: id, Messages: part})
		if err != nil {
			return nil, err
		}
		all.Redacted += resp.GetRedacted()
		all.NextSeq, all.Result.OperationId = resp.GetNextSeq(), resp.GetResult().GetOperationId()
		all.Result.Outcomes = append(all.Result.Outcomes, resp.GetResult().GetOutcomes()...)
	}
	return all, nil
}

// sessionEnd is "session end": SessionService.End.
func (a *app) sessionEnd() *cobra.Command {
	req := &pb.SessionServiceEndRequest{}
	cmd := &cobra.Command{
		Use:   "end SESSION",
		Short: "End a session; the daemon reflects it in the background",
		Args:  cobra.ExactArgs(1),
	}
	cmd.Flags().StringVar(&req.EndReason, "reason", "", "reason for the end, a slug (default \"host_exit\")")
	cmd.RunE = a.withClient(func(ctx context.Context, c *client, _ *cobra.Command, args []string) error {
		id, err := a.sessionID(ctx, c, args[0])
		if err != nil {
			return err
		}
		req.Space, req.SessionId = a.flags.space, id
		resp, err := c.session.End(ctx, req)
		if err != nil {
			return err
		}
		return a.out.result(resp, func() {
			a.out.printf("Session %s is %s.\n", args[0], word(resp.GetSession().GetState()))
		})
	})
	return cmd
}

// sessionGet is "session get": SessionService.Get, and ListMessages with --messages.
func (a *app) sessionGet() *cobra.Command {
	req := &pb.SessionServiceGetRequest{}
	var messages bool
	var firstSeq int64
	var limit int
	cmd := &cobra.Command{
		Use:   "get SESSION",
		Short: "Show a session",
		Args:  cobra.ExactArgs(1),
	}
	cmd.Flags().BoolVar(&messages, "messages", false, "also show the messages")
	cmd.Flags().Int64Var(&firstSeq, "from", 1, "first sequence number to show")
	cmd.Flags().IntVar(&limit, "limit", 1000, "maximum number of messages; 0 for all")
	cmd.RunE = a.withClient(func(ctx context.Context, c *client, _ *cobra.Command, args []string) error {
		id, err := a.sessionID(ctx, c, args[0])
		if err != nil {
			return err
		}
		req.Space, req.SessionId = a.flags.space, id
		resp, err := c.session.Get(ctx, req)
		if err != nil {
			return err
		}
		if !messages {
			return a.out.result(resp, func() { a.printSession(resp) })
		}
		list, err := sessionMessages(ctx, c, &pb.SessionServiceListMessagesRequest{
			Space: req.GetSpace(), SessionId: req.GetSessionId(), FirstSeq: firstSeq,
		}, limit)
		if err != nil {
			return err
		}
		if a.out.json {
			all := []any{}
			for _, m := range list {
				all = append(all, messageJSON(m.ProtoReflect()))
			}
			return a.out.object(object{{"session", messageJSON(resp.GetSession().ProtoReflect())},
				{"context_summary", resp.GetContextSummary()}, {"messages", all}})
		}
		a.printSession(resp)
		a.printMessages(list)
		return nil
	})
	return cmd
}

// sessionMessages reads messages page by page, at most limit; limit 0 reads all.
func sessionMessages(ctx context.Context, c *client, req *pb.SessionServiceListMessagesRequest,
	limit int) ([]*pb.SessionMessage, error) {
	var out []*pb.SessionMessage
	err := eachPage(func(token string) (string, error) {
		req.PageToken, req.PageSize = token, pageSize(limit, len(out))
		page, err := c.session.ListMessages(ctx, req)
		out = append(out, page.GetMessages()...)
		return nextPage(limit, len(out), page.GetNextPageToken()), err
	})
	return out, err
}

// printSession prints the fields of a session.
func (a *app) printSession(r *pb.SessionServiceGetResponse) {
	s := r.GetSession()
	reflected := ""
	if s.GetReflectedOperationId() != "" {
		reflected = fmt.Sprintf("up to message %d, operation %s", s.GetReflectedSeq()-1, s.GetReflectedOperationId())
	}
	ended := a.when(s.GetEndedAt())
	if s.GetEndReason() != "" {
		ended += ", " + s.GetEndReason()
	}
	a.out.fields([][2]string{
		{"session", s.GetId()}, {"state", word(s.GetState())}, {"host", oneLine(s.GetHost())},
		{"directory", oneLine(s.GetCwd())},
		{"started", a.when(s.GetStartedAt())}, {"newest", a.when(s.GetLastAt())}, {"ended", ended},
		{"messages", itoa(s.GetMessageCount())}, {"reflected", reflected}, {"summary", oneLine(s.GetSummary())},
		{"context", oneLine(r.GetContextSummary())},
	})
}

// printMessages prints messages, one a line.
func (a *app) printMessages(messages []*pb.SessionMessage) {
	for _, m := range messages {
		text := printable(m.GetContent())
		if t := m.GetTool(); t != nil {
			text = strings.TrimSpace(text + " " + oneLine(t.GetName()+" "+t.GetArguments()))
			if t.GetFailed() {
				text += a.out.colour(red, " failed: ") + oneLine(t.GetError())
			}
		}
		a.out.printf("%4d  %s  %s: %s\n", m.GetSeq(), clock(m.GetAt()), a.out.colour(bold, word(m.GetRole())), text)
	}
}

// clock formats the local time of day, or as many spaces for nil.
func clock(t *timestamppb.Timestamp) string {
	if t == nil {
		return "        "
	}
	return t.AsTime().Local().Format("15:04:05")
}

// sessionList is "session list": SessionService.List.
func (a *app) sessionList() *cobra.Command {
	req := &pb.SessionServiceListRequest{}
	var states []string
	var limit int
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List sessions, newest first",
		Args:  cobra.NoArgs,
	}
	cmd.Flags().StringSliceVar(&states, "state", nil, "only these states: open, ended, reflected")
	cmd.Flags().IntVar(&limit, "limit", 50, "maximum number of sessions; 0 for all")
	cmd.RunE = a.withClient(func(ctx context.Context, c *client, _ *cobra.Command, _ []string) error {
		for _, s := range states {
			state, err := parseWord[pb.SessionState]("state", s)
			if err != nil {
				return err
			}
			req.States = append(req.States, state)
		}
		req.Space = a.flags.space
		all := &pb.SessionServiceListResponse{}
		for {
			req.PageSize = pageSize(limit, len(all.GetSessions()))
			page, err := c.session.List(ctx, req)
			if err != nil {
				return err
			}
			all.Sessions = append(all.Sessions, page.GetSessions()...)
			all.NextPageToken = page.GetNextPageToken()
			if all.NextPageToken == "" || limit > 0 && len(all.Sessions) >= limit {
				break
			}
			req.PageToken = all.NextPageToken
		}
		return a.out.result(all, func() { a.printSessions(all) })
	})
	return cmd
}

// printSessions prints sessions as a table.
func (a *app) printSessions(r *pb.SessionServiceListResponse) {
	if len(r.GetSessions()) == 0 {
		a.out.printf("No sessions%s. Hooks record them (memsidecar install), or: memsidecar session append SESSION "+
			"--file transcript.jsonl\n", a.inSpace())
		return
	}
	var rows [][]string
	for _, s := range r.GetSessions() {
		rows = append(rows, []string{shortID(s.GetId()), word(s.GetState()), itoa(s.GetMessageCount()),
			a.out.age(s.GetLastAt().AsTime()), s.GetHost(), oneLine(s.GetSummary())})
	}
	a.out.table([]string{"SESSION", "STATE", "MESSAGES", "NEWEST", "HOST", "SUMMARY"}, rows)
	if r.GetNextPageToken() != "" {
		a.out.printf("More sessions exist; --limit 0 shows all.\n")
	}
}
