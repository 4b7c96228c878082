package rpc

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/service/memorysvc"
)

// patchFromProto turns a patch and its mask into new values. Without a mask, what is set counts.
func patchFromProto(check *memory.Check, in *pb.MemoryPatch, mask *fieldmaskpb.FieldMask) memorysvc.Patch {
	named := maskedFields(check, in, mask)
	var p memorysvc.Patch
	set(named, "content", &p.Content, in.GetContent())
	set(named, "category", &p.Category, in.GetCategory())
	set(named, "salience", &p.Salience, in.GetSalience())
	set(named, "title", &p.Title, in.GetTitle())
	set(named, "description", &p.Description, in.GetDescription())
	set(named, "tags", &p.Tags, in.GetTags())
	set(named, "source", &p.Source, in.GetSource())
	set(named, "pinned", &p.Pinned, in.GetPinned())
	set(named, "confidence", &p.Confidence, in.GetConfidence())
	set[time.Time](named, "expires_at", &p.ExpiresAt, timeFromProto(check, "patch.expires_at", in.GetExpiresAt()))
	set[json.RawMessage](named, "structured_data", &p.StructuredData,
		structFromProto(check, "patch.structured_data", in.GetStructuredData()))
	set(named, "relations", &p.Relations, relationsFromProto(in.GetRelations()))
	set(named, "evidence", &p.Evidence, evidenceFromProto(in.GetEvidence()))
	// A context that is named and empty removes the present one.
	if slices.Contains(named, "context") {
		p.Context = &memory.Context{}
		if c := contextFromProto(in.GetContext()); c != nil {
			p.Context = c
		}
	}
	return p
}

// set points to at value when field is named.
func set[T any](named []string, field string, to **T, value T) {
	if slices.Contains(named, field) {
		*to = &value
	}
}

// maskedFields lists the fields that are to be changed.
func maskedFields(check *memory.Check, in *pb.MemoryPatch, mask *fieldmaskpb.FieldMask) []string {
	var named []string
	// Without a mask a field that is set to its default cannot be told from one that is missing, except for those
	// that are optional in the message.
	if len(mask.GetPaths()) == 0 {
		if in != nil {
			in.ProtoReflect().Range(func(f protoreflect.FieldDescriptor, _ protoreflect.Value) bool {
				named = append(named, string(f.Name()))
				return true
			})
		}
		if len(named) == 0 {
			check.Add("patch", "REQUIRED", "must set at least one field, or update_mask must name one")
		}
		return named
	}
	fields := (*pb.MemoryPatch)(nil).ProtoReflect().Descriptor().Fields()
	for i, path := range mask.GetPaths() {
		if fields.ByName(protoreflect.Name(path)) == nil {
			check.Add(fmt.Sprintf("update_mask.paths[%d]", i), "UNKNOWN_FIELD", "is not a field of the patch")
			continue
		}
		named = append(named, path)
	}
	return named
}
