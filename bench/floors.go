package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthgrpc "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/memsidecar/memsidecar/bench/process"
	memsidecarv1 "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
	"github.com/memsidecar/memsidecar/internal/memory"
)

// First arguments that make this program one of its own child processes.
const (
	childEcho   = "child-echo"
	childDecode = "child-decode"
)

// echo answers with messages as large as the daemon's, and does nothing else.
type echo struct {
	memsidecarv1.UnimplementedMemoryServiceServer
	memsidecarv1.UnimplementedSearchServiceServer
}

// echoID is as long as a real id.
const echoID = "0197f0e4-5a3c-7e51-9b1d-3f6a2c84d7e0"

// echoMemory returns a memory of the usual size.
func echoMemory(i int) *memsidecarv1.Memory {
	m := newMemory(i)
	now := timestamppb.Now()
	return &memsidecarv1.Memory{
		Id: echoID, Category: m.Category, Content: m.Content, Salience: m.GetSalience(), Tags: m.Tags,
		Source:    "user_explicit",
		CreatedAt: now, UpdatedAt: now, Revision: int64(i) + 1, Confidence: 1,
		Status: memsidecarv1.MemoryStatus_MEMORY_STATUS_ACTIVE,
	}
}

// Add answers without storing anything.
func (echo) Add(_ context.Context, req *memsidecarv1.MemoryServiceAddRequest) (*memsidecarv1.MemoryServiceAddResponse,
	error) {
	res := &memsidecarv1.WriteResult{OperationId: "1-0000"}
	for range req.GetItems() {
		res.Outcomes = append(res.Outcomes,
			&memsidecarv1.Outcome{Id: echoID, Status: memsidecarv1.OutcomeStatus_OUTCOME_STATUS_APPLIED})
	}
	return &memsidecarv1.MemoryServiceAddResponse{Result: res}, nil
}

// Get answers with memories of the usual size.
func (echo) Get(_ context.Context, req *memsidecarv1.MemoryServiceGetRequest) (*memsidecarv1.MemoryServiceGetResponse,
	error) {
	res := &memsidecarv1.MemoryServiceGetResponse{}
	for i := range req.GetIds() {
		res.Memories = append(res.Memories, echoMemory(i))
	}
	return res, nil
}

// List answers with as many bytes as the daemon does.
func (echo) List(_ context.Context, req *memsidecarv1.MemoryServiceListRequest) (
	*memsidecarv1.MemoryServiceListResponse, error) {
	res := &memsidecarv1.MemoryServiceListResponse{NextPageToken: echoID}
	for i := range int(req.GetPageSize()) {
		res.Memories = append(res.Memories, echoMemory(i))
	}
	return res, nil
}

// Search answers with as many hits as the daemon does.
func (echo) Search(_ context.Context, req *memsidecarv1.SearchServiceSearchRequest) (
	*memsidecarv1.SearchServiceSearchResponse, error) {
	res := &memsidecarv1.SearchServiceSearchResponse{Candidates: 1}
	for i := range int(req.GetLimit()) {
		res.Hits = append(res.Hits, &memsidecarv1.SearchHit{Memory: echoMemory(i), Space: "default", Score: 1})
	}
	return res, nil
}

// serveEcho serves on a socket until stdin is closed, as it is when the parent goes.
func serveEcho(socket string, stdin io.Reader) error {
	l, err := net.Listen("unix", socket)
	if err != nil {
		return err
	}
	s := grpc.NewServer(grpc.Creds(process.Credentials()), grpc.MaxRecvMsgSize(process.MaxMessage))
	memsidecarv1.RegisterMemoryServiceServer(s, echo{})
	memsidecarv1.RegisterSearchServiceServer(s, echo{})
	healthgrpc.RegisterHealthServer(s, health.NewServer())
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	_, err = io.Copy(io.Discard, stdin)
	s.Stop()
	if serr := <-served; err == nil {
		err = serr
	}
	return err
}

// startEcho starts the echo server in a process of its own.
func (b *bench) startEcho(ctx context.Context) (*process.Server, error) {
	socket := filepath.Join(b.dir, fmt.Sprintf("echo%d", b.next.take()))
	cmd := exec.Command(b.self, childEcho, socket)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	s, err := process.Run(ctx, cmd, socket, stdin.Close)
	if err != nil {
		return nil, fmt.Errorf("start the echo server: %w", err)
	}
	return s, nil
}

// decode is the least that starting on a memory.json costs: a process, and encoding/json.
func decode(path string, stdout io.Writer) error {
	began := time.Now()
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var file struct{ Memories []memory.Memory }
	if err := json.Unmarshal(data, &file); err != nil {
		return err
	}
	_, err = fmt.Fprintln(stdout, time.Since(began).Nanoseconds(), len(file.Memories))
	return err
}

// timeDecode runs decode in a child process: the time of all of it, and that of reading and decoding alone.
func (b *bench) timeDecode(ctx context.Context, path string) (process, decoding time.Duration, err error) {
	began := time.Now()
	out, err := exec.CommandContext(ctx, b.self, childDecode, path).Output()
	process = time.Since(began)
	if err != nil {
		return 0, 0, fmt.Errorf("decode %s: %w", filepath.Base(path), err)
	}
	var ns, n int64
	if _, err := fmt.Sscan(string(out), &ns, &n); err != nil {
		return 0, 0, fmt.Errorf("output of the decoder: %w", err)
	}
	return process, time.Duration(ns), nil
}

// appender appends what the daemon would at least have to write for a memory to a plain file beside the data.
type appender struct {
	f    *os.File
	next *serial
}

// newAppender returns a file on the measured disk, to which each call appends and syncs.
func (b *bench) newAppender() (*appender, error) {
	f, err := os.OpenFile(filepath.Join(b.dir, "appended"), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	return &appender{f, &b.next}, err
}

// append writes n records with one call and syncs once.
func (a *appender) append(n int) error {
	var group []byte
	for range n {
		m := newMemory(a.next.take())
		rec, err := json.Marshal(&memory.Memory{
			ID: echoID, Category: m.GetCategory(), Content: m.GetContent(), Salience: m.GetSalience(),
			Tags:   m.GetTags(),
			Source: memory.SourceUser, CreatedAt: time.Now(), UpdatedAt: time.Now(), Confidence: 1,
			Status: memory.Active,
		})
		if err != nil {
			return err
		}
		group = append(append(group, rec...), '\n')
	}
	if _, err := a.f.Write(group); err != nil {
		return err
	}
	return a.f.Sync()
}

// sample times appending groups of n records.
func (a *appender) sample(ctx context.Context, n int, d time.Duration) (sample, error) {
	return load(ctx, 1, d, mostCalls, func(context.Context, int) error { return a.append(n) })
}
