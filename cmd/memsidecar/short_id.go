package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
	"github.com/memsidecar/memsidecar/internal/memory"
)

// shortLength is how many characters of an id lists show, as many as tell 50,000 memories apart in most stores.
const shortLength = 8

// shortID is an id as lists show it.
func shortID(id string) string {
	if part := memory.RandomPart(id); part != "" {
		return part[:shortLength]
	}
	return id
}

// shortOnes are the arguments that can be short ids.
func shortOnes(args []string) (out []string) {
	for _, arg := range args {
		if memory.IsShortID(arg) {
			out = append(out, arg)
		}
	}
	return out
}

// memoryIDs replaces short ids of memories by whole ones, which the daemon looks up. An argument that is an id as it
// stands is taken as it is; one that nothing begins with is left for the daemon to refuse.
func (a *app) memoryIDs(ctx context.Context, c *client, args []string) ([]string, error) {
	matches := map[string][]string{}
	for short := range slices.Chunk(shortOnes(args), memory.MaxBatch) {
		req := &pb.MemoryServiceListRequest{Space: a.flags.space, PageSize: memory.MaxPage, ShortIds: short,
			Filter: &pb.MemoryFilter{Statuses: []pb.MemoryStatus{pb.MemoryStatus_MEMORY_STATUS_ACTIVE,
				pb.MemoryStatus_MEMORY_STATUS_SUPERSEDED, pb.MemoryStatus_MEMORY_STATUS_RETIRED}}}
		err := eachPage(func(token string) (string, error) {
			req.PageToken = token
			page, err := c.memory.List(ctx, req)
			for _, m := range page.GetMemories() {
				noteMatch(matches, short, m.GetId())
			}
			return page.GetNextPageToken(), err
		})
		if err != nil {
			return nil, err
		}
	}
	return wholeIDs(matches, args, "memory")
}

// sessionID replaces the short id of a session by the whole one, as memoryIDs does; "" stays.
func (a *app) sessionID(ctx context.Context, c *client, arg string) (string, error) {
	short := shortOnes([]string{arg})
	if len(short) == 0 {
		return arg, nil
	}
	matches := map[string][]string{}
	req := &pb.SessionServiceListRequest{Space: a.flags.space, PageSize: memory.MaxPage, ShortIds: short}
	err := eachPage(func(token string) (string, error) {
		req.PageToken = token
		page, err := c.session.List(ctx, req)
		for _, s := range page.GetSessions() {
			noteMatch(matches, short, s.GetId())
		}
		return page.GetNextPageToken(), err
	})
	if err != nil {
		return "", err
	}
	ids, err := wholeIDs(matches, []string{arg}, "session")
	if err != nil {
		return "", err
	}
	return ids[0], nil
}

// wholeSession replaces short ids in the flag --session, which several commands have, by whole ones.
func (a *app) wholeSession(ctx context.Context, c *client, flags *pflag.FlagSet) error {
	flag := flags.Lookup("session")
	if flag == nil || !flag.Changed {
		return nil
	}
	list, many := flag.Value.(pflag.SliceValue)
	if !many {
		id, err := a.sessionID(ctx, c, flag.Value.String())
		if err != nil {
			return err
		}
		return flag.Value.Set(id)
	}
	ids := list.GetSlice()
	for i := range ids {
		var err error
		if ids[i], err = a.sessionID(ctx, c, ids[i]); err != nil {
			return err
		}
	}
	return list.Replace(ids)
}

// noteMatch notes the arguments that an id answers to.
func noteMatch(matches map[string][]string, args []string, id string) {
	for _, arg := range args {
		if memory.AnswersTo(id, arg) {
			matches[arg] = append(matches[arg], id)
		}
	}
}

// wholeIDs returns the id of each argument. Error: for an argument that several ids answer to.
func wholeIDs(matches map[string][]string, args []string, kind string) ([]string, error) {
	out := slices.Clone(args)
	for i, arg := range args {
		found := matches[arg]
		switch {
		case len(found) == 1:
			out[i] = found[0]
		case len(found) > 1 && !slices.Contains(found, arg):
			shown := found[:min(len(found), 5)]
			return nil, &cliError{what: fmt.Sprintf("%s could be any of %d ids of a %s", arg, len(found), kind),
				code: exitUsage, hint: "Type more of it, or the whole id:\n" + strings.Join(shown, "\n")}
		}
	}
	return out, nil
}
