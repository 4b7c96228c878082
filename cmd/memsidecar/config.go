package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/memsidecar/memsidecar/internal/daemon"
)

const configLong = `Print every setting in effect and where it comes from. Later sources override earlier ones:
default, file (config.yaml in $XDG_CONFIG_HOME/memsidecar, or --config), environment, command line (--set of
"daemon serve", "daemon start" and this command).

  data                            data directory
  socket                          Unix socket of the daemon
  http_listen                     address for HTTP and the panel, such as 127.0.0.1:8765; off by default
  log_level                       debug, info, warn or error
  metrics_listen                  address for metrics: path of a Unix socket, or 127.0.0.1:PORT
  history_days                    days for which operations can be listed and undone
  session_idle                    idle time after which a session ends, such as 30m
  timezone                        time zone of daily logs: local, UTC or a name such as Asia/Shanghai
  memory_session_reflect_enabled  learn from sessions when they end
  memory_consolidation_enabled    compare saved texts with existing memories
  memory_implicit_recall_enabled  inject memories into each prompt
  memory_implicit_recall_top_k    maximum number of memories per prompt, 1 to 5
  memory_implicit_recall_meaning  use vector search for prompts, not only keywords; adds a few milliseconds
  memory_model_selection_enabled  let the language model select more memories for each prompt
  memory_max_prompt_tokens        token budget of the start context of a session
  memory_daily_log_days           days whose log entries the start context of a session lists, 1 to 31
  memory_index_enabled            search by meaning too; false: by keywords alone, whatever models there are
  memory_archive_days             age in days at which a daily log is archived
  memory_delete_days              age in days at which an archived log is deleted
  memory_decay_lambda             decay rate of scores per day
  llm_provider                    language model API: none, openai (any compatible server) or anthropic
  llm_base_url                    base URL of the server, such as http://localhost:11434/v1
  llm_model                       name of the model
  llm_api_key_env                 environment variable with the API key
  llm_api_key_file                file with the API key, mode 0600
  llm_headers                     extra request headers: "Name: value; Other: value"
  llm_allow_http                  allow plain HTTP to other machines
  llm_timeout                     time limit of one request with its retries
  llm_idle_timeout                time limit while the server sends nothing
  llm_daily_tokens                token limit per day, or unlimited
  llm_max_output_tokens           token limit of one reply
  llm_concurrency                 maximum number of concurrent requests
  embeddings_inside               use the built-in embedding models
  embeddings_base_url             base URL of an embeddings server to use instead, such as http://localhost:11434/v1
  embeddings_model                name of the embedding model
  embeddings_api_key_env          environment variable with the API key
  embeddings_api_key_file         file with the API key, mode 0600
  embeddings_query_prefix         prefix for queries, for models that need one
  embeddings_text_prefix          prefix for stored texts, for models that need one
  embeddings_allow_http           allow plain HTTP to other machines
  fleet                           database of a fleet, of which the daemon becomes a node (daemon serve --help)
  fleet_ack                       what replies to writes wait for: shared (the database) or local (this disk)
  fleet_idle                      time without use after which a space of the fleet leaves the node
  fleet_bytes                     bytes that open spaces take before the longest unused leave, such as 512MiB

API keys and header values are never printed. "memsidecar config test-llm" tests the language model.

Environment variables are MEMSIDECAR_DATA, MEMSIDECAR_LOG_LEVEL and so on; settings that start with memory_ are also
read from MEMORY_ARCHIVE_DAYS and so on, which MEMSIDECAR_MEMORY_ARCHIVE_DAYS overrides. The daemon reads its settings
at start; run "memsidecar daemon restart" after a change.`

// configCommand is "config". It reads the configuration itself, so that it also works when no daemon can start.
func (a *app) configCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "config",
		Short:   "Print the settings in effect and where each comes from",
		Long:    configLong,
		Example: "  memsidecar config\n  memsidecar config --json\n  memsidecar config test-llm",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			cfg, err := a.load()
			if err != nil {
				return err
			}
			for _, w := range cfg.Warnings() {
				fmt.Fprintln(a.stderr, "warning: "+w)
			}
			if a.out.json {
				out := object{}
				for _, s := range cfg.Settings() {
					out = append(out, member{s.Key, object{{"value", s.Value}, {"default", s.Default}, {"origin", s.Origin}}})
				}
				return a.out.object(out)
			}
			a.out.table([]string{"SETTING", "VALUE", "ORIGIN"}, settingRows(cfg))
			return nil
		},
	}
	a.addSet(cmd)
	cmd.AddCommand(a.testLLMCommand())
	return cmd
}

// settingRows are the table rows of all settings.
func settingRows(cfg daemon.Config) [][]string {
	var rows [][]string
	for _, s := range cfg.Settings() {
		rows = append(rows, []string{s.Key, s.Value, s.Origin})
	}
	return rows
}
