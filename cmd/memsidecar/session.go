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

func (a *app) sessionCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "session",
		Short: "Record sessions: start, append, end, get, list, working, path",
		Args:  cobra.ArbitraryArgs,
		RunE:  a.groupRun,
	}
	cmd.AddCommand(a.sessionStart(), a.sessionAppend(), a.sessionEnd(), a.sessionGet(), a.sessionList(), a.sessionWorking(), a.sessionPath())
	return cmd
}

func (a *app) sessionStart() *cobra.Command {
	req := &pb.SessionServiceStartRequest{}
	cmd := &cobra.Command{
		Use:   "start [SESSION]",
		Short: "Open a session; without an id it gets a new one",
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
				verb = "Open, with " + plural(n, "message", "messages") + ":"
			}
			a.out.printf("%s %s\n", verb, resp.GetSession().GetId())
			if req.ProjectSpace {
				a.out.printf("It works in --space %s\n", resp.GetSpace())
			}
			a.out.printf("%s", resp.GetRecall().GetBlock())
		})
	})
	return cmd
}

func (a *app) sessionAppend() *cobra.Command {
	var role, file, summary string
	cmd := &cobra.Command{
		Use:   "append SESSION [TEXT|-]",
		Short: "Add messages: one text, or a transcript with --file",
		Long: `Add messages to a session, which is started when it is not known. They are durable when the command ends. A transcript is a
JSON object a line; messages without seq are appended, those with a known seq are left out.`,
		Example: `  memsidecar session append 7f3c… --role user "Please use tabs"
  memsidecar session append 7f3c… --file transcript.jsonl`,
		Args: cobra.RangeArgs(1, 2),
	}
	cmd.Flags().StringVar(&role, "role", "user", "user, assistant or system")
	cmd.Flags().StringVar(&file, "file", "", "transcript to read; - is standard input")
	cmd.Flags().StringVar(&summary, "context-summary", "", "what the host made of the context when it compacted it; what was said so far is learnt from")
	cmd.RunE = a.withClient(func(ctx context.Context, c *client, _ *cobra.Command, args []string) error {
		if summary != "" && len(args) == 1 && file == "" {
			return a.appendSummary(ctx, c, args[0], summary)
		}
		messages, err := a.appended(args[1:], role, file)
		if err != nil {
			return err
		}
		last, err := appendMessages(ctx, c, a.flags.space, args[0], messages)
		if err == nil && summary != "" {
			_, err = c.session.Append(ctx, &pb.SessionServiceAppendRequest{Space: a.flags.space, SessionId: args[0], ContextSummary: summary})
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
				note = fmt.Sprintf(", %d of them known already", known)
			}
			if n := last.GetRedacted(); n > 0 {
				note += ", " + plural(int64(n), "secret", "secrets") + " taken out"
			}
			a.out.printf("Appended %s%s; the next one is number %d.\n", plural(int64(len(messages)), "message", "messages"), note, last.GetNextSeq())
		}
		return nil
	})
	return cmd
}

// appendSummary hands in the summary of a context alone.
func (a *app) appendSummary(ctx context.Context, c *client, id, summary string) error {
	resp, err := c.session.Append(ctx, &pb.SessionServiceAppendRequest{Space: a.flags.space, SessionId: id, ContextSummary: summary})
	if err != nil {
		return err
	}
	return a.out.result(resp, func() {
		if resp.GetResult().GetOperation() == 0 {
			a.out.printf("That summary is known already.\n")
			return
		}
		a.out.printf("Kept the summary%s; what was said so far is learnt from in the background.\n", operation(resp.GetResult()))
	})
}

func (a *app) appended(texts []string, role, file string) ([]*pb.SessionMessage, error) {
	if (len(texts) == 1) == (file != "") {
		return nil, usagef("give either a text or --file")
	}
	if file != "" {
		return a.messages(file)
	}
	text, err := a.text(texts[0])
	return []*pb.SessionMessage{{Role: role, Content: text}}, err
}

// appendMessages sends the messages in batches. The result is that of all of them.
func appendMessages(ctx context.Context, c *client, space, id string, messages []*pb.SessionMessage) (*pb.SessionServiceAppendResponse, error) {
	all := &pb.SessionServiceAppendResponse{Result: &pb.WriteResult{}}
	for part := range slices.Chunk(messages, memory.MaxBatch) {
		resp, err := c.session.Append(ctx, &pb.SessionServiceAppendRequest{Space: space, SessionId: id, Messages: part})
		if err != nil {
			return nil, err
		}
		all.Redacted += resp.GetRedacted()
		all.NextSeq, all.Result.Operation = resp.GetNextSeq(), resp.GetResult().GetOperation()
		all.Result.Outcomes = append(all.Result.Outcomes, resp.GetResult().GetOutcomes()...)
	}
	return all, nil
}

