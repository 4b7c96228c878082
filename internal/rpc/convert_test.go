package rpc_test

import (
	"encoding/json"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"
	"pgregory.net/rapid"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/rpc"
)

func drawTime(t *rapid.T, label string) *timestamppb.Timestamp {
	if !rapid.Bool().Draw(t, label+" set") {
		return nil
	}
	// Microseconds since 1970 are what is kept; the zero time stands for none.
	return timestamppb.New(time.UnixMicro(rapid.Int64Range(0, 253402300799999999).Draw(t, label)))
}

func drawStruct(t *rapid.T) *structpb.Struct {
	if !rapid.Bool().Draw(t, "struct set") {
		return nil
	}
	fields := map[string]*structpb.Value{}
	for _, key := range rapid.SliceOfN(rapid.String(), 0, 3).Draw(t, "keys") {
		fields[key] = structpb.NewStringValue(rapid.String().Draw(t, "value"))
		fields[key+"n"] = structpb.NewNumberValue(rapid.Float64Range(-1e15, 1e15).Draw(t, "number"))
		fields[key+"l"] = structpb.NewListValue(
			&structpb.ListValue{Values: []*structpb.Value{structpb.NewBoolValue(true), structpb.NewNullValue()}})
	}
	return &structpb.Struct{Fields: fields}
}

func drawNewMemory(t *rapid.T) *pb.NewMemory {
	s := rapid.String()
	in := &pb.NewMemory{
		Id: s.Draw(t, "id"), Category: s.Draw(t, "category"), Content: s.Draw(t, "content"), Title: s.Draw(t, "title"),
		Source: s.Draw(t, "source"), Tags: rapid.SliceOfN(s, 0, 3).Draw(t, "tags"),
		Pinned:      rapid.Bool().Draw(t, "pinned"),
		AccessCount: rapid.Int64().Draw(t, "access"), Salience: new(rapid.Float64().Draw(t, "salience")),
		Confidence: new(rapid.Float64().Draw(t, "confidence")), CreatedAt: drawTime(t, "created"),
		LastAccessed: drawTime(t, "accessed"), ExpiresAt: drawTime(t, "expires"), StructuredData: drawStruct(t),
	}
	if rapid.Bool().Draw(t, "context set") {
		in.Context = &pb.MemoryContext{
			Tool: s.Draw(t, "tool"), ErrorType: s.Draw(t, "error"), LearnedFrom: s.Draw(t, "from"),
			Signature:   s.Draw(t, "signature"),
			Occurrences: rapid.Int64().Draw(t, "occurrences"),
		}
	}
	for range rapid.IntRange(0, 2).Draw(t, "links") {
		in.Relations = append(in.Relations, &pb.Relation{
			Type: s.Draw(t, "type"), TargetId: s.Draw(t, "target"), Strength: new(rapid.Float64().Draw(t, "strength")),
		})
		in.Evidence = append(in.Evidence, &pb.Evidence{LogDate: s.Draw(t, "log"), EntryId: s.Draw(t, "entry"),
			SessionId: s.Draw(t, "session")})
	}
	return in
}

// Every field of a memory that can be sent comes back as it was.
func TestMemoryRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := drawNewMemory(t)
		d, err := rpc.DraftFromProto(in)
		if err != nil {
			t.Fatal(err)
		}
		d.Memory.Salience, d.Memory.Confidence = *d.Salience, *d.Confidence
		got, want := rpc.MemoryToProto(d.Memory), &pb.Memory{}
		fields := want.ProtoReflect().Descriptor().Fields()
		in.ProtoReflect().Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
			want.ProtoReflect().Set(fields.ByName(f.Name()), v)
			return true
		})
		want.Status, want.ContentAt = pb.MemoryStatus_MEMORY_STATUS_ACTIVE, got.GetContentAt() // the daemon's
		if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
			t.Fatalf("(-sent +received):\n%s", diff)
		}
	})
}

func TestMemoryToProtoKeepsTheRest(t *testing.T) {
	at := time.Date(2026, 2, 21, 10, 30, 0, 0, time.UTC)
	got := rpc.MemoryToProto(&memory.Memory{
		ID: "a", UpdatedAt: at, Revision: 7, Status: memory.Superseded, More: &memory.More{Supersedes: []string{"o"}, SupersededBy: "n",
			StructuredData: json.RawMessage(`[1]`)}, // not an object: left out
	})
	want := &pb.Memory{
		Id: "a", UpdatedAt: timestamppb.New(at), Revision: 7, Status: pb.MemoryStatus_MEMORY_STATUS_SUPERSEDED,
		Supersedes: []string{"o"}, SupersededBy: "n",
	}
	if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestConversionNamesEveryViolation(t *testing.T) {
	_, err := rpc.DraftFromProto(&pb.NewMemory{
		CreatedAt:      &timestamppb.Timestamp{Seconds: math.MaxInt64},
		ExpiresAt:      &timestamppb.Timestamp{Nanos: -1},
		StructuredData: &structpb.Struct{Fields: map[string]*structpb.Value{"n": structpb.NewNumberValue(math.NaN())}},
	})
	invalid, ok := errors.AsType[*memory.InvalidError](err)
	if !ok || len(invalid.Violations) != 3 {
		t.Errorf("got %v, want three violations", err)
	}
}

func TestPageTokens(t *testing.T) {
	made := &pb.LogServiceListRequest{Space: "work", PageSize: 10}
	ask := func(space string) func(string) rpc.PagedRequest {
		return func(token string) rpc.PagedRequest {
			return &pb.LogServiceListRequest{Space: space, PageSize: 20, PageToken: token}
		}
	}
	if got, err := rpc.PageRoundTrip(made, ask("work"), "a key"); got != "a key" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	if _, err := rpc.PageRoundTrip(made, ask("home"), "k"); err == nil {
		t.Error("a token of another request was taken")
	}
}

// FuzzMemory feeds arbitrary messages: whatever is accepted must come back the same the second time.
func FuzzMemory(f *testing.F) {
	seed, _ := proto.Marshal(&pb.NewMemory{Id: "a", Content: "喜欢喝茶", Salience: proto.Float64(0),
		StructuredData: &structpb.Struct{}})
	f.Add(seed)
	f.Add([]byte{0x0a, 0x01, 0xff})
	f.Fuzz(func(t *testing.T, data []byte) {
		in := &pb.NewMemory{}
		if proto.Unmarshal(data, in) != nil {
			return
		}
		d, err := rpc.DraftFromProto(in)
		if err != nil {
			return
		}
		out := rpc.MemoryToProto(d.Memory)
		if out.GetContent() != in.GetContent() || out.GetId() != in.GetId() ||
			len(out.GetRelations()) != len(in.GetRelations()) {
			t.Errorf("sent %v, received %v", in, out)
		}
	})
}
