package e2e_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
	"github.com/memsidecar/memsidecar/internal/memtest/realllm"
)

// TestRealModel runs the real program with a real model server.
func TestRealModel(t *testing.T) {
	s := realllm.Start(t)
	t.Run("check", func(t *testing.T) { realCheck(t, s) })
	t.Run("daemon", func(t *testing.T) { realDaemon(t, s) })
}

// useModel configures programs that are started from now on.
func useModel(t *testing.T, url, model, idle string) {
	t.Helper()
	for name, value := range map[string]string{"PROVIDER": "openai", "MODEL": model, "BASE_URL": url + "/v1",
		"IDLE_TIMEOUT": idle, "TIMEOUT": "1m", "MAX_OUTPUT_TOKENS": "1024"} {
		t.Setenv("MEMSIDECAR_LLM_"+name, value)
	}
}

// realCheck has "llm test" say what the server can do: in each of the three ways, when it is paused, and when it is
// gone.
func realCheck(t *testing.T, s *realllm.Server) {
	p := newPlace(t)
	for i, mode := range []string{"json_schema", "json_object", "plain"} {
		proxy := realllm.NewProxy(t, s)
		proxy.Refuse([]string{"json_schema", "json_object"}[:i]...)
		useModel(t, proxy.URL, s.Model, "1m")
		out, err := p.Command("config", "test-llm", "--json").Output()
		t.Logf("%s: %s", mode, out)
		var said struct {
			OK       bool   `json:"ok"`
			Output   string `json:"output"`
			Enforced bool   `json:"enforced"`
			Reported bool   `json:"usage_reported"`
			Requests int    `json:"requests"`
		}
		if jerr := json.Unmarshal(out, &said); jerr != nil || said.Requests != len(proxy.Exchanges()) {
			t.Errorf("%v, %v; %d requests came by", err, jerr, len(proxy.Exchanges()))
		}
		if s.Own() && (err != nil || !said.OK || said.Output != mode || said.Enforced != (i == 0) || !said.Reported ||
			said.Requests != i+1) {
			t.Errorf("%v, %+v", err, said)
		}
	}
	if !s.Own() {
		t.Log("not paused and not stopped: somebody else runs the server")
		return
	}
	useModel(t, s.URL, s.Model, "1m")
	t.Log(p.Succeeds(t, "config", "test-llm"))
	useModel(t, s.URL, s.Model, "1s")
	s.Pause()
	out := p.Fails(t, 1, "config", "test-llm")
	s.Resume()
	t.Log(out)
	if !strings.Contains(out, "no byte arrived") {
		t.Error("it does not say that the server hangs")
	}
	s.Stop()
	out = p.Fails(t, 1, "config", "test-llm")
	s.Restart()
	t.Log(out)
	if !strings.Contains(out, "cannot be reached") {
		t.Error("it does not say that the server is gone")
	}
}

// realDaemon pauses the server while the daemon has a session to reflect, and lets it go on. Nobody asks again: the
// daemon does, after half a minute.
func realDaemon(t *testing.T, s *realllm.Server) {
	s.NeedOwn(t, "it is paused with SIGSTOP")
	p := newPlace(t)
	proxy := realllm.NewProxy(t, s)
	// for the reply after the pause too, on a machine that has other things to do
	useModel(t, proxy.URL, s.Model, "10s")
	d := p.serve(t)
	conn := p.dial(t)
	memories, sessions := pb.NewMemoryServiceClient(conn), pb.NewSessionServiceClient(conn)
	if _, err := memories.Add(t.Context(),
		&pb.MemoryServiceAddRequest{Items: []*pb.NewMemory{
			{Id: "m1", Category: "facts", Content: "We use Postgres 14"}}}); err != nil {
		t.Fatal(err)
	}
	s.Pause()
	res, err := sessions.Reflect(t.Context(),
		&pb.SessionServiceReflectRequest{SessionId: "s",
			Messages: []*pb.SessionMessage{{Role: pb.Role_ROLE_USER, Content: "We use Postgres 16."}}})
	t.Log(res.GetFallbackReason())
	if err != nil || !res.GetPending() || !strings.Contains(res.GetFallbackReason(), "did not answer in time") {
		t.Errorf("while the server was paused: %v, %v", res, err)
	}
	out, _ := p.Command("doctor").CombinedOutput() // it warns
	t.Logf("%s", out)
	if !strings.Contains(string(out), "did not answer in time") {
		t.Error("doctor does not say why the session waits")
	}
	s.Resume()
	began := time.Now()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for reflected := false; !reflected; <-tick.C {
		got, err := sessions.Get(t.Context(), &pb.SessionServiceGetRequest{SessionId: "s"})
		if err != nil || time.Since(began) > 2*time.Minute {
			t.Fatalf("%v, %v", got, err)
		}
		reflected = got.GetSession().GetState() == pb.SessionState_SESSION_STATE_REFLECTED
	}
	t.Logf("reflected %s after the server went on", time.Since(began).Round(time.Second))
	got, err := memories.Get(t.Context(), &pb.MemoryServiceGetRequest{Ids: []string{"m1"}})
	if err != nil || got.GetMemories()[0].GetContent() != "We use Postgres 16" {
		t.Errorf("%v, %v", got, err)
	}
	d.Stop(t)
	var input, output int
	for _, x := range proxy.Exchanges() {
		_, _, in, out := x.Reply()
		input, output = input+in, output+out
	}
	ledger, err := os.ReadFile(filepath.Join(p.Data, "llm.json"))
	if want := fmt.Sprintf(`"requests":2,"failed":1,"reported":{"input":%d,"output":%d}`, input, output); err != nil ||
		!strings.Contains(string(ledger), want) || len(proxy.Exchanges()) != 2 {
		t.Errorf("the ledger is %s, %v; %d requests came by, want %s", ledger, err, len(proxy.Exchanges()), want)
	}
	t.Logf("%s", ledger)
}
