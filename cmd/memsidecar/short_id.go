package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
	"github.com/memsidecar/memsidecar/internal/memory"
)

// shortLength is how many characters of an id lists show, as many as tell 50,000 memories apart in most stores.
const shortLength = 8

// leastShort is the shortest prefix that is looked up: fewer characters name too much to be meant.
const leastShort = 4

// randomPart is the part of a generated id that tells it from others: what stands behind its last dash. The beginning
// of a generated id is a time or a kind, which many share. It is "" for an id that a person chose.
func randomPart(id string) string {
	part := id[strings.LastIndexByte(id, '-')+1:]
	if len(part) == len(id) || len(part) < 2*leastShort || strings.Trim(part, "0123456789abcdef") != "" {
		return ""
	}
	return part
}

// shortID is an id as lists show it.
func shortID(id string) string {
	if part := randomPart(id); part != "" {
		return part[:shortLength]
	}
	return id
}

// mayBeShort reports whether an argument can be a prefix of a random part.
func mayBeShort(arg string) bool {
	return len(arg) >= leastShort && strings.Trim(arg, "0123456789abcdef") == ""
}

// memoryIDs replaces short ids of memories by whole ones. An argument that is an id as it stands is taken as it is; one
// that nothing begins with is left for the daemon to refuse.
func (a *app) memoryIDs(ctx context.Context, c *client, args []string) ([]string, error) {
	if !slices.ContainsFunc(args, mayBeShort) {
		return args, nil
	}
	matches := map[string][]string{}
	req := &pb.MemoryServiceListRequest{Space: a.flags.space, PageSize: memory.MaxPage, Filter: &pb.MemoryFilter{
		Statuses: []pb.MemoryStatus{pb.MemoryStatus_MEMORY_STATUS_ACTIVE, pb.MemoryStatus_MEMORY_STATUS_SUPERSEDED,
			pb.MemoryStatus_MEMORY_STATUS_RETIRED}}}
	err := eachPage(func(token string) (string, error) {
		req.PageToken = token
		page, err := c.memory.List(ctx, req)
		for _, m := range page.GetMemories() {
			noteMatch(matches, args, m.GetId())
		}
		return page.GetNextPageToken(), err
	})
	if err != nil {
		return nil, err
	}
	return wholeIDs(matches, args, "memory")
}

// sessionID replaces the short id of a session by the whole one.
func (a *app) sessionID(ctx context.Context, c *client, arg string) (string, error) {
	if !mayBeShort(arg) {
		return arg, nil
	}
	matches := map[string][]string{}
	err := eachPage(func(token string) (string, error) {
		page, err := c.session.List(ctx, &pb.SessionServiceListRequest{Space: a.flags.space, PageToken: token})
		for _, s := range page.GetSessions() {
			noteMatch(matches, []string{arg}, s.GetId())
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

// noteMatch notes the arguments that an id answers to.
func noteMatch(matches map[string][]string, args []string, id string) {
	for _, arg := range args {
		if arg == id || mayBeShort(arg) && strings.HasPrefix(randomPart(id), arg) {
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
