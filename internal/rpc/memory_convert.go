package rpc

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"time"

	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/service/memorysvc"
)

// defaultStrength is given to a relation that names none.
const defaultStrength = 0.5

// memoryToProto converts a memory; nil stays nil. The lists of the message are those of the memory, which must not be
// changed.
func memoryToProto(m *memory.Memory) *pb.Memory {
	if m == nil {
		return nil
	}
	out := &pb.Memory{
		Id: m.ID, Category: m.Category, Content: m.Content, Salience: m.Salience, CreatedAt: timeToProto(m.CreatedAt),
		LastAccessed: timeToProto(m.LastAccessed()), AccessCount: m.AccessCount(), Source: m.Source,
		UpdatedAt: timeToProto(m.UpdatedAt), ContentAt: timeToProto(m.KnownAt()),
		Revision: m.Revision, Tags: m.Tags, Title: m.Title, Description: m.Description(), Pinned: m.Pinned,
		Confidence: m.Confidence, ExpiresAt: timeToProto(m.ExpiresAt()),
		Status: statusToProto(m.Status), Supersedes: m.Supersedes(), SupersededBy: m.SupersededBy(),
		StructuredData: structToProto(m.StructuredData()),
	}
	if c := m.Context(); c != nil {
		out.Context = &pb.MemoryContext{
			Tool: c.Tool, ErrorType: c.ErrorType, LearnedFrom: c.LearnedFrom, Signature: c.Signature,
			Occurrences: c.Occurrences,
		}
	}
	for _, r := range m.Relations() {
		out.Relations = append(out.Relations, &pb.Relation{Type: r.Type, TargetId: r.Target, Strength: &r.Strength})
	}
	for _, e := range m.Evidence() {
		out.Evidence = append(out.Evidence, &pb.Evidence{LogDate: e.Log, EntryId: e.Entry, SessionId: e.Session})
	}
	return out
}

// memoriesToProto converts memories, in order.
func memoriesToProto(all []*memory.Memory) []*pb.Memory {
	out := make([]*pb.Memory, len(all))
	for i, m := range all {
		out[i] = memoryToProto(m)
	}
	return out
}

// draftFromProto converts a memory to add. Field names in violations begin with prefix. Defaults are filled in by the
// service.
func draftFromProto(check *memory.Check, prefix string, in *pb.NewMemory) memorysvc.Draft {
	m := &memory.Memory{
		ID: in.GetId(), Category: in.GetCategory(), Content: in.GetContent(), Title: in.GetTitle(), Tags: in.GetTags(),
		Source: in.GetSource(), Pinned: in.GetPinned(),
		CreatedAt: timeFromProto(check, prefix+"created_at", in.GetCreatedAt()),
		More: &memory.More{Context: contextFromProto(in.GetContext()), Description: in.GetDescription(),
			LastAccessed:   timeFromProto(check, prefix+"last_accessed", in.GetLastAccessed()),
			AccessCount:    in.GetAccessCount(),
			ContentAt:      timeFromProto(check, prefix+"content_at", in.GetContentAt()),
			ExpiresAt:      timeFromProto(check, prefix+"expires_at", in.GetExpiresAt()),
			StructuredData: structFromProto(check, prefix+"structured_data", in.GetStructuredData()),
			Relations:      relationsFromProto(in.GetRelations()),
			Evidence:       evidenceFromProto(in.GetEvidence())},
	}
	return memorysvc.Draft{Memory: m, Salience: in.Salience, Confidence: in.Confidence}
}

// contextFromProto converts a context; nil stays nil.
func contextFromProto(in *pb.MemoryContext) *memory.Context {
	if in == nil {
		return nil
	}
	return &memory.Context{
		Tool: in.GetTool(), ErrorType: in.GetErrorType(), LearnedFrom: in.GetLearnedFrom(),
		Signature: in.GetSignature(), Occurrences: in.GetOccurrences(),
	}
}

// relationFromProto converts a relation. One without strength gets defaultStrength.
func relationFromProto(in *pb.Relation) memory.Relation {
	r := memory.Relation{Type: in.GetType(), Target: in.GetTargetId(), Strength: defaultStrength}
	if in != nil && in.Strength != nil {
		r.Strength = *in.Strength
	}
	return r
}

// relationsFromProto converts relations, in order.
func relationsFromProto(in []*pb.Relation) []memory.Relation {
	var out []memory.Relation
	for _, r := range in {
		out = append(out, relationFromProto(r))
	}
	return out
}

// evidenceFromProto converts evidence, in order.
func evidenceFromProto(in []*pb.Evidence) []memory.Evidence {
	var out []memory.Evidence
	for _, e := range in {
		out = append(out, memory.Evidence{Log: e.GetLogDate(), Entry: e.GetEntryId(), Session: e.GetSessionId()})
	}
	return out
}

