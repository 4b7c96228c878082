package main

import "github.com/spf13/cobra"

// daemonCommand groups the commands that run and maintain the daemon and its data directory.
func (a *app) daemonCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "daemon",
		Short: "Run and maintain the daemon",
		Long: `Run and maintain the daemon. It owns the data directory and listens on a Unix socket. Commands and
agents start it when they need it, so most users never run these commands.`,
		Example: `  memsidecar daemon restart
  memsidecar daemon service install --dry-run`,
		Args: cobra.ArbitraryArgs,
		RunE: a.groupRun,
	}
	cmd.AddCommand(a.startCommand(), a.stopCommand(), a.restartCommand(), a.statusCommand(), a.serveCommand(),
		a.socketCommand(),
		a.serviceCommand(), a.pauseCommand(), a.resumeCommand(), a.publishCommand(), a.repairCommand(), a.dumpCommand())
	return cmd
}
