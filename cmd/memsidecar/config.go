package main

import (
	"github.com/spf13/cobra"

	"github.com/memsidecar/memsidecar/internal/daemon"
)

const configLong = `Print every setting as it is in effect, and where it comes from. A source overrides the ones before it: default, file
(config.yaml in $XDG_CONFIG_HOME/memsidecar, or --config), environment, command line.

  data                            directory of the memories
  socket                          socket of the daemon
  http_listen                     also serve HTTP and the panel there, such as 127.0.0.1:8765; none unless set
  log_level                       debug, info, warn or error
  metrics_listen                  where metrics are served: path of a Unix socket, or 127.0.0.1:PORT
  history_days                    how long operations can be listed and undone
  session_idle                    silence after which a session has ended, such as 30m
  timezone                        decides which day it is: local, UTC or a name such as Asia/Shanghai
  memory_session_reflect_enabled  learn from sessions when they end
  memory_consolidation_enabled    compare what agents save with what is known
  memory_implicit_recall_enabled  tell agents of their memories for each prompt
  memory_implicit_recall_top_k    most memories that are told then, 1 to 5
  memory_implicit_recall_meaning  go by what prompts mean, too, and not by their words alone: a few milliseconds each
  memory_model_selection_enabled  have the language model choose more memories for each prompt
  memory_max_prompt_tokens        tokens of what they are told at the start of a session
  memory_archive_days             age at which a daily log is archived
  memory_delete_days              age at which an archived log is deleted
  memory_decay_lambda             how fast age counts, per day
  llm_provider                    language model to ask: none, openai (any compatible server) or anthropic
  llm_base_url                    address of its server, such as http://localhost:11434/v1
  llm_model                       name of the model
  llm_api_key_env                 name of the environment variable that holds the key
  llm_api_key_file                file that holds the key, mode 0600
  llm_headers                     added to requests: "Name: value; Other: value"
  llm_allow_http                  permit plain http to other machines
  llm_timeout                     bound on one question with its retries
  llm_idle_timeout                bound on the time in which the server sends nothing
  llm_daily_tokens                bound on what a day may use, or unlimited
  llm_max_output_tokens           bound on one reply
  llm_concurrency                 questions asked at once
  embeddings_inside               have the model in the program tell what English texts mean
  embeddings_base_url             address of a server with /v1/embeddings that does so instead, such as http://localhost:11434/v1
  embeddings_model                name of its model
  embeddings_api_key_env          name of the environment variable that holds the key
  embeddings_api_key_file         file that holds the key, mode 0600
  embeddings_query_prefix         put before what is searched for, as some models want it
  embeddings_text_prefix          put before what is stored, as some models want it
  embeddings_allow_http           permit plain http to other machines

Keys are never shown, and neither are the values of headers. memsidecar llm test tries the language model.

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