func (a *app) sessionEnd() *cobra.Command {
	req := &pb.SessionServiceEndRequest{}
	cmd := &cobra.Command{
		Use:   "end SESSION",
		Short: "End a session; it is reflected in the background",
		Args:  cobra.ExactArgs(1),
	}
	cmd.Flags().StringVar(&req.Reason, "reason", "", "how it ended, a slug (default \"host_exit\")")
	cmd.RunE = a.withClient(func(ctx context.Context, c *client, _ *cobra.Command, args []string) error {
		req.Space, req.SessionId = a.flags.space, args[0]
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

func (a *app) sessionGet() *cobra.Command {
	req := &pb.SessionServiceGetRequest{}
	cmd := &cobra.Command{
		Use:   "get SESSION",
		Short: "Show a session",
		Args:  cobra.ExactArgs(1),
	}
	cmd.Flags().BoolVar(&req.IncludeMessages, "messages", false, "show the messages too")
	cmd.Flags().Int64Var(&req.FromSeq, "from", 0, "smallest number of the messages shown")
	cmd.Flags().Int32Var(&req.MaxMessages, "limit", 0, "most messages shown, 1 to 1000 (default 1000)")
	cmd.RunE = a.withClient(func(ctx context.Context, c *client, _ *cobra.Command, args []string) error {
		req.Space, req.SessionId = a.flags.space, args[0]
		resp, err := c.session.Get(ctx, req)
		if err != nil {
			return err
		}
		return a.out.result(resp, func() { a.printSession(resp) })
	})
	return cmd
}

func (a *app) printSession(r *pb.SessionServiceGetResponse) {
	s := r.GetSession()
	reflected := ""
	if s.GetReflectedOperation() > 0 {
		reflected = fmt.Sprintf("up to message %d, operation %d", s.GetReflectedSeq()-1, s.GetReflectedOperation())
	}
	ended := a.when(s.GetEndedAt())
	if s.GetEndReason() != "" {
		ended += ", " + s.GetEndReason()
	}
	a.out.fields([][2]string{
		{"session", s.GetId()}, {"state", word(s.GetState())}, {"host", oneLine(s.GetHost())}, {"directory", oneLine(s.GetCwd())},
		{"started", a.when(s.GetStartedAt())}, {"newest", a.when(s.GetLastAt())}, {"ended", ended},
		{"messages", itoa(s.GetMessageCount())}, {"reflected", reflected}, {"summary", oneLine(s.GetSummary())},
		{"context", oneLine(r.GetContextSummary())},
	})
	for _, m := range r.GetMessages() {
		text := printable(m.GetContent())
		if t := m.GetTool(); t != nil {
			text = strings.TrimSpace(text + " " + oneLine(t.GetName()+" "+t.GetArguments()))
			if t.GetFailed() {
				text += a.out.colour(red, " failed: ") + oneLine(t.GetError())
			}
		}
		a.out.printf("%4d  %s  %s: %s\n", m.GetSeq(), clock(m.GetAt()), a.out.colour(bold, m.GetRole()), text)
	}
}

func clock(t *timestamppb.Timestamp) string {
	if t == nil {
		return "        "
	}
	return t.AsTime().Local().Format("15:04:05")
}

func (a *app) sessionList() *cobra.Command {
	req := &pb.SessionServiceListRequest{}
	var states []string
	var limit int
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List sessions, newest first",
		Args:  cobra.NoArgs,
	}
	cmd.Flags().StringSliceVar(&states, "state", nil, "any of open, ended, reflected")
	cmd.Flags().IntVar(&limit, "limit", 50, "most sessions; 0 is all")
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

func (a *app) printSessions(r *pb.SessionServiceListResponse) {
	if len(r.GetSessions()) == 0 {
		a.out.printf("No sessions%s. An agent's hooks record them, or: memsidecar session append SESSION --file transcript.jsonl\n", a.inSpace())
		return
	}
	var rows [][]string
	for _, s := range r.GetSessions() {
		rows = append(rows, []string{s.GetId(), word(s.GetState()), itoa(s.GetMessageCount()), a.out.age(s.GetLastAt().AsTime()), s.GetHost(), oneLine(s.GetSummary())})
	}
	a.out.table([]string{"SESSION", "STATE", "MESSAGES", "NEWEST", "HOST", "SUMMARY"}, rows)
	if r.GetNextPageToken() != "" {
		a.out.printf("There are more; --limit 0 shows all.\n")
	}
}
