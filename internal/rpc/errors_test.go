package rpc_test

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/rpc"
)

// sentinels are all errors of the domain, by name, and the code that each becomes.
var sentinels = map[string]struct {
	err  error
	code codes.Code
}{
	"ErrNotFound":      {memory.ErrNotFound, codes.NotFound},
	"ErrOwnProcess":    {memory.ErrOwnProcess, codes.FailedPrecondition},
	"ErrExists":        {memory.ErrExists, codes.AlreadyExists},
	"ErrStale":         {memory.ErrStale, codes.FailedPrecondition},
	"ErrKeyReused":     {memory.ErrKeyReused, codes.FailedPrecondition},
	"ErrNotUndoable":   {memory.ErrNotUndoable, codes.FailedPrecondition},
	"ErrTrimmed":       {memory.ErrTrimmed, codes.OutOfRange},
	"ErrReadOnly":      {memory.ErrReadOnly, codes.FailedPrecondition},
	"ErrReadOnlySpace": {memory.ErrReadOnlySpace, codes.FailedPrecondition},
	"ErrDiskFull":      {memory.ErrDiskFull, codes.ResourceExhausted},
	"ErrCorrupt":       {memory.ErrCorrupt, codes.DataLoss},
	"ErrNewerVersion":  {memory.ErrNewerVersion, codes.FailedPrecondition},
	"ErrLocked":        {memory.ErrLocked, codes.FailedPrecondition},
	"ErrUnsupportedFS": {memory.ErrUnsupportedFS, codes.FailedPrecondition},
	"ErrShuttingDown":  {memory.ErrShuttingDown, codes.Unavailable},
	"ErrBusy":          {memory.ErrBusy, codes.ResourceExhausted},
	"ErrPaused":        {memory.ErrPaused, codes.FailedPrecondition},
	"ErrHostPaused":    {memory.ErrHostPaused, codes.FailedPrecondition},
	"ErrUnfinished":    {memory.ErrUnfinished, codes.FailedPrecondition},
	"ErrEpoch":         {memory.ErrEpoch, codes.FailedPrecondition},
	"ErrIncomplete":    {memory.ErrIncomplete, codes.FailedPrecondition},
	"ErrRefused":       {memory.ErrRefused, codes.FailedPrecondition},
	"ErrDatabase":      {memory.ErrDatabase, codes.FailedPrecondition},
	"ErrDatabaseAway":  {memory.ErrDatabaseAway, codes.Unavailable},
	"ErrNoMirror":      {memory.ErrNoMirror, codes.FailedPrecondition},
	"ErrUnsent":        {memory.ErrUnsent, codes.FailedPrecondition},
	"ErrUnauthorized":  {memory.ErrUnauthorized, codes.PermissionDenied},
	"ErrShareStopped":  {memory.ErrShareStopped, codes.FailedPrecondition},
	"ErrNotOpen":       {memory.ErrNotOpen, codes.Unavailable},
	"ErrNotReached":    {memory.ErrNotReached, codes.DeadlineExceeded},
	// Of a write it says that it may have happened.
	"ErrOutcomeUnknown": {memory.ErrOutcomeUnknown, codes.DeadlineExceeded},
}

// declared collects the exported sentinels of a package directory.
func declared(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no files in %s: %v", dir, err)
	}
	var names []string
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range file.Decls {
			if vars, ok := decl.(*ast.GenDecl); ok && vars.Tok == token.VAR {
				for _, spec := range vars.Specs {
					for _, id := range spec.(*ast.ValueSpec).Names {
						if strings.HasPrefix(id.Name, "Err") && id.IsExported() {
							names = append(names, id.Name)
						}
					}
				}
			}
		}
	}
	slices.Sort(names)
	return names
}

func TestEverySentinelIsMapped(t *testing.T) {
	want := declared(t, "../memory")
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(sentinels))); diff != "" {
		t.Errorf("sentinels of package memory and of this test differ (-declared +tested):\n%s", diff)
	}
}

// failing is a log service that answers Get with err.
type failing struct {
	pb.UnimplementedLogServiceServer
	err error
}

func (f *failing) Get(context.Context, *pb.LogServiceGetRequest) (*pb.LogServiceGetResponse, error) {
	if f.err == nil {
		panic("secret text")
	}
	return nil, f.err
}

// call sends err through a real server and client.
func call(t *testing.T, err error) *status.Status {
	t.Helper()
	monitor := newMonitor(t)
	server := newServer(monitor)
	pb.RegisterLogServiceServer(server, &failing{err: err})
	client := pb.NewLogServiceClient(dial(t, server))
	_, got := client.Get(t.Context(), &pb.LogServiceGetRequest{})
	if got == nil {
		t.Fatal("the call succeeded")
	}
	return status.Convert(got)
}

