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

// testLLMCommand is "config test-llm".
func (a *app) testLLMCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "test-llm",
		Short: "Send a test question to the configured language model",
		Long: `Send a test question to the configured language model and report the result: whether the server
answers, which form of structured output it supports, how long it takes, and whether it reports token counts. The
question contains none of your data. This process asks it once, without the daemon and without retries, and it does
not count against llm_daily_tokens. The timeout is llm_timeout, or --timeout if given.`,
		Example: "  memsidecar config test-llm",
		Args:    cobra.NoArgs,
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
	}
}

// testSchema has a field name that no model would guess, so a first reply with this field proves that the server
// enforced the schema.
const testSchema = `{"type":"object","properties":{"memsidecar_probe":{"type":"string","enum":["ready"]},` +
	`"words_counted":{"type":"integer"}},` +
	`"required":["memsidecar_probe","words_counted"],"additionalProperties":false}`

// testReply is the reply that the test question asks for.
type testReply struct {
	Probe string `json:"memsidecar_probe"`
	Words int    `json:"words_counted"`
}

// llmReport is the result of a test.
type llmReport struct {
	client *llm.Client
	key    string
	reply  llm.Reply
	took   time.Duration
}

// testLLM asks the configured model one question and reports what worked. Its result is an error if the model is
// not usable.
func (a *app) testLLM(ctx context.Context, cfg daemon.LLM) error {
	conf, ok := cfg.Client(a.env)
	if !ok {
		return a.llmFailed(cfg, &llmReport{}, &cliError{what: "no language model is configured (llm_provider is none)",
			hint: "Rules are used instead. To use a model, set llm_provider, llm_model and llm_base_url; see " +
				"\"memsidecar config --help\"."})
	}
	conf.Now = a.now
	client, err := llm.New(conf)
	if err != nil {
		return err
	}
	r := &llmReport{client: client, key: keySource(cfg)}
	start := a.now()
	r.reply, err = client.Do(ctx, llm.Request{
		System: "You are being tested. Follow the instruction.",
		User:   "How many words does this line have: one two three four?",
		Schema: json.RawMessage(testSchema), Name: "probe", NoRetry: true,
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
			err = &cliError{what: "the model did not answer in time", hint: "Allow more time with --timeout.",
				cause: ctx.Err()}
		}
		return a.llmFailed(cfg, r, err)
	}
	if a.out.json {
		return a.out.object(append(r.fields(cfg, true), member{"enforced", r.enforced()}))
	}
	a.printLLM(cfg, r)
	return nil
}

// fields are the members of the JSON result.
func (r *llmReport) fields(cfg daemon.LLM, ok bool) object {
	out := object{{"ok", ok}, {"provider", cfg.Provider}, {"model", cfg.Model}, {"endpoint", ""}, {"proxy", ""},
		{"key", r.key}, {"output", string(r.reply.OutputMode)},
		{"seconds", r.took.Seconds()}, {"requests", r.reply.Usage.Requests}, {"input_tokens", r.reply.Usage.Input},
		{"output_tokens", r.reply.Usage.Output},
		{"usage_reported", ok && !r.reply.Usage.Estimated}}
	if r.client != nil {
		out[3].Value, out[4].Value = r.client.Endpoint(), r.client.Proxy()
	}
	return out
}

// enforced reports whether the reply had the schema's form at once, before any repair.
func (r *llmReport) enforced() bool {
	return !r.reply.Repaired && (r.reply.OutputMode == llm.OutputSchema || r.reply.OutputMode == llm.OutputTool)
}

// keySource names where the API key comes from, never the key.
func keySource(cfg daemon.LLM) string {
	switch {
	case cfg.KeyEnv != "":
		return "environment " + cfg.KeyEnv
	case cfg.KeyFile != "":
		return "file " + cfg.KeyFile
	}
	return "none"
}

// printLLM prints a successful test.
func (a *app) printLLM(cfg daemon.LLM, r *llmReport) {
	output := string(r.reply.OutputMode)
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
		{"provider", cfg.Provider}, {"endpoint", r.client.Endpoint()}, {"proxy", r.client.Proxy()}, {"key", r.key},
		{"structured output", output},
		{"time", fmt.Sprintf("%.1f s for %s", r.took.Seconds(),
			plural(int64(r.reply.Usage.Requests), "request", "requests"))}, {"tokens", tokens},
	})
}

// llmFailed reports a failure: to programs as the result, to people as an error.
func (a *app) llmFailed(cfg daemon.LLM, r *llmReport, err error) error {
	e, ok := errors.AsType[*cliError](err)
	if !ok {
		e = &cliError{what: strings.TrimPrefix(err.Error(), "ask the model: "), hint: llmHint(cfg, err), cause: err}
		if le, ok := errors.AsType[*llm.Error](err); ok && errors.Is(err, llm.ErrInvalidReply) && le.Cause != nil {
			e.what += ": " + oneLine(le.Cause.Error()) // the reply contains no user data
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
	if err := a.out.object(append(r.fields(cfg, false), member{"error", e.what},
		member{"remedy", e.hint})); err != nil {
		return err
	}
	return failed(exitError)
}

// llmHint suggests a fix for an error; it may be empty.
func llmHint(cfg daemon.LLM, err error) string {
	if errors.Is(err, llm.ErrKey) && cfg.KeyEnv == "" && cfg.KeyFile == "" {
		return "Name the environment variable that holds the key with llm_api_key_env, or a file that holds it with " +
			"llm_api_key_file."
	}
	for _, h := range llmHints {
		if errors.Is(err, h.reason) {
			return h.hint
		}
	}
	return ""
}

// llmHints are the hints for the reasons of failure, most specific first.
var llmHints = []struct {
	reason error
	hint   string
}{
	{llm.ErrUnreachable, "Check that the server is running and that llm_base_url is its address."},
	{llm.ErrTLS, "Check that the server speaks https at llm_base_url with a certificate that this machine trusts. " +
		"SSL_CERT_FILE adds certificate authorities."},
	{llm.ErrTimeout, "A model may take long to load: try again, or increase llm_idle_timeout and llm_timeout."},
	{llm.ErrKey, "Put a valid API key of this server where llm_api_key_env or llm_api_key_file points."},
	{llm.ErrNotFound, "Check llm_model and the path in llm_base_url; with provider openai it usually ends in /v1."},
	{llm.ErrRateLimited, "Wait, or check the limits and the balance of your account."},
	{llm.ErrServer, "See the log of the server. It may still be loading the model."},
	{llm.ErrNotModel, "llm_base_url answers with something else: a web page, another API, or a login page of the " +
		"network."},
	{llm.ErrRejected, "See the log of the server. Check that it supports llm_model and llm_max_output_tokens."},
	{llm.ErrTooLarge, "The context of the model is too small for this short question, or the model does not stop. " +
		"Choose another model."},
	{llm.ErrTruncated, "The reply was cut off. A reasoning model needs a larger llm_max_output_tokens."},
	{llm.ErrRefused, "The model refuses a harmless question. Choose another model."},
	{llm.ErrInvalidReply, "The model does not return the requested format. Choose a larger model, or a server that " +
		"enforces a JSON schema."},
}
