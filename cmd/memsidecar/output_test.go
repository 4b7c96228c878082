package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
	"github.com/memsidecar/memsidecar/internal/client/jsonout"
	"github.com/memsidecar/memsidecar/internal/memory"
)

var noon = time.Date(2026, 2, 21, 12, 0, 0, 0, time.UTC)

// newTestOutput prints into a buffer at a fixed time, as to a pipe.
func newTestOutput() (*output, *bytes.Buffer, *bytes.Buffer) {
	var out, err bytes.Buffer
	return newOutput(&out, &err, func(string) string { return "" }, func() time.Time { return noon }), &out, &err
}

func TestTable(t *testing.T) {
	tests := []struct {
		name  string
		width int
		rows  [][]string
		want  string
	}{
		{"aligned with wide characters", 0, [][]string{{"偏好", "x"}, {"facts", "长的内容不会被截断"}},
			"A      B\n偏好   x\nfacts  长的内容不会被截断\n"},
		{"clipped on a terminal", 28, [][]string{{"facts", strings.Repeat("中", 20)}}, "A      B\nfacts  " +
			strings.Repeat("中", 10) + "…\n"},
		{"empty cells", 0, [][]string{{"a", ""}}, "A  B\na\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o, buf, _ := newTestOutput()
			o.width = tt.width
			o.table([]string{"A", "B"}, tt.rows)
			if diff := cmp.Diff(tt.want, buf.String()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestColours(t *testing.T) {
	o, _, _ := newTestOutput()
	if got := o.colour(red, "x"); got != "x" {
		t.Errorf("in a pipe: %q", got)
	}
	o.colours = true
	if got := o.colour(red, "x"); got != "\x1b[31mx\x1b[0m" {
		t.Errorf("on a terminal: %q", got)
	}
}

func TestTextCannotSpeakToTheTerminal(t *testing.T) {
	evil := "a\x1b[2Jb\r\nc\u009bd"
	for _, got := range []string{oneLine(evil), printable(evil)} {
		if strings.ContainsAny(got, "\x1b\r\u009b") {
			t.Errorf("%q holds control characters", got)
		}
	}
}

func TestAge(t *testing.T) {
	o, _, _ := newTestOutput()
	tests := []struct {
		ago  time.Duration
		want string
	}{
		{0, "just now"}, {59 * time.Second, "just now"}, {time.Minute, "1 min ago"}, {time.Hour, "1 h ago"},
		{24 * time.Hour, "yesterday"}, {48 * time.Hour, "2 days ago"}, {47 * 24 * time.Hour, "47 days ago"},
		{-time.Hour, "in the future"},
	}
	for _, tt := range tests {
		if got := o.age(noon.Add(-tt.ago)); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.ago, got, tt.want)
		}
	}
	if got := o.age(time.Time{}); got != "never" {
		t.Errorf("zero: %q", got)
	}
}

func TestMessageJSON(t *testing.T) {
	tests := []struct {
		name string
		got  any
		want string
	}{
		{"keys are always there, integers are numbers, enums are words",
			messageJSON((&pb.Outcome{Id: "a", Status: pb.OutcomeStatus_OUTCOME_STATUS_DUPLICATE}).ProtoReflect()),
			`{"id":"a","status":"duplicate","reason":"","redactions":[]}`},
		{"nested, large numbers",
			messageJSON((&pb.SessionServiceAppendResponse{
				Result: &pb.WriteResult{OperationId: "7-k3f9"}, NextSeq: 1 << 40}).ProtoReflect()),
			`{"result":{"operation_id":"7-k3f9","replayed":false,"outcomes":[],"positions":[]},"next_seq":1099511627776,"redacted":0,"context_redactions":[]}`},
		{"absent messages are left out", messageJSON((&pb.MemoryServiceAddResponse{}).ProtoReflect()), `{}`},
		{"times and durations", messageJSON(
			(&pb.MethodLatency{Method: "<m>", P50: durationpb.New(1500 * time.Microsecond)}).ProtoReflect()),
			`{"method":"<m>","count":0,"p50":0.0015}`},
		{"optional fields only when set", messageJSON(
			(&pb.Relation{Type: "supports", Strength: new(0.0)}).ProtoReflect()),
			`{"type":"supports","target_id":"","strength":0}`},
		{"zero enum", messageJSON((&pb.Outcome{}).ProtoReflect()), `{"id":"","status":"unspecified","reason":"","redactions":[]}`},
		{"maps", messageJSON((&pb.MemoryServiceStatsResponse{
			ByCategory: map[string]int64{"b": 1, "a": 2}}).ProtoReflect()).(jsonout.Object)[4:5],
			`{"by_category":{"a":2,"b":1}}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o, buf, _ := newTestOutput()
			if err := o.object(tt.got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want+"\n", buf.String()); diff != "" {
				t.Error(diff)
			}
			if !json.Valid(buf.Bytes()) {
				t.Error("is not valid JSON")
			}
		})
	}
}

func TestParseWord(t *testing.T) {
	got, err := parseWord[pb.MemoryStatus]("status", "retired")
	if err != nil || got != pb.MemoryStatus_MEMORY_STATUS_RETIRED {
		t.Errorf("got %v, %v", got, err)
	}
	_, err = parseWord[pb.RankingProfile]("profile", "best")
	if err == nil || !strings.Contains(err.Error(),
		`--profile is "best"; it must be one of balanced, product, weighted, overlap, recent`) {
		t.Errorf("got %v", err)
	}
	if _, err := parseWord[pb.RankingProfile]("profile", "unspecified"); err == nil {
		t.Error("the value for nothing was accepted")
	}
}

// answer is an error as the daemon sends it.
func answer(t *testing.T, code codes.Code, message, reason string,
	violations ...*errdetails.BadRequest_FieldViolation) error {
	t.Helper()
	st, err := status.New(code, message).WithDetails(&errdetails.ErrorInfo{Reason: reason, Domain: "memsidecar.v1"},
		&errdetails.BadRequest{FieldViolations: violations})
	if err != nil {
		t.Fatal(err)
	}
	return st.Err()
}

func TestErrors(t *testing.T) {
	tests := []struct {
		name string
		err  error
		code int
		want []string
	}{
		{"all violations", answer(t, codes.InvalidArgument, "invalid request", "INVALID_REQUEST",
			&errdetails.BadRequest_FieldViolation{Field: "items[0].salience",
				Description: "must be a number from 0 to 1"},
			&errdetails.BadRequest_FieldViolation{Field: "items[0].category", Description: "must be lower-case"}),
			exitUsage,
			[]string{"--salience must be a number from 0 to 1", "--category must be lower-case"}},
		{"stale", answer(t, codes.FailedPrecondition, `memory "a" is at revision 3`, "STALE_REVISION"), exitError,
			[]string{"revision 3", "--expect"}},
		{"shutting down", answer(t, codes.Unavailable, "daemon is shutting down", "SHUTTING_DOWN"), exitUnreachable,
			[]string{"shutting down", "Try again"}},
		{"nobody answers", status.Error(codes.Unavailable, "connection refused"), exitUnreachable,
			[]string{"does not answer", "memsidecar status"}},
		{"corrupt", answer(t, codes.DataLoss, "line 3 is damaged", "CORRUPT"), exitCorrupt,
			[]string{"line 3", "memsidecar daemon repair"}},
		{"timeout", status.FromContextError(context.DeadlineExceeded).Err(), exitError,
			[]string{"in time", "--timeout"}},
		{"locked", memory.ErrLocked, exitLocked, []string{"in use"}},
		{"corrupt at start", memory.ErrCorrupt, exitCorrupt, []string{"memsidecar daemon repair"}},
		{"newer", memory.ErrNewerVersion, exitError, []string{"newer version", "Use the newer memsidecar"}},
		{"other", errors.New("odd"), exitError, []string{"memsidecar: odd"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o, _, buf := newTestOutput()
			if got := o.fail(tt.err); got != tt.code {
				t.Errorf("exit code %d, want %d", got, tt.code)
			}
			for _, w := range tt.want {
				if !strings.Contains(buf.String(), w) {
					t.Errorf("%q is not in %q", w, buf.String())
				}
			}
		})
	}
}

func TestUnreachable(t *testing.T) {
	if !unreachable(status.Error(codes.Unavailable, "connection refused")) {
		t.Error("a refused connection is unreachable")
	}
	if unreachable(answer(t, codes.Unavailable, "daemon is shutting down", "SHUTTING_DOWN")) {
		t.Error("a daemon that answers is not unreachable")
	}
	if unreachable(errors.New("x")) {
		t.Error("an error of our own is not unreachable")
	}
}

func TestNewer(t *testing.T) {
	tests := []struct {
		a, b string
		want bool
	}{
		{"v1.2.3", "v1.2.2", true}, {"v1.10.0", "v1.9.9", true}, {"v2.0.0", "v1.99.99", true},
		{"v1.2.3", "v1.2.3", false}, {"v1.2.2", "v1.2.3", false}, {"devel", "v1.2.3", false},
		{"v1.2.3", "devel", false},
		{"v1.2.4-0.20260101-abc", "v1.2.3", false}, {"1.2.4", "v1.2.3", false}, {"v1.2", "v1.1.0", false},
	}
	for _, tt := range tests {
		if got := newer(tt.a, tt.b); got != tt.want {
			t.Errorf("newer(%s, %s) = %t", tt.a, tt.b, got)
		}
	}
}

func TestReadMessages(t *testing.T) {
	got, err := readMessages("x", strings.NewReader(`{"at":"2026-02-21T12:00:00Z","role":"tool",`+
		`"tool":{"name":"fetch","error":"timeout","failed":true}}`+"\n\n"+`{"role":"user","content":"hi"}`))
	if err != nil || len(got) != 2 || !got[0].GetTool().GetFailed() || !got[0].GetAt().AsTime().Equal(noon) ||
		got[1].GetContent() != "hi" {
		t.Errorf("got %v, %v", got, err)
	}
	for name, text := range map[string]string{
		"not JSON": "{", "unknown field": `{"role":"user","text":"hi"}`, "empty": "\n",
	} {
		_, err := readMessages("file.jsonl", strings.NewReader(text))
		if err == nil || !strings.Contains(err.Error(), "file.jsonl") || asCLIError(err).code != exitUsage {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestPrintOperation(t *testing.T) {
	t.Setenv("TZ", "UTC")
	o, buf, _ := newTestOutput()
	a := &app{out: o}
	a.printOperation(&pb.Operation{Id: "7-k3f9", At: timestamppb.New(noon), Space: "default",
		Actor: pb.Actor_ACTOR_CLIENT, UndoesOperationId: "5-k3f9",
		Changes: []*pb.Change{
			{Subject: &pb.Change_Memory{Memory: &pb.MemoryChange{Id: "m1",
				Before: &pb.Memory{Id: "m1", Content: "old", Salience: 0.5, Revision: 3},
				After:  &pb.Memory{Id: "m1", Content: "new\nlines", Salience: 0.5, Revision: 7}}}},
			{Subject: &pb.Change_Memory{Memory: &pb.MemoryChange{Id: "m2",
				After: &pb.Memory{Id: "m2", Content: "born", Tags: []string{"a"}}}}},
			{Subject: &pb.Change_Memory{Memory: &pb.MemoryChange{Id: "m3",
				Before: &pb.Memory{Id: "m3", Content: "gone"}}}},
			{Subject: &pb.Change_Summary{Summary: &pb.SummaryChange{After: "sum"}}},
		}})
	_, got, _ := strings.Cut(buf.String(), "\n") // the first line has the reader's time zone
	want := `  ~ memory m1
    - content: old
    + content: new
        lines
  + memory m2
    + content: born
    + tags: ["a"]
  - memory m3
    - content: gone
  ~ rolling summary
    + sum
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if !strings.Contains(buf.String(), "operation 7") || !strings.Contains(buf.String(), "undo of operation 5") {
		t.Errorf("heading: %q", buf.String())
	}
}

// runCLI runs the program in this process, with an empty home.
func runCLI(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	t.Setenv("HOME", t.TempDir())
	for _, v := range []string{"XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR"} {
		t.Setenv(v, "")
	}
	var out, err bytes.Buffer
	code = run(t.Context(), args, strings.NewReader(""), &out, &err)
	return code, out.String(), err.String()
}

func TestUsage(t *testing.T) {
	tests := []struct {
		name string
		args []string
		want string
	}{
		{"unknown command", []string{"frobnicate"}, `unknown command "frobnicate"`},
		{"unknown command of a group", []string{"session", "frob"}, `unknown command "frob" for "memsidecar session"`},
		{"unknown flag", []string{"add", "x", "--colour"}, "--colour"},
		{"missing argument", []string{"get"}, "memsidecar get --help"},
		{"too many", []string{"add", "a", "b"}, "memsidecar add --help"},
		{"not a number", []string{"list", "--limit", "many"}, "--limit"},
		{"bad configuration", []string{"config", "--config", "/nowhere.yaml"}, "/nowhere.yaml"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			code, stdout, stderr := runCLI(t, tt.args...)
			if code != exitUsage || stdout != "" || !strings.Contains(stderr, tt.want) {
				t.Errorf("exit code %d, stdout %q, stderr %q", code, stdout, stderr)
			}
		})
	}
}

// Every command must have a summary and help that does not fail, without a daemon.
func TestHelp(t *testing.T) {
	a := newApp(strings.NewReader(""), &bytes.Buffer{}, &bytes.Buffer{}, os.Getenv)
	root := a.rootCommand()
	var paths [][]string
	for _, c := range root.Commands() {
		paths = append(paths, []string{c.Name()})
		for _, sub := range c.Commands() {
			paths = append(paths, []string{c.Name(), sub.Name()})
			if sub.Short == "" {
				t.Errorf("%s has no summary", sub.CommandPath())
			}
		}
		if c.Short == "" {
			t.Errorf("%s has no summary", c.CommandPath())
		}
	}
	if len(paths) < 40 {
		t.Fatalf("only %d commands", len(paths))
	}
	for _, p := range paths {
		if code, out, errOut := runCLI(t, append(p, "--help")...); code != 0 || !strings.Contains(out, "Usage:") ||
			errOut != "" {
			t.Errorf("%v: exit code %d, stderr %q", p, code, errOut)
		}
	}
}
