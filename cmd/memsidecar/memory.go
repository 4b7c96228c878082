package main

import "github.com/spf13/cobra"

// memoryCommand groups the commands on memories that are typed less often than add, search or forget.
func (a *app) memoryCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "memory",
		Short: "More commands on memories: consolidate, purge, summary, skill, stats, …",
		Long: `More commands on memories: save what an agent learned, compress old memories, erase memories for
good, edit the rolling summary, record skills, and show statistics.`,
		Example: `  memsidecar memory consolidate "The staging database listens on port 5433"
  memsidecar memory stats`,
		Args: cobra.ArbitraryArgs,
		RunE: a.groupRun,
	}
	cmd.AddCommand(a.consolidateCommand(), a.saveCommand(), a.compressCommand(), a.purgeCommand(), a.summaryCommand(),
		a.skillCommand(), a.statsCommand(), a.hotCommand())
	return cmd
}
