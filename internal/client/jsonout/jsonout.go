// Package jsonout encodes messages of the API as JSON for scripts and the panel. The output differs from protobuf's
// JSON form (protojson with EmitDefaultValues and UseProtoNames) in three points that protojson has no option for:
//
//   - 64-bit integers are numbers, not strings;
//   - enum values are lower-case words without their prefix: "active", not "MEMORY_STATUS_ACTIVE";
//   - durations are seconds as a number, not "1.5s".
//
// Fields without presence are always there, fields with presence only if they are set.
//
// It only encodes; requests are read with protojson. docs/decisions/0018-json-output.md has the reasons.
package jsonout

import (
	"bytes"
	"encoding/json"
	"strings"
	"time"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// Member is one name and value of an object.
type Member struct {
	Name  string
	Value any
}

// Object is a JSON object whose members keep their order, which is that of the fields in the .proto file.
type Object []Member

// MarshalJSON encodes the members in order, without HTML escapes.
func (o Object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	b.WriteByte('{')
	for i, m := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		for _, v := range []any{m.Name, m.Value} {
			if err := enc.Encode(v); err != nil {
				return nil, err
			}
			b.Truncate(b.Len() - 1) // the encoder ends with a newline
			b.WriteByte(':')
		}
		b.Truncate(b.Len() - 1)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// Message is the JSON form of a message, for json.Marshal: an Object, or for a Timestamp an RFC 3339 text in UTC,
// for a Duration its seconds, for a Struct a map.
func Message(m protoreflect.Message) any {
	switch v := m.Interface().(type) {
	case *timestamppb.Timestamp:
		return v.AsTime().Format(time.RFC3339Nano)
	case *durationpb.Duration:
		return v.AsDuration().Seconds()
	case *structpb.Struct:
		return v.AsMap()
	}
	out := Object{}
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		if f.HasPresence() && !m.Has(f) {
			continue
		}
		out = append(out, Member{string(f.Name()), Field(f, m.Get(f))})
	}
	return out
}

// Field is the JSON form of a field's value. An empty list is [] and an empty map {}, never null.
func Field(f protoreflect.FieldDescriptor, v protoreflect.Value) any {
	switch {
	case f.IsList():
		list := make([]any, v.List().Len())
		for i := range list {
			list[i] = value(f, v.List().Get(i))
		}
		return list
	case f.IsMap():
		out := map[string]any{}
		v.Map().Range(func(k protoreflect.MapKey, v protoreflect.Value) bool {
			out[k.String()] = value(f.MapValue(), v)
			return true
		})
		return out
	}
	return value(f, v)
}

// value is the JSON form of one element of a field.
func value(f protoreflect.FieldDescriptor, v protoreflect.Value) any {
	switch f.Kind() {
	case protoreflect.MessageKind, protoreflect.GroupKind:
		return Message(v.Message())
	case protoreflect.EnumKind:
		return Word(f.Enum(), v.Enum())
	}
	return v.Interface()
}

// Word is the name of an enum value without the enum's prefix, in lower case: MEMORY_STATUS_ACTIVE is "active". A
// number that this build does not know is "unknown".
func Word(e protoreflect.EnumDescriptor, n protoreflect.EnumNumber) string {
	value := e.Values().ByNumber(n)
	if value == nil {
		return "unknown"
	}
	zero := string(e.Values().ByNumber(0).Name()) // X_UNSPECIFIED
	return strings.ToLower(strings.TrimPrefix(string(value.Name()), strings.TrimSuffix(zero, "UNSPECIFIED")))
}
