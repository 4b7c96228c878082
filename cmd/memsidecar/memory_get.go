package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
)

// getCommand is "get": MemoryService.Get.
func (a *app) getCommand() *cobra.Command {
	req := &pb.MemoryServiceGetRequest{}
	cmd := &cobra.Command{
		Use:     "get ID…",
		Short:   "Show memories by id",
		Example: "  memsidecar get 0199a2c4-6e1b-7c33-9f0d-5b8e2d7a41f6",
		Args:    cobra.MinimumNArgs(1),
		RunE: a.withClient(func(ctx context.Context, c *client, _ *cobra.Command, args []string) (err error) {
			if req.Ids, err = a.memoryIDs(ctx, c, args); err != nil {
				return err
			}
			req.Space = a.flags.space
			resp := &pb.MemoryServiceGetResponse{}
			err = eachPage(func(token string) (string, error) {
				req.PageToken = token
				page, err := c.memory.Get(ctx, req)
				resp.Memories = append(resp.Memories, page.GetMemories()...)
				resp.MissingIds = append(resp.MissingIds, page.GetMissingIds()...)
				resp.Positions = page.GetPositions()
				return page.GetNextPageToken(), err
			})
			if err != nil {
				return err
			}
			err = a.out.result(resp, func() {
				for i, m := range resp.GetMemories() {
					if i > 0 {
						a.out.printf("\n")
					}
					a.printMemory(m)
				}
			})
			if err != nil {
				return err
			}
			if len(resp.GetMissingIds()) > 0 {
				return &cliError{what: "not found: " + strings.Join(resp.GetMissingIds(), ", "),
					hint: "Find it with \"memsidecar list --all\" or \"memsidecar search\"; use --space for another " +
						"space."}
			}
			return nil
		}),
	}
	addMinPositions(cmd.Flags(), &req.MinPositions)
	return cmd
}

// addMinPositions adds the flag of reads for what they must include.
func addMinPositions(f *pflag.FlagSet, positions *[]string) {
	f.StringSliceVar(positions, "min-position", nil,
		"include what this `POSITION` in a shared space names, from the JSON of an earlier command (repeatable)")
}

// printMemory prints every field of a memory.
func (a *app) printMemory(m *pb.Memory) {
	a.out.printf("%s\n", printable(m.GetContent()))
	var relations, evidence []string
	for _, r := range m.GetRelations() {
		relations = append(relations, fmt.Sprintf("%s %s (%s)", r.GetType(), r.GetTargetId(), number(r.GetStrength())))
	}
	for _, e := range m.GetEvidence() {
		evidence = append(evidence, strings.Join(strings.Fields(e.GetLogDate()+" "+e.GetEntryId()+" "+e.GetSessionId()),
			" "))
	}
	accessed := ""
	if m.GetAccessCount() > 0 {
		accessed = fmt.Sprintf("%s, last %s", plural(m.GetAccessCount(), "time", "times"), a.when(m.GetLastAccessed()))
	}
	learned := strings.Join(strings.Fields(m.GetContext().GetTool()+" "+m.GetContext().GetErrorType()+" "+
		m.GetContext().GetLearnedFrom()), ", ")
	pinned := ""
	if m.GetPinned() {
		pinned = "yes"
	}
	a.out.fields([][2]string{
		{"  id", m.GetId()}, {"  title", oneLine(m.GetTitle())},
		{"  description", oneLine(m.GetDescription())}, {"  category", m.GetCategory()},
		{"  status", word(m.GetStatus())},
		{"  salience", number(m.GetSalience())}, {"  confidence", number(m.GetConfidence())}, {"  pinned", pinned},
		{"  tags", oneLine(strings.Join(m.GetTags(), ", "))}, {"  source", m.GetSource()},
		{"  learned from", oneLine(learned)},
		{"  created", a.when(m.GetCreatedAt())}, {"  changed", a.when(m.GetUpdatedAt())},
		{"  expires", stamp(m.GetExpiresAt())},
		{"  accessed", accessed}, {"  revision", itoa(m.GetRevision())},
		{"  supersedes", strings.Join(m.GetSupersedes(), ", ")},
		{"  superseded by", m.GetSupersededBy()}, {"  relations", strings.Join(relations, "; ")},
		{"  evidence", strings.Join(evidence, "; ")},
	})
}

// number formats a value between 0 and 1 without trailing zeros.
func number(f float64) string { return strconv.FormatFloat(f, 'g', 4, 64) }

// stamp formats a time in the local zone; it is empty for nil.
func stamp(t *timestamppb.Timestamp) string {
	if t == nil {
		return ""
	}
	return t.AsTime().Local().Format(time.DateTime)
}

// when formats a time with its age, as in "2026-02-21 14:30:00 (3 days ago)".
func (a *app) when(t *timestamppb.Timestamp) string {
	if t == nil {
		return ""
	}
	return stamp(t) + " (" + a.out.age(t.AsTime()) + ")"
}
