package main

import (
	"net/http/httptest"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/memsidecar/memsidecar/internal/memtest/fakellm"
)

// fakes are the ways in which the model servers of scripts behave.
func fakes() map[string][]fakellm.Step {
	ready := fakellm.Reply(`{"memsidecar_probe":"ready","words_counted":4}`, 120, 15)
	return map[string][]fakellm.Step{
		"good":      {ready},
		"object":    {{Refuse: []string{"json_schema"}}, ready},
		"lax":       {fakellm.Reply("Four words.", 60, 3), ready},
		"unmetered": {{Text: ready.Text, NoUsage: true}},
		"stubborn":  {fakellm.Reply("Four words.", 60, 3)},
		"401":       {fakellm.Status(401, `{"error":{"message":"bad key topsecretkey","code":"invalid_api_key"}}`)},
		"404":       {fakellm.Status(404, `{"error":{"code":"model_not_found"}}`)},
		"500":       {fakellm.Status(500, "")},
		"html":      {fakellm.HTML()},
		"hang":      {{Hang: true}},
		"cut":       {{Text: `{"memsidecar_probe":"re`, Finish: "length", Input: 1, Output: 9}},
	}
}

func cmdFakeLLM(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 || fakes()[args[1]] == nil {
		ts.Fatalf("usage: fakellm NAME HOW")
	}
	srv := httptest.NewServer(fakellm.New(fakes()[args[1]]...))
	ts.Defer(func() {
		srv.CloseClientConnections()
		srv.Close()
	})
	ts.Setenv(args[0], srv.URL)
}