// statusToProto converts a state. A memory that was written without one is active.
func statusToProto(s memory.Status) pb.MemoryStatus {
	switch s {
	case memory.Active, "":
		return pb.MemoryStatus_MEMORY_STATUS_ACTIVE
	case memory.Superseded:
		return pb.MemoryStatus_MEMORY_STATUS_SUPERSEDED
	case memory.Retired:
		return pb.MemoryStatus_MEMORY_STATUS_RETIRED
	}
	return pb.MemoryStatus_MEMORY_STATUS_UNSPECIFIED
}

// statusesFromProto converts the states of a filter.
func statusesFromProto(check *memory.Check, field string, in []pb.MemoryStatus) []memory.Status {
	var out []memory.Status
	for i, s := range in {
		switch s {
		case pb.MemoryStatus_MEMORY_STATUS_ACTIVE:
			out = append(out, memory.Active)
		case pb.MemoryStatus_MEMORY_STATUS_SUPERSEDED:
			out = append(out, memory.Superseded)
		case pb.MemoryStatus_MEMORY_STATUS_RETIRED:
			out = append(out, memory.Retired)
		default:
			check.Add(fmt.Sprintf("%s[%d]", field, i), "UNKNOWN_VALUE", "is not a status")
		}
	}
	return out
}

// filterFromProto converts a filter, for lists and searches. Violations of its fields begin with "filter.".
func filterFromProto(check *memory.Check, in *pb.MemoryFilter) memory.Filter {
	return memory.Filter{
		Categories: in.GetCategories(), Tags: in.GetTags(), Sources: in.GetSources(), Sessions: in.GetSessionIds(),
		Statuses:    statusesFromProto(check, "filter.statuses", in.GetStatuses()),
		MinSalience: in.GetMinSalience(), Pinned: pinnedOf(in),
		CreatedFrom:   timeFromProto(check, "filter.created_from", in.GetCreatedFrom()),
		CreatedBefore: timeFromProto(check, "filter.created_before", in.GetCreatedBefore()),
		UpdatedFrom:   timeFromProto(check, "filter.updated_from", in.GetUpdatedFrom()),
		UpdatedBefore: timeFromProto(check, "filter.updated_before", in.GetUpdatedBefore()),
	}
}

// pinnedOf returns the condition on pins; nil is none.
func pinnedOf(in *pb.MemoryFilter) *bool {
	if in == nil {
		return nil
	}
	return in.Pinned
}

// timeToProto returns nil for the zero time.
func timeToProto(t time.Time) *timestamppb.Timestamp {
	if t.IsZero() {
		return nil
	}
	return timestamppb.New(t)
}

// timeFromProto returns the zero time for an absent timestamp. Times are kept to the microsecond.
func timeFromProto(check *memory.Check, field string, in *timestamppb.Timestamp) time.Time {
	if in == nil {
		return time.Time{}
	}
	at := in.AsTime().Truncate(time.Microsecond)
	if err := in.CheckValid(); err != nil || !memory.IsTime(at) {
		check.Add(field, "INVALID_TIME", "must be a time in the years 1970 to 9999")
		return time.Time{}
	}
	return at
}

// structToProto returns nil for what is no JSON object.
func structToProto(raw json.RawMessage) *structpb.Struct {
	var object map[string]any
	if len(raw) == 0 || json.Unmarshal(raw, &object) != nil || object == nil {
		return nil
	}
	out, err := structpb.NewStruct(object)
	if err != nil {
		return nil
	}
	return out
}

// structFromProto encodes structured data as JSON; nil stays nil. NaN and infinities are violations.
func structFromProto(check *memory.Check, field string, in *structpb.Struct) json.RawMessage {
	if in == nil {
		return nil
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(in.AsMap()); err != nil || !finite(structpb.NewStructValue(in)) {
		check.Add(field, "INVALID_JSON", "holds a number that JSON does not have")
		return nil
	}
	return bytes.TrimRight(out.Bytes(), "\n")
}

// finite reports whether v holds no NaN and no infinity, which AsMap turns into strings.
func finite(v *structpb.Value) bool {
	switch kind := v.GetKind().(type) {
	case *structpb.Value_NumberValue:
		return !math.IsNaN(kind.NumberValue) && !math.IsInf(kind.NumberValue, 0)
	case *structpb.Value_StructValue:
		for _, field := range kind.StructValue.GetFields() {
			if !finite(field) {
				return false
			}
		}
	case *structpb.Value_ListValue:
		return !slices.ContainsFunc(kind.ListValue.GetValues(), func(item *structpb.Value) bool {
			return !finite(item)
		})
	}
	return true
}
