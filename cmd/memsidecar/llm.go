package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/memsidecar/memsidecar/internal/daemon"
	"github.com/memsidecar/memsidecar/internal/llm"
)

func (a *app) llmCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "llm", Short: "The language model that is configured", Args: cobra.ArbitraryArgs, RunE: a.groupRun}
	cmd.AddCommand(&cobra.Command{
		Use:   "test",
		Short: "Ask the configured language model something, and say what works",
		Long: `Ask the configured language model something, and say what works: whether the server answers, how structured output must be asked for,
how long it takes, whether tokens are reported. The question holds nothing of yours. It is asked by this process, without the daemon, once
and without retries, and does not count against llm_daily_tokens. It takes at most llm_timeout, or --timeout if that is given.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := a.load()
			if err != nil {
				return err
			}
			ctx := cmd.Context()
			if cmd.Flags().Changed("timeout") {
				var cancel context.CancelFunc
				ctx, cancel = a.deadline(ctx)
				defer cancel()
			}
			return a.testLLM(ctx, cfg.LLM)
		},
	})
	return cmd
}

// The test's field has a name that no model comes upon: a first reply that has it was made by the schema.
const testSchema = `{"type":"object","properties":{"memsidecar_probe":{"type":"string","enum":["ready"]},"words_counted":{"type":"integer"}},` +
	`"required":["memsidecar_probe","words_counted"],"additionalProperties":false}`

type testReply struct {
	Probe string `json:"memsidecar_probe"`
	Words int    `json:"words_counted"`
}

// llmReport is what a test found.
type llmReport struct {
	client *llm.Client
	key    string
	reply  llm.Reply
	took   time.Duration
}

func (a *app) testLLM(ctx context.Context, cfg daemon.LLM) error {
	conf, ok := cfg.Client(a.env)
	if !ok {
		return a.llmFailed(cfg, &llmReport{}, &cliError{what: "no language model is configured (llm_provider is none)",
			hint: "That is fine: rules are used. To have one, set llm_provider, llm_model and llm_base_url; see \"memsidecar config --help\"."})
	}
	conf.Now = a.now
	client, err := llm.New(conf)
	if err != nil {
		return err
	}
	r := &llmReport{client: client, key: keySource(cfg)}
	start := a.now()
	r.reply, err = client.Do(ctx, llm.Request{
		System: "You are being tested. Do what you are asked.", User: "How many words has this line: one two three four?",
		Schema: json.RawMessage(testSchema), Name: "probe", Once: true,
		Check: func(raw json.RawMessage) error {
			var v testReply
			if err := llm.Into(&v)(raw); err != nil {
				return err
			}
			if v.Probe != "ready" {
				return errors.New(`memsidecar_probe: must be "ready"`)
			}
			return nil
		},
	})
	r.took = a.now().Sub(start)
	if err != nil {
		if ctx.Err() != nil {
			err = &cliError{what: "the model did not answer in time", hint: "Allow more time with --timeout.", cause: ctx.Err()}
		}
		return a.llmFailed(cfg, r, err)
	}
	if a.out.json {
		return a.out.object(append(r.fields(cfg, true), member{"enforced", r.enforced()}))
	}
	a.printLLM(cfg, r)
	return nil
}

// fields is what programs get.
func (r *llmReport) fields(cfg daemon.LLM, ok bool) object {
	out := object{{"ok", ok}, {"provider", cfg.Provider}, {"model", cfg.Model}, {"endpoint", ""}, {"proxy", ""}, {"key", r.key}, {"output", string(r.reply.Rung)},
		{"seconds", r.took.Seconds()}, {"requests", r.reply.Usage.Requests}, {"input_tokens", r.reply.Usage.Input}, {"output_tokens", r.reply.Usage.Output},
		{"usage_reported", ok && !r.reply.Usage.Estimated}}
	if r.client != nil {
		out[3].Value, out[4].Value = r.client.Endpoint(), r.client.Proxy()
	}
	return out
}

// enforced reports whether the reply had the schema's form at once, without the model having been told it.
func (r *llmReport) enforced() bool {
	return !r.reply.Repaired && (r.reply.Rung == llm.RungSchema || r.reply.Rung == llm.RungTool)
}

func keySource(cfg daemon.LLM) string {
	switch {
	case cfg.KeyEnv != "":
		return "environment " + cfg.KeyEnv
	case cfg.KeyFile != "":
		return "file " + cfg.KeyFile
	}
	return "none"
}

func (a *app) printLLM(cfg daemon.LLM, r *llmReport) {
	output := string(r.reply.Rung)
	switch {
	case r.enforced():
		output += ", enforced by the server"
	case r.reply.Repaired:
		output += ", not enforced: the first reply had to be repaired"
	default:
		output += ", the strictest form that the server accepts"
	}
	tokens := fmt.Sprintf("%d read, %d written", r.reply.Usage.Input, r.reply.Usage.Output)
	if r.reply.Usage.Estimated {
		tokens += ", estimated: the server does not report them"
	} else {
		tokens += ", as reported by the server"
	}
	a.out.printf("%s %s answers.\n", a.out.colour(green, "✓"), printable(cfg.Model))
	a.out.fields([][2]string{
		{"provider", cfg.Provider}, {"endpoint", r.client.Endpoint()}, {"proxy", r.client.Proxy()}, {"key", r.key}, {"structured output", output},
		{"time", fmt.Sprintf("%.1f s for %s", r.took.Seconds(), plural(int64(r.reply.Usage.Requests), "request", "requests"))}, {"tokens", tokens},
	})
}

// llmFailed reports a failure: to programs as the result, to people as an error.
func (a *app) llmFailed(cfg daemon.LLM, r *llmReport, err error) error {
	e, ok := errors.AsType[*cliError](err)
	if !ok {
		e = &cliError{what: strings.TrimPrefix(err.Error(), "ask the model: "), hint: llmHint(cfg, err), cause: err}
		if le, ok := errors.AsType[*llm.Error](err); ok && errors.Is(err, llm.ErrInvalidReply) && le.Cause != nil {
			e.what += ": " + oneLine(le.Cause.Error()) // it answers our own question
		}
	}
	if !a.out.json {
		if r.client != nil {
			e.what += "\nendpoint " + r.client.Endpoint() + ", model " + printable(cfg.Model) + ", key " + r.key
			if proxy := r.client.Proxy(); proxy != "" {
				e.what += ", proxy " + proxy
			}
		}
		return e
	}
	if err := a.out.object(append(r.fields(cfg, false), member{"error", e.what}, member{"remedy", e.hint})); err != nil {
		return err
	}
	return failed(exitError)
}

// llmHint says what to do about a failure.
func llmHint(cfg daemon.LLM, err error) string {
	if errors.Is(err, llm.ErrKey) && cfg.KeyEnv == "" && cfg.KeyFile == "" {
		return "Name the environment variable that holds the key with llm_api_key_env, or a file that holds it with llm_api_key_file."
	}
	for _, h := range llmHints {
		if errors.Is(err, h.reason) {
			return h.hint
		}
	}
	return ""
}

var llmHints = []struct {
	reason error
	hint   string
}{
	{llm.ErrUnreachable, "Is the server running, and is llm_base_url its address?"},
	{llm.ErrTLS, "Does the server speak https at llm_base_url, with a certificate that this machine trusts? SSL_CERT_FILE can name further authorities."},
	{llm.ErrTimeout, "A model that is being loaded takes long: try again, or allow more with llm_idle_timeout and llm_timeout."},
	{llm.ErrKey, "Put a valid key of this server where llm_api_key_env or llm_api_key_file says."},
	{llm.ErrNotFound, "Does the server know llm_model under this name, and does llm_base_url have the right path? With provider openai it mostly ends in /v1."},
	{llm.ErrRateLimited, "Wait, or look at the limits and the balance of your account."},
	{llm.ErrServer, "The server's own log says more. It may still be loading the model."},
	{llm.ErrNotModel, "Something else answers at llm_base_url: a web page, another kind of API, a login page of the network?"},
	{llm.ErrRejected, "The server's own log says why. Does it know llm_model, and allow llm_max_output_tokens?"},
	{llm.ErrTooLarge, "The model's context is too small for even this short question, or it does not stop: choose another model."},
	{llm.ErrTruncated, "The reply did not fit. A model that reasons needs a larger llm_max_output_tokens."},
	{llm.ErrRefused, "The model refuses a harmless question: choose another one."},
	{llm.ErrInvalidReply, "The model does not keep to the form asked for: choose a larger model, or a server that enforces a JSON schema."},
}
