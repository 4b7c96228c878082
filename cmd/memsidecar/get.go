package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
)

func (a *app) getCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "get ID…",
		Short: "Show memories by id",
		Args:  cobra.MinimumNArgs(1),
		RunE: a.withClient(func(ctx context.Context, c *client, _ *cobra.Command, args []string) error {
			resp, err := c.memory.Get(ctx, &pb.MemoryServiceGetRequest{Space: a.flags.space, Ids: args})
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
			if len(resp.GetMissing()) > 0 {
				return &cliError{what: "not found: " + strings.Join(resp.GetMissing(), ", "),
					hint: "Look for it with \"memsidecar list\" or \"memsidecar search\"; spaces are separate, see --space."}
			}
			return nil
		}),
	}
}

// printMemory shows everything of a memory.
func (a *app) printMemory(m *pb.Memory) {
	a.out.printf("%s\n", printable(m.GetContent()))
	var relations, evidence []string
	for _, r := range m.GetRelations() {
		relations = append(relations, fmt.Sprintf("%s %s (%s)", r.GetType(), r.GetTarget(), number(r.GetStrength())))
	}
	for _, e := range m.GetEvidence() {
		evidence = append(evidence, strings.Join(strings.Fields(e.GetLog()+" "+e.GetEntry()+" "+e.GetSession()), " "))
	}
	accessed := ""
	if m.GetAccessCount() > 0 {
		accessed = fmt.Sprintf("%s, last %s", plural(m.GetAccessCount(), "time", "times"), a.when(m.GetLastAccessed()))
	}
	learnt := strings.Join(strings.Fields(m.GetContext().GetTool()+" "+m.GetContext().GetErrorType()+" "+m.GetContext().GetLearnedFrom()), ", ")
	pinned := ""
	if m.GetPinned() {
		pinned = "yes"
	}
	a.out.fields([][2]string{
		{"  id", m.GetId()}, {"  title", oneLine(m.GetTitle())}, {"  category", m.GetCategory()}, {"  status", word(m.GetStatus())},
		{"  salience", number(m.GetSalience())}, {"  confidence", number(m.GetConfidence())}, {"  pinned", pinned},
		{"  tags", oneLine(strings.Join(m.GetTags(), ", "))}, {"  source", m.GetSource()}, {"  learnt from", oneLine(learnt)},
		{"  created", a.when(m.GetCreatedAt())}, {"  changed", a.when(m.GetUpdatedAt())}, {"  expires", stamp(m.GetExpiresAt())},
		{"  found", accessed}, {"  revision", itoa(m.GetRevision())}, {"  supersedes", strings.Join(m.GetSupersedes(), ", ")},
		{"  superseded by", m.GetSupersededBy()}, {"  relations", strings.Join(relations, "; ")}, {"  evidence", strings.Join(evidence, "; ")},
	})
}

// number prints a share of 1 without needless digits.
func number(f float64) string { return strconv.FormatFloat(f, 'g', 4, 64) }

// stamp is a time in the local zone of the reader; empty when absent.
func stamp(t *timestamppb.Timestamp) string {
	if t == nil {
		return ""
	}
	return t.AsTime().Local().Format(time.DateTime)
}

// when is a time with its age.
func (a *app) when(t *timestamppb.Timestamp) string {
	if t == nil {
		return ""
	}
	return stamp(t) + " (" + a.out.age(t.AsTime()) + ")"
}