// info returns the one ErrorInfo of a status and checks that no kind of detail is there twice.
func info(t *testing.T, st *status.Status) *errdetails.ErrorInfo {
	t.Helper()
	var found *errdetails.ErrorInfo
	kinds := map[string]bool{}
	for _, d := range st.Details() {
		kind := fmt.Sprintf("%T", d)
		if kinds[kind] {
			t.Errorf("two details %s", kind)
		}
		kinds[kind] = true
		if e, ok := d.(*errdetails.ErrorInfo); ok {
			found = e
		}
	}
	if found == nil {
		t.Fatalf("no ErrorInfo in %v", st)
	}
	if found.GetDomain() != "memsidecar.v1" || found.GetReason() == "" || found.GetMetadata()["request_id"] == "" {
		t.Errorf("ErrorInfo %v", found)
	}
	return found
}

func TestErrorsOverTheWire(t *testing.T) {
	for name, s := range sentinels {
		t.Run(name, func(t *testing.T) {
			st := call(t, fmt.Errorf("doing it: %w", s.err))
			if st.Code() != s.code {
				t.Errorf("code %v, want %v", st.Code(), s.code)
			}
			if reason := info(t, st).GetReason(); reason == "INTERNAL" {
				t.Error("not in the table")
			}
			if !strings.Contains(st.Message(), s.err.Error()) {
				t.Errorf("message %q does not say %q", st.Message(), s.err)
			}
		})
	}
}

func TestErrorDetails(t *testing.T) {
	detail := func(st *status.Status, kind any) any {
		for _, d := range st.Details() {
			if fmt.Sprintf("%T", d) == fmt.Sprintf("%T", kind) {
				return d
			}
		}
		t.Errorf("no %T in %v", kind, st.Details())
		return kind
	}
	st := call(t, &memory.InvalidError{Violations: []memory.Violation{{Field: "a", Reason: "X", Detail: "bad a"},
		{Field: "b[2]", Reason: "Y", Detail: "bad b"}}})
	bad := detail(st, &errdetails.BadRequest{}).(*errdetails.BadRequest).GetFieldViolations()
	if st.Code() != codes.InvalidArgument || len(bad) != 2 || bad[1].GetField() != "b[2]" || bad[1].GetReason() != "Y" {
		t.Errorf("invalid request: %v %v", st, bad)
	}
	st = call(t, fmt.Errorf("get: %w", &memory.NotFoundError{Kind: "memory", Name: "m1"}))
	resource := detail(st, &errdetails.ResourceInfo{}).(*errdetails.ResourceInfo)
	if resource.GetResourceType() != "memory" || resource.GetResourceName() != "m1" ||
		info(t, st).GetMetadata()["name"] != "m1" {
		t.Errorf("not found: %v", st)
	}
	st = call(t, &memory.StaleError{Kind: "memory", Name: "m1", Expected: 3, Current: 5})
	failed := detail(st, &errdetails.PreconditionFailure{}).(*errdetails.PreconditionFailure).GetViolations()
	if len(failed) != 1 || failed[0].GetType() != "ETAG" || info(t, st).GetMetadata()["current"] != "5" {
		t.Errorf("stale: %v", st)
	}
	if d := detail(call(t, memory.ErrBusy),
		&errdetails.RetryInfo{}).(*errdetails.RetryInfo); d.GetRetryDelay().AsDuration() <= 0 {
		t.Errorf("busy: retry after %v", d.GetRetryDelay())
	}
}

func TestUnknownErrorsTellNothing(t *testing.T) {
	for name, err := range map[string]error{
		"unknown": errors.New("open /secret/path"), "panic": nil,
		"status of another server": status.Error(codes.NotFound, "secret text"),
	} {
		t.Run(name, func(t *testing.T) {
			st := call(t, err)
			if st.Code() != codes.Internal || strings.Contains(st.String(), "secret") ||
				info(t, st).GetReason() != "INTERNAL" {
				t.Errorf("got %v", st)
			}
		})
	}
}

func TestManyViolationsFitAHeader(t *testing.T) {
	e := &memory.InvalidError{}
	for i := range 1000 {
		e.Violations = append(e.Violations,
			memory.Violation{Field: fmt.Sprintf("items[%d].content", i), Reason: "TOO_LONG",
				Detail: "has 9000 characters; the limit is 8000"})
	}
	if st := call(t, e); st.Code() != codes.InvalidArgument || len(info(t, st).GetReason()) == 0 {
		t.Errorf("code %v", st.Code())
	}
}

func TestContextErrors(t *testing.T) {
	for err, want := range map[error]codes.Code{context.Canceled: codes.Canceled,
		context.DeadlineExceeded: codes.DeadlineExceeded} {
		if st := rpc.ToStatus(fmt.Errorf("wait: %w", err), "r1"); st.Code() != want {
			t.Errorf("%v became %v", err, st.Code())
		}
	}
}
