// Package realllm lets tests use a real model server: one that they start, pause, stop and start again themselves,
// or one that runs already. Flags say which; without them such tests are skipped (make llm-test sets them). A Proxy
// before the server records what reaches it.
package realllm

import (
	"bytes"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"
)

var (
	program = flag.String("llm.server", "", "llama-server to start, for TestRealModel")
	gguf    = flag.String("llm.gguf", "", "model for it")
	given   = flag.String("llm.url", "", "base URL, with /v1, of a model server that runs already, instead")
	named   = flag.String("llm.model", "default", "name of its model")
)

// Server is a real model server. Its methods are for the goroutine of the test.
type Server struct {
	// URL is where it listens, without /v1.
	URL string
	// Model is the name of its model.
	Model string
	// Context is how many tokens a prompt and its reply may have, from the next Restart on.
	Context int

	t     *testing.T
	cmd   *exec.Cmd     // nil when it is stopped, or run by somebody else
	ended chan struct{} // closed when it has ended
	log   *bytes.Buffer
}

// Start returns a server that answers, until the test ends. It skips the test when the flags name none.
func Start(t *testing.T) *Server {
	t.Helper()
	s := &Server{t: t, Model: *named, Context: 65536}
	switch {
	case *program != "":
		s.URL = "http://127.0.0.1:" + freePort(t)
		t.Cleanup(s.Stop)
		s.Restart()
	case *given != "":
		s.URL = strings.TrimSuffix(strings.TrimSuffix(*given, "/"), "/v1")
	default:
		t.Skip(
			"needs a model server: make llm-test builds one, " +
				"make llm-test LLM_BASE_URL=http://localhost:11434/v1 LLM_MODEL=name asks another",
		)
	}
	return s
}

// freePort is a port of this machine that nobody listens on.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// Own reports whether the test runs the server itself. Only then may it be paused and stopped, and is its model the
// made one, whose words are known.
func (s *Server) Own() bool { return *program != "" }

// NeedOwn skips a test that is not for a server that somebody else runs.
func (s *Server) NeedOwn(t *testing.T, why string) {
	t.Helper()
	if !s.Own() {
		t.Skipf("only with the server that make llm-test starts: %s", why)
	}
}

// Restart starts the server again after a Stop, at the same address, and waits until it answers.
func (s *Server) Restart() {
	s.t.Helper()
	port := s.URL[strings.LastIndex(s.URL, ":")+1:]
	log := &bytes.Buffer{}
	// The same seed for each request: what comes depends on the prompt alone. Two slots, one per request of a
	// client, share the context.
	cmd := exec.Command(
		*program,
		"--model",
		*gguf,
		"--alias",
		s.Model,
		"--host",
		"127.0.0.1",
		"--port",
		port,
		"--offline",
		"--metrics",
		"--ctx-size",
		strconv.Itoa(s.Context),
		"--parallel",
		"2",
		"--kv-unified",
		"--seed",
		"7",
		"--threads",
		"1",
		"--no-warmup",
	)
	cmd.Stdout, cmd.Stderr = log, log
	dieWithUs(cmd)
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait() // it ends by a signal
		close(ended)
	}()
	s.cmd, s.log, s.ended = cmd, log, ended
	s.await()
}

// await returns when the server answers.
func (s *Server) await() {
	s.t.Helper()
	tick, deadline := time.NewTicker(50*time.Millisecond), time.After(time.Minute)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-s.ended:
			s.t.Fatalf("the server ended\n%s", s.log)
		case <-deadline:
			s.t.Fatal("the server does not answer")
		}
		resp, err := http.Get(s.URL + "/health")
		if err != nil {
			continue
		}
		_ = resp.Body.Close()
		if resp.StatusCode == http.StatusOK {
			return
		}
	}
}

// Stop ends the server. From then on nobody listens at its address.
func (s *Server) Stop() {
	if s.cmd == nil {
		return
	}
	_ = s.cmd.Process.Kill()
	<-s.ended
	s.cmd = nil
}

// Pause keeps the server from doing anything, as an overloaded machine does: connections are accepted by the
// kernel, and nothing comes. Resume lets it go on.
func (s *Server) Pause() { s.signal(pause) }

// Resume ends a pause.
func (s *Server) Resume() { s.signal(resume) }

// signal sends a signal to the server's process.
func (s *Server) signal(sig os.Signal) {
	s.t.Helper()
	if err := s.cmd.Process.Signal(sig); err != nil {
		s.t.Fatal(err)
	}
}

// Metric is a number that the server has counted itself, such as llamacpp:tokens_predicted_total.
func (s *Server) Metric(name string) float64 {
	s.t.Helper()
	resp, err := http.Get(s.URL + "/metrics")
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	var text bytes.Buffer
	if _, err := text.ReadFrom(resp.Body); err != nil {
		s.t.Fatal(err)
	}
	for line := range strings.Lines(text.String()) {
		var v float64
		if n, _ := fmt.Sscanf(line, name+" %g", &v); n == 1 {
			return v
		}
	}
	s.t.Fatalf("the server does not count %s:\n%s", name, text.String())
	return 0
}
