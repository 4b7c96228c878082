package main

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
	"github.com/memsidecar/memsidecar/internal/client/importers"
	"github.com/memsidecar/memsidecar/internal/memory"
)

// completeLimit bounds a completion that asks the daemon. A shell waits for it at every press of the key.
const completeLimit = time.Second

// addCompletions completes arguments and flag values in all commands: what is fixed from lists, the rest from a daemon
// that runs. None is started.
func (a *app) addCompletions(root *cobra.Command) {
	fixed := map[string][]string{
		"scope": {"user", "project"}, "only": {"hooks", "mcp", "instructions"}, "manager": {systemd, launchd},
		"order": words(pb.MemoryOrder(0)), "status": words(pb.MemoryStatus(0)), "profile": words(pb.RankingProfile(0)),
		"arm": words(pb.SearchArm(0)), "from": append(importers.Formats(), ownFormat),
	}
	byFlag := map[string]cobra.CompletionFunc{"space": a.completeSpaces, "category": a.completeCategories}
	for name, list := range fixed {
		byFlag[name] = cobra.FixedCompletions(list, cobra.ShellCompDirectiveNoFileComp)
	}
	byArgument := map[string]cobra.CompletionFunc{
		"get ID…": a.completeIDs, "update ID": a.completeIDs, "forget ID…": a.completeIDs, "restore ID…": a.completeIDs,
		"history ID": a.completeIDs, "get [DATE]": a.completeDates, "restore DATE": a.completeDates,
		"install [HOST...]": a.completeHosts, "uninstall [HOST...]": a.completeHosts,
	}
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		for name, complete := range byFlag {
			if cmd.Flags().Lookup(name) != nil || cmd.PersistentFlags().Lookup(name) != nil {
				_ = cmd.RegisterFlagCompletionFunc(name, complete) // fails only for a flag that is not there
			}
		}
		if complete := byArgument[cmd.Use]; complete != nil {
			cmd.ValidArgsFunction = complete
		}
		for _, c := range cmd.Commands() {
			walk(c)
		}
	}
	walk(root)
}

// completeHosts completes names of hosts.
func (a *app) completeHosts(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return strings.Split(hostNames(), ", "), cobra.ShellCompDirectiveNoFileComp
}

// ask returns what a running daemon answers to a completion, nothing when none runs or it takes too long.
func (a *app) ask(answer func(ctx context.Context, c *client) ([]string, error)) ([]string, cobra.ShellCompDirective) {
	const none = cobra.ShellCompDirectiveNoFileComp
	cfg, err := a.load()
	if err != nil {
		return nil, none
	}
	c, err := dial(cfg.Socket)
	if err != nil {
		return nil, none
	}
	defer c.close()
	ctx, cancel := context.WithTimeout(context.Background(), completeLimit)
	defer cancel()
	out, err := answer(ctx, c)
	if err != nil {
		return nil, none
	}
	return out, none
}

// completeSpaces completes names of spaces.
func (a *app) completeSpaces(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return a.ask(func(ctx context.Context, c *client) (out []string, err error) {
		resp, err := c.memory.Stats(ctx, &pb.MemoryServiceStatsRequest{})
		for _, s := range resp.GetSpaces() {
			out = append(out, s.GetName())
		}
		return out, err
	})
}

// completeCategories completes the categories that are used, behind those that always are.
func (a *app) completeCategories(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	known := []string{memory.Preferences, memory.Facts, memory.Tasks, memory.Reflections, memory.Procedural, memory.General}
	used, directive := a.ask(func(ctx context.Context, c *client) (out []string, err error) {
		resp, err := c.memory.Stats(ctx, &pb.MemoryServiceStatsRequest{})
		for name := range resp.GetByCategory() {
			if !slices.Contains(known, name) {
				out = append(out, name)
			}
		}
		return out, err
	})
	return append(known, used...), directive
}

// completeIDs completes the short ids of the newest memories, with the beginning of their texts.
func (a *app) completeIDs(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return a.ask(func(ctx context.Context, c *client) (out []string, err error) {
		resp, err := c.memory.List(ctx, &pb.MemoryServiceListRequest{Space: a.flags.space, PageSize: 100})
		for _, m := range resp.GetMemories() {
			out = append(out, shortID(m.GetId())+"\t"+clip(a.summaryLine(m), 50))
		}
		return out, err
	})
}

// completeDates completes the days that have a log.
func (a *app) completeDates(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return a.ask(func(ctx context.Context, c *client) (out []string, err error) {
		resp, err := c.logs.List(ctx, &pb.LogServiceListRequest{Space: a.flags.space})
		for _, d := range resp.GetDays() {
			out = append(out, d.GetDate())
		}
		return append(out, "today", "yesterday"), err
	})
}
