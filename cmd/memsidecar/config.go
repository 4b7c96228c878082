package main

import (
	"github.com/spf13/cobra"

	"github.com/memsidecar/memsidecar/internal/daemon"
)

const configLong = `Print every setting as it is in effect, and where it comes from. A source overrides the ones before it: default, file
(config.yaml in $XDG_CONFIG_HOME/memsidecar, or --config), environment, command line.

  data                            directory of the memories
  socket                          socket of the daemon
  log_level                       debug, info, warn or error
  history_days                    how long operations can be listed and undone
  session_idle                    silence after which a session has ended, such as 30m
  timezone                        decides which day it is: local, UTC or a name such as Asia/Shanghai
  memory_session_reflect_enabled  learn from sessions when they end
  memory_consolidation_enabled    compare what agents save with what is known
  memory_archive_days             age at which a daily log is archived
  memory_delete_days              age at which an archived log is deleted
  memory_decay_lambda             how fast age counts, per day

In the environment: MEMSIDECAR_DATA, MEMSIDECAR_LOG_LEVEL and so on; what begins with memory_ also as MEMORY_ARCHIVE_DAYS.
The daemon reads its settings when it starts: memsidecar restart`

func (a *app) configCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "config",
		Short: "Print the settings in effect and where each comes from",
		Long:  configLong,
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			cfg, err := a.load()
			if err != nil {
				return err
			}
			if a.out.json {
				out := object{}
				for _, s := range cfg.Settings() {
					out = append(out, member{s.Key, object{{"value", s.Value}, {"origin", s.Origin}}})
				}
				return a.out.object(out)
			}
			a.out.table([]string{"SETTING", "VALUE", "ORIGIN"}, settingRows(cfg))
			return nil
		},
	}
}

func settingRows(cfg daemon.Config) [][]string {
	var rows [][]string
	for _, s := range cfg.Settings() {
		rows = append(rows, []string{s.Key, s.Value, s.Origin})
	}
	return rows
}
